package main

import (
	"math/rand/v2"
	"slices"
)

// squeezed puts the vectors that several trainings gave each word beside each
// other, and keeps of the long rows that this makes the dim directions in which
// they differ most (principal components). What the trainings agree on is kept,
// what each owes to chance is mostly not.
//
// All tables have the same words in the same order. Each counts with its factor, and
// a word counts the more, the more frequent it is.
func squeezed(tables [][]row, factors []float32, dim int, seed uint64) []row {
	wide := beside(tables, factors)
	var x, weights []float32
	for _, w := range wide {
		x = append(x, w.vector...)
		weights = append(weights, sqrt(sqrt(w.share)))
	}
	x = alongMain(x, len(wide[0].vector), dim, weights, seed)
	for i := range wide {
		wide[i].vector = x[i*dim : (i+1)*dim]
	}
	return wide
}

// beside returns rows with the vectors of all tables, each table's at a mean
// length of its factor.
func beside(tables [][]row, factors []float32) []row {
	out := slices.Clone(tables[0])
	for i := range out {
		out[i].vector = nil
	}
	for n, t := range tables {
		var sum float32
		for _, r := range t {
			sum += sqrt(dot(r.vector, r.vector))
		}
		factor := factors[n] * float32(len(t)) / sum
		for i, r := range t {
			for _, x := range r.vector {
				out[i].vector = append(out[i].vector, float32(factor*x))
			}
		}
	}
	return out
}

// directions returns the dim main directions of the rows of x, wide numbers each,
// as the columns of a matrix, by the power method on all of them at once.
func directions(x []float32, wide, dim int, weights []float32, seed uint64) []float32 {
	spread := make([]float32, wide*wide) // how the numbers of a row go together
	for i := range len(x) / wide {
		row, weight := x[i*wide:(i+1)*wide], float32(1)
		if weights != nil {
			weight = weights[i]
		}
		for j, y := range row {
			addScaled(spread[j*wide:(j+1)*wide], row, float32(weight*y))
		}
	}
	r := rand.New(rand.NewPCG(seed, 5))
	basis := make([]float32, wide*dim)
	for i := range basis {
		basis[i] = r.Float32() - .5
	}
	for range 12 {
		next := make([]float32, len(basis))
		for j := range wide {
			for k, y := range spread[j*wide : (j+1)*wide] {
				addScaled(next[j*dim:(j+1)*dim], basis[k*dim:(k+1)*dim], y)
			}
		}
		basis = next
		orthonormalise(basis, dim)
	}
	return basis
}
