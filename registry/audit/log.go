package audit

import (
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

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"gazetteer/store"
)

// Options of [Open].
type Options struct {
	// Dir is the directory of the log. It is made when it is missing; its parent
	// must exist.
	Dir string
	// Store is the log to follow.
	Store store.Store
	// Signer signs checkpoints: an Ed25519 key of the registry, as note.NewSigner
	// makes it.
	Signer note.Signer
	// Origin names the log in its checkpoints, for ever; "" stands for the name
	// of the signer's key, and nothing else is allowed, because clients look the
	// key up by the origin (C2SP tlog-checkpoint).
	Origin string
	// Copy is the path of a second copy of the last signed checkpoint, "" for
	// none. Put where no backup of Dir is restored over it, it shows when all of
	// Dir is older than what was handed out.
	Copy string
	// Leaf tells which keys of the store become leaves; nil is [HistoryKey].
	// Records that are overwritten may be passed by; see the package comment.
	Leaf func(key string) bool
	// Regrow opens a log whose tree is shorter than its last checkpoint. The
	// tree is grown again from the store, and nothing is signed or served until
	// it contains that checkpoint.
	Regrow bool
	// Log gets a line for each thing an operator should know; nil is silence.
	Log *slog.Logger
}

// A Log follows a store into a Merkle tree. All methods may be called from any
// goroutine; [Log.Run] by one at a time.
type Log struct {
	dir         string
	checkpoints []string // the files of the last signed checkpoint
	origin      string
	store       store.Store
	signer      note.Signer
	isLeaf      func(string) bool
	salter      salter
	log         *slog.Logger
	retry       time.Duration // the first pause when the disk is full

	lock    *os.File
	levels  *levels
	leaves  *leaves
	chains  *chains
	inUse   sync.RWMutex // held for reading while the files are used, for writing to close them
	erasing sync.Mutex   // held to rewrite a row

	state   state // owned by Run
	edge    edge  // owned by Run
	broken  error // owned by Run: why nothing may be written any more
	damaged damagedRecords

	mu     sync.Mutex    // guards following
	last   Checkpoint    // the newest that was signed
	signed []byte        // last, signed; nil while the tree does not contain it
	cursor store.Cursor  // up to where the checkpoint covers the store
	moved  chan struct{} // closed and replaced when cursor moves or the log closes
	closed bool
	damage error // what a search for damage found
}

// Open opens the log in o.Dir, or begins one there when neither a tree nor a
// checkpoint is there. [Log.Run] then fills it; Close must be called.
//
// The error matches *HeldError when another process has the directory, a
// *ForkError when the tree is older than the last checkpoint or contradicts it,
// and a *DamagedError when a file is not what the log left there. None of these
// changes anything in the directory.
func Open(ctx context.Context, o Options) (*Log, error) {
	l, err := prepare(o)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if err := makeDir(o.Dir); err != nil {
		return nil, fmt.Errorf("open log %s: %w", o.Dir, err)
	}
	if l.lock, err = lock(ctx, o.Dir); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if err := l.open(o.Regrow); err != nil {
		return nil, errors.Join(fmt.Errorf("open log: %w", err), l.closeFiles())
	}
	return l, nil
}

