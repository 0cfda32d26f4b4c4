package main

import "slices"

// How many numbers each source gives to a start.
const (
	fromNeighbours = 200
	fromEncoder    = 200
	fromGloVe      = gloveDim
)

// beginning returns the vectors that a training begins with, a row a word: what the words'
// neighbours in the texts tell of them, what the encoder knows of each alone, and what GloVe's
// tells of neighbours in far larger texts; of all that the main directions.
func beginning(v *vocabulary, texts [][]int32, alone, glove []float32, o options) []float32 {
	dim := len(alone) / len(v.words)
	sources := [][]float32{
		startingVectors(v, texts, min(fromNeighbours, o.learned), o.seed),
		evened(alone, dim, min(fromEncoder, dim, o.learned), o.seed),
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
	return unitRows(alongMain(all, len(all)/n, o.learned, nil, o.seed), o.learned)
}

// evened returns the rows of x along their main directions, with all of these
// equally strong, as in startingVectors. Rows of nothing but zeros stay so.
func evened(x []float32, wide, dim int, seed uint64) []float32 {
	x = slices.Clone(x)
	addToRows(x, meanRow(x, wide), -1)
	x = alongMain(x, wide, dim, nil, seed)
	orthonormalise(x, dim)
	return unitRows(x, dim)
}

// meanRow returns the mean of the rows of x that are not zero.
func meanRow(x []float32, wide int) []float32 {
	mean := make([]float32, wide)
	known := 0
	for row := range slices.Chunk(x, wide) {
		if dot(row, row) > 0 {
			addScaled(mean, row, 1)
			known++
		}
	}
	for k := range mean {
		mean[k] /= float32(max(known, 1))
	}
	return mean
}

// addToRows adds by times v to the rows of x that are not zero.
func addToRows(x, v []float32, by float32) {
	for row := range slices.Chunk(x, len(v)) {
		if dot(row, row) > 0 {
			addScaled(row, v, by)
		}
	}
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
	return along(x, directions(x, wide, dim, weights, seed), dim)
}

// along returns the product of x with a basis of dim columns.
func along(x, basis []float32, dim int) []float32 {
	wide := len(basis) / dim
	out := make([]float32, len(x)/wide*dim)
	for i := range len(x) / wide {
		for j, y := range x[i*wide : (i+1)*wide] {
			addScaled(out[i*dim:(i+1)*dim], basis[j*dim:(j+1)*dim], y)
		}
	}
	return out
}
