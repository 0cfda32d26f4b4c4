package mailbox

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/protocol/did"
	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// FileName is the name of the bbolt file in the directory of a mailbox.
const FileName = "mailbox.bolt"

// format is 1 for the first layout, whose messages and threads were plain text.
const format = 2

var (
	mailBucket    = []byte("mail")
	idsBucket     = []byte("ids")
	threadsBucket = []byte("threads")
	statesBucket  = []byte("states")
	seenBucket    = []byte("seen")
	dueBucket     = []byte("due")
	stateBucket   = []byte("state")
	sequenceKey   = []byte("sequence")
	ownerKey      = []byte("owner")
)

// Errors of a mailbox. Test with errors.Is. Those of package store and boltfile come beside them: a
// damaged file matches store.ErrCorrupt, a full disk store.ErrFull.
var (
	// ErrNotFound: no message or thread has this id.
	ErrNotFound = errors.New("not in the mailbox")
	// ErrAmbiguous: more than one id begins like this.
	ErrAmbiguous = errors.New("more than one id begins like this")
	// ErrOwner: the mailbox is that of another agent.
	ErrOwner = errors.New("the mailbox is that of another agent")
	// ErrNone: there is no mailbox, and Options.Existing forbids to create one.
	ErrNone = errors.New("there is no mailbox")
	// ErrBusy: other processes kept the mailbox for longer than Options.Patience.
	ErrBusy = errors.New("another process uses the mailbox")
)

// Options are the settings of [Open]. The zero value works.
type Options struct {
	// Keys are the private keys of the agent: the current key, under which the mailbox is encrypted,
	// then retired ones, see [ReadKeys]. One is required.
	Keys []ed25519.PrivateKey
	Now  func() time.Time // time.Now when nil
	// Patience is how long an operation waits for other processes; 30 s when 0.
	Patience time.Duration
	// KeepReplay is how long the replay window remembers an envelope after it stopped being fresh;
	// a2a.DefaultKeepReplay when 0.
	KeepReplay time.Duration
	// PerThread and PerSender bound the entries of a sender in the replay window;
	// a2a.DefaultPerThread and a2a.DefaultPerSender when 0.
	PerThread, PerSender int
	// Existing makes Open fail with ErrNone where there is no mailbox, and create nothing.
	Existing bool
	File     boltfile.Options
}

// A Mailbox is that of one agent. Its methods may be called from any goroutine, and several processes
// may use the same directory. It holds nothing open between calls, so it is not closed.
type Mailbox struct {
	dir, owner string
	options    Options
	cipher     *recordCipher // set by Open
	turn       sync.Mutex    // one operation at a time in this process
}

// DirOf returns the directory of the mailbox that belongs to a key file: agent.mail beside agent.key.
func DirOf(keyPath string) string {
	return strings.TrimSuffix(keyPath, filepath.Ext(keyPath)) + ".mail"
}

// Open opens the mailbox of an agent, a DID, in a directory, or creates it. The error matches
// [ErrOwner] if the directory has another agent's mail, [ErrKey] if none of the keys opens it,
// [ErrNone], [ErrBusy], or is that of boltfile.Open.
func Open(ctx context.Context, dir, owner string, o Options) (*Mailbox, error) {
	if len(o.Keys) == 0 {
		return nil, errors.New("open a mailbox: the key of the agent is missing")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	o.File.MinFree = cmp.Or(o.File.MinFree, 16<<20)
	o.Keys = slices.Clone(o.Keys)
	m := &Mailbox{dir: dir, owner: owner, options: o}
	if o.Existing && !Exists(dir) {
		return nil, fmt.Errorf("%w in %s", ErrNone, dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of a mailbox: %w", err)
	}
	return m, m.withFile(ctx, m.claim)
}

// Exists reports whether a directory has a mailbox, or the remains of one. A directory that has only
// retired keys has none yet.
func Exists(dir string) bool {
	for _, name := range []string{FileName, boltfile.FormatFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return true // also one that may not be read: opening it says why
		}
	}
	return false
}

// claim notes whose mailbox it is, or checks that, and finds the key under which it is encrypted.
func (m *Mailbox) claim(ctx context.Context, f *boltfile.File) error {
	var have string
	if err := f.View("read the owner of the mailbox", func(tx *bolt.Tx) error {
		have = string(tx.Bucket(stateBucket).Get(ownerKey))
		return nil
	}); err != nil {
		return err
	}
	switch {
	case have == "":
		if err := writeBare(ctx, f, func(tx *boltfile.Tx) error {
			tx.MarkChanged()
			return tx.Bucket(stateBucket).Put(ownerKey, []byte(m.owner))
		}); err != nil {
			return err
		}
	case !isSameAgent(have, m.owner):
		return fmt.Errorf("%w: %s holds the mail of %s, not of %s", ErrOwner, m.dir, have, m.owner)
	}
	return m.openCipher(ctx, f)
}

// isSameAgent reports whether two DIDs name one agent: an agent that moved to another registry, or
// that is addressed as did:web, keeps its AIR ID.
func isSameAgent(a, b string) bool {
	if a == b {
		return true
	}
	first, err1 := did.ParseWeb(a)
	second, err2 := did.ParseWeb(b)
	if err1 != nil || err2 != nil {
		return false
	}
	airID, ok := first.AirID()
	other, _ := second.AirID()
	return ok && airID == other
}

// Dir returns the directory of the mailbox.
func (m *Mailbox) Dir() string { return m.dir }

// Owner returns the DID of the agent.
func (m *Mailbox) Owner() string { return m.owner }

// pollHeld is how often a mailbox that another process uses is tried again.
const pollHeld = 10 * time.Millisecond

// withFile opens the file, calls use, and closes it. While another process has it, withFile waits.
func (m *Mailbox) withFile(ctx context.Context, use func(ctx context.Context, f *boltfile.File) error) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	f, err := m.openFile(ctx)
	if err != nil {
		return err
	}
	err = use(ctx, f)
	return errors.Join(err, f.Close())
}

