package boltfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/internal/privatefile"
	"gazetteer/store"
)

// A group is committed when it reaches one of these limits.
const (
	groupWrites = 20_000
	groupBytes  = 32 << 20
)

// queueLength is the number of requests that can wait for runCommits; further callers block.
const queueLength = 1024

// A group waits for each expected caller, but not longer than this part of the duration of the
// previous commit, and not longer than the maximum. It waits for all of them together no longer than
// the previous commit took to write: a second commit costs about that much, and then it is better to
// commit at once, while the callers that are late prepare their requests.
const (
	waitShare = 4
	waitMost  = 10 * time.Millisecond
)

// commitTimes are the duration of a commit, and the part of it in which pages were written and synced.
type commitTimes struct{ took, writing time.Duration }

// Request is the request of one caller of [File.Write].
type Request struct {
	// Write makes the caller's changes in the transaction of the group. refused is the caller's own
	// error: the request must not have written anything then, and the other requests continue. err
	// fails the transaction for the whole group, and the file.
	Write func(tx *Tx) (refused, err error)
	// Writes and Bytes are the size of the request: a group has at most 20,000 writes or 32 MiB
	// before its last request.
	Writes, Bytes int
	// Frees marks a request that may run while the disk is full: it only deletes, or it refuses itself
	// with the error of [Tx.Full] or [Tx.TakeReserve] if it adds more than it removes.
	Frees bool
}

// Tx is the transaction of a group of requests.
type Tx struct {
	*bolt.Tx // the group commits it; a request must not
	seq      uint64
	changed  bool
	full     error
	reserve  int64 // see TakeReserve
}

// NextSequence assigns the sequence of the next write.
func (tx *Tx) NextSequence() uint64 {
	tx.changed = true
	tx.seq++
	return tx.seq
}

// Sequence returns the sequence that was last assigned.
func (tx *Tx) Sequence() uint64 { return tx.seq }

// MarkChanged says that the transaction must be committed although no sequence was assigned.
func (tx *Tx) MarkChanged() { tx.changed = true }

// Full returns store.ErrFull while the disk has less free space than Options.MinFree.
func (tx *Tx) Full() error { return tx.full }

// TakeReserve is [Tx.Full] for a request that may use the first half of Options.MinFree. It returns
// nil when that half has room for so many bytes.
func (tx *Tx) TakeReserve(bytes int) error {
	if int64(bytes) > tx.reserve {
		return tx.full
	}
	tx.reserve -= int64(bytes)
	return nil
}

// pending is one request that waits for runCommits.
type pending struct {
	Request
	answer chan answer
	taken  atomic.Bool // by runCommits, or taken back by the caller
}

// claimRequest claims a request and reports whether it was unclaimed.
func (p *pending) claimRequest() bool { return p.taken.CompareAndSwap(false, true) }

type answer struct {
	seq uint64
	err error
}

// Write runs a request in a transaction that it shares with concurrent callers, and returns the
// sequence of its last write once that is on disk. A canceled ctx has an effect until the commit
// begins; Write waits for a commit that has begun, so that its outcome is known. store.ErrFull,
// store.ErrCorrupt and the request's own error mean that nothing was written, store.ErrUnknown that
// the outcome is unknown.
func (f *File) Write(ctx context.Context, r Request) (uint64, error) {
	seq, err := f.awaitWrite(ctx, r)
	if errors.Is(err, store.ErrFull) {
		f.refused.Add(1)
	}
	return seq, err
}

// awaitWrite is Write without counting.
func (f *File) awaitWrite(ctx context.Context, r Request) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := f.Err(); err != nil { // the select below would choose at random
		return 0, err
	}
	p := &pending{Request: r, answer: make(chan answer, 1)}
	if err := f.enqueueRequest(ctx, p); err != nil {
		return 0, err
	}
	select {
	case a := <-p.answer:
		return a.seq, a.err
	case <-f.broken: // runCommits may be stuck
		return 0, f.Err()
	case <-f.stopped:
		if p.claimRequest() {
			return 0, f.endError()
		}
	case <-ctx.Done():
		if p.claimRequest() {
			return 0, ctx.Err()
		}
	}
	select { // runCommits has it
	case a := <-p.answer:
		return a.seq, a.err
	case <-f.broken:
		return 0, f.Err()
	}
}

