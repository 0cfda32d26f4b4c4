package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
)

// A group takes callers until one of these is reached; then it commits.
const (
	groupWrites = maxWrites
	groupBytes  = 32 << 20
)

// queueLength is how many requests lie ready for commitLoop; further callers wait
// for room.
const queueLength = 1024

// fewWrites are compared with each other rather than kept in a map.
const fewWrites = 8

// A group waits for each caller that is expected, for no more than this part of
// what the commit before took, and no longer than this.
const (
	patienceShare = 4
	maxPatience   = 10 * time.Millisecond
)

// request is one Apply on its way to commitLoop.
type request struct {
	changes []change
	bytes   int
	adds    bool // something besides deletions
	answer  chan answer
	taken   atomic.Bool // by commitLoop, or back by the caller
}

// take takes a request, for good, and reports whether nobody had.
func (r *request) take() bool { return r.taken.CompareAndSwap(false, true) }

type answer struct {
	seq uint64
	err error
}

func newRequest(writes []store.Write) (*request, error) {
	if len(writes) > maxWrites {
		return nil, fmt.Errorf("%w: %d writes at once, at most %d are allowed", store.ErrInvalid, len(writes), maxWrites)
	}
	r := &request{changes: make([]change, len(writes)), answer: make(chan answer, 1)}
	if key, twice := repeated(writes); twice {
		return nil, fmt.Errorf("%w: two writes to %q at once", store.ErrInvalid, key)
	}
	for i, w := range writes {
		c, err := newChange(w)
		if err != nil {
			return nil, err
		}
		r.changes[i] = c
		r.bytes += len(c.key) + len(c.raw)
		r.adds = r.adds || !c.delete
	}
	return r, nil
}

// repeated returns a key that two writes have.
func repeated(writes []store.Write) (key string, twice bool) {
	if len(writes) <= fewWrites {
		for i, w := range writes {
			if slices.ContainsFunc(writes[:i], func(before store.Write) bool { return before.Key == w.Key }) {
				return w.Key, true
			}
		}
		return "", false
	}
	seen := make(map[string]bool, len(writes))
	for _, w := range writes {
		if seen[w.Key] {
			return w.Key, true
		}
		seen[w.Key] = true
	}
	return "", false
}

// Apply writes all or nothing, as store.Store says. ctx counts until the commit
// begins; the commit itself is waited for, so that its outcome is known.
// store.ErrFull and store.ErrCorrupt mean that nothing was written.
func (s *Store) Apply(ctx context.Context, writes ...store.Write) (uint64, error) {
	r, err := newRequest(writes)
	if err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := s.Err(); err != nil { // the select below would choose at random
		return 0, err
	}
	if err := s.hand(ctx, r); err != nil {
		return 0, err
	}
	select {
	case a := <-r.answer:
		return a.seq, a.err
	case <-s.broken: // commitLoop may be stuck
		return 0, s.Err()
	case <-s.stopped:
		if r.take() {
			return 0, s.ended()
		}
	case <-ctx.Done():
		if r.take() {
			return 0, ctx.Err()
		}
	}
	select { // commitLoop has it
	case a := <-r.answer:
		return a.seq, a.err
	case <-s.broken:
		return 0, s.Err()
	}
}

