package view

import (
	"slices"
	"testing"

	"gazetteer/index/bitset"
)

// TestPostingsOfLargeSegments checks that postings in several blocks, with few and with many
// weights, add the same scores as the sums that they were made from.
func TestPostingsOfLargeSegments(t *testing.T) {
	const n = 3*blockEntries - 100
	e := &segmentEntries{Services: bitset.New(n), RunOf: make([]uint32, n), Runs: []DocumentRun{{start: 10, operationsEnd: 20, end: n}}}
	e.Services.Add(blockEntries + 7)
	r := &termReader{}
	for _, weights := range []int{1, fewWeights, fewWeights + 1, blockEntries} {
		r.resize(n)
		want, numbers := make([]float32, n), []uint32(nil)
		for i := range n {
			if i/blockEntries == 1 && i != blockEntries+7 || i%3 == 0 && weights < blockEntries {
				continue
			}
			r.sums[i] = float32(1 + i%weights)
			want[i] = 2 * r.sums[i]
			r.met.Add(uint32(i))
			numbers = append(numbers, uint32(i))
		}
		for i := 10; i < 20; i++ {
			want[i] += want[blockEntries+7]
		}
		p := r.takePostings(e, n)
		if got := slices.Collect(p.Numbers()); !slices.Equal(got, numbers) || p.count() != len(numbers) {
			t.Fatalf("%d weights: %d entries, want %d", weights, len(got), len(numbers))
		}
		scores, met := make([]float32, n), bitset.New(n)
		p.addScores(scores, met, 2)
		if !slices.Equal(scores, want) {
			t.Errorf("%d weights: other scores", weights)
		}
		for i, score := range want {
			if met.Has(uint32(i)) != (score > 0) {
				t.Fatalf("%d weights: whether entry %d matches is wrong", weights, i)
			}
		}
		if r.met.Count() > 0 || slices.ContainsFunc(r.sums, func(sum float32) bool { return sum != 0 }) {
			t.Fatal("the buffers are not empty afterwards")
		}
	}
}
