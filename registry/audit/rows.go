package audit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gazetteer/registry/audit/tiles"

	"golang.org/x/mod/sumdb/tlog"
)

// A row is the log's metadata of one leaf besides its hash. It contains the position of the leaf in
// the file of entries, after the key of its record, and the number of the previous leaf in each of
// two chains: of the same record, and of the same group (see leafform.GroupOf). Rows are 64 bytes long and
// never cross a sector, so that an overwritten row is always either the old one or the new one.
//
//	offset 8 | key length 2 | leaf length 2 | flags 1 | 0 3 |
//	before, of its place by key 8 | before, of its place by group 8 |
//	hash of the key 4 | hash of the group 4 | CRC-32C of key and leaf 4 | 0 16 | CRC-32C of the row 4
//
// Places before are leaf numbers plus one, 0 for none.
type row struct {
	offset             int64
	keyLen, leafLen    int
	flags              byte
	prevKey, prevGroup int64
	keyHash, groupHash uint32
	sum                uint32
}

const rowBytes = 64

const (
	flagErased  = 1 << 0 // the leaf's bytes are erased
	flagDeleted = 1 << 1 // the leaf says that the record was deleted
)

func (r row) endOffset() int64 { return r.offset + int64(r.keyLen) + int64(r.leafLen) }

func (r row) appendTo(out []byte) []byte {
	at := len(out)
	out = binary.BigEndian.AppendUint64(out, uint64(r.offset))
	out = binary.BigEndian.AppendUint16(out, uint16(r.keyLen))
	out = binary.BigEndian.AppendUint16(out, uint16(r.leafLen))
	out = append(out, r.flags, 0, 0, 0)
	out = binary.BigEndian.AppendUint64(out, uint64(r.prevKey))
	out = binary.BigEndian.AppendUint64(out, uint64(r.prevGroup))
	out = binary.BigEndian.AppendUint32(out, r.keyHash)
	out = binary.BigEndian.AppendUint32(out, r.groupHash)
	out = binary.BigEndian.AppendUint32(out, r.sum)
	out = append(out, make([]byte, 16)...)
	return binary.BigEndian.AppendUint32(out, crc32.Checksum(out[at:], castagnoli))
}

// decodeRow returns false for a damaged row.
func decodeRow(b []byte) (row, bool) {
	r := row{
		offset:    int64(binary.BigEndian.Uint64(b)),
		keyLen:    int(binary.BigEndian.Uint16(b[8:])),
		leafLen:   int(binary.BigEndian.Uint16(b[10:])),
		flags:     b[12],
		prevKey:   int64(binary.BigEndian.Uint64(b[16:])),
		prevGroup: int64(binary.BigEndian.Uint64(b[24:])),
		keyHash:   binary.BigEndian.Uint32(b[32:]),
		groupHash: binary.BigEndian.Uint32(b[36:]),
		sum:       binary.BigEndian.Uint32(b[40:]),
	}
	return r, binary.BigEndian.Uint32(b[60:]) == crc32.Checksum(b[:60], castagnoli)
}

// leaves are the two files that hold the leaves.
type leaves struct {
	rows, entries *os.File
	mu            sync.RWMutex // held for writing while leaves are erased
	// unsynced are the leaves whose erasure was written and may not be on disk. Guarded by mu.
	unsynced map[int64]bool
	sync     func(*os.File) error // of an erasure; nil if the files are only read
}

// openLeaves opens the files of a log with the given numbers of leaves and bytes.
func openLeaves(dir string, flag int, size, bytes int64) (*leaves, error) {
	rows, err := openPart(filepath.Join(dir, rowsFile), flag, size*rowBytes)
	if err != nil {
		return nil, err
	}
	entries, err := openPart(filepath.Join(dir, entriesFile), flag, bytes)
	if err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	return &leaves{rows: rows, entries: entries, unsynced: map[int64]bool{}}, nil
}

func (l *leaves) closeFiles() error { return errors.Join(l.rows.Close(), l.entries.Close()) }

func (l *leaves) readRow(index int64) (row, error) {
	var b [rowBytes]byte
	if err := readAt(l.rows, b[:], index*rowBytes); err != nil {
		return row{}, err
	}
	r, sound := decodeRow(b[:])
	if !sound {
		return row{}, l.damagedRow(index)
	}
	return r, nil
}

// findBefore returns the newest sound leaf before another one at a place of the table by key, plus
// one, or 0. It is for a leaf whose row is damaged, and reads the rows before it.
func (l *leaves) findBefore(index int64, place uint32) int64 {
	const page = 1024
	for index > 0 {
		first := max(0, index-page)
		b := make([]byte, (index-first)*rowBytes)
		if err := readAt(l.rows, b, first*rowBytes); err != nil {
			return 0
		}
		for ; index > first; index-- {
			if r, sound := decodeRow(b[(index-1-first)*rowBytes:]); sound && r.keyHash%places == place%places {
				return index
			}
		}
	}
	return 0
}

func (l *leaves) damagedRow(index int64) error {
	return &tiles.DamagedError{File: l.rows.Name(), Problem: fmt.Sprintf("is damaged: the row of leaf %d does not match its checksum", index), Remedy: remedyRestore}
}

func (l *leaves) damagedContent(index int64, r row) error {
	return &tiles.DamagedError{File: l.entries.Name(), Problem: fmt.Sprintf("is damaged: leaf %d, %d bytes from byte %d on, does not match its checksum", index, r.keyLen+r.leafLen, r.offset), Remedy: remedyRestore}
}

