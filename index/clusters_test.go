package index

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gazetteer/index/semantic"
	"gazetteer/index/wordvec"
)

// gathered makes a view of operations with the meanings of texts, of which the
// first lie in one segment and the others in another.
func gathered(l *semantic.Lexicon, all []semantic.Embedding, first int) (*view, []bitset) {
	v := &view{operations: len(all)}
	var masks []bitset
	for _, part := range [][]semantic.Embedding{all[:first], all[first:]} {
		m := &segmentEmbeddings{dim: l.Table.Dim(), vectors: make([]int8, len(part)*l.Table.Dim()), scales: make([]float32, len(part)), doubtful: newBitset(len(part))}
		operations := newBitset(len(part))
		for i, of := range part {
			m.setEmbedding(uint32(i), of)
			operations.add(uint32(i))
		}
		m.clusters = newClusterIndex(l.Centroids, m, operations)
		v.segments = append(v.segments, viewSegment{segmentData: &segmentData{meanings: m}, base: v.size, n: len(part)})
		v.size += len(part)
		masks = append(masks, operations)
	}
	return v, masks
}

// manyMeanings are those of texts of operations, of which each but the first few
// thousand is put together of two.
func manyMeanings(l *semantic.Lexicon, n int, random *rand.Rand) []semantic.Embedding {
	texts := wordvec.Samples()
	var all []semantic.Embedding
	for i := range n {
		words := strings.Fields(texts[i%len(texts)])
		if i >= len(texts) {
			more := strings.Fields(texts[random.IntN(len(texts))])
			words = append(words[:min(4, len(words))], more...)
		}
		all = append(all, l.EmbedForms(words, nil))
	}
	return all
}

// Most of what is nearest must lie in the cells that are opened, and which cells
// are must not depend on the segments.
func TestCellsAroundAQuery(t *testing.T) {
	l, random := semantic.EmbeddedLexicon(), rand.New(rand.NewPCG(3, 4))
	all := manyMeanings(l, 5*minProbes, random)
	v, masks := gathered(l, all, len(all)/3)
	other, otherMasks := gathered(l, all, len(all)-100)
	numbers := func(v *view, near []entryRef) []int {
		var out []int
		for _, p := range near {
			out = append(out, v.scoreIndex(p))
		}
		slices.Sort(out)
		return out
	}
	found, wanted := 0, 0
	for range 60 {
		asked := all[random.IntN(len(all))]
		near := numbers(v, v.nearestOperations(l.Centroids, asked, masks, new([]uint8)))
		if again := numbers(other, other.nearestOperations(l.Centroids, asked, otherMasks, new([]uint8))); !slices.Equal(near, again) {
			t.Fatalf("other segments give other candidates: %d and %d", len(near), len(again))
		}
		cosines := make([]float32, len(all))
		for i := range all {
			cosines[i] = all[i].Cosine(asked)
		}
		sorted := slices.Clone(cosines)
		slices.Sort(sorted)
		for n, cosine := range cosines {
			if cosine < sorted[len(sorted)-10] {
				continue
			}
			wanted++
			if _, ok := slices.BinarySearch(near, n); ok {
				found++
			}
		}
	}
	if share := float64(found) / float64(wanted); share < 0.85 {
		t.Errorf("%.3f of the nearest are found", share)
	}
}

// A filter that leaves few operations opens as many cells as it takes.
func TestCellsUnderAFilter(t *testing.T) {
	l, random := semantic.EmbeddedLexicon(), rand.New(rand.NewPCG(5, 6))
	all := manyMeanings(l, 2*minProbes, random)
	v, masks := gathered(l, all, len(all)/2)
	for i := range masks {
		clear(masks[i])
		for n := 0; n < v.segments[i].n; n += 100 {
			masks[i].add(uint32(n))
		}
	}
	want := masks[0].count() + masks[1].count()
	if near := v.nearestOperations(l.Centroids, all[7], masks, new([]uint8)); len(near) < min(want, embeddingPool/2) {
		t.Errorf("%d candidates of %d operations", len(near), want)
	}
}
