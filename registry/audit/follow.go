package audit

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"syscall"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"gazetteer/store"
)

const (
	// stateLag is how far the cursor runs ahead of the one on disk while nothing
	// but records of other keys comes. They cost little to read again.
	stateLag = 10000
	// retryMost is the longest pause after a batch that found the disk full.
	retryMost = time.Minute
)

// Run follows the store until ctx ends, and then returns nil: it appends leaves,
// signs a checkpoint for each batch of them and keeps that on disk before it
// hands it out. While the disk is full it tries again. It returns the first
// error that following again would not mend: one of the store, of the signer, a
// [*ForkError], or a write of which it is not known whether it is on disk; after
// that the log must be opened again.
func (l *Log) Run(ctx context.Context) error {
	pause := l.retry
	for l.broken == nil {
		before := l.state.Size
		err := l.follow(ctx)
		if ctx.Err() != nil && err == nil {
			return nil
		}
		if l.state.Size != before {
			pause = l.retry
		}
		switch {
		case errors.Is(err, store.ErrCursorGone):
			err = l.rewind("the store has begun a new incarnation, or is older than the log")
		case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
			l.log.Error("the log could not be written, trying again", "dir", l.dir, "error", err, "pause", pause)
			if !sleep(ctx, pause) {
				return nil
			}
			pause = min(2*pause, retryMost)
			err = nil
		}
		if err != nil {
			return fmt.Errorf("log %s: %w", l.dir, err)
		}
	}
	return fmt.Errorf("log %s: %w; open it again", l.dir, l.broken)
}

// sleep waits for d, and reports false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// follow applies the store's log until ctx ends or something fails.
func (l *Log) follow(ctx context.Context) error {
	if err := l.publish(); err != nil { // a crash may have come between tree and checkpoint
		return err
	}
	if err := l.checkAnchor(ctx); err != nil {
		return err
	}
	durable := l.state.Seq
	after := store.Cursor{Store: l.state.Store, Incarnation: l.state.Incarnation, Seq: l.state.Seq}
	if l.state.Seq == 0 {
		after = store.Cursor{}
	}
	err := store.Follow(ctx, l.store, after, store.FollowOptions{Damaged: l.damaged.note}, func(batch []store.Record, upTo store.Cursor) error {
		kept, err := l.apply(batch, upTo, upTo.Seq-durable >= stateLag)
		if kept {
			durable = upTo.Seq
		}
		return err
	})
	if err == nil && l.state.Seq != durable {
		err = writeState(l.dir, l.state)
	}
	if err == nil && ctx.Err() == nil {
		err = store.ErrClosed // the store's log ended by itself
	}
	return err
}

// rewind goes back to the beginning of the store's log. What the log has
// already is recognised and left out, so this only finds what it has not.
func (l *Log) rewind(why string) error {
	l.log.Warn("reading the store from the beginning, for records that the log has not", "dir", l.dir, "why", why)
	l.state.Incarnation, l.state.Seq = 0, 0
	l.mu.Lock()
	l.cursor = store.Cursor{}
	l.mu.Unlock()
	return writeState(l.dir, l.state)
}

// checkAnchor looks whether the store still has the record of the newest leaf.
// It has not if an older copy was put in its place and has since been written
// to, so that its head is beyond our cursor again; then the cursor means
// nothing.
func (l *Log) checkAnchor(ctx context.Context) error {
	if l.state.Seq == 0 || l.state.Size == 0 {
		return nil
	}
	e, _, err := l.leaves.entry(l.state.Size-1, l.levels.read)
	if err != nil || e.Deleted {
		return err
	}
	r, err := l.store.Get(ctx, e.Key)
	if errors.Is(err, store.ErrNotFound) || err == nil && tlog.RecordHash(l.salter.leaf(r)) != e.Hash {
		return l.rewind("the record of the newest leaf is not in the store as it was logged: " + e.Key)
	}
	if errors.Is(err, store.ErrCorrupt) || ctx.Err() != nil {
		return nil // says nothing about the store's age
	}
	return err
}

// damagedRecords are the records of a batch that the store could not read: they
// come as tombstones, which must not be taken for deletions.
type damagedRecords struct {
	mu   sync.Mutex // guards seqs
	seqs map[uint64]error
}

func (d *damagedRecords) note(r store.Record, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seqs == nil {
		d.seqs = map[uint64]error{}
	}
	d.seqs[r.Seq] = err
}

