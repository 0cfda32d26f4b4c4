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
// All tables have the same words in the same order. Each counts the same, and a
// word counts the more, the more frequent it is.
func squeezed(tables [][]row, dim int, seed uint64) []row {
	wide := beside(tables)
	basis := directions(wide, dim, seed)
	out := make([]row, len(wide))
	for i, w := range wide {
		v := make([]float32, dim)
		for j, x := range w.vector {
			addScaled(v, basis[j*dim:(j+1)*dim], x)
		}
		out[i] = row{w.word, v, w.share}
	}
	return out
}

// beside returns rows with the vectors of all tables, each table's at a mean
// length of 1.
func beside(tables [][]row) []row {
	out := slices.Clone(tables[0])
	for i := range out {
		out[i].vector = nil
	}
	for _, t := range tables {
		var sum float32
		for _, r := range t {
			sum += sqrt(dot(r.vector, r.vector))
		}
		factor := float32(len(t)) / sum
		for i, r := range t {
			for _, x := range r.vector {
				out[i].vector = append(out[i].vector, float32(factor*x))
			}
		}
	}
	return out
}

// directions returns the dim main directions of the rows as the columns of a
// matrix, by the power method on all of them at once.
func directions(rows []row, dim int, seed uint64) []float32 {
	wide := len(rows[0].vector)
	spread := make([]float32, wide*wide) // how the numbers of a row go together
	for _, r := range rows {
		weight := sqrt(sqrt(r.share))
		for j, x := range r.vector {
			addScaled(spread[j*wide:(j+1)*wide], r.vector, float32(weight*x))
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
			for k, x := range spread[j*wide : (j+1)*wide] {
				addScaled(next[j*dim:(j+1)*dim], basis[k*dim:(k+1)*dim], x)
			}
		}
		basis = next
		orthonormalise(basis, dim)
	}
	return basis
}
