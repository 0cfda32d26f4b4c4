// Package boltfile keeps one bbolt file in a directory of its own so that a crash, a full disk, a
// damaged disk or a second process loses no acknowledged write. It opens the file only if it is
// sound and the one that was closed there, groups the writes of concurrent callers into one commit,
// and can replace the file by a compact copy while it serves. Start with [Open]; the main methods
// are [File.View], [File.Write] and [File.Rebuild]. The caller decides what the buckets hold: see
// [Schema]. Package boltstore is built on it.
//
// # The directory
//
//	FORMAT	      format number, id of the file and incarnation (JSON)
//	NAME.bolt	   the bbolt file; the schema gives the name
//	HEAD	        the last acknowledged sequence, to detect a rollback
//	LOCK	        flock, and the pid of the process that holds it
//	*.new	       an unfinished file; it replaces the one without the suffix or is removed
//	*.rebuilt	   an unfinished compact copy; it is treated like *.new
//
// # Promises
//
// When Write returns nil its changes are synced. After a failed commit nothing more is
// acknowledged: see [File.Failed]. Open refuses a damaged or foreign file and leaves it unchanged.
// Errors are those of package store. Runs on Linux, macOS and FreeBSD.
package boltfile

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/internal/wait"
	"gazetteer/store"
)

// brokenWait is how long Close waits for runCommits after bbolt has panicked: it may wait for a lock
// of bbolt that nobody releases.
const brokenWait = 5 * time.Second

var (
	metaBucket     = []byte("meta")
	idKey          = []byte("store")
	incarnationKey = []byte("incarnation")
)

// Schema describes the content of a File.
type Schema struct {
	// Name is the name of the bbolt file in its directory, for example "store.bolt".
	Name string
	// Noun is the name of the whole in messages, for example "store".
	Noun string
	// Format is the number written into the FORMAT file. Open raises a lower one and refuses a
	// higher one with a *FormatError.
	Format int
	// Buckets are created in a new file, in addition to "meta", which this package shares with the
	// caller: it uses the keys "store" and "incarnation" there. A file that lacks one of them is
	// refused.
	Buckets [][]byte
	// Later are buckets that files of an earlier layout lack. They are created in a new file; the
	// caller creates them in an older one.
	Later [][]byte
	// LastSequence returns the sequence of the newest write in the file, 0 for none. Open calls it
	// to compare the file with the HEAD file.
	LastSequence func(tx *bolt.Tx) (uint64, error)
	// ReopenPages is how many pages are written before bbolt opens the file again between two commits;
	// 0 for never. bbolt keeps an entry in memory for each page that it has written and that is still
	// in use, which only opening the file drops.
	ReopenPages int64
}

// Options are the settings of Open. The zero value works.
type Options struct {
	// Log gets a line when the file was rolled back and when it fails; nil for none.
	Log *slog.Logger
	// MinFree is the number of bytes of free disk below which Write refuses all requests except
	// those that free space, with store.ErrFull. 0 means 64 MiB, a negative number turns the check
	// off.
	MinFree int64
	// Known is an earlier [File.Position] that was kept outside the directory, "" for none. A file
	// that does not reach it has lost acknowledged writes, as if HEAD said so; so has another file.
	Known string
	// LeaveRollback leaves a file that lost acknowledged writes as it is, for a check that must find
	// the loss again: it begins no incarnation. [File.Rollback] tells it.
	LeaveRollback bool
	// Check, if not nil, is called before anything is changed in a directory that has a file. The file
	// can be read, with the incarnation that it will have. An error of Check ends Open, and leaves the
	// directory as it was.
	Check func(*File) error
	// Commit ends a transaction; nil means bbolt's own commit. Tests replace it to make commits
	// fail.
	Commit func(tx *bolt.Tx, file *os.File) error
}

const defaultMinFree = 64 << 20