// take returns why a record is damaged, nil if it is not.
func (d *damagedRecords) take(r store.Record) error {
	if !r.Deleted {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.seqs[r.Seq]
	delete(d.seqs, r.Seq)
	return err
}

// A batch is the leaves that are about to be appended.
type batch struct {
	*growth
	rows    []byte
	content []byte
	leaves  []pending
	// heads overlays the tables of the log, by place.
	byKey, byGroup map[uint32]int64
}

// A pending leaf is one of a batch.
type pending struct {
	key string
	row row
	// hash is the leaf's, which its bytes no longer have once they are erased.
	hash tlog.Hash
	leaf []byte
}

// apply appends a batch of the store's log. It returns whether the cursor is on
// disk; if not, it is no further than a restart can make good.
func (l *Log) apply(records []store.Record, upTo store.Cursor, due bool) (kept bool, err error) {
	b := &batch{growth: grow(l.edge), byKey: map[uint32]int64{}, byGroup: map[uint32]int64{}}
	for _, r := range records {
		if err := l.damaged.take(r); err != nil {
			if l.isLeaf(r.Key) {
				l.log.Error("a damaged record is left out of the log", "key", r.Key, "error", err)
			}
			continue
		}
		if !l.isLeaf(r.Key) {
			continue
		}
		if err := l.take(b, r); err != nil {
			return false, err
		}
	}
	next := l.state
	next.Store, next.Incarnation, next.Seq = upTo.Store, upTo.Incarnation, upTo.Seq
	if len(b.leaves) == 0 && !due {
		l.state = next
		l.covered(upTo)
		return false, nil
	}
	if err := l.commit(b, next); err != nil {
		return false, err
	}
	return true, l.publish()
}

// take makes a leaf of a record, unless the log has it already: the store is
// read again from the beginning when it was restored.
func (l *Log) take(b *batch, r store.Record) error {
	key, group := l.salter.hash(r.Key), l.salter.hash(groupOf(r.Key))
	if len(r.Key) > 1<<16-1 {
		return fmt.Errorf("the key %q… has %d bytes", r.Key[:64], len(r.Key)) // a store's are shorter
	}
	last, hash, err := l.newest(b, r.Key, key)
	if err != nil {
		return err
	}
	leaf := l.salter.leaf(r)
	recordHash := tlog.RecordHash(leaf)
	if last >= 0 && hash == recordHash {
		return nil
	}
	if r.Deleted {
		if err := l.eraseKey(b, r.Key, key); err != nil {
			return err
		}
	}
	index := l.state.Size + int64(len(b.leaves))
	if index >= maxSize {
		return fmt.Errorf("the log is full: it has %d leaves", index)
	}
	p := pending{key: r.Key, leaf: leaf, hash: recordHash, row: row{keyLen: len(r.Key), leafLen: len(leaf), keyHash: key, groupHash: group}}
	if r.Deleted {
		p.row.flags |= flagDeleted
	}
	p.row.prevKey, p.row.prevGroup = l.chains.heads(key, group)
	if at, pending := b.byKey[key%places]; pending {
		p.row.prevKey = at
	}
	if at, pending := b.byGroup[group%places]; pending {
		p.row.prevGroup = at
	}
	b.byKey[key%places], b.byGroup[group%places] = index+1, index+1
	b.leaves = append(b.leaves, p)
	b.add(0, recordHash)
	return nil
}

// newest returns the newest leaf of a key and its hash, -1 when there is none.
func (l *Log) newest(b *batch, key string, keyHash uint32) (int64, tlog.Hash, error) {
	at, _ := l.chains.heads(keyHash, 0)
	if pending, here := b.byKey[keyHash%places]; here {
		at = pending
	}
	for at > l.state.Size {
		p := b.leaves[at-1-l.state.Size]
		if p.key == key {
			return at - 1, p.hash, nil
		}
		at = p.row.prevKey
	}
	index, _, err := l.leaves.newest(key, keyHash, at)
	if err != nil || index < 0 {
		return -1, tlog.Hash{}, err
	}
	hash, err := l.levels.read(0, index, 1)
	if err != nil {
		return -1, tlog.Hash{}, err
	}
	return index, tlog.Hash(hash), nil
}

// eraseKey removes the bytes of all leaves of a record that was deleted.
func (l *Log) eraseKey(b *batch, key string, keyHash uint32) error {
	for i := range b.leaves {
		if p := &b.leaves[i]; p.key == key && p.row.flags&flagDeleted == 0 {
			p.row.flags |= flagErased
			p.leaf = make([]byte, len(p.leaf))
		}
	}
	at, _ := l.chains.heads(keyHash, 0)
	for {
		index, r, err := l.leaves.newest(key, keyHash, at)
		if err != nil || index < 0 {
			return err
		}
		if r.flags&(flagErased|flagDeleted) == 0 {
			if err := l.erase(index); err != nil {
				return err
			}
		}
		at = r.prevKey
	}
}

// commit writes a batch behind what is committed, and then the state, which
// makes it count.
func (l *Log) commit(b *batch, next state) error {
	rows := make([]row, len(b.leaves))
	for i, p := range b.leaves {
		p.row.offset = next.Bytes
		p.row.sum = checksum(p)
		b.content = append(append(b.content, p.key...), p.leaf...)
		b.rows = p.row.encode(b.rows)
		next.Bytes = p.row.end()
		rows[i] = p.row
	}
	next.Size += int64(len(b.leaves))
	if err := l.write(b, next); err != nil {
		// A sync that failed may have dropped pages that look written, and a
		// state may or may not have got its name. A full disk is different: the
		// write fails before, and nothing counts that is behind the state.
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) || errors.Is(err, errUncertain) {
			l.broken = err
		}
		return err
	}
	l.chains.mu.Lock()
	for i, r := range rows {
		l.chains.add(l.state.Size+int64(i), r)
	}
	l.chains.mu.Unlock()
	l.state, l.edge = next, b.edge
	return nil
}

