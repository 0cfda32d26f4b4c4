package wordvec

import (
	_ "embed"
	"hash/crc32"
	"math"
	"sync"
	"unsafe"
)

// A Table holds the vectors of words. It never changes, and may be used by many
// goroutines at once.
type Table struct {
	dim    int
	words  map[string]uint32 // index of the word's row
	rows   []int8            // dim numbers a word
	scales []float32         // the factor of a row
	source string            // of the embedded table, which its rows are part of; else empty
}

//go:embed vectors.bin
var source string

// Embedded returns the table that comes with the program. Its words are read on
// first use.
func Embedded() *Table { return embedded() }

var embedded = sync.OnceValue(func() *Table {
	t, err := parseTable(source)
	if err != nil {
		panic("wordvec: the embedded table: " + err.Error())
	}
	return t
})

// Checksum returns a checksum of all words and vectors.
func (t *Table) Checksum() uint32 {
	if t.source != "" {
		return crc32.ChecksumIEEE(unsafe.Slice(unsafe.StringData(t.source), len(t.source)))
	}
	all, row := uint32(0), make([]byte, t.dim)
	for w, at := range t.words {
		for i, x := range t.rows[int(at)*t.dim:][:t.dim] {
			row[i] = byte(x)
		}
		sum := crc32.Update(crc32.ChecksumIEEE([]byte(w)), crc32.IEEETable, row)
		all += sum * (math.Float32bits(t.scales[at]) | 1) // the words come in any order
	}
	return all
}

// Dim is the number of dimensions of a vector.
func (t *Table) Dim() int { return t.dim }

// Len returns the number of words with a vector.
func (t *Table) Len() int { return len(t.words) }

// Word returns the vector of a word in lower case as scale times v. The caller must not change v.
func (t *Table) Word(w string) (v []int8, scale float32, ok bool) {
	at, ok := t.words[w]
	if !ok {
		return nil, 0, false
	}
	from := int(at) * t.dim
	return t.rows[from : from+t.dim : from+t.dim], t.scales[at], true
}

// Number returns the number of a word of the table, from 1 up to [Table.Len].
func (t *Table) Number(w string) uint32 { return t.words[w] + 1 }

// Sum adds the vectors of words, which must be in lower case, to dst of length [Table.Dim], each
// times its weight, and returns the number of known words. If weights is nil, each has the weight
// 1.
//
// A Korean word that is not in the table counts as the sum of its known pairs of syllables.
func (t *Table) Sum(dst []float32, words []string, weights []float32) int {
	known := 0
	var few [8]uint32
	for i, w := range words {
		rows := few[:0]
		if at, ok := t.words[w]; ok {
			rows = append(rows, at)
		} else if rows = t.syllablePairs(rows, w); len(rows) == 0 {
			continue
		}
		known++
		weight := float32(1)
		if weights != nil {
			weight = weights[i]
		}
		for _, at := range rows {
			from := int(at) * t.dim
			AddInt8(dst, t.rows[from:from+t.dim], weight*t.scales[at])
		}
	}
	return known
}
