package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gazetteer/internal/privatefile"
	"gazetteer/internal/wait"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/leafform"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"
	"gazetteer/store/follow"

	"golang.org/x/mod/sumdb/tlog"
)

// Options of [Open].
type Options struct {
	// Dir is the directory of the log. It is created if it is missing; its parent must exist.
	Dir string
	// Store is the log to follow.
	Store store.Store
	// Key signs the checkpoints; its name is the permanent origin of the log (C2SP
	// tlog-checkpoint). Another key of the same name may replace it.
	Key *checkpoint.Key
	// Copy is the path of a second copy of the last signed checkpoint, "" for none. Store it where
	// no restore of Dir overwrites it: it can then show that Dir is older than the published
	// checkpoints. A lock file next to it allows only one process at a time to sign. A checkpoint
	// in it from another process stops this process, so that only one of two copies of a directory
	// signs.
	Copy string
	// Known are signed checkpoints of this log that are stored elsewhere, such as in the store: the
	// tree must contain them.
	Known [][]byte
	// Leaf reports which keys of the store become leaves; nil is [leafform.HistoryKey]. Their records must
	// never be overwritten, because the log would miss some of them.
	Leaf func(key string) bool
	// AcceptLoss continues although the store has lost logged records, because an older copy of it
	// was restored and no newer one exists. The leaves of the lost records stay.
	AcceptLoss bool
	// AcceptKey signs a log again whose last checkpoint was signed with another key of the same name.
	// Without it, Open refuses such a log with [ErrKey].
	AcceptKey bool
	// CheckStore has Open call [Log.CheckStore] before it changes anything.
	CheckStore bool
	// Lock is a witness that must cosign each checkpoint before it counts, so that only one of two
	// copies of Dir signs, wherever they run; nil for none. While it does not answer, the log signs
	// nothing.
	Lock *Cosigner
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log receives a line for each event that an operator must know; nil discards them.
	Log *slog.Logger

	sync func(*os.File) error // syncs erasures; tests replace it
}

// A Log follows a store into a Merkle tree. All methods may be called from any
// goroutine; [Log.Run] by one at a time.
type Log struct {
	dir         string
	checkpoints []string // the files of the last signed checkpoint
	copy        string   // the second of them, "" for none
	known       [][]byte
	key         *checkpoint.Key
	store       store.Store
	isLeaf      func(string) bool
	acceptLoss  bool
	acceptKey   bool
	lockWitness *Cosigner
	now         func() time.Time
	salter      leafform.Salter
	log         *slog.Logger
	retry       time.Duration // the first pause after a full disk
	sync        func(*os.File) error

	lock   *os.File
	signer *os.File // the lock beside the copy
	hashes *hashes
	leaves *leaves
	chains *chains
	inUse  sync.RWMutex // held for reading while the files are used, for writing to close them

	state   state // owned by Run
	broken  error // owned by Run: the reason why writes are no longer allowed
	damaged damagedRecords
	orphans map[int64]string // owned by Run: undeclared leaves, by their numbers, of which the store knows nothing
	writing sync.Mutex       // held while the files change, and while they are copied

	position follow.Position // the position up to which the newest checkpoint covers the store
	erased   follow.Position // the position up to which the content of deleted records is erased
	resumed  wait.Broadcast  // notified by Resume

	mu     sync.Mutex            // guards the following fields
	last   checkpoint.Checkpoint // the newest signed one
	signed []byte                // last, signed; nil while the tree does not contain it
	closed bool
	damage error // the result of the search for damage
	halt   *Halt // the reason why the log no longer signs; nil while it signs
	// signedAt is the time of the newest checkpoint, bytes the total size of the files.
	signedAt time.Time
	bytes    int64

	witnessed map[string]int64 // the last cosigned size of each witness, by name
	// blocked is the reason why the log cannot sign at the moment.
	blocked error
	// undeclared are the keys of the erased leaves that no leaf declares yet, by their numbers.
	// eraseErr is the reason why the content of a deleted record cannot be erased at the moment, and
	// unerased are these records, with the sequences of their deletions. Deletions were read up to
	// eraseRead.
	undeclared map[int64]string
	eraseErr   error
	unerased   map[string]uint64
	eraseRead  store.Cursor
	// lockSize is the size of the lock's tree if it is larger than ours. lockAnswered is the time
	// of its last cosignature, lockSubmitted the size of the largest tree that it was sent.
	lockSize      int64
	lockAnswered  time.Time
	lockSubmitted int64
}

