package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// The tree is kept with all its inner hashes, in one file, in the order of
// tlog.StoredHashIndex: it only ever grows at its end, and a proof is a few
// reads of 32 bytes. That takes 64 bytes a leaf; computing the hashes between
// the tiles anew takes thirty times as long.

// hashes is the file of them. It is a tlog.HashReader.
type hashes struct{ file *os.File }

// openHashes opens the file of a tree of that size.
func openHashes(dir string, flag int, size int64) (*hashes, error) {
	f, err := openPart(filepath.Join(dir, hashesFile), flag, hashesBytes(size))
	if err != nil {
		return nil, err
	}
	return &hashes{f}, nil
}

// hashesBytes is how long the file of a tree of that size is.
func hashesBytes(size int64) int64 { return tlog.StoredHashCount(size) * tlog.HashSize }

// ReadHashes reads hashes that lie close together at once.
func (h *hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	const close = 4 * tileWidth
	out := make([]tlog.Hash, len(indexes))
	if len(indexes) > 1 {
		first, last := slices.Min(indexes), slices.Max(indexes)
		if last-first < close {
			span := make([]byte, (last-first+1)*tlog.HashSize)
			if err := readAt(h.file, span, first*tlog.HashSize); err != nil {
				return nil, err
			}
			for i, index := range indexes {
				out[i] = tlog.Hash(span[(index-first)*tlog.HashSize:])
			}
			return out, nil
		}
	}
	for i, index := range indexes {
		if err := readAt(h.file, out[i][:], index*tlog.HashSize); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// authenticateTile checks that the hashes of a tile lead to the root of a tree, so that a damaged one
// is never handed out.
func (h *hashes) authenticateTile(tree tlog.Tree, level int, n int64, width int) error {
	last := tlog.StoredHashIndex(level*tileHeight, n*tileWidth+int64(width)-1)
	_, err := tlog.TileHashReader(tree, tileReader{h}).ReadHashes([]int64{last})
	if err == nil || errors.Is(err, ErrDamaged) {
		return err
	}
	return &DamagedError{File: h.file.Name(), Problem: fmt.Sprintf("is damaged: what %s needs does not lead to the root of the checkpoint: %v", tileName(level, n, width), err), Remedy: remedyRestore}
}

// A tileReader reads the tiles of a tree out of its hashes. It is a tlog.TileReader.
type tileReader struct{ hashes *hashes }

func (r tileReader) Height() int                     { return tileHeight }
func (r tileReader) SaveTiles([]tlog.Tile, [][]byte) {}
func (r tileReader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(tiles))
	for i, tile := range tiles {
		var err error
		if data[i], err = tlog.ReadTileData(tile, r.hashes); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// leafHash returns the hash of one leaf.
func (h *hashes) leafHash(index int64) (hash tlog.Hash, err error) {
	err = readAt(h.file, hash[:], tlog.StoredHashIndex(0, index)*tlog.HashSize)
	return hash, err
}

// findWrongHash looks for the first hash of a tree that does not follow from the two
// below it. The error is nil if there is none, and otherwise a *DamagedError.
func (h *hashes) findWrongHash(size int64) error {
	for index := range tlog.StoredHashCount(size) {
		level, n := tlog.SplitStoredHashIndex(index)
		if level == 0 {
			continue
		}
		three, err := h.ReadHashes([]int64{tlog.StoredHashIndex(level-1, 2*n), index - 1, index})
		if err != nil {
			return err
		}
		if tlog.NodeHash(three[0], three[1]) != three[2] {
			return &DamagedError{File: h.file.Name(), Remedy: remedyRestore,
				Problem: fmt.Sprintf("is damaged: the hash at byte %d, of leaves %d to %d, does not follow from those below it", index*tlog.HashSize, n<<level, (n+1)<<level-1)}
		}
	}
	return nil
}

// A growth is the hashes that a batch adds to a tree. It is a tlog.HashReader of
// the tree with them.
type growth struct {
	stored *hashes
	count  int64 // of the hashes that are stored
	size   int64 // leaves, with those added
	added  []tlog.Hash
}

func newGrowth(stored *hashes, size int64) *growth {
	return &growth{stored: stored, count: tlog.StoredHashCount(size), size: size}
}

func (g *growth) addLeaf(leaf tlog.Hash) error {
	more, err := tlog.StoredHashesForRecordHash(g.size, leaf, g)
	g.added = append(g.added, more...)
	g.size++
	return err
}

// ReadHashes reads what is stored, and what is added.
func (g *growth) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if index >= g.count {
			out[i] = g.added[index-g.count]
			continue
		}
		if err := readAt(g.stored.file, out[i][:], index*tlog.HashSize); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// writeHashes puts what is added behind what is stored, and syncs it.
func (g *growth) writeHashes() error {
	data := make([]byte, 0, len(g.added)*tlog.HashSize)
	for _, h := range g.added {
		data = append(data, h[:]...)
	}
	return writeAt(g.stored.file, data, g.count*tlog.HashSize)
}
