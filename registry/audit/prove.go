package audit

import (
	"context"
	"fmt"
	"iter"

	"gazetteer/protocol"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/leafform"
	"gazetteer/registry/audit/proof"
	"gazetteer/registry/audit/tiles"

	"golang.org/x/mod/sumdb/tlog"
)

// Prove proves that the tree of the given size contains the leaf at index. The size must not exceed
// that of the newest checkpoint. Prove checks the proof before it returns it.
func (l *Log) Prove(ctx context.Context, index, size int64) (_ proof.Inclusion, err error) {
	defer l.haltIfDamaged(&err)
	head, release, err := l.acquireFiles(ctx)
	if err != nil {
		return proof.Inclusion{}, err
	}
	defer release()
	return l.proveInclusion(head, index, size)
}

func (l *Log) proveInclusion(head checkpoint.Checkpoint, index, size int64) (proof.Inclusion, error) {
	if index < 0 || index >= size || size > head.N {
		return proof.Inclusion{}, fmt.Errorf("%w: leaf %d in a tree of %d, the log has %d leaves", ErrRange, index, size, head.N)
	}
	p := proof.Inclusion{Index: index, Size: size}
	var err error
	if p.Leaf, err = l.hashes.leafHash(index); err != nil {
		return proof.Inclusion{}, err
	}
	if p.Hashes, err = tlog.ProveRecord(size, index, l.hashes); err != nil {
		return proof.Inclusion{}, err
	}
	root, err := l.treeRoot(head, size)
	if err != nil {
		return proof.Inclusion{}, err
	}
	if tlog.CheckRecord(p.Hashes, size, root, index, p.Leaf) != nil {
		return proof.Inclusion{}, l.locateDamage(head)
	}
	return p, nil
}

// treeRoot returns the root of the tree of a size. The root of the newest checkpoint is known; an
// older one is computed.
func (l *Log) treeRoot(head checkpoint.Checkpoint, size int64) (tlog.Hash, error) {
	if size == head.N {
		return head.Hash, nil
	}
	return tlog.TreeHash(size, l.hashes)
}

// proveConsistency proves that the tree of size newer contains the tree of size older;
// tlog.CheckTree checks it. The proof is empty for an empty older tree and for equal sizes.
// proveConsistency checks the proof before it returns it.
func (l *Log) proveConsistency(ctx context.Context, older, newer int64) (_ tlog.TreeProof, err error) {
	defer l.haltIfDamaged(&err)
	head, release, err := l.acquireFiles(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if older < 0 || older > newer || newer > head.N {
		return nil, fmt.Errorf("%w: from a tree of %d to one of %d, the log has %d leaves", ErrRange, older, newer, head.N)
	}
	if older == 0 || older == newer {
		return tlog.TreeProof{}, nil
	}
	p, err := tlog.ProveTree(newer, older, l.hashes)
	if err != nil {
		return nil, err
	}
	oldRoot, err := l.treeRoot(head, older)
	if err != nil {
		return nil, err
	}
	newRoot, err := l.treeRoot(head, newer)
	if err != nil {
		return nil, err
	}
	if tlog.CheckTree(p, newer, newRoot, older, oldRoot) != nil {
		return nil, l.locateDamage(head)
	}
	return p, nil
}

// locateDamage searches the whole tree once for the hash that made a proof fail. Later callers get
// the same result.
func (l *Log) locateDamage(head checkpoint.Checkpoint) error {
	l.mu.Lock()
	found := l.damage
	l.mu.Unlock()
	if found != nil {
		return found
	}
	if found = l.hashes.findWrongHash(head.N); found == nil {
		found = &tiles.DamagedError{File: l.hashes.file.Name(), Problem: "is damaged: it does not lead to the root of the checkpoint", Remedy: remedyRestore}
	}
	l.mu.Lock()
	l.damage = found
	l.mu.Unlock()
	l.log.Error("a proof could not be given, because the log is damaged", "dir", l.dir, "error", found)
	return found
}

// Entry returns one leaf.
func (l *Log) Entry(ctx context.Context, index int64) (_ LogEntry, err error) {
	defer l.haltIfDamaged(&err)
	head, release, err := l.acquireFiles(ctx)
	if err != nil {
		return LogEntry{}, err
	}
	defer release()
	if index < 0 || index >= head.N {
		return LogEntry{}, fmt.Errorf("%w: leaf %d of %d", ErrRange, index, head.N)
	}
	return l.readVerified(head, index)
}

// readVerified reads one leaf and verifies its hash. An erased leaf has no content, so its hash is
// verified against the root.
func (l *Log) readVerified(head checkpoint.Checkpoint, index int64) (LogEntry, error) {
	e, _, err := l.leaves.readEntry(index, l.hashes)
	if err == nil && e.Erased {
		_, err = l.proveInclusion(head, index, head.N)
	}
	return e, err
}

// Find yields the leaves of a record, and of the records below its key, newest first: for
// "agent/{air id}" the whole history of the agent, for "ver/{rev}" all versions of the host's
// documents, for a complete key that record. The key must have at least two parts. A damaged leaf
// ends the sequence with its error.
func (l *Log) Find(ctx context.Context, key string) iter.Seq2[LogEntry, error] {
	return func(yield func(LogEntry, error) bool) {
		group := l.salter.TablePlace(leafform.GroupOf(key))
		_, at := l.chains.chainHeads(0, group)
		step := func(r row) (here bool, before int64) { return r.groupHash == group, r.prevGroup }
		for e, err := range l.followChain(ctx, at, step) {
			if (err != nil || isBelow(e.Key, key)) && !yield(e, err) {
				return
			}
		}
	}
}

// Newest returns the newest leaf of a record or, if there is none, the newest leaf of the records
// below its key. The error matches [ErrRange] if neither exists.
func (l *Log) Newest(ctx context.Context, key string) (LogEntry, error) {
	place := l.salter.TablePlace(key)
	at, _ := l.chains.chainHeads(place, 0)
	step := func(r row) (here bool, before int64) { return r.keyHash == place, r.prevKey }
	for e, err := range l.followChain(ctx, at, step) {
		if err != nil || e.Key == key {
			return e, err
		}
	}
	for e, err := range l.Find(ctx, key) {
		return e, err
	}
	return LogEntry{}, fmt.Errorf("%w: no leaf of %s", ErrRange, protocol.ClipBytes(key, checkpoint.MaxQuoted))
}

// followChain yields the leaves of one place, backwards from a number plus one. The function step
// reports whether a row is one of them, and where the chain continues.
func (l *Log) followChain(ctx context.Context, at int64, step func(row) (bool, int64)) iter.Seq2[LogEntry, error] {
	return func(yield func(LogEntry, error) bool) {
		for at > 0 {
			e, here, before, err := l.readLink(ctx, at-1, step)
			if err != nil {
				yield(LogEntry{}, err)
				return
			}
			if here && !yield(e, nil) {
				return
			}
			at = before
		}
	}
}

// readLink reads one leaf of a chain, if it is under the newest checkpoint.
func (l *Log) readLink(ctx context.Context, index int64, step func(row) (bool, int64)) (e LogEntry, here bool, before int64, err error) {
	defer l.haltIfDamaged(&err)
	head, release, err := l.acquireFiles(ctx)
	if err != nil {
		return LogEntry{}, false, 0, err
	}
	defer release()
	r, err := l.leaves.readRow(index)
	if err != nil {
		return LogEntry{}, false, 0, err
	}
	if here, before = step(r); !here || index >= head.N {
		return LogEntry{}, false, before, nil
	}
	e, err = l.readVerified(head, index)
	return e, err == nil, before, err
}
