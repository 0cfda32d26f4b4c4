package audit

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"gazetteer/registry/audit/tiles"

	"golang.org/x/mod/sumdb/tlog"
)

// leavesPerStep is how many leaves [Log.CheckLeaves] reads before it lets other goroutines run.
const leavesPerStep = 64

// CheckLeaves checks the leaves from number from up to number to, which is not included, against the
// tree of the given size; to must not exceed size, and size not that of the newest checkpoint. It
// returns the number of leaves before the first damaged one, and the [*tiles.DamagedError] of that one.
//
// All leaves share one proof: a proof for each of a thousand leaves takes a hundred milliseconds.
// Between steps of less than a millisecond, other goroutines run.
func (l *Log) CheckLeaves(ctx context.Context, from, to, size int64) (sound int64, err error) {
	hashes, err := l.provenHashes(ctx, from, to, size)
	var run leafRun
	for i := int64(0); i < int64(len(hashes)) && err == nil; i += leavesPerStep {
		runtime.Gosched()
		err = l.compareLeaves(ctx, from+i, hashes[i:min(i+leavesPerStep, int64(len(hashes)))], &run)
	}
	if !errors.Is(err, tiles.ErrDamaged) {
		return int64(len(hashes)), err
	}
	for i := from; i < to; i++ { // the damage may be beside these leaves
		if err := l.checkLeaf(ctx, i, size); err != nil {
			return i - from, err
		}
		runtime.Gosched()
	}
	return to - from, nil
}

// provenHashes returns the hashes of leaves, which lead to the root of the tree of a size.
func (l *Log) provenHashes(ctx context.Context, from, to, size int64) ([]tlog.Hash, error) {
	head, release, err := l.acquireFiles(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if from < 0 || from > to || to > size || size > head.N {
		return nil, fmt.Errorf("%w: leaves %d to %d in a tree of %d, the log has %d leaves", ErrRange, from, to, size, head.N)
	}
	if from == to {
		return nil, nil
	}
	root, err := l.treeRoot(head, size)
	if err != nil {
		return nil, err
	}
	indexes := make([]int64, to-from)
	for i := range indexes {
		indexes[i] = tlog.StoredHashIndex(0, from+int64(i))
	}
	hashes, err := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, tileReader{l.hashes}).ReadHashes(indexes)
	if err != nil {
		return nil, l.hashes.explainTiles(err, "the leaves that were checked")
	}
	return hashes, nil
}

// compareLeaves compares the content of consecutive leaves, which it reads into run, with their
// hashes. An erased leaf has none.
func (l *Log) compareLeaves(ctx context.Context, first int64, hashes []tlog.Hash, run *leafRun) error {
	_, release, err := l.acquireFiles(ctx)
	if err != nil {
		return err
	}
	defer release()
	l.leaves.mu.RLock()
	defer l.leaves.mu.RUnlock()
	if err := l.leaves.readRun(first, len(hashes), run); err != nil {
		return err
	}
	for i, r := range run.rows {
		index := first + int64(i)
		_, leaf, err := l.leaves.verifyContent(index, r, run.content[r.offset-run.rows[0].offset:][:r.keyLen+r.leafLen])
		if err != nil {
			return err
		}
		if leaf != nil && tlog.RecordHash(leaf) != hashes[i] {
			return l.leaves.foreignContent(index)
		}
	}
	return nil
}

// checkLeaf checks one leaf with a proof of its own.
func (l *Log) checkLeaf(ctx context.Context, index, size int64) error {
	if _, err := l.Entry(ctx, index); err != nil { // compares the content with the hash
		return err
	}
	_, err := l.Prove(ctx, index, size)
	return err
}
