package tiles

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Names of the files of a log that are no tiles.
const (
	CheckpointFile = "checkpoint"
	KeyFile        = "key"
)

// Sizes of the layout's tiles.
const (
	Height = 8
	Width  = 1 << Height // hashes or leaves of a full tile
	Bytes  = Width * tlog.HashSize
)

const (
	// EntriesLevel is the level of the tiles that hold leaves instead of hashes.
	EntriesLevel = -1
	// MaxLeaves is the maximum number of leaves of a log that can be written and verified.
	MaxLeaves = 1 << 40
	// MaxLeaf is the maximum size of a leaf, in bytes.
	MaxLeaf = 1<<16 - 1

	maxLevel = 63
	// maxName is longer than the name of any tile.
	maxName = 64
)

// The paths of package tlog contain the height of the tiles, and call the leaves data.
const (
	tlogTiles   = "tile/8/"
	tlogLeaves  = tlogTiles + "data/"
	hashesStart = "tile/"
	leavesStart = "tile/entries/"
)

// Name returns the name of a tile.
func Name(t tlog.Tile) string {
	path := t.Path()
	if leaves, found := strings.CutPrefix(path, tlogLeaves); found {
		return leavesStart + leaves
	}
	return hashesStart + strings.TrimPrefix(path, tlogTiles)
}

// ParseName reads the name of a tile. It accepts only the canonical spelling.
func ParseName(name string) (t tlog.Tile, ok bool) {
	if len(name) > maxName {
		return tlog.Tile{}, false
	}
	path, found := strings.CutPrefix(name, leavesStart)
	if found {
		path = tlogLeaves + path
	} else if path, found = strings.CutPrefix(name, hashesStart); found {
		path = tlogTiles + path
	}
	t, err := tlog.ParseTilePath(path)
	if err != nil || t.L > maxLevel || t.N > MaxLeaves || Name(t) != name {
		return tlog.Tile{}, false
	}
	return t, true
}

// LevelSize returns the number of hashes in a level of tiles of a tree of the given size, or the
// number of its leaves.
func LevelSize(level int, size int64) int64 { return size >> (max(level, 0) * Height) }

// At returns a tile of a tree of the given size, which must contain it.
func At(level int, n, size int64) tlog.Tile {
	return tlog.Tile{H: Height, L: level, N: n, W: int(min(Width, LevelSize(level, size)-n*Width))}
}

// AppendLeaf appends a leaf to an entry bundle; an erased one is empty.
func AppendLeaf(bundle, leaf []byte) []byte {
	return append(binary.BigEndian.AppendUint16(bundle, uint16(len(leaf))), leaf...)
}

// SplitBundle returns the leaves of an entry bundle; an erased one is nil.
func SplitBundle(bundle []byte, width int) ([][]byte, error) {
	leaves := make([][]byte, 0, width)
	for len(leaves) < width {
		if len(bundle) < 2 {
			return nil, fmt.Errorf("it ends after %d of %d leaves", len(leaves), width)
		}
		n := int(binary.BigEndian.Uint16(bundle))
		bundle = bundle[2:]
		if len(bundle) < n {
			return nil, fmt.Errorf("leaf %d has %d bytes, %d are left", len(leaves), n, len(bundle))
		}
		var leaf []byte
		if n > 0 {
			leaf = bundle[:n]
		}
		leaves, bundle = append(leaves, leaf), bundle[n:]
	}
	if len(bundle) > 0 {
		return nil, fmt.Errorf("there are %d bytes after its %d leaves", len(bundle), width)
	}
	return leaves, nil
}

// cutBundle returns the first leaves of a full bundle, as a bundle.
func cutBundle(full []byte, width int) ([]byte, error) {
	leaves, err := SplitBundle(full, Width)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, leaf := range leaves[:width] {
		n += 2 + len(leaf)
	}
	return full[:n], nil
}

// DeletionStart is the prefix of the leaves that declare erased leaves. No other leaf begins with it.
const DeletionStart = `{"deleted":true,"erases":[`

// ErasedBy returns the numbers of the leaves that a leaf declares as erased.
func ErasedBy(leaf []byte) ([]int64, error) {
	if !bytes.HasPrefix(leaf, []byte(DeletionStart)) {
		return nil, nil
	}
	var deletion struct {
		Erases []int64 `json:"erases"`
	}
	if err := json.Unmarshal(leaf, &deletion); err != nil {
		return nil, fmt.Errorf("the leaf of an erasure is not JSON: %w", err)
	}
	return deletion.Erases, nil
}
