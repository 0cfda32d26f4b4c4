package audit

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"gazetteer/internal/wait"
	"gazetteer/store"
	"gazetteer/store/follow"
)

// An erasure does not wait for a signature. The log overwrites the content of the leaves of a
// deleted record as soon as it reads the deletion, also while it cannot sign. The leaf that declares
// the erasure follows with the next signature. Until then the erased leaves are undeclared: the
// deletion in the store is the reason why they have no content.

// errErase means that the content of a deleted record could not be erased, and is erased later.
var errErase = errors.New("the content of a deleted record could not be erased")

// errReread means that the content of records was erased that the log has read before they were
// deleted. They must be read again.
var errReread = errors.New("records were deleted after they were read")

// WaitErased waits until the log has erased the content of all records that the store deleted up to
// the write with the given sequence. The error is the context's, or [ErrClosed]. Status says why the
// log does not erase.
func (l *Log) WaitErased(ctx context.Context, seq uint64) error { return l.erased.WaitFor(ctx, seq) }

// ErasedTo returns the position in the store's log up to which the content of deleted records is
// erased.
func (l *Log) ErasedTo() store.Cursor { return l.erased.Cursor() }

// eraseWhile runs waits, and after a delay erases the content of deleted records until it returns.
func (l *Log) eraseWhile(ctx context.Context, delay time.Duration, waits func(context.Context) error) error {
	erasing, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- waits(ctx)
	}()
	pause := l.retry
	for err := wait.For(erasing, delay); err == nil; err = wait.For(erasing, pause) {
		err := l.eraseAhead(erasing)
		if err == nil || errors.Is(err, store.ErrClosed) {
			break // ctx has ended, or Run is about to end
		}
		l.log.Error("the log could not erase the content of a deleted record, trying again", "dir", l.dir, "error", err, "pause", pause)
		pause = min(2*pause, retryMost)
	}
	return <-ended
}

// eraseLinger is how long a deletion waits for others, with which it shares two syncs.
const eraseLinger = 20 * time.Millisecond

// eraseAhead erases the content of records as the store deletes them, until ctx ends. It does not
// move the log's cursor: the log reads the deletions again, and declares them.
func (l *Log) eraseAhead(ctx context.Context) error {
	for {
		var damaged damagedRecords
		err := follow.ReadBatches(ctx, l.store, l.erased.Cursor(), follow.BatchOptions{Linger: eraseLinger, Damaged: damaged.noteDamage}, func(batch []store.Record, upTo store.Cursor) error {
			return l.eraseBatch(batch, upTo, &damaged)
		})
		if !errors.Is(err, store.ErrCursorGone) {
			return err
		}
		l.erased.MoveTo(store.Cursor{})
	}
}

// eraseBatch erases the leaves of the deleted records of a batch. A leaf that cannot be erased does
// not keep the others.
func (l *Log) eraseBatch(records []store.Record, upTo store.Cursor, damaged *damagedRecords) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	b := l.newBatch()
	var failed error
	for _, r := range records {
		if damaged.takeError(r) != nil || !r.Deleted || !l.isLeaf(r.Key) {
			continue
		}
		if _, _, err := l.eraseKey(b, r.Key, l.salter.tablePlace(r.Key)); err != nil && failed == nil {
			failed = fmt.Errorf("%w: %w", errErase, err)
		}
	}
	if err := l.eraseLeaves(b.erased); err != nil {
		return err
	}
	if failed != nil {
		l.setEraseError(failed)
		return failed
	}
	l.moveErased(upTo)
	return nil
}

// eraseLeaves erases the content of leaves, given by their keys.
func (l *Log) eraseLeaves(keys map[int64]string) error {
	err := l.leaves.eraseContent(slices.Sorted(maps.Keys(keys)))
	if err != nil {
		err = fmt.Errorf("%w: %w", errErase, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.undeclared, keys) // after an error, some of them may be erased
	l.eraseErr = err
	return err
}

func (l *Log) setEraseError(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.eraseErr = err
}

// moveErased moves the position of the erasures forward.
func (l *Log) moveErased(to store.Cursor) {
	if at := l.erased.Cursor(); at.Store != to.Store || at.Incarnation != to.Incarnation || at.Seq < to.Seq {
		l.erased.MoveTo(to)
	}
}

// finishErasures completes the erasures that a crash interrupted, and writes undeclared ones again:
// the program may have ended after a sync of them failed.
func (l *Log) finishErasures(found *erasedScan) error {
	l.undeclared = found.listUndeclared()
	again := slices.Concat(found.unfinished, slices.Collect(maps.Keys(l.undeclared)))
	slices.Sort(again)
	l.leaves.mu.Lock()
	for _, index := range again {
		l.leaves.unsynced[index] = true
	}
	l.leaves.mu.Unlock()
	if l.state.isValidIn(l.store) {
		l.erased.MoveTo(l.state.storeCursor())
	}
	return l.leaves.eraseContent(slices.Compact(again))
}

// checkUndeclared refuses a store that still has a record whose leaf is erased and undeclared: the
// store is from before the deletion, so that no leaf would ever declare the erasure.
func (l *Log) checkUndeclared(ctx context.Context) error {
	valid := l.state.isValidIn(l.store)
	for _, index := range slices.Sorted(maps.Keys(l.undeclared)) {
		key := l.undeclared[index]
		r, err := l.store.Get(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt):
		case err != nil:
			return err
		case valid && r.Seq > l.state.Seq: // deleted, and written again
		default:
			return l.stopForLoss(LogEntry{Index: index, Key: key}, "the store still has it although its leaf is erased")
		}
	}
	return nil
}

