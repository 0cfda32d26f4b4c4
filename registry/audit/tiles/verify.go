package tiles

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"gazetteer/registry/audit/checkpoint"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A Report lists what [Verify] has verified.
type Report struct {
	checkpoint.Checkpoint
	Signed []byte // the checkpoint as it was signed, with all signatures
	Erased int64  // leaves whose content is erased; their hashes were checked
	// Undeclared is how many of them no leaf declares as erased yet. See [VerifyOwn].
	Undeclared int64
	Older      int // earlier checkpoints that the tree contains

	undeclared int64 // the first undeclared leaf
}

// Verify checks a whole log from its files: that the checkpoint is signed with the key, that every
// leaf has its hash in the tree, that another leaf declares each leaf without content as erased,
// that every hash of the tree follows from the ones below it up to the signed root, and that the
// tree contains each of the older checkpoints of the same log, which must be signed, too. The error
// names the first wrong file; it matches [ErrContradiction] for an older checkpoint. It is an
// [*UndeclaredError] if all is right except that no leaf declares the erasure of some.
func Verify(ctx context.Context, files Files, verifier note.Verifier, older ...[]byte) (Report, error) {
	r, err := verify(ctx, files, verifier, older)
	if err == nil && r.Undeclared > 0 {
		err = &UndeclaredError{File: Name(At(EntriesLevel, r.undeclared/Width, r.N)), Leaf: r.undeclared, Leaves: r.Undeclared}
	}
	return r, err
}

// VerifyOwn is [Verify] for the files of the log's operator. It accepts leaves without content that
// no leaf declares as erased, and counts them: the log declares them with its next signature.
func VerifyOwn(ctx context.Context, files Files, verifier note.Verifier, older ...[]byte) (Report, error) {
	return verify(ctx, files, verifier, older)
}

func verify(ctx context.Context, files Files, verifier note.Verifier, older [][]byte) (Report, error) {
	signed, err := files(ctx, CheckpointFile)
	if err != nil {
		return Report{}, fmt.Errorf("verify: %w", err)
	}
	head, err := checkpoint.Parse(signed, verifier)
	if err != nil {
		return Report{}, fmt.Errorf("verify %s: %w", CheckpointFile, err)
	}
	r := Report{Checkpoint: head, Signed: signed}
	if head.N > MaxLeaves {
		return r, fmt.Errorf("verify %s: a log of %d leaves is more than this program can check", CheckpointFile, head.N)
	}
	v := verification{ctx: ctx, files: files, size: head.N, gone: map[int64]bool{}}
	if err := v.checkLeaves(&r); err != nil {
		return r, fmt.Errorf("verify: %w", err)
	}
	if err := v.checkHashes(); err != nil {
		return r, fmt.Errorf("verify: %w", err)
	}
	if err := v.checkHead(head); err != nil {
		return r, fmt.Errorf("verify: %w", err)
	}
	for i, text := range older {
		c, err := checkpoint.Parse(text, verifier)
		if err != nil {
			return r, fmt.Errorf("verify older checkpoint %d: %w", i+1, err)
		}
		if c.N > head.N {
			return r, fmt.Errorf("verify older checkpoint %d: %w: it has %d leaves, the log only %d", i+1, ErrContradiction, c.N, head.N)
		}
		if err := v.checkHead(c); err != nil {
			return r, fmt.Errorf("verify older checkpoint %d: %w: %w", i+1, ErrContradiction, err)
		}
		r.Older++
	}
	return r, nil
}

// A verification reads the files of one log.
type verification struct {
	ctx   context.Context // of the one call of Verify
	files Files
	size  int64
	roots []tlog.Hash    // of the full tiles of the level before
	gone  map[int64]bool // leaves without content, until a later leaf declares the erasure

	erased int64
}

func (v *verification) readTile(level int, n int64) ([]byte, error) {
	return readTile(v.ctx, v.files, At(level, n, v.size))
}

