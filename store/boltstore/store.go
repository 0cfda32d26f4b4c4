// Package boltstore is a store.Store in one bbolt file that one process holds. Start with [Open].
// [Store.Apply] and [Store.Changes] are the main methods; [Store.Compact] shrinks the file.
//
// # The data directory
//
// FORMAT, HEAD and LOCK are those of package boltfile, which also makes writes durable; store.bolt
// holds the records. Other packages have their own files in the same directory.
//
// # The file
//
// Bucket "records" maps a key to its latest write (see record.go), tombstones included. Bucket
// "log" maps the sequence of that write to the key, so it has one entry for every record, and its
// last entry is the head of the log. Bucket "meta" holds store id and incarnation, the horizon
// below which tombstones are dropped, and marks, which tell at what time the log ended where (see
// forget.go). Format 1 had neither of the last two; Open raises it to 2.
package boltstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// BoltFile is the name of the file of records in the data directory.
const BoltFile = "store.bolt"

// FormatFile is the file that marks a data directory.
const FormatFile = boltfile.FormatFile

// Errors of Open, which package boltfile defines.
type (
	HeldError    = boltfile.HeldError
	DamagedError = boltfile.DamagedError
)

const format = 2

var (
	recordsBucket = []byte("records")
	logBucket     = []byte("log")
	metaBucket    = []byte("meta")
)

// Options are the settings of Open. The zero value works.
type Options struct {
	// Log gets a line when the store was rolled back, when it fails and when it was compacted; nil
	// for none.
	Log *slog.Logger
	// MinFree is the number of bytes of free disk below which Apply of what adds more than it
	// removes answers store.ErrFull. 0 means 64 MiB, a negative number turns the check off.
	MinFree int64
	// LeaveRollback is that of boltfile.Options.
	LeaveRollback bool
	// Check, if not nil, is called before anything is changed in a directory that has a store, and may
	// read the store. Its error ends Open, and leaves the directory as it was.
	Check func(*Store) error
	// KeepDeletion decides which keys keep their tombstones behind the horizon, for a follower that
	// must see every deletion even when it starts again; nil means none.
	KeepDeletion func(key string) bool
	// Now returns the time by which [Store.Compact] and [Store.Maintain] measure the age of a
	// deletion: it should not jump with the machine's clock. Nil means time.Now.
	Now func() time.Time
}

// Store is an open store. All methods may be called from any goroutine.
type Store struct {
	file         *boltfile.File
	log          *slog.Logger
	keepDeletion func(key string) bool
	now          func() time.Time

	batch   batch         // of the transaction that the commits of file run; owned by them
	horizon atomic.Uint64 // as in the file

	forgetting sync.Mutex // held by Forget and Compact

	mu     sync.Mutex // guards the following fields
	upkeep Upkeep
}

var _ store.Store = (*Store)(nil)

// Open opens the store in dir, or begins one there: dir may be missing (its parent must exist) or
// hold no store. Close must be called. The errors are those of boltfile.Open.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	return openWith(ctx, dir, o, nil)
}

func openWith(ctx context.Context, dir string, o Options, fileOptions *boltfile.Options) (*Store, error) {
	if fileOptions == nil {
		fileOptions = &boltfile.Options{}
	}
	fileOptions.Log, fileOptions.MinFree, fileOptions.LeaveRollback = o.Log, o.MinFree, o.LeaveRollback
	s := &Store{log: o.Log, keepDeletion: o.KeepDeletion, now: o.Now}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	if s.now == nil {
		s.now = time.Now
	}
	if s.keepDeletion == nil {
		s.keepDeletion = func(string) bool { return false }
	}
	if o.Check != nil {
		fileOptions.Check = func(file *boltfile.File) error {
			s.file = file
			return o.Check(s)
		}
	}
	file, err := boltfile.Open(ctx, dir, boltfile.Schema{
		Name: BoltFile, Noun: "store", Format: format,
		Buckets:      [][]byte{recordsBucket, logBucket},
		LastSequence: s.readLast,
	}, *fileOptions)
	if err != nil {
		return nil, err
	}
	s.file = file
	return s, nil
}

