package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"
)

// The tree is kept as the tlog-tiles layout has it, each level of tiles in one
// file: the n-th hash of level l stands for the leaves from n·256^l on and lies
// at 32·n in the file of that level. Hashes between the levels are computed.
const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
	tileBytes  = tileWidth * tlog.HashSize
	maxLevels  = 4
	maxSize    = 1<<32 - 1 // leaves; more would take a fifth level
)

// levelSize is the number of hashes in a level of a tree with size leaves.
func levelSize(level int, size int64) int64 { return size >> (level * tileHeight) }

// fold computes the root of 1, 2, 4 … 256 hashes.
func fold(hashes []byte) tlog.Hash {
	var level [tileWidth]tlog.Hash
	n := len(hashes) / tlog.HashSize
	for i := range n {
		level[i] = tlog.Hash(hashes[i*tlog.HashSize:])
	}
	for ; n > 1; n /= 2 {
		for i := range n / 2 {
			level[i] = tlog.NodeHash(level[2*i], level[2*i+1])
		}
	}
	return level[0]
}

// A hashSource reads count hashes of a level from the n-th on.
type hashSource func(level int, n, count int64) ([]byte, error)

// ReadHashes makes a source a tlog.HashReader.
func (read hashSource) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		height, n := tlog.SplitStoredHashIndex(index)
		level, inside := height/tileHeight, height%tileHeight
		data, err := read(level, n<<inside, 1<<inside)
		if err != nil {
			return nil, err
		}
		hashes[i] = fold(data)
	}
	return hashes, nil
}

// levels is the hash files of a tree.
type levels [maxLevels]*os.File

func hashesName(level int) string { return hashesPrefix + strconv.Itoa(level) }

// openLevels opens the files of a tree of that size.
func openLevels(dir string, flag int, size int64) (*levels, error) {
	l := &levels{}
	for level := range l {
		var err error
		if l[level], err = openPart(filepath.Join(dir, hashesName(level)), flag, levelSize(level, size)*tlog.HashSize); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	return l, nil
}

func (l *levels) close() error {
	var errs []error
	for _, f := range l {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// read is a hashSource.
func (l *levels) read(level int, n, count int64) ([]byte, error) {
	if level >= maxLevels {
		return nil, ErrRange
	}
	data := make([]byte, count*tlog.HashSize)
	if err := readAt(l[level], data, n*tlog.HashSize); err != nil {
		return nil, err
	}
	return data, nil
}

// An edge is the unfinished tiles at the right of a tree, by level.
type edge [][]byte

// readEdge reads the edge of a tree of that size.
func readEdge(read hashSource, size int64) (edge, error) {
	var e edge
	for level := 0; level < maxLevels && levelSize(level, size) > 0; level++ {
		n := levelSize(level, size)
		data, err := read(level, n&^(tileWidth-1), n%tileWidth)
		if err != nil {
			return nil, err
		}
		e = append(e, data)
	}
	return e, nil
}

// A growth is what a batch adds to a tree.
type growth struct {
	edge  edge
	added [][]byte // by level
}

// grow begins a batch on a tree with that edge, which stays as it is.
func grow(e edge) *growth {
	g := &growth{edge: make(edge, len(e)), added: make([][]byte, len(e))}
	for level, data := range e {
		g.edge[level] = append(make([]byte, 0, tileBytes), data...)
	}
	return g
}

// add appends a hash to a level, and the root of a tile that it completes to
// the level above.
func (g *growth) add(level int, h tlog.Hash) {
	if level == len(g.edge) {
		g.edge = append(g.edge, make([]byte, 0, tileBytes))
		g.added = append(g.added, nil)
	}
	g.edge[level] = append(g.edge[level], h[:]...)
	g.added[level] = append(g.added[level], h[:]...)
	if len(g.edge[level]) == tileBytes {
		root := fold(g.edge[level])
		g.edge[level] = g.edge[level][:0]
		g.add(level+1, root)
	}
}

// append writes what a batch adds behind a tree of that size, and syncs it.
func (l *levels) append(size int64, added [][]byte) error {
	for level, data := range added {
		if len(data) == 0 {
			continue
		}
		if err := writeAt(l[level], data, levelSize(level, size)*tlog.HashSize); err != nil {
			return err
		}
	}
	return nil
}
