package wordvec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// The embedded table is written by tools/wordvec:
//
//	dim, words	               two uvarints
//	a word each, sorted:	     a byte, the number of bytes it shares with the one before;
//		                         a byte, the number of bytes that follow; those bytes
//	scales	                   a float32 each, little endian
//	rows	                     dim int8 each
//
// It is not compressed: the numbers are used where they are in the program, so that nothing is
// unpacked at the first search of each process.

var errShort = errors.New("it ends too early")

// parseTable reads the embedded table. It trusts the sizes written there, because
// the table was built into the program.
func parseTable(source string) (*Table, error) {
	raw := unsafe.Slice(unsafe.StringData(source), len(source))
	dim, size := binary.Uvarint(raw)
	if size <= 0 {
		return nil, errShort
	}
	raw = raw[size:]
	n, size := binary.Uvarint(raw)
	if size <= 0 {
		return nil, errShort
	}
	t := &Table{dim: int(dim), words: make(map[string]uint32, n), source: source}
	raw, err := t.parseWords(raw[size:], uint32(n))
	if err != nil {
		return nil, err
	}
	if want := n * (4 + dim); uint64(len(raw)) != want {
		return nil, fmt.Errorf("%d bytes of numbers, want %d", len(raw), want)
	}
	t.scales = make([]float32, n)
	for i := range t.scales {
		t.scales[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw))
		raw = raw[4:]
	}
	t.rows = unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(raw))), len(raw))
	return t, nil
}

// parseWords reads n words and returns the rest of raw.
func (t *Table) parseWords(raw []byte, n uint32) ([]byte, error) {
	var word []byte
	for i := range n {
		if len(raw) < 2 || len(raw) < 2+int(raw[1]) || len(word) < int(raw[0]) {
			return nil, errShort
		}
		same, end := raw[0], 2+int(raw[1])
		word = append(word[:same], raw[2:end]...)
		t.words[string(word)] = i
		raw = raw[end:]
	}
	return raw, nil
}
