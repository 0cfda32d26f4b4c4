package main

import (
	"math/rand/v2"
	"slices"
)

// window is how far apart two words may stand to be counted as neighbours.
const window = 6

// startingVectors returns vectors learned from which words stand together in the
// texts: the main directions of the table of neighbours, found by a randomised
// decomposition (Halko, Martinsson and Tropp 2011, algorithm 4.4). A training
// that begins with them needs a third of the time.
func startingVectors(v *vocabulary, texts [][]int32, dim int, seed uint64) []float32 {
	m := neighbours(texts, len(v.words))
	r := rand.New(rand.NewPCG(seed, 2))
	basis := make([]float32, len(v.words)*dim)
	for i := range basis {
		basis[i] = r.Float32() - .5
	}
	for range 3 {
		basis = m.times(basis, dim)
		orthonormalise(basis, dim)
	}
	// The directions are left equally strong. Where each had the strength that it
	// has in the table, few would count, and all words would lie near each other.
	for row := range slices.Chunk(basis, dim) {
		if length := sqrt(dot(row, row)); length > 0 {
			for k := range row {
				row[k] /= length
			}
		}
	}
	return basis
}

// A sparse matrix, row by row.
type sparse struct {
	start   []int // of each row, and the end of the last
	columns []int32
	values  []float32
}

// neighbours counts which words stand together and keeps, for each pair, by how
// much more often than by chance: the logarithm of that, which is never negative
// here (positive pointwise mutual information).
func neighbours(texts [][]int32, n int) *sparse {
	var pairs []uint64
	for _, text := range texts {
		for i, a := range text {
			for _, b := range text[i+1 : min(i+1+window, len(text))] {
				if a != b {
					pairs = append(pairs, uint64(a)<<32|uint64(b), uint64(b)<<32|uint64(a))
				}
			}
		}
	}
	slices.Sort(pairs)
	all := float32(len(pairs))
	uses := make([]float32, n)
	for _, p := range pairs {
		uses[p>>32]++
	}
	// Rare neighbours say too much: their counts are raised a little.
	smooth := make([]float32, n)
	var allSmooth float32
	for i, u := range uses {
		smooth[i] = sqrt(u * sqrt(u)) // to the power of 3/4
		allSmooth += smooth[i]
	}
	m := &sparse{start: make([]int, n+1)}
	for i := 0; i < len(pairs); {
		j := i
		for j < len(pairs) && pairs[j] == pairs[i] {
			j++
		}
		a, b := pairs[i]>>32, pairs[i]&(1<<32-1)
		chance := uses[a] / all * smooth[b] / allSmooth
		if x := float32(j-i) / all / chance; x > 1 {
			m.columns = append(m.columns, int32(b))
			m.values = append(m.values, logarithm(x))
			m.start[a+1]++
		}
		i = j
	}
	for i := range n {
		m.start[i+1] += m.start[i]
	}
	return m
}

// times returns the product with a matrix of dim columns.
func (m *sparse) times(x []float32, dim int) []float32 {
	out := make([]float32, len(x))
	for i := range len(m.start) - 1 {
		row := out[i*dim : (i+1)*dim]
		for k := m.start[i]; k < m.start[i+1]; k++ {
			c := int(m.columns[k])
			addScaled(row, x[c*dim:(c+1)*dim], m.values[k])
		}
	}
	return out
}

// orthonormalise makes the columns of x unit length and at right angles to each
// other, one after the other.
func orthonormalise(x []float32, dim int) {
	columns := make([][]float32, dim)
	n := len(x) / dim
	for k := range columns {
		columns[k] = make([]float32, n)
		for i := range n {
			columns[k][i] = x[i*dim+k]
		}
	}
	for k, c := range columns {
		for range 2 { // once more, against rounding
			for _, before := range columns[:k] {
				addScaled(c, before, -dot(before, c))
			}
		}
		if length := sqrt(dot(c, c)); length > 0 {
			for i := range c {
				c[i] /= length
			}
		}
	}
	for k, c := range columns {
		for i := range n {
			x[i*dim+k] = c[i]
		}
	}
}