// checkLeaves compares each leaf with its hash in level 0.
func (v *verification) checkLeaves(r *Report) error {
	for n := int64(0); n*Width < v.size; n++ {
		tile, err := v.readTile(0, n)
		if err != nil {
			return err
		}
		if err := v.keepTileRoot(0, n, tile); err != nil {
			return err
		}
		if err := v.checkBundle(n, tile); err != nil {
			return err
		}
	}
	r.Undeclared = int64(len(v.gone))
	if len(v.gone) > 0 {
		r.undeclared = slices.Min(slices.Collect(maps.Keys(v.gone)))
	}
	r.Erased = v.erased + r.Undeclared
	return nil
}

// checkBundle compares the leaves of one bundle with the tile of their hashes.
func (v *verification) checkBundle(n int64, tile []byte) error {
	content, err := v.readTile(EntriesLevel, n)
	if err != nil {
		return err
	}
	name, width := Name(At(EntriesLevel, n, v.size)), len(tile)/tlog.HashSize
	leaves, err := SplitBundle(content, width)
	if err != nil {
		return &DamagedError{File: name, Problem: fmt.Sprintf("is not a bundle of %d leaves: %v", width, err)}
	}
	for i, leaf := range leaves {
		index := n*Width + int64(i)
		if leaf == nil {
			v.gone[index] = true
			continue
		}
		if tlog.RecordHash(leaf) != tlog.Hash(tile[i*tlog.HashSize:]) {
			return &DamagedError{File: name, Problem: fmt.Sprintf("has another leaf %d than %s has the hash of", index, Name(At(0, n, v.size)))}
		}
		erased, err := ErasedBy(leaf)
		if err != nil {
			return fmt.Errorf("leaf %d: %w", index, err)
		}
		for _, e := range erased {
			if v.gone[e] {
				delete(v.gone, e)
				v.erased++
			}
		}
	}
	return nil
}

// keepTileRoot stores the root of a full tile for the comparison with the level above.
func (v *verification) keepTileRoot(level int, n int64, tile []byte) error {
	if len(tile) < Bytes {
		return nil
	}
	t := tlog.Tile{H: Height, L: level, N: n, W: Width}
	below := level*Height + Height - 1
	left, err := tlog.HashFromTile(t, tile, tlog.StoredHashIndex(below, 2*n))
	if err != nil {
		return err
	}
	right, err := tlog.HashFromTile(t, tile, tlog.StoredHashIndex(below, 2*n+1))
	if err != nil {
		return err
	}
	v.roots = append(v.roots, tlog.NodeHash(left, right))
	return nil
}

// checkHashes compares each hash of the levels above 0 with the tile below it.
func (v *verification) checkHashes() error {
	for level := 1; LevelSize(level, v.size) > 0; level++ {
		below := v.roots
		v.roots = nil
		for n := int64(0); n*Width < LevelSize(level, v.size); n++ {
			tile, err := v.readTile(level, n)
			if err != nil {
				return err
			}
			for i := range int64(len(tile) / tlog.HashSize) {
				place := n*Width + i
				if tlog.Hash(tile[i*tlog.HashSize:]) != below[place] {
					return &DamagedError{File: Name(At(level, n, v.size)),
						Problem: fmt.Sprintf("has another hash in place %d than follows from %s", place, Name(At(level-1, place, v.size)))}
				}
			}
			if err := v.keepTileRoot(level, n, tile); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkHead compares the root of the first c.N leaves with a checkpoint.
func (v *verification) checkHead(c checkpoint.Checkpoint) error {
	root, err := tlog.TreeHash(c.N, newHashReader(v.ctx, v.files, v.size))
	if err != nil {
		return err
	}
	if root != c.Hash {
		return fmt.Errorf("%w: the first %d leaves have the root %s, the checkpoint has %s", ErrDamaged, c.N, root, c.Hash)
	}
	return nil
}
