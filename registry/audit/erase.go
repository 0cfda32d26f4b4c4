package audit

import (
	"cmp"
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
	if wait.For(erasing, delay) == nil {
		l.eraseAhead(erasing)
	}
	return <-ended
}

const (
	// eraseLinger is how long a deletion waits for others, with which it shares two syncs.
	eraseLinger = 20 * time.Millisecond
	// maxUnerased is the maximum number of deleted records whose content cannot be erased, and that
	// the log passes over.
	maxUnerased = 1 << 16
)

// eraseAhead erases the content of records as the store deletes them, until ctx ends or the store is
// closed. It does not move the log's cursor: the log reads the deletions again, and declares them.
// After an error it retries at intervals, and erases other records meanwhile.
func (l *Log) eraseAhead(ctx context.Context) {
	for pause := l.retry; ctx.Err() == nil; pause = min(2*pause, retryMost) {
		err := l.eraseAgain()
		if err == nil {
			err = l.eraseDeleted(ctx, false)
		}
		if err == nil || errors.Is(err, store.ErrClosed) {
			return // ctx has ended, or Run is about to end
		}
		l.log.Error("the log could not erase the content of a deleted record, trying again", "dir", l.dir, "error", err, "pause", pause)
		waiting, stop := context.WithTimeout(ctx, pause)
		if err := l.eraseDeleted(waiting, true); err != nil {
			l.log.Debug("the log erases nothing until it tries again", "dir", l.dir, "error", err)
		}
		<-waiting.Done()
		stop()
	}
}

// eraseDeleted erases the content of records as the store deletes them, until ctx ends. passing
// means that it passes over records that cannot be erased; otherwise it returns the first error.
func (l *Log) eraseDeleted(ctx context.Context, passing bool) error {
	for {
		var damaged damagedRecords
		err := follow.ReadBatches(ctx, l.store, l.eraseCursor(), follow.BatchOptions{Linger: eraseLinger, Damaged: damaged.noteDamage}, func(batch []store.Record, upTo store.Cursor) error {
			err := l.eraseBatch(batch, upTo, &damaged)
			if passing && l.eraseCursor() == upTo {
				return nil
			}
			return err
		})
		if !errors.Is(err, store.ErrCursorGone) {
			return err
		}
		l.resetErased(store.Cursor{})
	}
}

// eraseBatch erases the leaves of the deleted records of a batch.
func (l *Log) eraseBatch(records []store.Record, upTo store.Cursor, damaged *damagedRecords) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	deleted := map[string]uint64{}
	for _, r := range records {
		if damaged.takeError(r) == nil && r.Deleted && l.isLeaf(r.Key) {
			deleted[r.Key] = r.Seq
		}
	}
	noted, err := l.eraseRecords(deleted)
	if noted {
		l.moveErased(upTo)
	}
	return err
}

// eraseAgain tries to erase the records that could not be erased before.
func (l *Log) eraseAgain() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	deleted := maps.Clone(l.unerased)
	l.mu.Unlock()
	if len(deleted) == 0 {
		return nil
	}
	_, err := l.eraseRecords(deleted)
	l.moveErased(l.eraseCursor())
	return err
}

