package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
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

// A group waits for callers that are expected, for no more than this part of what
// the commit before took, and no longer than this.
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
}

type answer struct {
	seq uint64
	err error
}

func newRequest(writes []store.Write) (*request, error) {
	if len(writes) > maxWrites {
		return nil, fmt.Errorf("%w: %d writes at once, at most %d are allowed", store.ErrInvalid, len(writes), maxWrites)
	}
	r := &request{changes: make([]change, len(writes)), answer: make(chan answer, 1)}
	seen := make(map[string]bool, len(writes))
	for i, w := range writes {
		c, err := newChange(w)
		if err != nil {
			return nil, err
		}
		if seen[w.Key] {
			return nil, fmt.Errorf("%w: two writes to %q at once", store.ErrInvalid, w.Key)
		}
		seen[w.Key] = true
		r.changes[i] = c
		r.bytes += len(c.key) + len(c.raw)
		r.adds = r.adds || !c.delete
	}
	return r, nil
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
	}
}

// hand gives a request to commitLoop.
func (s *Store) hand(ctx context.Context, r *request) error {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	select {
	case <-s.closing:
		return store.ErrClosed
	case <-s.failed:
		return s.Err()
	case <-ctx.Done():
		return ctx.Err()
	case s.requests <- r:
		return nil
	}
}

// commitLoop owns the writing side: it takes the callers that wait, puts them
// into one transaction, and takes those that came meanwhile. It ends at Close
// or when the store has failed.
//
// Callers that were just answered often write again. Were they not waited for,
// they would find the next commit under way, and two halves of them would take
// turns, with a sync for each half.
func (s *Store) commitLoop() {
	defer close(s.stopped)
	expected, took := 0, time.Duration(0) // callers of the coming group; the commit before
	for {
		select {
		case <-s.closing:
			return
		case <-s.failed:
			return
		case first := <-s.requests:
			group := s.gather(first, expected, min(took/patienceShare, maxPatience))
			begun := time.Now()
			expected = s.commitGroup(group)
			took = time.Since(begun)
		}
		runtime.Gosched() // where a commit takes next to no time, this is enough
	}
}

// gather takes the callers that wait. While they are fewer than expected, it
// waits for more, so long as it has patience.
func (s *Store) gather(first *request, expected int, patience time.Duration) []*request {
	group := []*request{first}
	writes, bytes := len(first.changes), first.bytes
	late := time.NewTimer(patience)
	defer late.Stop()
	for writes < groupWrites && bytes < groupBytes {
		r := s.another(len(group) < expected, late.C)
		if r == nil {
			break
		}
		group = append(group, r)
		writes, bytes = writes+len(r.changes), bytes+r.bytes
	}
	return group
}

// another returns a request of a caller that waits, or, if it may wait itself, of
// one that comes before it is late; nil for none.
func (s *Store) another(wait bool, late <-chan time.Time) *request {
	select {
	case r := <-s.requests:
		return r
	default:
	}
	if !wait {
		return nil
	}
	select {
	case r := <-s.requests:
		return r
	case <-late:
		return nil
	case <-s.closing:
		return nil
	}
}

// commitGroup commits the group and answers everybody in it. It returns how many
// callers there may be in the next: these, and those that came meanwhile.
func (s *Store) commitGroup(group []*request) (expected int) {
	answers := make([]answer, len(group))
	seq, _ := s.progress()
	top, err := s.write(group, answers, seq)
	if err == nil && top > seq {
		// Before anybody is answered: HEAD may not be behind what was promised.
		if err := writeHead(s.head, head{s.incarnation, top}); err != nil {
			s.log.Warn("a rollback of the store might go unnoticed", "dir", s.dir, "err", err)
		}
		s.advance(top)
	}
	expected = len(group) + int(s.waiting.Load()) // whoever is answered may be among the waiting at once
	for i, r := range group {
		if err != nil {
			answers[i] = answer{err: err}
		}
		r.answer <- answers[i]
	}
	return expected
}

// write does the group's writes after seq in one transaction, fills in the
// answers, and returns the last sequence given out. An error counts for the
// whole group.
func (s *Store) write(group []*request, answers []answer, seq uint64) (top uint64, err error) {
	full := s.full()
	var committing error
	err = guard("write", func() error {
		tx, err := s.begin(true)
		if err != nil {
			return err
		}
		defer tx.Rollback() // does nothing after a commit
		b := batch{records: tx.Bucket(recordsBucket), log: tx.Bucket(logBucket), seq: seq}
		b.log.FillPercent = 0.9 // it grows at its end
		for i, r := range group {
			if r.adds && full != nil {
				answers[i].err = full
				continue
			}
			if answers[i].err, err = b.apply(r); err != nil {
				return err
			}
			answers[i].seq = b.seq
		}
		top = b.seq
		if top == seq {
			return nil // nothing to write: no commit
		}
		committing = s.commit(tx)
		return nil
	})
	switch {
	case err != nil: // bbolt refused or panicked; what it holds in memory cannot be trusted
		return seq, s.breakDown(err)
	case noSpace(committing):
		return seq, fmt.Errorf("%w: %w", store.ErrFull, committing)
	case committing != nil:
		return seq, s.fail(fmt.Errorf("commit: %w", committing))
	}
	return top, nil
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
	seq          uint64 // the last one given out
}

// apply checks the whole request and then writes it. refused is the request's
// own error, with nothing written; err spoils the transaction.
func (b *batch) apply(r *request) (refused, err error) {
	current := make([]uint64, len(r.changes)) // sequence of the key's log entry, 0 for none
	for i := range r.changes {
		c := &r.changes[i]
		old, err := b.current(c.key)
		if err != nil {
			return err, nil
		}
		living := old.Seq
		if old.Deleted {
			living = 0
		}
		if c.expect != nil && *c.expect != living {
			return conflict(c.key, *c.expect, living), nil
		}
		current[i] = old.Seq
		c.void = c.delete && living == 0
	}
	for i := range r.changes {
		if c := &r.changes[i]; !c.void {
			if err := b.put(c, current[i]); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// current returns the newest write to key, the zero record if there is none. It
// is verified, because its sequence says which entry of the log will go.
func (b *batch) current(key string) (old record, err error) {
	err = guard("read", func() error {
		raw := b.records.Get([]byte(key))
		if raw == nil {
			return checkSeek(b.records, []byte(key))
		}
		if old, err = decode([]byte(key), raw); err != nil {
			return err
		}
		if string(b.log.Get(logKey(old.Seq))) != key {
			return corrupt("the log does not name the record %q", key)
		}
		return nil
	})
	return old, err
}

func (b *batch) put(c *change, old uint64) error {
	b.seq++
	if old != 0 {
		if err := b.log.Delete(logKey(old)); err != nil {
			return err
		}
	}
	if err := b.records.Put([]byte(c.key), c.stamp(b.seq)); err != nil {
		return err
	}
	return b.log.Put(logKey(b.seq), []byte(c.key))
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
