package audit

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
	// Undeclared is how many of them no leaf declares as erased yet. See [VerifyDir].
	Undeclared int64
	Older      int // earlier checkpoints that the tree contains
}

// Verify checks a whole log from its files, without the program that serves it: that the checkpoint
// is signed with the key, that every leaf has its hash in the tree, that another leaf declares each
// leaf without content as erased, that every hash of the tree follows from the ones below it up to
// the signed root, and that the tree contains each of the older checkpoints of the same log, which
// must be signed, too. The error names the first wrong file.
func Verify(ctx context.Context, files Files, verifier note.Verifier, older ...[]byte) (Report, error) {
	return verifyFiles(ctx, files, false, verifier, older)
}

// VerifyDir is [Verify] for a directory. It reads the own directory of a log more thoroughly, even
// while the log is in use: it also checks the hashes that no tile has, and knows the leaves that the
// log has erased and will declare with its next signature, which it counts. progress, if not nil, is
// called with the number of leaves that were read.
func VerifyDir(ctx context.Context, dir string, progress func(leaves int64), verifier note.Verifier, older ...[]byte) (Report, error) {
	read, leaves := FilesIn(dir), int64(0)
	files := func(ctx context.Context, name string) ([]byte, error) {
		if level, _, width, tile := parseTileName(name); tile && level == entriesLevel && progress != nil {
			leaves += int64(width)
			progress(leaves)
		}
		return read(ctx, name)
	}
	own := isOwn(dir)
	r, err := verifyFiles(ctx, files, own, verifier, older)
	if err == nil && own {
		err = checkHashes(dir)
	}
	return r, err
}

func verifyFiles(ctx context.Context, files Files, own bool, verifier note.Verifier, older [][]byte) (Report, error) {
	signed, err := files(ctx, checkpointFile)
	if err != nil {
		return Report{}, fmt.Errorf("verify: %w", err)
	}
	head, err := checkpoint.Parse(signed, verifier)
	if err != nil {
		return Report{}, fmt.Errorf("verify %s: %w", checkpointFile, err)
	}
	r := Report{Checkpoint: head, Signed: signed}
	if head.N > maxSize {
		return r, fmt.Errorf("verify %s: a log of %d leaves is more than this program can check", checkpointFile, head.N)
	}
	v := verification{ctx: ctx, files: files, own: own, size: head.N, gone: map[int64]bool{}}
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
			return r, fmt.Errorf("verify older checkpoint %d: %w: it has %d leaves, the log only %d", i+1, ErrFork, c.N, head.N)
		}
		if err := v.checkHead(c); err != nil {
			return r, fmt.Errorf("verify older checkpoint %d: %w: %w", i+1, ErrFork, err)
		}
		r.Older++
	}
	return r, nil
}

// A verification reads the files of one log.
type verification struct {
	ctx   context.Context // of the one call of Verify
	files Files
	own   bool // the files are the own directory of a log
	size  int64
	roots []tlog.Hash    // of the full tiles of the level before
	gone  map[int64]bool // leaves without content, until a later leaf declares the erasure

	erased int64
}

// checkLeaves compares each leaf with its hash in level 0.
func (v *verification) checkLeaves(r *Report) error {
	for n := int64(0); n*tileWidth < v.size; n++ {
		tile, err := tileOf(v.ctx, v.files, 0, n, v.size)
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
	if len(v.gone) > 0 && !v.own {
		first := slices.Min(slices.Collect(maps.Keys(v.gone)))
		return &DamagedError{File: v.bundleName(first / tileWidth), Problem: fmt.Sprintf("has no content for leaf %d, and no leaf of an erasure names it: it was removed, or the log declares its erasure with the next checkpoint", first)}
	}
	r.Undeclared = int64(len(v.gone))
	r.Erased = v.erased + r.Undeclared
	return nil
}

func (v *verification) bundleName(n int64) string {
	return tileName(entriesLevel, n, tileWidthOf(entriesLevel, n, v.size))
}

// checkBundle compares the leaves of one bundle with the tile of their hashes.
func (v *verification) checkBundle(n int64, tile []byte) error {
	content, err := tileOf(v.ctx, v.files, entriesLevel, n, v.size)
	if err != nil {
		return err
	}
	name, width := v.bundleName(n), len(tile)/tlog.HashSize
	leaves, err := splitBundle(content, width)
	if err != nil {
		return &DamagedError{File: name, Problem: fmt.Sprintf("is not a bundle of %d leaves: %v", width, err)}
	}
	for i, leaf := range leaves {
		index := n*tileWidth + int64(i)
		if leaf == nil {
			v.gone[index] = true
			continue
		}
		if tlog.RecordHash(leaf) != tlog.Hash(tile[i*tlog.HashSize:]) {
			return &DamagedError{File: name, Problem: fmt.Sprintf("has another leaf %d than %s has the hash of", index, tileName(0, n, width))}
		}
		erased, err := erasedBy(leaf)
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
	if len(tile) < tileBytes {
		return nil
	}
	t := tlog.Tile{H: tileHeight, L: level, N: n, W: tileWidth}
	below := level*tileHeight + tileHeight - 1
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
	for level := 1; levelSize(level, v.size) > 0; level++ {
		below := v.roots
		v.roots = nil
		for n := int64(0); n*tileWidth < levelSize(level, v.size); n++ {
			tile, err := tileOf(v.ctx, v.files, level, n, v.size)
			if err != nil {
				return err
			}
			for i := range int64(len(tile) / tlog.HashSize) {
				place := n*tileWidth + i
				if tlog.Hash(tile[i*tlog.HashSize:]) != below[place] {
					return &DamagedError{File: tileName(level, n, len(tile)/tlog.HashSize),
						Problem: fmt.Sprintf("has another hash in place %d than follows from %s", place, tileName(level-1, place, tileWidth))}
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
	root, err := tlog.TreeHash(c.N, hashesOf(v.ctx, v.files, v.size))
	if err != nil {
		return err
	}
	if root != c.Hash {
		return fmt.Errorf("%w: the first %d leaves have the root %s, the checkpoint has %s", ErrDamaged, c.N, root, c.Hash)
	}
	return nil
}