// hand puts a request into the queue of commitLoop.
func (s *Store) hand(ctx context.Context, r *request) error {
	select {
	case s.requests <- r:
		return nil
	default:
	}
	select {
	case s.requests <- r:
		return nil
	case <-s.broken:
		return s.Err()
	case <-s.stopped:
		return s.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ended is what those are told whom commitLoop takes no more.
func (s *Store) ended() error {
	if err := s.Err(); err != nil {
		return err
	}
	return store.ErrClosed
}

// commitLoop owns the writing side: it takes the callers that wait, puts them
// into one transaction, and takes those that came meanwhile. It ends at Close
// or when the store has failed.
//
// Callers that were just answered often write again. Were they not waited for,
// they would find the next commit under way, and two halves of them would take
// turns, with a sync for each half. What each wants is put into the transaction
// while the others are still on their way.
func (s *Store) commitLoop() {
	defer close(s.stopped)
	expected, took := 0, time.Duration(0) // callers of the coming group; the commit before
	for {
		first := s.next()
		if first == nil {
			return
		}
		expected, took = s.commitGroup(s.gather(first, expected, min(took/patienceShare, maxPatience)))
		runtime.Gosched() // where a commit takes next to no time, this is enough
	}
}

// next waits for a request; nil when no more are taken.
func (s *Store) next() *request {
	for {
		select { // whatever waits
		case <-s.closing:
			return nil
		case <-s.failed:
			return nil
		default:
		}
		select {
		case <-s.closing:
		case <-s.failed:
		case r := <-s.requests:
			if r.take() {
				return r
			}
		}
	}
}

// gather yields the callers that wait, the first one first. While they are fewer
// than expected, it waits for more, so long as they keep coming: it has patience
// for each.
func (s *Store) gather(first *request, expected int, patience time.Duration) iter.Seq[*request] {
	return func(yield func(*request) bool) {
		late := time.NewTimer(patience)
		defer late.Stop()
		taken, writes, bytes := 0, 0, 0
		for r := first; r != nil && yield(r); r = s.another(taken < expected, late, patience) {
			taken, writes, bytes = taken+1, writes+len(r.changes), bytes+r.bytes
			if writes >= groupWrites || bytes >= groupBytes {
				return
			}
		}
	}
}

// another returns a request of a caller that waits, or, if it may wait itself, of
// one that comes before it is out of patience; nil for none.
func (s *Store) another(wait bool, late *time.Timer, patience time.Duration) *request {
	for {
		select {
		case r := <-s.requests:
			if r.take() {
				return r
			}
			continue
		default:
		}
		if !wait {
			return nil
		}
		late.Reset(patience)
		select {
		case r := <-s.requests:
			if r.take() {
				return r
			}
		case <-late.C:
			return nil
		case <-s.closing:
			return nil
		}
	}
}

// A member is a caller in a group and what it is told.
type member struct {
	*request
	told answer
}

// commitGroup commits the group and answers everybody in it. It returns how many
// callers there may be in the next, these and those that came meanwhile, and how
// long the commit took.
func (s *Store) commitGroup(callers iter.Seq[*request]) (expected int, took time.Duration) {
	seq, _ := s.progress()
	group, top, took, err := s.write(callers, seq)
	if err == nil && top > seq {
		// Before anybody is answered: HEAD may not be behind what was promised.
		if err := writeHead(s.head, head{s.incarnation, top}); err != nil {
			s.log.Warn("a rollback of the store might go unnoticed", "dir", s.dir, "err", err)
		}
		s.advance(top)
	}
	expected = len(group) + len(s.requests) // whoever is answered may be among the waiting at once
	for _, m := range group {
		if err != nil {
			m.told = answer{err: err}
		}
		m.answer <- m.told
	}
	return expected, took
}

// write does the callers' writes after seq in one transaction. It returns the
// callers with what each is told, the last sequence given out, and how long the
// commit took. An error counts for the whole group.
func (s *Store) write(callers iter.Seq[*request], seq uint64) (group []member, top uint64, took time.Duration, err error) {
	full := s.full()
	var committing error
	err = guard("write", func() error {
		tx, err := s.begin(true)
		b := batch{seq: seq}
		if err == nil {
			defer tx.Rollback() // does nothing after a commit
			b.records, b.log = tx.Bucket(recordsBucket), tx.Bucket(logBucket)
			b.log.FillPercent = 0.9 // it grows at its end
			b.look = b.records.Cursor()
			s.makeRoom(tx.Size())
		}
		for r := range callers {
			group = append(group, member{request: r})
			if err != nil {
				return err
			}
			told := &group[len(group)-1].told
			if r.adds && full != nil {
				told.err = full
				continue
			}
			if told.err, err = b.apply(r); err != nil {
				return err
			}
			told.seq = b.seq
		}
		top = b.seq
		if top == seq {
			return nil // nothing to write: no commit
		}
		begun := time.Now()
		committing = s.commit(tx)
		took = time.Since(begun)
		return nil
	})
	switch {
	case err != nil: // bbolt refused or panicked; what it holds in memory cannot be trusted
		return group, seq, took, s.breakDown(err)
	case noSpace(committing):
		return group, seq, took, fmt.Errorf("%w: %w", store.ErrFull, committing)
	case committing != nil:
		return group, seq, took, s.fail(fmt.Errorf("commit: %w", committing))
	}
	return group, top, took, nil
}

// noSpace reports whether a commit ended because a page could not be written
// for lack of space. Pages go to unused places and the meta page comes last, so
// nothing has happened then, and bbolt takes it back cleanly. A sync that fails
// for lack of space is another matter: it is not of this form.
func noSpace(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Op == "write" && errors.Is(err, syscall.ENOSPC)
}

// full returns store.ErrFull when the disk has less room than it should.
func (s *Store) full() error {
	if s.minFree < 0 {
		return nil
	}
	left, err := free(s.dir)
	if err != nil || left >= s.minFree {
		return nil // a file system that cannot tell is not full
	}
	return fmt.Errorf("%w: %d MiB are free under %s, %d MiB are wanted", store.ErrFull, left>>20, s.dir, s.minFree>>20)
}

// batch is one transaction that several requests write into.
type batch struct {
	records, log *bolt.Bucket
	look         *bolt.Cursor // of records, where it was last is of no account
	seq          uint64       // the last one given out
	entries      []uint64     // see check; kept for its memory
	number       [8]byte      // a key of the log; bbolt keeps a copy
}

// apply checks the whole request and then writes it. refused is the request's
// own error, with nothing written; err spoils the transaction.
func (b *batch) apply(r *request) (refused, err error) {
	err = guard("read", func() error {
		refused = b.check(r)
		return nil
	})
	if err != nil || refused != nil {
		return cmp.Or(err, refused), nil // a record that cannot be read is that request's trouble
	}
	for i := range r.changes {
		if c := &r.changes[i]; !c.void {
			if err := b.put(c, b.entries[i]); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// check finds in entries the sequence of each key's entry in the log, 0 for none,
// and refuses a request whose expectations are not met.
func (b *batch) check(r *request) error {
	b.entries = b.entries[:0]
	for i := range r.changes {
		c := &r.changes[i]
		old, err := b.current(c.key)
		if err != nil {
			return err
		}
		living := old.Seq
		if old.Deleted {
			living = 0
		}
		if c.expect != nil && *c.expect != living {
			return conflict(string(c.key), *c.expect, living)
		}
		b.entries = append(b.entries, old.Seq)
		c.void = c.delete && living == 0
	}
	return nil
}

// current returns the newest write to key, the zero record if there is none. It
// is verified, because its sequence says which entry of the log will go.
func (b *batch) current(key []byte) (record, error) {
	raw, err := find(b.look, key)
	if raw == nil {
		return record{}, err
	}
	old, err := decode(key, raw)
	if err != nil {
		return record{}, err
	}
	if !bytes.Equal(b.log.Get(b.logKey(old.Seq)), key) {
		return record{}, corrupt("the log does not name the record %q", key)
	}
	return old, nil
}

func (b *batch) logKey(seq uint64) []byte {
	return binary.BigEndian.AppendUint64(b.number[:0], seq)
}

func (b *batch) put(c *change, old uint64) error {
	b.seq++
	if old != 0 {
		if err := b.log.Delete(b.logKey(old)); err != nil {
			return err
		}
	}
	if err := b.records.Put(c.key, c.stamp(b.seq)); err != nil {
		return err
	}
	return b.log.Put(b.logKey(b.seq), c.key)
}

func conflict(key string, expected, found uint64) error {
	switch {
	case expected == 0:
		return fmt.Errorf("%w: %q exists already, with sequence %d", store.ErrConflict, key, found)
	case found == 0:
		return fmt.Errorf("%w: %q does not exist, sequence %d was expected", store.ErrConflict, key, expected)
	}
	return fmt.Errorf("%w: %q has sequence %d, %d was expected", store.ErrConflict, key, found, expected)
}
