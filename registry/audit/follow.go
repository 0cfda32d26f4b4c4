package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"sync"
	"syscall"
	"time"

	"gazetteer/internal/privatefile"
	"gazetteer/internal/wait"
	"gazetteer/limit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/leafform"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"
	"gazetteer/store/follow"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	// stateLag is the maximum distance of the cursor from the one on disk while only records of
	// other keys arrive. Reading them again is cheap.
	stateLag = 10000
	// growTimeout is how long a start waits for the growth of a tree from an older copy.
	growTimeout = 10 * time.Minute
	// retryMost is the longest pause after a batch that failed because the disk was full.
	retryMost = time.Minute
)

// Run follows the store until ctx ends, and then returns nil. It appends leaves, signs a checkpoint
// for each batch, and writes the checkpoint to disk before publishing it. It retries while the disk
// is full, the process has no descriptors, or the lock does not answer. While the log is halted, it
// waits; see [Log.Halt]. All the time it erases the content of deleted records. It returns the first error that a retry cannot repair: an error of the
// store, a [*ForkError], or a write that may or may not be on disk. The log must then be opened
// again. Until then it serves its signed state.
func (l *Log) Run(ctx context.Context) error {
	pause := l.retry
	for l.broken == nil {
		if _, halted := l.Halted(); halted && l.eraseWhile(ctx, 0, l.awaitResume) != nil {
			return nil
		}
		before := l.state.Size
		err := l.followStore(ctx, l.checkReach)
		if cause := haltCause(err); cause != "" {
			l.Halt(cause, err)
			continue
		}
		if errors.Is(err, ErrHalted) || errors.Is(err, errReread) {
			continue
		}
		if errors.Is(err, store.ErrCursorGone) {
			err = l.restartFollowing(err.Error())
		}
		if ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())) {
			return nil
		}
		if l.state.Size != before {
			pause = l.retry
		}
		if isPassing(err) {
			l.setBlocked(err)
			l.log.Error("the log could not be written, trying again", "dir", l.dir, "error", err, "pause", pause)
			if l.eraseWhile(ctx, 0, func(ctx context.Context) error { return wait.For(ctx, pause) }) != nil {
				return nil
			}
			pause = min(2*pause, retryMost)
			continue
		}
		if err != nil {
			return fmt.Errorf("log %s: %w", l.dir, err)
		}
	}
	return fmt.Errorf("log %s: %w; open it again", l.dir, l.broken)
}

// isPassing reports whether a write failed before any change because of a temporary shortage: of
// disk space, of descriptors, or of the lock. An erasure can always be repeated.
func isPassing(err error) bool {
	return errors.Is(err, errErase) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, ErrLock) || limit.IsShortage(err)
}

// followStore applies the store's log until ctx ends or something fails. It calls check before the
// first batch and after each, and ends with its error.
func (l *Log) followStore(ctx context.Context, check func() error) error {
	if err := l.checkStore(ctx); err != nil {
		return err
	}
	if err := l.publishCheckpoint(ctx); err != nil { // a crash may have occurred between tree and checkpoint
		return err
	}
	if err := check(); err != nil {
		return err
	}
	if err := l.declareOrphans(ctx); err != nil {
		return err
	}
	durable, erased := l.state.Seq, l.eraseCursor().Seq
	err := follow.ReadBatches(ctx, l.store, l.state.storeCursor(), follow.BatchOptions{Damaged: l.damaged.noteDamage}, func(batch []store.Record, upTo store.Cursor) error {
		kept, err := l.applyRecords(ctx, batch, upTo, upTo.Seq-durable >= stateLag)
		if kept {
			durable = upTo.Seq
		}
		if err != nil {
			return err
		}
		if err := check(); err != nil {
			return err
		}
		if err := l.declareOrphans(ctx); err != nil {
			return err
		}
		if l.eraseCursor().Seq > max(erased, upTo.Seq) {
			return errReread
		}
		return nil
	})
	if err == nil && l.state.Seq != durable {
		err = writeState(l.dir, l.state)
	}
	if err == nil && ctx.Err() == nil {
		err = store.ErrClosed // the store's log ended by itself
	}
	return err
}

// restartFollowing returns to the beginning of the store's log. The log recognizes and skips the
// records that it already has, so this adds only missing ones.
func (l *Log) restartFollowing(why string) error {
	l.log.Warn("reading the store from the beginning, for records that the log has not", "dir", l.dir, "why", why)
	l.writing.Lock()
	defer l.writing.Unlock()
	l.state.Incarnation, l.state.Seq = 0, 0
	l.position.MoveTo(store.Cursor{})
	l.resetErased(store.Cursor{})
	return writeState(l.dir, l.state)
}