// eraseRecords erases the leaves of deleted records, given with the sequences of their deletions. A
// record that cannot be erased does not keep the others; it is noted, to be erased later. noted is
// false if too many are noted already.
func (l *Log) eraseRecords(deleted map[string]uint64) (noted bool, err error) {
	b, failed := l.newBatch(), map[string]uint64{}
	for key, seq := range deleted {
		if _, _, keyErr := l.eraseKey(b, key, l.salter.TablePlace(key)); keyErr != nil {
			failed[key], err = seq, fmt.Errorf("%w: %w", errErase, keyErr)
		}
	}
	left, leafErr := l.eraseLeaves(b.erased)
	for _, key := range left {
		failed[key] = deleted[key]
	}
	err = cmp.Or(leafErr, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range deleted {
		if _, again := failed[key]; !again {
			delete(l.unerased, key)
		} else if _, before := l.unerased[key]; before {
			delete(failed, key) // keeps the sequence of its first deletion
		}
	}
	noted = len(l.unerased)+len(failed) <= maxUnerased
	if noted {
		maps.Copy(l.unerased, failed)
	}
	l.setEraseError(err)
	return noted, err
}

// eraseLeaves erases the content of leaves, given by their keys. It returns those that it could not
// erase.
func (l *Log) eraseLeaves(keys map[int64]string) (left map[int64]string, err error) {
	left, marked, err := l.leaves.eraseContent(keys)
	if err != nil {
		err = fmt.Errorf("%w: %w", errErase, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for index, key := range keys {
		if _, failed := left[index]; !failed || marked[index] { // after a failed sync, it may be erased
			l.undeclared[index] = key
		}
	}
	l.setEraseError(err)
	return left, err
}

// setEraseError records the reason why content cannot be erased. Nil counts if no record is left.
// The caller holds mu.
func (l *Log) setEraseError(err error) {
	if err != nil || len(l.unerased) == 0 {
		l.eraseErr = err
	}
}

// forgetUnerased drops records that the log has appended: it has erased what is deleted.
func (l *Log) forgetUnerased(keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		delete(l.unerased, key)
	}
	l.setEraseError(nil)
}

// isUnerased reports whether the content of a deleted record could not be erased.
func (l *Log) isUnerased(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, unerased := l.unerased[key]
	return unerased
}

// eraseCursor returns the position up to which deletions were read. The content of all records
// deleted before it is erased, except that of the unerased ones.
func (l *Log) eraseCursor() store.Cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.eraseRead
}

// moveErased moves the position of the erasures forward. The reported position is before the first
// deletion of a record that is not erased.
func (l *Log) moveErased(to store.Cursor) {
	l.mu.Lock()
	if at := l.eraseRead; at.Store != to.Store || at.Incarnation != to.Incarnation || at.Seq < to.Seq {
		l.eraseRead = to
	}
	done := l.eraseRead
	for _, seq := range l.unerased {
		done.Seq = min(done.Seq, seq-1)
	}
	l.mu.Unlock()
	l.erased.MoveTo(done)
}

// resetErased sets the position of the erasures.
func (l *Log) resetErased(to store.Cursor) {
	l.mu.Lock()
	l.eraseRead = to
	l.mu.Unlock()
	l.erased.MoveTo(to)
}

// noteErasures takes over the erasures that were found, and returns the leaves whose content is to be
// erased again: a crash interrupted that, or they are undeclared, and the program may have ended after
// a sync of them failed.
func (l *Log) noteErasures(found *erasedScan) (unfinished map[int64]string) {
	l.undeclared = found.listUndeclared()
	again := maps.Clone(l.undeclared)
	maps.Copy(again, found.unfinished)
	l.leaves.mu.Lock()
	for index := range again {
		l.leaves.unsynced[index] = true
	}
	l.leaves.mu.Unlock()
	if l.state.isValidIn(l.store) {
		l.resetErased(l.state.storeCursor())
	}
	return again
}

// checkUndeclared refuses a store that has neither deleted the record of an erased, undeclared leaf
// nor written it again since: the store is from before the deletion, or even from before the record,
// so that no leaf would ever declare the erasure. If the loss is accepted, the leaves of records
// that the store still has are declared when the log reads those records again; the others are
// orphans, which the log declares by itself.
func (l *Log) checkUndeclared(ctx context.Context) error {
	l.orphans = map[int64]string{}
	valid := l.state.isValidIn(l.store)
	var missing []int64
	for _, index := range slices.Sorted(maps.Keys(l.undeclared)) {
		r, err := l.store.Get(ctx, l.undeclared[index])
		switch {
		case errors.Is(err, store.ErrNotFound):
			missing = append(missing, index)
		case errors.Is(err, store.ErrCorrupt): // says nothing of the store's age
		case err != nil:
			return err
		case valid && r.Seq > l.state.Seq: // deleted, and written again
		case index < l.state.Lost:
		default:
			return l.loseUndeclared(ctx, index, "the store still has it although its leaf is erased")
		}
	}
	if len(missing) == 0 {
		return nil
	}
	deleted, err := l.deletedSince(ctx)
	if err != nil {
		return err
	}
	for _, index := range missing {
		key := l.undeclared[index]
		switch {
		case deleted[key]:
		case index < l.state.Lost:
			l.orphans[index] = key
		default:
			return l.loseUndeclared(ctx, index, "its leaf is erased, but the store has neither the record nor its deletion")
		}
	}
	return nil
}

// loseUndeclared stops the log because of an erased leaf. If the operator has accepted the loss, it
// checks again.
func (l *Log) loseUndeclared(ctx context.Context, index int64, what string) error {
	if err := l.stopForLoss(LogEntry{Index: index, Key: l.undeclared[index]}, what); err != nil {
		return err
	}
	return l.checkUndeclared(ctx)
}

// declareOrphans appends the leaves that declare the erasures of which the store knows nothing. A
// tree from an older copy is grown first.
func (l *Log) declareOrphans(ctx context.Context) error {
	if len(l.orphans) == 0 || l.state.Size < l.mustReach() {
		return nil
	}
	declared := map[string]bool{}
	var records []store.Record
	for _, index := range slices.Sorted(maps.Keys(l.orphans)) {
		key, undeclared := l.undeclared[index]
		if undeclared && !declared[key] {
			declared[key] = true
			records = append(records, store.Record{Key: key, Deleted: true})
		}
	}
	at := store.Cursor{Store: l.state.Store, Incarnation: l.state.Incarnation, Seq: l.state.Seq}
	if _, err := l.appendRecords(records, at, true); err != nil {
		return err
	}
	l.orphans = nil
	return l.publishCheckpoint(ctx)
}

// eraseContent overwrites the content of leaves in place, given by their keys. The rows are marked
// and synced first, so that an interrupted erasure can be repeated. After a failed sync, the system
// may show bytes that are not on disk, so that the next call writes them again. A leaf that cannot
// be erased does not keep the others. left are the leaves whose content may still be there, marked
// those whose rows were written.
func (l *leaves) eraseContent(keys map[int64]string) (left map[int64]string, marked map[int64]bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left, marked = map[int64]string{}, map[int64]bool{}
	fail := func(index int64, cause error) { left[index], err = keys[index], cmp.Or(err, cause) }
	rows := map[int64]row{}
	for _, index := range slices.Sorted(maps.Keys(keys)) {
		r, erased, rowErr := l.readErasable(index, keys[index])
		if rowErr != nil {
			fail(index, rowErr)
			continue
		}
		if erased {
			continue
		}
		r.flags |= flagErased
		r.sum = crc32.Checksum([]byte(keys[index]), castagnoli)
		l.unsynced[index], marked[index] = true, true
		if _, writeErr := l.rows.WriteAt(r.appendTo(nil), index*rowBytes); writeErr != nil {
			fail(index, writeErr)
			continue
		}
		rows[index] = r
	}
	if len(rows) == 0 {
		return left, marked, err
	}
	if syncErr := l.sync(l.rows); syncErr != nil {
		return keys, marked, cmp.Or(err, syncErr)
	}
	for index, r := range rows {
		if _, writeErr := l.entries.WriteAt(make([]byte, r.leafLen), r.offset+int64(r.keyLen)); writeErr != nil {
			fail(index, writeErr)
			delete(rows, index)
		}
	}
	if syncErr := l.sync(l.entries); syncErr != nil {
		return keys, marked, cmp.Or(err, syncErr)
	}
	for index := range rows {
		delete(l.unsynced, index)
	}
	return left, marked, err
}

// readErasable returns the row of a leaf whose content is to be erased, and whether it is erased
// already. Damaged content can be erased: the row shows where it is, if the key before it is that of
// the record. The caller holds mu.
func (l *leaves) readErasable(index int64, key string) (r row, erased bool, err error) {
	if r, err = l.readRow(index); err != nil {
		return row{}, false, err
	}
	name, err := l.readKey(r)
	if err != nil {
		return row{}, false, err
	}
	erased = r.flags&flagErased != 0
	if name != key || erased && r.sum != crc32.Checksum([]byte(key), castagnoli) {
		return row{}, false, l.damagedContent(index, r)
	}
	return r, erased && !l.unsynced[index], nil
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
	unfinished map[int64]string            // keys by number: marked as erased, with bytes that still exist
	undeclared map[uint32]map[int64]string // keys by number, by the hash of the key
}

func newErasedScan(l *leaves) *erasedScan {
	return &erasedScan{leaves: l, unfinished: map[int64]string{}, undeclared: map[uint32]map[int64]string{}}
}

// addRow takes the rows in order. A leaf of a deletion declares all erased leaves of its key before
// it.
func (s *erasedScan) addRow(index int64, r row) error {
	if r.flags&flagErased != 0 {
		key, err := s.leaves.readKey(r)
		if err != nil {
			return err
		}
		done, err := s.leaves.isWiped(r)
		if err != nil {
			return err
		}
		if !done {
			s.unfinished[index] = key
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