// enqueueRequest puts a request into the queue of runCommits.
func (f *File) enqueueRequest(ctx context.Context, p *pending) error {
	select {
	case f.requests <- p:
		return nil
	default:
	}
	select {
	case f.requests <- p:
		return nil
	case <-f.broken:
		return f.Err()
	case <-f.stopped:
		return f.endError()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endError is the error of requests that runCommits did not take before it ended.
func (f *File) endError() error {
	if err := f.Err(); err != nil {
		return err
	}
	return store.ErrClosed
}

// runCommits owns the writing side: it puts the requests of all waiting callers into one
// transaction, commits it, and repeats. It ends at Close or when the file has failed.
//
// Callers that were just answered often write again. If runCommits did not wait for them, they
// would arrive during the next commit, and two halves of the callers would take turns, with a sync
// for each half. The changes of each caller are put into the transaction while the others are still
// arriving.
func (f *File) runCommits() {
	defer close(f.stopped)
	expected, before := 0, commitTimes{} // callers of the coming group; the commit before
	for {
		first := f.nextRequest()
		if first == nil {
			return
		}
		expected, before = f.commitGroup(f.gatherGroup(first, expected, before))
		f.reopenIfDue()
		f.releaseMapped()
		runtime.Gosched() // where a commit takes next to no time, this is enough
	}
}

// nextRequest waits for a request and meanwhile runs exclusive tasks; nil when no further requests
// are accepted.
func (f *File) nextRequest() *pending {
	for {
		select { // the end of the file comes before waiting requests
		case <-f.closing:
			return nil
		case <-f.failed:
			return nil
		default:
		}
		select { // a task comes before requests: callers that write without pause would keep it waiting
		case t := <-f.exclusive:
			t.runWork()
			continue
		default:
		}
		select {
		case <-f.closing:
		case <-f.failed:
		case t := <-f.exclusive:
			t.runWork()
		case p := <-f.requests:
			if p.claimRequest() {
				return p
			}
		}
	}
}

// gatherGroup yields the waiting callers, first as the first one. While they are fewer than
// expected, it waits for further callers, with regard to the commit before.
func (f *File) gatherGroup(first *pending, expected int, before commitTimes) iter.Seq[*pending] {
	return func(yield func(*pending) bool) {
		patience, end := min(before.took/waitShare, waitMost), time.Now().Add(before.writing)
		late := time.NewTimer(patience)
		defer late.Stop()
		taken, writes, bytes := 0, 0, 0
		for p := first; p != nil && yield(p); p = f.nextInGroup(taken < expected, late, min(patience, time.Until(end))) {
			taken, writes, bytes = taken+1, writes+p.Writes, bytes+p.Bytes
			if writes >= groupWrites || bytes >= groupBytes {
				return
			}
		}
	}
}

// nextInGroup returns a waiting request or, if wait is set, one that arrives within patience; nil
// for none.
func (f *File) nextInGroup(wait bool, late *time.Timer, patience time.Duration) *pending {
	for {
		select {
		case p := <-f.requests:
			if p.claimRequest() {
				return p
			}
			continue
		default:
		}
		if !wait || patience <= 0 {
			return nil
		}
		late.Reset(patience)
		select {
		case p := <-f.requests:
			if p.claimRequest() {
				return p
			}
		case <-late.C:
			return nil
		case <-f.closing:
			return nil
		}
	}
}

// A member is a caller in a group and its answer.
type member struct {
	*pending
	reply answer
}

// commitGroup commits the group and answers every caller in it. It returns the number of callers to
// expect in the next group, those of this one and those that arrived meanwhile, and the duration of
// the commit.
func (f *File) commitGroup(callers iter.Seq[*pending]) (expected int, times commitTimes) {
	seq, _ := f.Progress()
	group, last, times, err := f.writeGroup(callers, seq)
	if err == nil && last > seq {
		// This precedes the answers: HEAD must not be behind an acknowledged write.
		if err := writeHead(f.head, head{f.incarnation, last}); err != nil {
			f.log.Warn("a rollback of the "+f.schema.Noun+" might go unnoticed", "dir", f.dir, "err", err)
		}
		f.advanceSequence(last)
	}
	expected = len(group) + len(f.requests) // callers that are answered may write again at once
	for _, m := range group {
		if err != nil {
			m.reply = answer{err: err}
		}
		m.answer <- m.reply
	}
	return expected, times
}

// writeGroup makes the callers' changes after seq in one transaction. It returns the callers with
// their answers, the last assigned sequence, and the duration of the commit. An error applies to
// the whole group.
func (f *File) writeGroup(callers iter.Seq[*pending], seq uint64) (group []member, last uint64, times commitTimes, err error) {
	reserve, full := f.checkSpace()
	replaced := f.checkPath()
	var committing error
	err = CatchDamage("write", func() error {
		bare, err := f.beginTx(true)
		tx := Tx{Tx: bare, seq: seq, full: full, reserve: reserve}
		if err == nil {
			defer bare.Rollback() // does nothing after a commit
			f.writeRoom(bare.Size())
		}
		for p := range callers {
			group = append(group, member{pending: p})
			if err != nil {
				return err
			}
			reply := &group[len(group)-1].reply
			if replaced != nil {
				reply.err = replaced
				continue
			}
			if !p.Frees && full != nil {
				reply.err = full
				continue
			}
			if reply.err, err = p.Write(&tx); err != nil {
				return err
			}
			reply.seq = tx.seq
		}
		last = tx.seq
		if !tx.changed {
			return nil // nothing to write: no commit
		}
		begun := time.Now()
		committing = f.commit(bare, f.handle)
		pages := bare.Stats()
		times = commitTimes{time.Since(begun), pages.GetWriteTime()}
		f.written += pages.GetPageCount()
		return nil
	})
	switch {
	case err != nil: // bbolt refused or panicked; its memory cannot be trusted
		return group, seq, times, f.failReads(err)
	case isNoSpace(committing):
		return group, seq, times, fmt.Errorf("%w: %w", store.ErrFull, committing)
	case committing != nil:
		return group, seq, times, f.failWrites(fmt.Errorf("commit: %w", committing))
	}
	return group, last, times, nil
}

// isNoSpace reports whether a commit ended because a page could not be written for lack of space.
// Pages are written to unused places and the meta page last, so nothing has changed then, and bbolt
// rolls back cleanly. A sync that fails for lack of space is a different case and has another form.
func isNoSpace(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && path.Op == "write" && errors.Is(err, syscall.ENOSPC)
}

// RefusedWrites returns how many calls of Write were answered store.ErrFull.
func (f *File) RefusedWrites() uint64 { return f.refused.Load() }

// DiskFree returns how many bytes are free on the disk of the file.
func (f *File) DiskFree() (int64, error) { return freeSpace(f.dir) }

// CheckWrites returns the reason why the file currently accepts no writes: the error of [File.Err],
// a *ReplacedError, or store.ErrFull; nil when it accepts them.
func (f *File) CheckWrites() error {
	if err := f.Err(); err != nil {
		return err
	}
	if f.reopening.TryLock() { // otherwise a Rebuild may just replace the file
		f.inUse.RLock()
		err := f.checkPath()
		f.inUse.RUnlock()
		f.reopening.Unlock()
		if err != nil {
			return err
		}
	}
	_, err := f.checkSpace()
	return err
}

// checkPath returns a *ReplacedError if the path of the file names another file, or none.
func (f *File) checkPath() error {
	if replaced, err := privatefile.IsReplaced(f.handle, f.boltPath()); err != nil || !replaced {
		return nil // after an error the write will fail
	}
	return &ReplacedError{File: f.boltPath()}
}

// checkSpace returns store.ErrFull when the disk has less free space than Options.MinFree, and how
// many bytes are free beyond half of that.
func (f *File) checkSpace() (reserve int64, err error) {
	if f.minFree < 0 {
		return 0, nil
	}
	left, err := freeSpace(f.dir)
	if err != nil || left >= f.minFree {
		return 0, nil // a file system that cannot tell is not full
	}
	return left - f.minFree/2, fmt.Errorf("%w: %d MiB are free under %s, %d MiB are wanted", store.ErrFull, left>>20, f.dir, f.minFree>>20)
}

// A task is work that runCommits runs while nothing is written.
type task struct {
	work func()
	done chan struct{}
}

func (t *task) runWork() {
	defer close(t.done)
	t.work()
}

// runExclusively has runCommits run work between two commits. It returns an error if work was not
// run.
func (f *File) runExclusively(ctx context.Context, work func()) error {
	t := &task{work: work, done: make(chan struct{})}
	select {
	case f.exclusive <- t:
	case <-f.broken:
		return f.Err()
	case <-f.stopped:
		return f.endError()
	case <-ctx.Done():
		return ctx.Err()
	}
	<-t.done
	return nil
}
