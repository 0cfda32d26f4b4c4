// Package boltstore is a store.Store in one bbolt file that one process holds.
// Begin at [Open]; [Store.Apply] and [Store.Changes] are the heart.
//
// # The data directory
//
//	FORMAT      format number, store id and incarnation (JSON)
//	store.bolt  the records
//	HEAD        what was last acknowledged, to notice a rollback
//	LOCK        flock, and the pid of the process that holds it
//
// Other packages keep their own files beside these.
//
// # The file
//
// Bucket "records" maps a key to its latest write (see record.go), tombstones
// included. Bucket "log" maps the sequence of that write to the key, so it has
// one entry for every record and its last entry is the head of the log. Bucket
// "meta" holds store id and incarnation. Behind the pages in use lie up to 1 MiB of
// zeroes, see room.go.
//
// # What is promised
//
// When Apply returns nil its writes are synced. When a commit fails, nothing is
// acknowledged any more: see [Store.Failed]. No record is returned that does
// not match its checksum. A file that is not what the store left there is
// refused by Open and stays as it is. Runs on Linux, macOS and FreeBSD.
package boltstore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
)

var (
	recordsBucket = []byte("records")
	logBucket     = []byte("log")
	metaBucket    = []byte("meta")

	storeKey       = []byte("store")
	incarnationKey = []byte("incarnation")
)

// Options are what Open needs to know. The zero value works.
type Options struct {
	// Log gets a line when the store was rolled back and when it fails; nil
	// for none.
	Log *slog.Logger
	// MinFree is the number of bytes of free disk below which Apply of anything
	// but deletions answers store.ErrFull. 0 means 64 MiB, a negative number
	// turns the check off.
	MinFree int64
}

const defaultMinFree = 64 << 20

// Store is an open store. All methods may be called from any goroutine.
type Store struct {
	dir         string
	id          string // of the store; with incarnation it names the log
	incarnation uint64
	minFree     int64
	log         *slog.Logger

	db   *bolt.DB
	file *os.File // bbolt's own handle of the file
	lock *os.File
	head *os.File // owned by commitLoop once that runs
	room int64    // the file is known to be written up to here; owned by commitLoop

	requests chan *request // to commitLoop
	closing  chan struct{} // closed by Close
	stopped  chan struct{} // closed by commitLoop
	failed   chan struct{} // closed by fail

	// broken is closed when bbolt panicked where it may hold its locks: then it
	// must not be called again, not even to close.
	broken chan struct{}

	// commit ends a transaction. It is bbolt's, except in a test that makes a
	// commit fail.
	commit func(*bolt.Tx) error

	// inUse is held for reading while db is used, for a page at a time and never
	// while a consumer runs. Close holds it for writing when it closes closing.
	inUse sync.RWMutex

	mu    sync.Mutex    // guards the following
	seq   uint64        // the newest write that is on disk
	grown chan struct{} // closed and replaced when seq grows
	err   error         // why the store failed
}

var _ store.Store = (*Store)(nil)

// Head returns the cursor of the newest write that is on disk.
func (s *Store) Head() store.Cursor {
	seq, _ := s.progress()
	return store.Cursor{Store: s.id, Incarnation: s.incarnation, Seq: seq}
}

// progress returns the newest write on disk, and a channel that is closed when
// there is a newer one.
func (s *Store) progress() (uint64, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq, s.grown
}

func (s *Store) advance(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq = seq
	close(s.grown)
	s.grown = make(chan struct{})
}

// Failed returns a channel that is closed when a commit has failed in a way
// that may have kept it, or the file turned out to be damaged while it was
// written to. From then on Apply answers store.ErrUnknown. The process should
// end with a non-zero code: only reading the file anew tells what it holds.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Err returns why the store failed, nil as long as it has not. It matches
// store.ErrUnknown.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Store) fail(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	s.err = fmt.Errorf("%w: %w", store.ErrUnknown, cause)
	close(s.failed)
	s.log.Error("the store takes no more writes until it is reopened", "dir", s.dir, "cause", cause)
	return s.err
}

// breakDown fails for good: nothing is read any more either.
func (s *Store) breakDown(cause error) error {
	err := s.fail(cause)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isBroken() {
		close(s.broken)
	}
	return err
}

func (s *Store) isBroken() bool {
	select {
	case <-s.broken:
		return true
	default:
		return false
	}
}

// Close ends all Changes, waits for running calls and releases the files. An
// Apply that has begun to commit still gets its answer. Calling it again does
// nothing.
func (s *Store) Close() error {
	if !s.markClosed() {
		return nil
	}
	select {
	case <-s.stopped:
	case <-s.broken:
	}
	return errors.Join(s.closeBolt(), s.head.Close(), unlock(s.lock))
}

func (s *Store) markClosed() bool {
	if !s.isBroken() { // a reader may be stuck in a broken bbolt
		s.inUse.Lock()
		defer s.inUse.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed() {
		return false
	}
	close(s.closing)
	return true
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

func (s *Store) closeBolt() error {
	if s.isBroken() {
		return abandon(s.file)
	}
	if err := guard("close the store", s.db.Close); err != nil {
		return fmt.Errorf("close %s: %w", BoltFile, err)
	}
	return nil
}