// checkReach stops a log that was restored from an older copy if the store cannot grow it to the
// size that was signed.
func (l *Log) checkReach() error {
	if l.state.Size >= l.mustReach() || l.state.Seq < l.store.Head().Seq {
		return nil
	}
	return &ForkError{Problem: fmt.Sprintf("the tree has %d leaves, a checkpoint of %d was signed, and the store has no more records: an older copy of the log and of the store was put back", l.state.Size, l.mustReach()),
		Remedy: "put back newer copies of both, or " + remedyAnew}
}

// errReached ends the growth of a log that has all leaves that were signed.
var errReached = errors.New("the tree has all leaves that were signed")

// growToSigned grows a tree that was restored from an older copy up to the size that was signed. It
// returns a *ForkError if the store has too few records for that. Run repeats all other errors.
func (l *Log) growToSigned(ctx context.Context) error {
	if l.state.Size >= l.mustReach() {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, growTimeout)
	defer stop()
	grow := func() error {
		return l.followStore(ctx, func() error {
			if err := l.checkReach(); err != nil {
				return err
			}
			if l.state.Size >= l.mustReach() {
				return errReached
			}
			return nil
		})
	}
	err := grow()
	for err != nil {
		if errors.Is(err, store.ErrCursorGone) { // a restored store has another incarnation
			if err = l.restartFollowing(err.Error()); err != nil {
				break
			}
		} else if !errors.Is(err, errReread) {
			break
		}
		err = grow()
	}
	if errors.Is(err, ErrFork) {
		return err
	}
	return nil
}

// checkStore checks that the store still has the most recently logged records. They are missing if
// an older copy of the store was restored. Deletions that the log has not seen yet are not a loss.
func (l *Log) checkStore(ctx context.Context) error {
	if err := l.checkUndeclared(ctx); err != nil {
		return err
	}
	valid := l.state.isValidIn(l.store)
	var deleted map[string]bool // since the cursor
	for index := l.state.Size - 1; index >= l.state.Lost; index-- {
		e, _, err := l.leaves.readEntry(index, l.hashes)
		if err != nil {
			return err
		}
		r, err := l.store.Get(ctx, e.Key)
		switch {
		case errors.Is(err, store.ErrCorrupt):
			continue // says nothing of the store's age
		case errors.Is(err, store.ErrNotFound):
			if e.Deleted || e.Erased {
				continue
			}
			if deleted == nil {
				if deleted, err = l.deletedSince(ctx); err != nil {
					return err
				}
			}
			if deleted[e.Key] {
				continue
			}
			return l.stopForLoss(e, "the store does not have it")
		case err != nil:
			return err
		case tlog.RecordHash(l.salter.RecordLeaf(r)) == e.Hash:
			return nil
		case e.Erased && !e.Deleted, e.Deleted && valid && r.Seq > l.state.Seq:
			continue // deleted, and written again
		default:
			return l.stopForLoss(e, "the store has another record in its place")
		}
	}
	return nil
}

// stopForLoss stops the log, unless the operator has accepted the loss.
func (l *Log) stopForLoss(e LogEntry, what string) error {
	if !l.acceptLoss {
		return &ForkError{LossOfRecords: true, Problem: fmt.Sprintf("leaf %d is the record %s, and %s: an older copy of the store was put back", e.Index, e.Key, what),
			Remedy: "put back a newer copy of the store; if there is none, accept the loss: the log then keeps the leaves of the lost records, and continues"}
	}
	l.state.Lost = l.state.Size
	return l.restartFollowing(fmt.Sprintf("the loss of records was accepted: leaf %d is the record %s, and %s", e.Index, e.Key, what))
}

// deletedSince returns the keys that were deleted since the log's cursor, including all deletions
// that any reader can see now.
//
// A reader may see a commit that the store's head does not cover yet, because its last sync is
// still running. The log of changes returns it only after the sync. Read the head after the log has
// returned a change; it always has one if it is read from before its end.
func (l *Log) deletedSince(ctx context.Context) (map[string]bool, error) {
	deleted := map[string]bool{}
	end := l.store.Head()
	if end.Seq == 0 {
		return deleted, nil
	}
	after := l.state.storeCursor()
	if after.Incarnation != end.Incarnation || after.Seq > end.Seq {
		after = store.Cursor{}
	}
	after.Seq = min(after.Seq, end.Seq-1)
	first := true
	for r, err := range l.store.Changes(ctx, after) {
		if err != nil && !store.Damaged(r, err) {
			return nil, err
		}
		if first {
			end, first = l.store.Head(), false
		}
		if err == nil && r.Deleted {
			deleted[r.Key] = true
		}
		if r.Seq >= end.Seq {
			return deleted, nil
		}
	}
	return nil, cmp.Or(ctx.Err(), store.ErrClosed)
}

