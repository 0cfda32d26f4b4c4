package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
)

// A Record is the latest write to one key.
type Record struct {
	Key string
	// Value belongs to the reader: it never changes after the store has returned it. It is nil when
	// Deleted is set.
	Value []byte
	// Seq is the number of the write. Numbers start at 1, grow by one for each write and are never
	// reused within one incarnation.
	Seq uint64
	// Deleted marks a tombstone. Only [Store.Changes] yields tombstones.
	Deleted bool
}

// Decode reads the value, which is JSON, into v. Its error names the key and matches [ErrCorrupt].
func (r Record) Decode(v any) error {
	if err := json.Unmarshal(r.Value, v); err != nil {
		return fmt.Errorf("read %s: %w: %w", r.Key, ErrCorrupt, err)
	}
	return nil
}

// A Write is one change in an [Store.Apply].
type Write struct {
	Key    string
	Value  []byte
	Delete bool
	// Expect, when set, is the sequence the key must have at this moment; 0 means that it must not
	// exist (a deleted key does not exist). If it does not hold, the whole Apply fails with
	// [ErrConflict].
	Expect *uint64
}

// Put returns an unconditional write.
func Put(key string, value []byte) Write { return Write{Key: key, Value: value} }

// PutIf returns a write that holds only while key has sequence seq; 0 means that the key must not
// exist.
func PutIf(key string, value []byte, seq uint64) Write {
	return Write{Key: key, Value: value, Expect: &seq}
}

// Delete returns an unconditional deletion. Deleting a key that does not exist is not an error and
// writes nothing.
func Delete(key string) Write { return Write{Key: key, Delete: true} }

type reserveKey struct{}

// WithReserve returns a context for a [Store.Apply] that must also work while the disk is full,
// such as the erasure of an agent: it may add more than it removes, and use half of the free space
// that the store leaves to deletions. Below that half, [ErrFull] applies to it as to any other.
func WithReserve(ctx context.Context) context.Context {
	return context.WithValue(ctx, reserveKey{}, true)
}

// UsesReserve reports whether ctx comes from [WithReserve].
func UsesReserve(ctx context.Context) bool { return ctx.Value(reserveKey{}) != nil }

// A Cursor is a place in the log of one store. Store and Incarnation tell one log from another: a
// restored or rolled-back store starts a new incarnation, in which old sequence numbers mean
// nothing. The zero Cursor is the beginning of any log.
type Cursor struct {
	Store       string `json:"store"`
	Incarnation uint64 `json:"incarnation"`
	Seq         uint64 `json:"seq"`
}

// Store is a keyed log. All methods may be called from any goroutine.
//
// Limits: a key is 1 to 1,024 bytes of UTF-8 without NUL, a value at most 16 MiB, an Apply at most
// 20,000 writes, each to a different key.
type Store interface {
	// Get returns the record of key, or [ErrNotFound].
	Get(ctx context.Context, key string) (Record, error)

	// List yields the records whose key begins with prefix and is greater than after, in key order,
	// without tombstones. It reads in pages, so records written meanwhile may or may not appear.
	// The consumer may take its time: no lock is held while it runs. A damaged record is yielded as
	// its key with an error that [Damaged] recognizes, and the list continues after it; any other
	// error is yielded once, last.
	List(ctx context.Context, prefix, after string) iter.Seq2[Record, error]

	// Apply writes all or nothing and returns the sequence of the last write. When it returns nil,
	// the writes are on disk. [ErrConflict] and [ErrInvalid] mean that nothing was written. Any
	// other error, [ErrUnknown] among them, means that it is not known whether the writes happened:
	// read to find out, after the restart that such an error calls for.
	//
	// Concurrent callers are grouped into one commit; each still succeeds or fails alone.
	Apply(ctx context.Context, writes ...Write) (uint64, error)

	// Changes yields the latest record of every key written after the cursor, tombstones included,
	// in sequence order, and then waits for more until ctx ends (which ends the sequence without an
	// error). A follower may miss intermediate values of a key, never its last. A cursor of another
	// store or incarnation, ahead of the log, or behind the [Store.Horizon] yields [ErrCursorGone]:
	// rebuild from zero. So does a sequence that runs when the horizon passes the place it has
	// reached. Sequence 0 is the beginning, which is never gone: Changes yields the living records
	// and the deletions that are not forgotten; it is gone later only if the horizon passes where
	// the log ended at the start. A damaged record is yielded as in List, with its sequence.
	Changes(ctx context.Context, after Cursor) iter.Seq2[Record, error]

	// Head returns the cursor of the newest write that readers can see.
	Head() Cursor

	// Horizon returns the cursor up to which deletions are forgotten, sequence 0 when none is. It
	// never moves back within an incarnation and is always behind Head: the newest write stays in
	// the log, even a deletion.
	Horizon() Cursor

	// Forget moves the horizon to the cursor, or as far as it may go, and drops the tombstones up
	// to it, except those that the store is configured to keep for followers that need every
	// deletion. Living records stay as they are. The store serves meanwhile. [ErrCursorGone] means
	// that the cursor belongs to another log.
	Forget(ctx context.Context, upTo Cursor) error

	// Close ends all Changes, waits for running calls and releases the files. Later calls return
	// [ErrClosed].
	Close() error
}

// Damaged reports whether a record and error of [Store.List] or [Store.Changes] stand for one
// damaged record, after which the sequence continues: a flipped bit in one host's record must not
// hide all other hosts.
func Damaged(r Record, err error) bool { return r.Key != "" && errors.Is(err, ErrCorrupt) }

// Readable leaves the damaged records of a [Store.List] or of [Store.Changes] out.
func Readable(list iter.Seq2[Record, error]) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range list {
			if !Damaged(r, err) && !yield(r, err) {
				return
			}
		}
	}
}

// Errors of a store. Test with errors.Is.
var (
	ErrNotFound   = errors.New("not found")
	ErrConflict   = errors.New("the record was changed in the meantime")
	ErrInvalid    = errors.New("invalid write")
	ErrClosed     = errors.New("the store is closed")
	ErrCursorGone = errors.New("the cursor belongs to another log, or is too old")
	// ErrUnknown: a commit failed in a way that may have kept it. This handle acknowledges no
	// further write; the process should end and restart.
	ErrUnknown = errors.New("the outcome of a write is unknown; the store accepts no more writes until it is reopened")
	// ErrCorrupt: a record does not match its checksum, or the file is damaged.
	ErrCorrupt = errors.New("the store is damaged")
	// ErrFull: free space is below the floor, and the writes do not remove more than they add; nothing
	// was written. [WithReserve] says who is exempt.
	ErrFull = errors.New("not enough free disk space")
	// ErrReplaced: the file of the store was removed or replaced while it is open. Nothing was written:
	// it would be gone at the end of the process.
	ErrReplaced = errors.New("the file of the store was removed or replaced while it is open")
)

// Corruptf returns an error that says what is damaged and matches [ErrCorrupt].
func Corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}