func checksum(p pending) uint32 {
	sum := crc32.Checksum([]byte(p.key), castagnoli)
	if p.row.flags&flagErased == 0 {
		sum = crc32.Update(sum, castagnoli, p.leaf)
	}
	return sum
}

func (l *Log) write(b *batch, next state) error {
	if len(b.leaves) > 0 {
		if err := appendAt(l.leaves.entries, b.content, l.state.Bytes); err != nil {
			return err
		}
		if err := appendAt(l.leaves.rows, b.rows, l.state.Size*rowBytes); err != nil {
			return err
		}
		if err := l.levels.append(l.state.Size, b.added); err != nil {
			return err
		}
	}
	return writeState(l.dir, next)
}

// publish signs the tree as it is, if it has grown, and hands the checkpoint out
// once it is on disk. It refuses when the tree does not contain the checkpoint
// that was signed before.
func (l *Log) publish() error {
	l.mu.Lock()
	last, served := l.last, l.signed != nil
	l.mu.Unlock()
	if l.state.Size < last.N {
		return nil // being grown again
	}
	if l.state.Size == last.N && served {
		l.covered(l.placeOfState())
		return nil
	}
	if err := l.contains(last); err != nil {
		return err
	}
	root, err := tlog.TreeHash(l.state.Size, hashSource(l.levels.read))
	if err != nil {
		return err
	}
	head := Checkpoint{Origin: l.origin, Tree: tlog.Tree{N: l.state.Size, Hash: root}}
	signed, err := head.sign(l.signer)
	if err != nil {
		return err
	}
	if err := l.keep(signed); err != nil {
		return err
	}
	l.mu.Lock()
	l.last, l.signed = head, signed
	l.mu.Unlock()
	if !served {
		l.log.Info("the tree contains the last signed checkpoint again", "dir", l.dir, "leaves", head.N)
	}
	l.covered(l.placeOfState())
	return nil
}

func (l *Log) placeOfState() store.Cursor {
	return store.Cursor{Store: l.state.Store, Incarnation: l.state.Incarnation, Seq: l.state.Seq}
}

// covered sets the cursor and wakes who waits for it, unless the tree is still
// being grown again.
func (l *Log) covered(upTo store.Cursor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signed == nil {
		return
	}
	l.cursor = upTo
	close(l.moved)
	l.moved = make(chan struct{})
}

// Erase removes the content of a leaf for good; its hash stays, so every proof
// and checkpoint stays good. The bytes are overwritten where they lie. Deleting
// a record in the store does the same for all of its leaves, and is the way to
// erase that also outlives the loss of this directory. Erasing twice is no
// error. A leaf that says that a record was deleted has nothing to erase, and
// stays.
func (l *Log) Erase(ctx context.Context, index int64) error {
	head, release, err := l.use(ctx)
	if err != nil {
		return err
	}
	defer release()
	if index < 0 || index >= head.N {
		return fmt.Errorf("%w: leaf %d of %d", ErrRange, index, head.N)
	}
	r, err := l.leaves.row(index)
	if err != nil || r.flags&flagDeleted != 0 {
		return err
	}
	if err := l.erase(index); err != nil {
		return fmt.Errorf("erase leaf %d: %w", index, err)
	}
	l.log.Info("the content of a leaf was erased", "leaf", index)
	return nil
}

func (l *Log) erase(index int64) error {
	l.erasing.Lock()
	defer l.erasing.Unlock()
	return l.leaves.erase(index)
}