// damagedRecords contains the records of a batch that the store could not read. They arrive as
// tombstones, which must not count as deletions.
type damagedRecords struct {
	mu   sync.Mutex // guards seqs
	seqs map[uint64]error
}

func (d *damagedRecords) noteDamage(r store.Record, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seqs == nil {
		d.seqs = map[uint64]error{}
	}
	d.seqs[r.Seq] = err
}

// takeError returns the error of a damaged record, nil for an intact one.
func (d *damagedRecords) takeError(r store.Record) error {
	if !r.Deleted {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.seqs[r.Seq]
	delete(d.seqs, r.Seq)
	return err
}

// A batch contains the leaves to append.
type batch struct {
	*growth
	rows    []byte
	content []byte
	leaves  []pending
	// heads overrides the tables of the log, by place.
	byKey, byGroup map[uint32]int64
	// erased are the keys of the leaves of the log whose content is erased with the batch, by their
	// numbers.
	erased map[int64]string
}

func (l *Log) newBatch() *batch {
	return &batch{growth: newGrowth(l.hashes, l.state.Size), byKey: map[uint32]int64{}, byGroup: map[uint32]int64{}, erased: map[int64]string{}}
}

// A pending leaf is one of a batch.
type pending struct {
	key string
	row row
	// hash is the hash of the leaf. It cannot be computed from the bytes after an erasure.
	hash tlog.Hash
	leaf []byte
}

// applyRecords appends a batch of the store's log and signs. It returns whether the cursor is on
// disk. If not, a restart reads the same records again.
func (l *Log) applyRecords(ctx context.Context, records []store.Record, upTo store.Cursor, due bool) (kept bool, err error) {
	if kept, err = l.appendRecords(records, upTo, due); err != nil {
		return kept, err
	}
	l.moveErased(upTo)
	if !kept {
		l.advanceCursor()
		return false, nil
	}
	return true, l.publishCheckpoint(ctx)
}

// appendRecords appends a batch without a signature.
func (l *Log) appendRecords(records []store.Record, upTo store.Cursor, due bool) (kept bool, err error) {
	l.writing.Lock() // no backup sees half a batch
	defer l.writing.Unlock()
	if _, halted := l.Halted(); halted {
		return false, ErrHalted
	}
	b := l.newBatch()
	var added []string
	for _, r := range records {
		if err := l.damaged.takeError(r); err != nil {
			if l.isLeaf(r.Key) {
				l.log.Error("a damaged record is left out of the log", "key", r.Key, "error", err)
			}
			continue
		}
		if !l.isLeaf(r.Key) {
			continue
		}
		if err := l.addRecord(b, r); err != nil {
			return false, err
		}
		added = append(added, r.Key)
	}
	next := l.state
	next.Store, next.Incarnation, next.Seq = upTo.Store, upTo.Incarnation, upTo.Seq
	if len(b.leaves) == 0 && !due {
		l.state = next
		l.forgetUnerased(added)
		return false, nil
	}
	if _, err := l.eraseLeaves(b.erased); err != nil {
		return false, err
	}
	// Leaves that are appended to a damaged tree are damaged, too, so the tree is checked first.
	if last := l.lastCheckpoint(); l.state.Size == last.N {
		if err := l.checkContains(last); err != nil {
			return false, markDamage(err)
		}
	}
	if err := l.commitBatch(b, next); err != nil {
		return false, err
	}
	l.forgetUnerased(added)
	return true, nil
}

// addRecord adds a leaf for a record unless the log already has it: after a restore the log reads
// the store from the beginning again.
func (l *Log) addRecord(b *batch, r store.Record) error {
	key, group := l.salter.TablePlace(r.Key), l.salter.TablePlace(leafform.GroupOf(r.Key))
	leaf, undeclared, err := l.leafOf(b, r, key)
	if err != nil || leaf == nil {
		return err
	}
	if undeclared {
		if err := l.addRecord(b, store.Record{Key: r.Key, Deleted: true}); err != nil {
			return err
		}
	}
	index := l.state.Size + int64(len(b.leaves))
	if index >= tiles.MaxLeaves {
		return fmt.Errorf("the log is full: it has %d leaves", index)
	}
	p := pending{key: r.Key, leaf: leaf, hash: tlog.RecordHash(leaf), row: row{keyLen: len(r.Key), leafLen: len(leaf), keyHash: key, groupHash: group}}
	if r.Deleted {
		p.row.flags |= flagDeleted
	}
	p.row.prevKey, p.row.prevGroup = l.chains.chainHeads(key, group)
	if at, pending := b.byKey[key%places]; pending {
		p.row.prevKey = at
	}
	if at, pending := b.byGroup[group%places]; pending {
		p.row.prevGroup = at
	}
	b.byKey[key%places], b.byGroup[group%places] = index+1, index+1
	b.leaves = append(b.leaves, p)
	return b.addLeaf(p.hash)
}

// leafOf returns the leaf of a record, nil if the log has it. The content of the leaves of a deleted
// record is erased with the batch. undeclared is true if the record was written again after a
// deletion that is no longer in the store's log: its newest leaf is erased, or could not be erased
// yet. The deletion is declared first.
func (l *Log) leafOf(b *batch, r store.Record, place uint32) (leaf []byte, undeclared bool, err error) {
	if r.Deleted {
		erased, again, err := l.eraseKey(b, r.Key, place)
		if err != nil || again {
			return nil, false, err
		}
		return l.salter.DeletionLeaf(r.Key, erased), false, nil
	}
	leaf = l.salter.RecordLeaf(r)
	for newest, err := range l.ofKey(b, r.Key, place, false) {
		undeclared = newest.flags&flagDeleted == 0 && (newest.flags&flagErased != 0 || l.isUnerased(r.Key))
		if err != nil || !undeclared && newest.hash == tlog.RecordHash(leaf) {
			return nil, false, err
		}
		break
	}
	return leaf, undeclared, nil
}

// eraseKey takes the leaves of a record since its last deletion for erasure, and returns their
// numbers. again is true if the record has not been written since its last deletion. A leaf that
// cannot be read is the error; it does not keep the leaves before it.
func (l *Log) eraseKey(b *batch, key string, place uint32) (erased []int64, again bool, err error) {
	for leaf, leafErr := range l.ofKey(b, key, place, true) {
		switch {
		case leafErr != nil:
			err = cmp.Or(err, leafErr)
			continue
		case leaf.flags&flagDeleted != 0:
			return erased, len(erased) == 0, err
		case leaf.index >= l.state.Size:
			p := &b.leaves[leaf.index-l.state.Size]
			p.row.flags |= flagErased
			p.leaf = make([]byte, len(p.leaf))
		default:
			b.erased[leaf.index] = key
		}
		erased = append(erased, leaf.index)
	}
	return erased, false, err
}

// A keyed leaf is a leaf of the requested key.
type keyed struct {
	index int64
	flags byte
	hash  tlog.Hash
}

// ofKey yields the leaves of exactly the given key, newest first: those of the batch and then those
// of the log. erasing means that it yields those with damaged content, too, and no hashes, and that
// it continues after a damaged row, from the next older one of the same place.
func (l *Log) ofKey(b *batch, key string, place uint32, erasing bool) iter.Seq2[keyed, error] {
	return func(yield func(keyed, error) bool) {
		at, _ := l.chains.chainHeads(place, 0)
		if pending, here := b.byKey[place%places]; here {
			at = pending
		}
		for at > 0 {
			wanted := ""
			if erasing {
				wanted = key
			}
			leaf, name, before, err := l.keyedAt(b, at-1, place, wanted)
			switch {
			case err != nil:
				if !yield(keyed{}, err) || !erasing || !errors.Is(err, tiles.ErrDamaged) {
					return
				}
				before = l.leaves.findBefore(at-1, place)
			case name == key && !yield(leaf, nil):
				return
			}
			at = before
		}
	}
}

// keyedAt returns a leaf and its key if the key may have this place, and the next position of the
// chain. It does not read the content and hash of a leaf of the key to erase.
func (l *Log) keyedAt(b *batch, index int64, place uint32, erase string) (leaf keyed, key string, before int64, err error) {
	if index >= l.state.Size {
		p := b.leaves[index-l.state.Size]
		return keyed{index, p.row.flags, p.hash}, p.key, p.row.prevKey, nil
	}
	r, err := l.leaves.readRow(index)
	if err != nil || r.keyHash != place {
		return keyed{}, "", r.prevKey, err
	}
	if name, err := l.leaves.readKey(r); err == nil && name == erase {
		return keyed{index: index, flags: r.flags}, name, r.prevKey, nil
	}
	e, r, err := l.leaves.readEntry(index, l.hashes)
	return keyed{index, r.flags, e.Hash}, e.Key, r.prevKey, err
}

// commitBatch writes a batch after the committed bytes, and then the state, which commits it.
func (l *Log) commitBatch(b *batch, next state) error {
	rows := make([]row, len(b.leaves))
	for i, p := range b.leaves {
		p.row.offset = next.Bytes
		p.row.sum = stateChecksum(p)
		b.content = append(append(b.content, p.key...), p.leaf...)
		b.rows = p.row.appendTo(b.rows)
		next.Bytes = p.row.endOffset()
		rows[i] = p.row
	}
	next.Size += int64(len(b.leaves))
	if err := l.writeBatch(b, next); err != nil {
		// A failed sync may have dropped pages that appear to be written, and the state file may or
		// may not have been renamed. A full disk is different: the write fails earlier, and bytes
		// beyond the state do not count.
		if !isPassing(err) || errors.Is(err, privatefile.ErrUncertain) {
			l.broken = err
		}
		return err
	}
	l.chains.mu.Lock()
	for i, r := range rows {
		l.chains.addRow(l.state.Size+int64(i), r)
	}
	l.chains.mu.Unlock()
	l.state = next
	l.mu.Lock()
	l.bytes = next.fileBytes()
	for index := range b.erased {
		delete(l.undeclared, index)
	}
	l.mu.Unlock()
	return nil
}

func stateChecksum(p pending) uint32 {
	sum := crc32.Checksum([]byte(p.key), castagnoli)
	if p.row.flags&flagErased == 0 {
		sum = crc32.Update(sum, castagnoli, p.leaf)
	}
	return sum
}

func (l *Log) writeBatch(b *batch, next state) error {
	if len(b.leaves) > 0 {
		if err := writeAt(l.leaves.entries, b.content, l.state.Bytes); err != nil {
			return err
		}
		if err := writeAt(l.leaves.rows, b.rows, l.state.Size*rowBytes); err != nil {
			return err
		}
		if err := b.growth.writeHashes(); err != nil {
			return err
		}
	}
	return writeState(l.dir, next)
}

// publishCheckpoint signs the current tree if it has grown, and publishes the checkpoint after
// writing it to disk. It refuses if the tree does not contain the previous signed checkpoint.
func (l *Log) publishCheckpoint(ctx context.Context) error {
	l.mu.Lock()
	last, served := l.last, l.signed != nil
	l.mu.Unlock()
	if l.state.Size < l.mustReach() {
		return nil // being grown again
	}
	if _, halted := l.Halted(); halted {
		return ErrHalted
	}
	if l.state.Size == last.N && served {
		if err := l.askSilentLock(ctx, last); err != nil || l.state.Size < l.mustReach() {
			return err
		}
		l.advanceCursor()
		return nil
	}
	if err := l.checkContains(last); err != nil {
		if served {
			return markDamage(err)
		}
		return err
	}
	root, err := tlog.TreeHash(l.state.Size, l.hashes)
	if err != nil {
		return err
	}
	head := checkpoint.Checkpoint{Origin: l.key.Name(), Tree: tlog.Tree{N: l.state.Size, Hash: root}}
	signed, err := head.Sign(l.key)
	if err != nil {
		return err
	}
	if err := l.checkCopy(); err != nil {
		return err
	}
	signed, wait, err := l.swapLock(ctx, head, signed)
	if err != nil || wait {
		return err
	}
	if err := l.keepCheckpoint(signed); err != nil {
		return err
	}
	l.mu.Lock()
	l.last, l.signed, l.signedAt = head, signed, l.now()
	l.mu.Unlock()
	if !served {
		l.log.Info("the tree contains the last signed checkpoint again", "dir", l.dir, "leaves", head.N)
	}
	l.advanceCursor()
	return nil
}

// advanceCursor moves the position, unless the tree is still
// being grown again.
func (l *Log) advanceCursor() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signed == nil || l.state.Size != l.last.N {
		return
	}
	if l.blocked != nil {
		l.blocked = nil
		l.log.Info("the transparency log signs again", "dir", l.dir)
	}
	l.position.MoveTo(l.state.storeCursor())
}

// lastCheckpoint returns the newest checkpoint that was signed.
func (l *Log) lastCheckpoint() checkpoint.Checkpoint {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// markDamage converts a contradiction in a tree that was already served to a damage error, which
// halts the log.
func markDamage(err error) error {
	if fork, ok := errors.AsType[*ForkError](err); ok {
		fork.cause = CauseDamage
	}
	return err
}