// eraseContent overwrites the content of leaves in place. The rows are marked and synced first, so
// that an interrupted erasure can be repeated. After a failed sync, the system may show bytes that
// are not on disk, so that the next call writes them again.
func (l *leaves) eraseContent(indexes []int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var marked []row
	for _, index := range indexes {
		r, err := l.readRow(index)
		if err != nil {
			return err
		}
		if r.flags&flagErased != 0 && !l.unsynced[index] {
			continue
		}
		key, _, err := l.readContent(index, r)
		if err != nil {
			return err
		}
		r.flags |= flagErased
		r.sum = crc32.Checksum([]byte(key), castagnoli)
		l.unsynced[index] = true
		if _, err := l.rows.WriteAt(r.appendTo(nil), index*rowBytes); err != nil {
			return err
		}
		marked = append(marked, r)
	}
	if len(marked) == 0 {
		return nil
	}
	if err := l.sync(l.rows); err != nil {
		return err
	}
	for _, r := range marked {
		if _, err := l.entries.WriteAt(make([]byte, r.leafLen), r.offset+int64(r.keyLen)); err != nil {
			return err
		}
	}
	if err := l.sync(l.entries); err != nil {
		return err
	}
	for _, index := range indexes {
		delete(l.unsynced, index)
	}
	return nil
}

// isWiped reports whether the bytes of an erased leaf were overwritten.
func (l *leaves) isWiped(r row) (bool, error) {
	b := make([]byte, r.leafLen)
	if err := readAt(l.entries, b, r.offset+int64(r.keyLen)); err != nil {
		return false, err
	}
	for _, c := range b {
		if c != 0 {
			return false, nil
		}
	}
	return true, nil
}

// readKey returns the key of a row.
func (l *leaves) readKey(r row) (string, error) {
	b := make([]byte, r.keyLen)
	err := readAt(l.entries, b, r.offset)
	return string(b), err
}

// An erasedScan finds, in the rows of a whole log, the erased leaves that need work.
type erasedScan struct {
	leaves     *leaves
	unfinished []int64                     // marked as erased, with bytes that still exist
	undeclared map[uint32]map[int64]string // keys by number, by the hash of the key
}

func newErasedScan(l *leaves) *erasedScan {
	return &erasedScan{leaves: l, undeclared: map[uint32]map[int64]string{}}
}

// addRow takes the rows in order. A leaf of a deletion declares all erased leaves of its key before
// it.
func (s *erasedScan) addRow(index int64, r row) error {
	if r.flags&flagErased != 0 {
		done, err := s.leaves.isWiped(r)
		if err != nil {
			return err
		}
		if !done {
			s.unfinished = append(s.unfinished, index)
		}
		key, err := s.leaves.readKey(r)
		if err != nil {
			return err
		}
		if s.undeclared[r.keyHash] == nil {
			s.undeclared[r.keyHash] = map[int64]string{}
		}
		s.undeclared[r.keyHash][index] = key
	}
	if r.flags&flagDeleted != 0 && len(s.undeclared[r.keyHash]) > 0 {
		key, err := s.leaves.readKey(r)
		if err != nil {
			return err
		}
		maps.DeleteFunc(s.undeclared[r.keyHash], func(_ int64, erased string) bool { return erased == key })
		if len(s.undeclared[r.keyHash]) == 0 {
			delete(s.undeclared, r.keyHash)
		}
	}
	return nil
}

func (s *erasedScan) listUndeclared() map[int64]string {
	all := map[int64]string{}
	for _, keys := range s.undeclared {
		maps.Copy(all, keys)
	}
	return all
}
