package main

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// A row is one word and its vector.
type row struct {
	word   string
	vector []float32
	share  float32 // of all words that were read, how many are this one
}

// levels is the largest number that a vector is written with. Coarser numbers than
// an int8 can hold cost nothing that can be measured in a sum of words, and
// compress better in an archive of the program.
const levels = 31

// coarse returns v in whole numbers of at most levels, and what to multiply them
// by.
func coarse(v []float32) ([]int8, float32) {
	var most float32
	for _, x := range v {
		most = max(most, x, -x)
	}
	q := make([]int8, len(v))
	if most == 0 {
		return q, 0
	}
	scale := most / levels
	for i, x := range v {
		q[i] = int8(math.RoundToEven(float64(x / scale)))
	}
	return q, scale
}

// encode writes the table that package wordvec embeds; layout.go there says how.
func encode(rows []row) []byte {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.word, b.word) })
	out := binary.AppendUvarint(nil, uint64(len(rows[0].vector)))
	out = binary.AppendUvarint(out, uint64(len(rows)))
	before := ""
	for _, r := range rows {
		same := 0
		for same < min(len(before), len(r.word)) && before[same] == r.word[same] {
			same++
		}
		out = append(out, byte(same), byte(len(r.word)-same))
		out = append(out, r.word[same:]...)
		before = r.word
	}
	var numbers []byte
	for _, r := range rows {
		q, scale := coarse(r.vector)
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(scale))
		for _, x := range q {
			numbers = append(numbers, byte(x))
		}
	}
	return append(out, numbers...)
}