// readLast returns the sequence of the last entry of the log after it has read the record of that
// entry, and sets the horizon.
func (s *Store) readLast(tx *bolt.Tx) (uint64, error) {
	horizon, err := readHorizon(tx)
	if err != nil {
		return 0, err
	}
	s.horizon.Store(horizon)
	if _, err := readMarks(tx); err != nil {
		return 0, err
	}
	seq, key, err := boltfile.FindLast(tx.Bucket(logBucket))
	if err != nil || seq == nil {
		return 0, err
	}
	r, err := readLogged(tx.Bucket(recordsBucket), seq, key)
	return r.Seq, err
}

// Rollback says why the store had lost acknowledged writes when it was opened, "" when it had not.
func (s *Store) Rollback() string { return s.file.Rollback() }

// Head returns the cursor of the newest write that is on disk.
func (s *Store) Head() store.Cursor {
	seq, _ := s.file.Progress()
	return s.cursorAt(seq)
}

// Horizon returns the cursor up to which deletions are forgotten, as store.Store says.
func (s *Store) Horizon() store.Cursor { return s.cursorAt(s.horizon.Load()) }

func (s *Store) cursorAt(seq uint64) store.Cursor {
	return store.Cursor{Store: s.file.ID(), Incarnation: s.file.Incarnation(), Seq: seq}
}

// Failed returns a channel that is closed when a commit has failed in a way that may have kept it,
// or when damage to the file was found during a write. From then on Apply returns store.ErrUnknown.
// The process should end with a non-zero code: only opening the store again shows whether the
// commit was kept.
func (s *Store) Failed() <-chan struct{} { return s.file.Failed() }

// Err returns the reason why the store failed, nil while it has not. It matches store.ErrUnknown.
func (s *Store) Err() error { return s.file.Err() }

// Close ends all Changes, waits for running calls and releases the files. An Apply that has begun
// to commit still returns its result; a compaction is abandoned. A second call does nothing.
func (s *Store) Close() error { return s.file.Close() }

// readLogged returns the record that an entry of the log names.
func readLogged(records *bolt.Bucket, seq, key []byte) (r record, err error) {
	raw := records.Get(key)
	if raw == nil {
		return r, store.Corruptf("the log names %q, which has no record", key)
	}
	if r, err = decodeRecord(key, raw); err != nil {
		return r, err
	}
	if len(seq) != 8 || r.Seq != binary.BigEndian.Uint64(seq) {
		return r, store.Corruptf("the log and the record %q disagree on its sequence", key)
	}
	return r, nil
}

// Upkeep counts forgotten deletions and compactions since the store was opened.
type Upkeep struct {
	Forgotten   int           // tombstones dropped
	Compactions int           // times that the file was replaced by a compact copy
	Failures    int           // times that forgetting or compacting failed
	Last        time.Time     // when the last compaction ended
	LastTook    time.Duration // and how long it took
	LastPause   time.Duration // and the time during which no write could begin
	Usage       boltfile.Usage
	Refused     uint64 // writes, because the disk was full
	DiskFree    int64  // bytes; -1 where the system does not tell
}

// Upkeep returns the counters and the size of the file at this moment.
func (s *Store) Upkeep(ctx context.Context) (Upkeep, error) {
	usage, err := s.file.Usage(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.upkeep
	u.Usage, u.Refused, u.DiskFree = usage, s.file.RefusedWrites(), -1
	if free, err := s.file.DiskFree(); err == nil {
		u.DiskFree = free
	}
	return u, err
}

// CheckWrites returns the reason why the store currently accepts no writes, nil when it does:
// store.ErrFull, or store.ErrUnknown after a failure.
func (s *Store) CheckWrites() error { return s.file.CheckWrites() }

func (s *Store) countUpkeep(count func(u *Upkeep)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count(&s.upkeep)
}

// isEnd reports whether an error is due to the end of the store or of the context.
func isEnd(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, store.ErrClosed)
}