// File is an open file. All methods may be called from any goroutine.
type File struct {
	dir           string
	schema        Schema
	id            string // with incarnation it names the history that sequences belong to
	incarnation   uint64
	minFree       int64
	log           *slog.Logger
	commit        func(*bolt.Tx, *os.File) error
	known         string // as in Options, like leaveRollback
	leaveRollback bool
	rollback      string // why acknowledged writes are lost, "" for none

	lock *os.File
	head *os.File // owned by runCommits once that runs
	room int64    // the file is known to be written up to here; owned by runCommits
	// listed counts the bytes that readers listed since releaseMapped or ReleaseListed ran.
	listed atomic.Int64
	// written counts the pages that db has written, and released is its value at the last
	// releaseMapped; owned by runCommits.
	written, released int64

	requests  chan *pending // to runCommits
	exclusive chan *task    // to runCommits
	closing   chan struct{} // closed by Close
	stopped   chan struct{} // closed by runCommits
	failed    chan struct{} // closed by fail

	// broken is closed when bbolt panicked where it may hold its locks: then bbolt must not be
	// called again, not even to close the file.
	broken chan struct{}

	// inUse is held for reading while db is used by anyone but runCommits, for a page at a time and
	// never while a consumer runs. Close holds it for writing when it closes closing, Rebuild when
	// it replaces db.
	inUse  sync.RWMutex
	db     *bolt.DB // replaced by runCommits, with inUse held
	handle *os.File // bbolt's own handle of the file; replaced with db

	refused atomic.Uint64 // writes, for lack of space

	rebuilding sync.Mutex // held by Rebuild and CopyTo; Close waits for it
	reopening  sync.Mutex // held by Rebuild, and while db is opened again

	grown wait.Broadcast // notified when seq grows

	mu  sync.Mutex // guards the following fields
	seq uint64     // the newest write that is on disk
	err error      // why the file failed
}

// ID returns the id of the file, which never changes and which its copies share.
func (f *File) ID() string { return f.id }

// Rollback says why the file had lost acknowledged writes when it was opened, "" when it had not.
func (f *File) Rollback() string { return f.rollback }

// Position returns the identity of the file, its incarnation and its last acknowledged sequence, as
// a text for [Options].Known.
func (f *File) Position() string {
	seq, _ := f.Progress()
	return fmt.Sprintf(positionFormat, f.id, f.incarnation, seq)
}

// Incarnation returns the number of the history that sequences belong to. It grows when
// acknowledged writes were lost.
func (f *File) Incarnation() uint64 { return f.incarnation }

// Dir returns the directory of the file.
func (f *File) Dir() string { return f.dir }

// Progress returns the sequence of the newest write on disk, and a channel that is closed when a
// newer one is on disk.
func (f *File) Progress() (uint64, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seq, f.grown.Next()
}

func (f *File) advanceSequence(seq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq = seq
	f.grown.Notify()
}

// Failed returns a channel that is closed when a commit has failed in a way that may have kept it,
// or when damage to the file was found during a write. From then on Write returns store.ErrUnknown.
// The process should end with a non-zero code: only opening the file again shows whether the commit
// was kept.
func (f *File) Failed() <-chan struct{} { return f.failed }

// Closing returns a channel that is closed when Close is called.
func (f *File) Closing() <-chan struct{} { return f.closing }

// Err returns the reason why the file failed, nil while it has not. It matches store.ErrUnknown.
func (f *File) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *File) failWrites(cause error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	f.err = fmt.Errorf("%w: %w", store.ErrUnknown, cause)
	close(f.failed)
	f.log.Error("the "+f.schema.Noun+" accepts no more writes until it is reopened", "dir", f.dir, "cause", cause)
	return f.err
}

// failReads marks the file as failed and also ends reading from it.
func (f *File) failReads(cause error) error {
	err := f.failWrites(cause)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.isBroken() {
		close(f.broken)
	}
	return err
}

func (f *File) isBroken() bool {
	select {
	case <-f.broken:
		return true
	default:
		return false
	}
}

// Close waits for running calls and releases the files. A Write that has begun to commit still
// returns its result; a Rebuild is abandoned. A second call does nothing.
func (f *File) Close() error {
	if !f.markClosed() {
		return nil
	}
	select {
	case <-f.stopped:
	case <-f.broken:
		select { // runCommits ends as well, unless bbolt keeps it waiting
		case <-f.stopped:
		case <-time.After(brokenWait):
		}
	}
	f.rebuilding.Lock() // a Rebuild notices that the file is closing and gives up
	defer f.rebuilding.Unlock()
	err := f.closeBolt()
	if f.head != nil {
		err = errors.Join(err, f.head.Close())
	}
	return errors.Join(err, unlockDir(f.lock))
}

func (f *File) markClosed() bool {
	if !f.isBroken() { // a reader may be stuck in a broken bbolt
		f.inUse.Lock()
		defer f.inUse.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isClosed() {
		return false
	}
	close(f.closing)
	return true
}

func (f *File) isClosed() bool {
	select {
	case <-f.closing:
		return true
	default:
		return false
	}
}

func (f *File) closeBolt() error {
	if f.isBroken() {
		return abandonFile(f.handle)
	}
	if err := CatchDamage("close the file", f.db.Close); err != nil {
		return fmt.Errorf("close %s: %w", f.schema.Name, err)
	}
	return nil
}
