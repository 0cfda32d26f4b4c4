package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gazetteer/registry/audit/tiles"

	"golang.org/x/mod/sumdb/tlog"
)

// One file stores the tree with all its inner hashes, in the order of tlog.StoredHashIndex. The
// file only grows at its end, and a proof needs a few reads of 32 bytes. This takes 64 bytes per
// leaf. Computing the hashes between the tiles each time takes thirty times as long.

// hashes is the file of them. It is a tlog.HashReader.
type hashes struct{ file *os.File }

// openHashes opens the file of a tree of the given size.
func openHashes(dir string, flag int, size int64) (*hashes, error) {
	f, err := openPart(filepath.Join(dir, hashesFile), flag, hashesBytes(size))
	if err != nil {
		return nil, err
	}
	return &hashes{f}, nil
}

// hashesBytes returns the length of the file of a tree of the given size.
func hashesBytes(size int64) int64 { return tlog.StoredHashCount(size) * tlog.HashSize }

// ReadHashes reads hashes that are close together in one read, such as those of a tile. The hashes of a
// proof are far apart: all those between them took most of the memory that a check of the log
// allocated.
func (h *hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	const close = 4 // hashes to read for each wanted one
	out := make([]tlog.Hash, len(indexes))
	if len(indexes) > 1 {
		first, last := slices.Min(indexes), slices.Max(indexes)
		if last-first < close*int64(len(indexes)) {
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

// authenticateTile checks that the hashes of a tile lead to the root of a tree, so that a damaged
// tile is never served.
func (h *hashes) authenticateTile(tree tlog.Tree, tile tlog.Tile) error {
	last := tlog.StoredHashIndex(tile.L*tiles.Height, tile.N*tiles.Width+int64(tile.W)-1)
	_, err := tlog.TileHashReader(tree, tileReader{h}).ReadHashes([]int64{last})
	if err == nil {
		return nil
	}
	return h.explainTiles(err, tiles.Name(tile))
}

// explainTiles returns the error for tiles that do not lead to the root of a tree. needs names what
// was to be read.
func (h *hashes) explainTiles(err error, needs string) error {
	if errors.Is(err, tiles.ErrDamaged) {
		return err
	}
	return &tiles.DamagedError{File: h.file.Name(), Problem: fmt.Sprintf("is damaged: what %s needs does not lead to the root of the checkpoint: %v", needs, err), Remedy: remedyRestore}
}

// A tileReader reads the tiles of a tree from its hashes. It is a tlog.TileReader.
type tileReader struct{ hashes *hashes }

func (r tileReader) Height() int                     { return tiles.Height }
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

// findWrongHash returns a *tiles.DamagedError for the first hash of a tree that does not follow from
// the two below it, nil if there is none.
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
			return &tiles.DamagedError{File: h.file.Name(), Remedy: remedyRestore,
				Problem: fmt.Sprintf("is damaged: the hash at byte %d, of leaves %d to %d, does not follow from those below it", index*tlog.HashSize, n<<level, (n+1)<<level-1)}
		}
	}
	return nil
}

// checkHashes checks the hashes in the own directory of a log that no tile has. The error is a
// [*tiles.DamagedError] for the first one that does not follow from the two below it.
func checkHashes(dir string) error {
	s, err := readState(dir)
	if err != nil {
		return err
	}
	h, err := openHashes(dir, os.O_RDONLY, s.Size)
	if err != nil {
		return err
	}
	defer h.file.Close() // only read
	return h.findWrongHash(s.Size)
}

// A growth contains the hashes that a batch adds to a tree. It is a tlog.HashReader of the
// resulting tree.
type growth struct {
	stored *hashes
	count  int64 // of the hashes that are stored
	size   int64 // leaves, including the added ones
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

// ReadHashes reads stored and added hashes.
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

// writeHashes writes the added hashes after the stored ones, and syncs them.
func (g *growth) writeHashes() error {
	data := make([]byte, 0, len(g.added)*tlog.HashSize)
	for _, h := range g.added {
		data = append(data, h[:]...)
	}
	return writeAt(g.stored.file, data, g.count*tlog.HashSize)
}