// foreignContent is the error for a leaf that does not have the stored hash.
func (l *leaves) foreignContent(index int64) error {
	return &tiles.DamagedError{File: l.entries.Name(), Problem: fmt.Sprintf("and %s disagree on leaf %d", hashesFile, index), Remedy: remedyRestore}
}

// readContent returns the key and the leaf of a row; the leaf is nil if it is erased.
func (l *leaves) readContent(index int64, r row) (key string, leaf []byte, err error) {
	b := make([]byte, r.keyLen+r.leafLen)
	if r.flags&flagErased != 0 {
		b = b[:r.keyLen]
	}
	if err := readAt(l.entries, b, r.offset); err != nil {
		return "", nil, err
	}
	return l.verifyContent(index, r, b)
}

// verifyContent splits the bytes of a row, which begin with its key, into the key and the leaf; the
// leaf is nil if it is erased.
func (l *leaves) verifyContent(index int64, r row, b []byte) (key string, leaf []byte, err error) {
	if r.flags&flagErased != 0 {
		b = b[:r.keyLen]
	}
	if crc32.Checksum(b, castagnoli) != r.sum {
		return "", nil, l.damagedContent(index, r)
	}
	if r.flags&flagErased == 0 {
		leaf = b[r.keyLen:]
	}
	return string(b[:r.keyLen]), leaf, nil
}

// A leafRun is consecutive leaves. Its memory is used again for the next ones.
type leafRun struct {
	rows    []row
	content []byte // their keys and leaves
	encoded []byte // the rows
}

// readRun reads consecutive leaves, in two reads.
func (l *leaves) readRun(first int64, count int, run *leafRun) error {
	run.encoded = slices.Grow(run.encoded[:0], count*rowBytes)[:count*rowBytes]
	if err := readAt(l.rows, run.encoded, first*rowBytes); err != nil {
		return err
	}
	run.rows = run.rows[:0]
	for i := range count {
		r, sound := decodeRow(run.encoded[i*rowBytes:])
		if !sound || i > 0 && r.offset != run.rows[i-1].endOffset() {
			return l.damagedRow(first + int64(i))
		}
		run.rows = append(run.rows, r)
	}
	bytes := int(run.rows[count-1].endOffset() - run.rows[0].offset)
	run.content = slices.Grow(run.content[:0], bytes)[:bytes]
	return readAt(l.entries, run.content, run.rows[0].offset)
}

// chains finds the newest leaf of a key and of a group. It has two tables in memory with the newest
// leaf of each place; the rows link it to the older leaves of that place. The tables are filled
// from the rows when the log is opened.
type chains struct {
	mu      sync.RWMutex // guards the tables
	byKey   [places]int64
	byGroup [places]int64
}

const places = 1 << 17

func (c *chains) addRow(index int64, r row) {
	c.byKey[r.keyHash%places] = index + 1
	c.byGroup[r.groupHash%places] = index + 1
}

// chainHeads returns the newest leaves plus one at the places of a key and a group.
func (c *chains) chainHeads(keyHash, groupHash uint32) (key, group int64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byKey[keyHash%places], c.byGroup[groupHash%places]
}

// isBelow reports whether a key equals another one or is below it.
func isBelow(key, asked string) bool {
	return strings.HasPrefix(key, asked) && (len(key) == len(asked) || key[len(asked)] == '/')
}

// scanRows reads the rows of a whole log. It fills the tables, checks that the leaves are
// contiguous, and returns the erased leaves that need work after a crash.
func (l *leaves) scanRows(ctx context.Context, c *chains, size, bytes int64) (*erasedScan, error) {
	const page = 4096
	buffer := make([]byte, page*rowBytes)
	erased := newErasedScan(l)
	end := int64(0)
	for first := int64(0); first < size; first += page {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := buffer[:min(page, size-first)*rowBytes]
		if err := readAt(l.rows, b, first*rowBytes); err != nil {
			return nil, err
		}
		for i := first; len(b) > 0; i, b = i+1, b[rowBytes:] {
			r, sound := decodeRow(b)
			if !sound || r.offset != end || r.prevKey > i || r.prevGroup > i {
				return nil, l.damagedRow(i)
			}
			end = r.endOffset()
			c.addRow(i, r)
			if err := erased.addRow(i, r); err != nil {
				return nil, err
			}
		}
	}
	if end != bytes {
		return nil, &tiles.DamagedError{File: l.rows.Name(), Problem: fmt.Sprintf("is damaged: its leaves end at byte %d of %d", end, bytes), Remedy: remedyRestore}
	}
	return erased, nil
}

// A LogEntry is one leaf of the log.
type LogEntry struct {
	Index int64
	// Key is the key of the record in the store.
	Key string
	// Hash is the leaf's hash, SHA-256 of a zero byte and the leaf.
	Hash tlog.Hash
	// Leaf is the hashed canonical record; nil if it was erased.
	Leaf   []byte
	Erased bool
	// Deleted is set if the leaf declares that the record was deleted.
	Deleted bool
}

// readEntry reads one leaf.
func (l *leaves) readEntry(index int64, hashes *hashes) (LogEntry, row, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	r, err := l.readRow(index)
	if err != nil {
		return LogEntry{}, row{}, err
	}
	key, leaf, err := l.readContent(index, r)
	if err != nil {
		return LogEntry{}, row{}, err
	}
	hash, err := hashes.leafHash(index)
	if err != nil {
		return LogEntry{}, row{}, err
	}
	e := LogEntry{Index: index, Key: key, Hash: hash, Leaf: leaf, Erased: leaf == nil, Deleted: r.flags&flagDeleted != 0}
	if leaf != nil && tlog.RecordHash(leaf) != e.Hash {
		return LogEntry{}, row{}, l.foreignContent(index)
	}
	return e, r, nil
}