func (m *Mailbox) openFile(ctx context.Context) (*boltfile.File, error) {
	patience := time.NewTimer(m.options.Patience)
	defer patience.Stop()
	again := time.NewTicker(pollHeld)
	defer again.Stop()
	for {
		f, err := boltfile.Open(ctx, m.dir, schema(), m.options.File)
		held, ok := errors.AsType[*boltfile.HeldError](err)
		if !ok {
			return f, err
		}
		select {
		case <-again.C:
		case <-patience.C:
			return nil, fmt.Errorf("%w: %s, process %d", ErrBusy, m.dir, held.PID)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// schema says what the file holds.
func schema() boltfile.Schema {
	return boltfile.Schema{
		Name: FileName, Noun: "mailbox", Format: format,
		Buckets:      [][]byte{mailBucket, idsBucket, threadsBucket, statesBucket, seenBucket, dueBucket, stateBucket},
		LastSequence: readSequence,
	}
}

func readSequence(tx *bolt.Tx) (uint64, error) {
	v := tx.Bucket(stateBucket).Get(sequenceKey)
	if v == nil {
		return 0, nil
	}
	if len(v) != 8 {
		return 0, corruptf("the sequence has %d bytes", len(v))
	}
	return binary.BigEndian.Uint64(v), nil
}

// nextNumber gives out the number of the next message.
func nextNumber(tx writing) (uint64, error) {
	n := tx.NextSequence()
	return n, tx.Bucket(stateBucket).Put(sequenceKey, binary.BigEndian.AppendUint64(nil, n))
}

// skipNumber uses up a number for a write that adds no message, so that a restore of an older copy is
// noticed.
func skipNumber(tx writing) error {
	_, err := nextNumber(tx)
	return err
}

// viewFile runs one transaction that reads.
func (m *Mailbox) viewFile(f *boltfile.File, read func(tx reading) error) error {
	return f.View("read the mailbox", func(tx *bolt.Tx) error { return read(reading{tx, m.cipher}) })
}

// writeFile is writeBare with the cipher of the mailbox.
func (m *Mailbox) writeFile(ctx context.Context, f *boltfile.File, change func(tx writing) error) error {
	return writeBare(ctx, f, func(tx *boltfile.Tx) error { return change(writing{tx, m.cipher}) })
}

// writeBare runs one transaction. An error of change that is a [*refusedWrite] leaves the file as it
// was; any other fails it.
func writeBare(ctx context.Context, f *boltfile.File, change func(tx *boltfile.Tx) error) error {
	_, err := f.Write(ctx, boltfile.Request{Writes: 10, Bytes: 4096, Write: func(tx *boltfile.Tx) (refused, err error) {
		err = boltfile.CatchDamage("write the mailbox", func() error { return change(tx) })
		if r, ok := errors.AsType[*refusedWrite](err); ok {
			return r, nil
		}
		return nil, err
	}})
	if r, ok := errors.AsType[*refusedWrite](err); ok {
		return r.cause
	}
	return err
}

// refusedWrite is the error of a change that wrote nothing; cause is what the caller gets, nil for no
// error.
type refusedWrite struct{ cause error }

func (r *refusedWrite) Error() string { return fmt.Sprintf("nothing was written: %v", r.cause) }

// endWithoutWrite returns the error that ends a change which wrote nothing: err if there is one,
// otherwise a [*refusedWrite] with the cause.
func endWithoutWrite(err, cause error) error {
	if err != nil {
		return err
	}
	return &refusedWrite{cause}
}

func corruptf(format string, args ...any) error {
	return fmt.Errorf("the mailbox is damaged: "+format+": %w", append(args, store.ErrCorrupt)...)
}

// numberKey is the key of a message.
func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// indexKey is a key of the buckets ids and threads.
func indexKey(name string, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append([]byte(name), 0), n)
}

// splitIndexKey returns the parts of an index key; false for other keys.
func splitIndexKey(key []byte) (name string, n uint64, ok bool) {
	i := len(key) - 9
	if i < 0 || key[i] != 0 {
		return "", 0, false
	}
	return string(key[:i]), binary.BigEndian.Uint64(key[i+1:]), true
}
