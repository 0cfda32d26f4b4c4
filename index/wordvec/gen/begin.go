package main

import "slices"

// How many numbers each source gives to a start.
const (
	fromNeighbours = 200
	fromEncoder    = 200
	fromGloVe      = gloveDim
)

// beginning returns the vectors that a training begins with, a row a word: what the words' neighbours in the texts tell of them, what the encoder knows of
// each alone, and what GloVe's tells of neighbours in far larger texts; of all
// that the main directions.
func beginning(v *vocabulary, texts [][]int32, from sources, o options) ([]float32, error) {
	glove, err := readGloVe(from.glove, v.number)
	if err != nil {
		return nil, err
	}
	e, err := openEncoder(from.encoder)
	if err != nil {
		return nil, err
	}
	sources := [][]float32{
		startingVectors(v, texts, min(fromNeighbours, o.learned), o.seed),
		evened(e.words(v.words, o.workers), e.dim, min(fromEncoder, e.dim, o.learned), o.seed),
		evened(glove, gloveDim, min(fromGloVe, o.learned), o.seed),
	}
	n := len(v.words)
	var all []float32
	for i := range n {
		for _, x := range sources {
			size := len(x) / n
			all = append(all, x[i*size:(i+1)*size]...)
		}
	}
	return unitRows(alongMain(all, len(all)/n, o.learned, nil, o.seed), o.learned), nil
}

// evened returns the rows of x along their main directions, with all of these
// equally strong, as in startingVectors. Rows of nothing but zeros stay so.
func evened(x []float32, wide, dim int, seed uint64) []float32 {
	mean := make([]float32, wide)
	known := 0
	for row := range slices.Chunk(x, wide) {
		if dot(row, row) > 0 {
			addScaled(mean, row, 1)
			known++
		}
	}
	for row := range slices.Chunk(x, wide) {
		if dot(row, row) > 0 {
			addScaled(row, mean, -1/float32(known))
		}
	}
	x = alongMain(x, wide, dim, nil, seed)
	orthonormalise(x, dim)
	return unitRows(x, dim)
}

// unitRows makes each row of x unit length.
func unitRows(x []float32, dim int) []float32 {
	for row := range slices.Chunk(x, dim) {
		if length := sqrt(dot(row, row)); length > 0 {
			for k := range row {
				row[k] /= length
			}
		}
	}
	return x
}

// alongMain returns the rows of x, wide numbers each, along the dim directions in
// which they differ most. A row counts with its weight, 1 where there is none.
func alongMain(x []float32, wide, dim int, weights []float32, seed uint64) []float32 {
	basis := directions(x, wide, dim, weights, seed)
	out := make([]float32, len(x)/wide*dim)
	for i := range len(x) / wide {
		for j, y := range x[i*wide : (i+1)*wide] {
			addScaled(out[i*dim:(i+1)*dim], basis[j*dim:(j+1)*dim], y)
		}
	}
	return out
}