// Open opens the log in o.Dir, or creates one if there is neither a tree nor a checkpoint.
// [Log.Run] then fills it; Close must be called.
//
// The error matches [ErrHeld] if another process has the directory open, a *ForkError if the tree
// contradicts a checkpoint, [ErrKey] if another key signed it, and a *tiles.DamagedError if a file
// differs from what the log wrote. In all these cases Open changes nothing.
func Open(ctx context.Context, o Options) (*Log, error) {
	if o.Key == nil || o.Store == nil {
		return nil, errors.New("open log: it needs a store and a key")
	}
	if o.Leaf == nil {
		o.Leaf = leafform.HistoryKey
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.sync == nil {
		o.sync = (*os.File).Sync
	}
	l := &Log{
		lockWitness: o.Lock,
		now:         o.Now,
		dir:         o.Dir,
		checkpoints: []string{filepath.Join(o.Dir, tiles.CheckpointFile)},
		key:         o.Key,
		store:       o.Store,
		isLeaf:      o.Leaf,
		acceptLoss:  o.AcceptLoss,
		acceptKey:   o.AcceptKey,
		log:         o.Log,
		retry:       time.Second,
		sync:        o.sync,
		chains:      &chains{},
		unerased:    map[string]uint64{},
	}
	if o.Copy != "" {
		l.checkpoints, l.copy = append(l.checkpoints, o.Copy), o.Copy
	}
	l.known = o.Known
	err := privatefile.MakeDir(o.Dir)
	if err == nil {
		l.lock, err = takeLock(filepath.Join(o.Dir, lockFile))
	}
	if err == nil && o.Copy != "" {
		if l.signer, err = takeLock(o.Copy + ".lock"); errors.Is(err, ErrHeld) {
			err = fmt.Errorf("%w: %s is locked by a process that signs the same log, perhaps on a copy of this directory; stop one of them", err, o.Copy+".lock")
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open log %s: %w", o.Dir, err), l.closeFiles())
	}
	if err := l.openFiles(ctx, o.CheckStore); err != nil {
		return nil, errors.Join(fmt.Errorf("open log %s: %w", o.Dir, err), l.closeFiles())
	}
	return l, nil
}

// openFiles opens the files after the directory is locked.
func (l *Log) openFiles(ctx context.Context, checkStore bool) error {
	kept, err := readCheckpoints(l.checkpoints, l.key.Verifier())
	if err != nil {
		return err
	}
	known, err := l.readKnown()
	if err != nil {
		return err
	}
	if l.state, err = l.loadState(append(slices.Clone(kept), known...)); err != nil {
		return err
	}
	if err := l.checkState(); err != nil {
		return err
	}
	l.salter = l.state.Salt
	if l.hashes, err = openHashes(l.dir, os.O_RDWR, l.state.Size); err != nil {
		return err
	}
	if l.leaves, err = openLeaves(l.dir, os.O_RDWR, l.state.Size, l.state.Bytes); err != nil {
		return err
	}
	l.leaves.sync = l.sync
	erased, err := l.leaves.scanRows(ctx, l.chains, l.state.Size, l.state.Bytes)
	if err != nil {
		return err
	}
	text, err := l.checkTree(kept, known)
	if err != nil {
		return err
	}
	if l.halt, err = readHalt(l.dir); err != nil {
		return err
	}
	if l.halt != nil {
		l.position.SetError(ErrHalted)
		l.log.Error(l.halt.String(), "dir", l.dir)
	}
	unfinished := l.noteErasures(erased)
	signed := l.last.N
	if checkStore {
		before := l.state
		if err := l.CheckStore(ctx); err != nil {
			return errors.Join(err, l.restoreState(before))
		}
	}
	if text != nil && l.last.N == signed { // otherwise a newer one was signed meanwhile
		if err := l.keepCheckpoint(text); err != nil {
			return err
		}
	}
	if _, _, err := l.leaves.eraseContent(unfinished); err != nil {
		return err
	}
	if err := l.truncateUncommitted(); err != nil {
		return err
	}
	if info, err := os.Stat(l.checkpoints[0]); err == nil {
		l.signedAt = info.ModTime()
	}
	l.bytes = l.state.fileBytes()
	return privatefile.Replace(filepath.Join(l.dir, tiles.KeyFile), []byte(l.key.Public()+"\n"))
}

// loadState returns the state of the log, and creates the log if there is none. The order of the
// files distinguishes a log that was never finished from one that was lost, whenever the process is
// killed: first the checkpoint of the empty tree is written, then the empty files, then the state.
func (l *Log) loadState(kept []keptCheckpoint) (state, error) {
	path := filepath.Join(l.dir, stateFile)
	s, err := readState(l.dir)
	switch {
	case err == nil && len(kept) > 0:
		return s, nil
	case err == nil:
		return s, &tiles.DamagedError{File: l.checkpoints[0], Problem: "is missing beside " + stateFile, Remedy: remedyCheckpoint}
	case !errors.Is(err, fs.ErrNotExist):
		return s, err
	}
	for _, c := range kept {
		if c.N > 0 {
			return s, &ForkError{Problem: fmt.Sprintf("%s is missing, and a checkpoint of %d leaves was signed", path, c.N),
				Remedy: "restore any copy of the directory, with the newest checkpoint: the store completes it; or " + remedyAnew}
		}
	}
	if info, err := os.Stat(filepath.Join(l.dir, rowsFile)); err == nil && info.Size() > 0 {
		return s, &tiles.DamagedError{File: path, Problem: "is missing beside " + rowsFile, Remedy: remedyRestore}
	}
	return l.createLog()
}

// createLog creates a log without leaves.
func (l *Log) createLog() (state, error) {
	s := state{Format: stateFormat, Origin: l.key.Name(), Salt: make([]byte, 32), Store: l.store.Head().Store}
	rand.Read(s.Salt)
	signed, err := checkpoint.Checkpoint{Origin: l.key.Name(), Tree: checkpoint.EmptyTree()}.Sign(l.key)
	if err != nil {
		return s, err
	}
	if err := l.keepCheckpoint(signed); err != nil {
		return s, err
	}
	for _, name := range []string{rowsFile, entriesFile, hashesFile} {
		f, err := privatefile.Open(filepath.Join(l.dir, name), os.O_RDWR|os.O_CREATE)
		if err != nil {
			return s, err
		}
		if err := f.Close(); err != nil {
			return s, err
		}
	}
	return s, writeState(l.dir, s) // syncs the directory too
}

// readKnown reads the checkpoints that are stored elsewhere.
func (l *Log) readKnown() (known []keptCheckpoint, err error) {
	for _, text := range l.known {
		c, err := readSigned("the checkpoint in the store", text, l.key.Verifier())
		if err != nil {
			return nil, err
		}
		known = append(known, c)
	}
	return known, nil
}

// keepCheckpoint writes and syncs a signed checkpoint. The copy is written first: it decides
// whether this process may sign.
func (l *Log) keepCheckpoint(signed []byte) error {
	if err := l.checkCopy(); err != nil {
		return err
	}
	if l.leaves != nil { // not before the first checkpoint
		for _, f := range []*os.File{l.leaves.rows, l.leaves.entries, l.hashes.file} {
			if err := checkPath(f); err != nil {
				return err
			}
		}
	}
	for _, path := range slices.Backward(l.checkpoints) {
		if err := privatefile.Replace(path, signed); err != nil {
			return fmt.Errorf("write the checkpoint: %w", err)
		}
	}
	return nil
}

// warnOfMissingCopy warns when a log that has signed has no copy of its checkpoint: a new path and a
// restore begin so, but so does a server whose second disk is not mounted.
func (l *Log) warnOfMissingCopy() error {
	if l.copy == "" || l.last.N == 0 {
		return nil
	}
	there, err := readCheckpoints([]string{l.copy}, l.key.Verifier())
	if err == nil && len(there) == 0 {
		l.log.Warn("the copy of the checkpoint is missing and is begun anew; if its disk is not mounted, stop this server and mount it: until then nothing keeps another copy of this directory from signing",
			"file", l.copy, "signed", l.last.N)
	}
	return err
}

// checkCopy refuses to sign when the copy holds a checkpoint that this log does not know: another
// process has signed it.
func (l *Log) checkCopy() error {
	if l.copy == "" {
		return nil
	}
	there, err := readCheckpoints([]string{l.copy}, l.key.Verifier())
	if err != nil || len(there) == 0 {
		return err
	}
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	if c := there[0]; c.N > last.N || c.N == last.N && c.N > 0 && c.Hash != last.Hash {
		return &ForkError{cause: CauseLock, Problem: fmt.Sprintf("%s has a checkpoint of %d leaves that was signed elsewhere, and this process signed %d last: two copies of this directory are in use", l.copy, c.N, last.N),
			Remedy: "stop the older copy for good"}
	}
	return nil
}

func (l *Log) checkState() error {
	path := filepath.Join(l.dir, stateFile)
	if l.state.Origin != l.key.Name() {
		return &tiles.DamagedError{File: path, Problem: fmt.Sprintf("is of the log %q, not of %q", l.state.Origin, l.key.Name()), Remedy: remedyOrigin}
	}
	if head := l.store.Head(); l.state.Store != head.Store {
		return &tiles.DamagedError{File: path, Problem: fmt.Sprintf("follows the store %s, this is the store %s", l.state.Store, head.Store),
			Remedy: "put the log and the store together that belong together, or " + remedyAnew}
	}
	return nil
}

// restoreState undoes what a refused start has changed: the leaves that an older copy was grown by, and
// the cursor. What was erased stays erased.
func (l *Log) restoreState(before state) error {
	now := l.state
	if now.Seq == before.Seq && now.Incarnation == before.Incarnation && now.Size == before.Size && now.Bytes == before.Bytes && now.Lost == before.Lost {
		return nil
	}
	l.state = before
	if err := writeState(l.dir, before); err != nil {
		return err
	}
	return l.truncateUncommitted()
}

// checkTree compares the tree with every checkpoint that is known to have been signed. It returns the
// newest, which is to be written to all files, or nil if all have it.
func (l *Log) checkTree(kept, known []keptCheckpoint) (text []byte, err error) {
	if len(kept) == 0 { // just created: only the empty tree is signed
		if kept, err = readCheckpoints(l.checkpoints, l.key.Verifier()); err != nil {
			return nil, err
		}
	}
	all := append(slices.Clone(kept), known...)
	newest := slices.MaxFunc(all, func(a, b keptCheckpoint) int { return cmp.Compare(a.N, b.N) })
	for _, c := range all {
		if c.N > l.state.Size {
			continue
		}
		if err := l.checkContains(c.Checkpoint); err != nil {
			return nil, err
		}
	}
	if !newest.ours && newest.N > 0 && !l.acceptKey {
		return nil, fmt.Errorf("%w than %s: the last checkpoint of %s has %d leaves", ErrKey, l.key.Public(), l.dir, newest.N)
	}
	l.last = newest.Checkpoint
	text = newest.text
	if l.last.N <= l.state.Size {
		if !newest.ours {
			l.log.Warn("the last checkpoint was signed with another key and is signed again; clients need the new key", "dir", l.dir, "key", l.key.Public())
			if text, err = l.last.Sign(l.key); err != nil {
				return nil, err
			}
		}
		l.signed = text
		l.position.MoveTo(l.openingCursor())
	} else {
		l.log.Warn("the tree is shorter than the last signed checkpoint: an older copy was put back; it is grown again from the store, and nothing is signed until it contains that checkpoint",
			"dir", l.dir, "leaves", l.state.Size, "signed", l.last.N)
	}
	if err := l.warnOfMissingCopy(); err != nil {
		return nil, err
	}
	same := func(c keptCheckpoint) bool { return bytes.Equal(c.text, text) }
	if len(kept) == len(l.checkpoints) && !slices.ContainsFunc(kept, func(c keptCheckpoint) bool { return !same(c) }) {
		return nil, nil
	}
	return text, nil
}

// checkContains refuses a tree that does not contain a checkpoint. The tree must be at least as
// large.
func (l *Log) checkContains(c checkpoint.Checkpoint) error {
	root, err := tlog.TreeHash(c.N, l.hashes)
	if err != nil {
		return err
	}
	if root != c.Hash {
		return &ForkError{Problem: fmt.Sprintf("with its first %d leaves the tree has the root %s, and %s was signed: an older copy was put back and written to, or the file %s is damaged", c.N, root, c.Hash, hashesFile),
			Remedy: remedyRestore + ", or " + remedyAnew}
	}
	return nil
}

// openingCursor returns the cursor of a log that is being opened. While a part of the tree is
// unsigned, the cursor covers nothing new; Run sets it after signing.
func (l *Log) openingCursor() store.Cursor {
	at, head := l.state.storeCursor(), l.store.Head()
	if l.last.N != l.state.Size || at.Incarnation != head.Incarnation || at.Seq > head.Seq {
		return store.Cursor{}
	}
	return at
}

// truncateUncommitted removes bytes that were written and never committed.
func (l *Log) truncateUncommitted() error {
	return errors.Join(l.hashes.file.Truncate(hashesBytes(l.state.Size)), l.leaves.rows.Truncate(l.state.Size*rowBytes), l.leaves.entries.Truncate(l.state.Bytes))
}

// CheckStore reports whether the store is older than the log, or both are older than the last
// signed checkpoint, before the first write to the store. To find out, it grows a tree from an older
// copy. Call it before [Log.Run], which checks it, too. The error is a *ForkError, or that of the
// store.
func (l *Log) CheckStore(ctx context.Context) error {
	err := l.checkStore(ctx)
	if errors.Is(err, store.ErrCursorGone) {
		if err = l.restartFollowing(err.Error()); err == nil {
			err = l.checkStore(ctx)
		}
	}
	if err != nil {
		return err
	}
	if err := l.checkLock(ctx); err != nil {
		return err
	}
	if err := l.checkReach(); err != nil {
		return err
	}
	return l.growToSigned(ctx)
}

// checkLock compares the tree with the lock's tree. If the lock does not answer, the log is blocked,
// and [Log.Run] asks it again.
func (l *Log) checkLock(ctx context.Context) error {
	if l.lockWitness == nil || l.state.Size < l.last.N {
		return nil // the comparison follows when the tree is complete again
	}
	size, err := l.askLock(ctx, l.lastCheckpoint())
	if errors.Is(err, ErrLock) {
		l.setBlocked(err)
		l.log.Warn("the lock of the log has not cosigned: nothing is signed until it does", "error", err)
		return nil
	}
	if err == nil && size > l.state.Size {
		l.log.Warn("the tree is shorter than the one in the lock; the store completes it, and nothing is signed before", "dir", l.dir, "leaves", l.state.Size, "lock", size)
	}
	return err
}

// Close releases the files. Run must have returned. Later calls return
// [ErrClosed]; calling Close again does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	again := l.closed
	if !again {
		l.closed = true
		l.position.SetError(ErrClosed)
		l.erased.SetError(ErrClosed)
	}
	l.mu.Unlock()
	if again {
		return nil
	}
	l.inUse.Lock()
	defer l.inUse.Unlock()
	if err := l.closeFiles(); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}

func (l *Log) closeFiles() error {
	var errs []error
	if l.hashes != nil {
		errs = append(errs, l.hashes.file.Close())
	}
	if l.leaves != nil {
		errs = append(errs, l.leaves.closeFiles())
	}
	for _, lock := range []*os.File{l.signer, l.lock} {
		if lock != nil {
			errs = append(errs, lock.Close())
		}
	}
	return errors.Join(errs...)
}

// acquireFiles keeps the files open for reading until release is called.
func (l *Log) acquireFiles(ctx context.Context) (head checkpoint.Checkpoint, release func(), err error) {
	if err := ctx.Err(); err != nil {
		return checkpoint.Checkpoint{}, nil, err
	}
	l.inUse.RLock()
	if head, _, err = l.newestHead(); err != nil {
		l.inUse.RUnlock()
		return checkpoint.Checkpoint{}, nil, err
	}
	return head, l.inUse.RUnlock, nil
}

// Origin returns the name of the log.
func (l *Log) Origin() string { return l.key.Name() }

// Key returns the public key of the log, in the form with which clients are configured.
func (l *Log) Key() string { return l.key.Public() }

// Head returns the newest tree that was signed.
func (l *Log) Head() tlog.Tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last.Tree
}

// Checkpoint returns the newest signed checkpoint, a signed note of C2SP tlog-checkpoint. It is on
// disk: the log never signs a checkpoint that contradicts it.
func (l *Log) Checkpoint() ([]byte, error) {
	_, signed, err := l.newestHead()
	return signed, err
}

// newestHead returns the newest checkpoint, parsed and as the signed note.
func (l *Log) newestHead() (checkpoint.Checkpoint, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return checkpoint.Checkpoint{}, nil, ErrClosed
	case l.signed == nil:
		return checkpoint.Checkpoint{}, nil, ErrGrowing
	}
	return l.last, slices.Clone(l.signed), nil
}

// Cursor returns the place in the store's log up to which the newest checkpoint covers it.
func (l *Log) Cursor() store.Cursor { return l.position.Cursor() }

// WaitFor waits until the newest checkpoint covers the write with the given sequence, if it becomes
// a leaf. The error is the context's, [ErrClosed], or [ErrHalted] if the log is halted.
func (l *Log) WaitFor(ctx context.Context, seq uint64) error { return l.position.WaitFor(ctx, seq) }