func prepare(o Options) (*Log, error) {
	if o.Signer == nil || o.Store == nil {
		return nil, errors.New("a log needs a store and a signer")
	}
	if o.Origin == "" {
		o.Origin = o.Signer.Name()
	}
	if err := checkOrigin(o.Origin); err != nil {
		return nil, err
	}
	if o.Origin != o.Signer.Name() {
		return nil, fmt.Errorf("the origin is %q and the name of the key %q: they must be the same, because clients look the key up by the origin", o.Origin, o.Signer.Name())
	}
	if o.Leaf == nil {
		o.Leaf = HistoryKey
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Log{
		dir:         o.Dir,
		checkpoints: checkpointFiles(o.Dir, o.Copy),
		origin:      o.Origin,
		store:       o.Store,
		signer:      o.Signer,
		isLeaf:      o.Leaf,
		log:         o.Log,
		retry:       time.Second,
		chains:      &chains{},
		moved:       make(chan struct{}),
	}, nil
}

// open does what Open does once the directory is held.
func (l *Log) open(regrow bool) error {
	known, err := lastCheckpoint(l.checkpoints, l.origin)
	if err != nil {
		return err
	}
	if l.state, err = l.begun(known); err != nil {
		return err
	}
	if err := l.checkState(); err != nil {
		return err
	}
	l.salter = l.state.Salt
	if l.levels, err = openLevels(l.dir, os.O_RDWR, l.state.Size); err != nil {
		return err
	}
	if l.leaves, err = openLeaves(l.dir, os.O_RDWR, l.state.Size, l.state.Bytes); err != nil {
		return err
	}
	unfinished, err := l.leaves.scan(l.chains, l.state.Size, l.state.Bytes)
	if err != nil {
		return err
	}
	if err := l.checkTree(known, regrow); err != nil {
		return err
	}
	if l.edge, err = readEdge(l.levels.read, l.state.Size); err != nil {
		return err
	}
	for _, r := range unfinished {
		if err := l.leaves.wipe(r); err != nil {
			return err
		}
	}
	return l.cut()
}

// begun returns the state of the log, making the log first when there is none.
// The order keeps apart, at whatever moment the process is killed, a log that
// was never finished from one that was lost: first comes the checkpoint of the
// empty tree, then the empty files, and then the state.
func (l *Log) begun(known []Checkpoint) (state, error) {
	path := filepath.Join(l.dir, stateFile)
	s, err := readState(l.dir)
	switch {
	case err == nil && len(known) > 0:
		return s, nil
	case err == nil:
		return s, &DamagedError{File: l.checkpoints[0], Problem: "is missing beside " + stateFile,
			Remedy: "put back the newest checkpoint of this log that you can find: its own backup, a witness and every client that verified one have it"}
	case !errors.Is(err, fs.ErrNotExist):
		return s, err
	}
	for _, c := range known {
		if c.N > 0 {
			return s, &ForkError{Dir: l.dir, Problem: fmt.Sprintf("%s is missing, and a checkpoint of %d leaves was signed", path, c.N),
				Remedy: "put back any copy of the directory but keep its newest checkpoint, and open it with Regrow if that copy is older"}
		}
	}
	if info, err := os.Stat(filepath.Join(l.dir, rowsFile)); err == nil && info.Size() > 0 {
		return s, &DamagedError{File: path, Problem: "is missing beside " + rowsFile, Remedy: remedyRestore}
	}
	s = state{Format: stateFormat, Origin: l.origin, Salt: make([]byte, 32)}
	rand.Read(s.Salt)
	signed, err := Checkpoint{l.origin, emptyTree()}.sign(l.signer)
	if err != nil {
		return s, err
	}
	if err := l.keep(signed); err != nil {
		return s, err
	}
	names := []string{rowsFile, entriesFile}
	for level := range maxLevels {
		names = append(names, hashesName(level))
	}
	for _, name := range names {
		if err := createEmpty(filepath.Join(l.dir, name)); err != nil {
			return s, err
		}
	}
	return s, writeState(l.dir, s) // syncs the directory too
}

func createEmpty(path string) error {
	f, err := openPrivate(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	return f.Close()
}

// keep puts a signed checkpoint into its files and on disk.
func (l *Log) keep(signed []byte) error {
	for _, path := range l.checkpoints {
		if err := writeFile(path, signed); err != nil {
			return fmt.Errorf("write the checkpoint: %w", err)
		}
	}
	return nil
}

func (l *Log) checkState() error {
	path := filepath.Join(l.dir, stateFile)
	if l.state.Origin != l.origin {
		return &DamagedError{File: path, Problem: fmt.Sprintf("is of the log %q, not of %q", l.state.Origin, l.origin),
			Remedy: "set the origin and key of that log, or begin this one in another directory"}
	}
	if head := l.store.Head(); l.state.Store != "" && l.state.Store != head.Store {
		return &DamagedError{File: path, Problem: fmt.Sprintf("follows the store %s, this is the store %s", l.state.Store, head.Store),
			Remedy: "put the log and the store together that belong together, or begin a log with an origin of its own in another directory"}
	}
	return nil
}

// checkTree compares the tree with every checkpoint that is known to have been
// signed.
func (l *Log) checkTree(known []Checkpoint, regrow bool) error {
	for _, c := range known {
		if c.N >= l.last.N {
			l.last = c
		}
	}
	for _, c := range known {
		if c.N > l.state.Size {
			if !regrow {
				return &ForkError{Dir: l.dir, Problem: fmt.Sprintf("the tree has %d leaves, a checkpoint of %d was signed", l.state.Size, c.N),
					Remedy: remedyRestore + "; if there is none, open the log with Regrow: it grows the tree again from the store and signs nothing before the tree contains that checkpoint"}
			}
			l.log.Warn("the tree is shorter than the last signed checkpoint and is grown again from the store; nothing is signed until then", "dir", l.dir, "leaves", l.state.Size, "signed", c.N)
			continue
		}
		if err := l.contains(c); err != nil {
			return err
		}
	}
	if l.last.N > l.state.Size {
		return nil
	}
	signed, err := l.last.sign(l.signer) // what it says is on disk already
	l.signed = signed
	l.cursor = l.place()
	return err
}

// contains refuses a tree that a checkpoint is not a head of. The tree must be
// as long.
func (l *Log) contains(c Checkpoint) error {
	root, err := tlog.TreeHash(c.N, hashSource(l.levels.read))
	if err != nil {
		return err
	}
	if root != c.Hash {
		return &ForkError{Dir: l.dir, Problem: fmt.Sprintf("with its first %d leaves it has the root %s, and %s was signed", c.N, root, c.Hash),
			Remedy: remedyRestore + ", or begin a log with an origin of its own in another directory"}
	}
	return nil
}

// place is the cursor that the state stands for. A log that has not yet signed
// all of its tree has covered nothing new; Run says so when it has.
func (l *Log) place() store.Cursor {
	if l.state.Seq == 0 || l.last.N < l.state.Size {
		return store.Cursor{}
	}
	return store.Cursor{Store: l.state.Store, Incarnation: l.state.Incarnation, Seq: l.state.Seq}
}

// cut removes what was written and never committed.
func (l *Log) cut() error {
	for level, f := range l.levels {
		if err := f.Truncate(levelSize(level, l.state.Size) * tlog.HashSize); err != nil {
			return err
		}
	}
	return errors.Join(l.leaves.rows.Truncate(l.state.Size*rowBytes), l.leaves.entries.Truncate(l.state.Bytes))
}

// Close releases the files. Run must have returned. Later calls return
// [ErrClosed]; calling Close again does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	again := l.closed
	if !again {
		l.closed = true
		close(l.moved)
		l.moved = make(chan struct{})
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
	if l.levels != nil {
		errs = append(errs, l.levels.close())
	}
	if l.leaves != nil {
		errs = append(errs, l.leaves.close())
	}
	return errors.Join(append(errs, unlock(l.lock))...)
}

// use lets files be read until release is called.
func (l *Log) use(ctx context.Context) (head Checkpoint, release func(), err error) {
	if err := ctx.Err(); err != nil {
		return Checkpoint{}, nil, err
	}
	l.inUse.RLock()
	if head, _, err = l.newestHead(); err != nil {
		l.inUse.RUnlock()
		return Checkpoint{}, nil, err
	}
	return head, l.inUse.RUnlock, nil
}

// Origin is the name of the log.
func (l *Log) Origin() string { return l.origin }

// Head returns the newest tree that was signed.
func (l *Log) Head() tlog.Tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last.Tree
}

// Size returns the number of leaves under the newest checkpoint.
func (l *Log) Size() int64 { return l.Head().N }

// Checkpoint returns the newest signed checkpoint, a signed note of C2SP
// tlog-checkpoint. It is on disk: nothing that contradicts it will ever be
// signed.
func (l *Log) Checkpoint() ([]byte, error) {
	_, signed, err := l.newestHead()
	return signed, err
}

// newestHead returns the newest checkpoint, as it is and signed.
func (l *Log) newestHead() (Checkpoint, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return Checkpoint{}, nil, ErrClosed
	case l.signed == nil:
		return Checkpoint{}, nil, ErrGrowing
	}
	return l.last, slices.Clone(l.signed), nil
}

// Cursor is the place in the store's log up to which the newest checkpoint
// covers it.
func (l *Log) Cursor() store.Cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cursor
}

// WaitFor waits until the write with that sequence, if it is one that becomes a
// leaf, is under the newest checkpoint. The error is the context's, or
// [ErrClosed].
func (l *Log) WaitFor(ctx context.Context, seq uint64) error {
	for {
		l.mu.Lock()
		at, moved, closed := l.cursor.Seq, l.moved, l.closed
		l.mu.Unlock()
		if at >= seq {
			return nil
		}
		if closed {
			return ErrClosed
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
