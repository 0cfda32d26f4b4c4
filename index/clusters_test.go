package index

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gazetteer/index/bitset"
	"gazetteer/index/semantic"
	"gazetteer/index/view"
	"gazetteer/index/wordvec"
)

// gathered makes a view of operations with the meanings of texts, of which the
// first lie in one segment and the others in another.
func gathered(l *semantic.Lexicon, all []semantic.Embedding, first int) (*view.View, []bitset.Set) {
	v := &view.View{Operations: len(all)}
	var masks []bitset.Set
	for _, part := range [][]semantic.Embedding{all[:first], all[first:]} {
		operations := bitset.New(len(part))
		for i := range part {
			operations.Add(uint32(i))
		}
		m := view.NewSegmentEmbeddings(l.Table().Dim(), operations)
		for i, of := range part {
			m.SetEmbedding(uint32(i), of)
		}
		m.Clusters = view.NewClusterIndex(l.Centroids(), m, operations)
		v.Segments = append(v.Segments, view.Segment{SegmentData: &view.SegmentData{Meanings: m}, Base: v.Size, N: len(part)})
		v.Size += len(part)
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

// TestClustersAroundQuery checks that most of the nearest entries are in the opened clusters, and
// that the choice of clusters does not depend on the segments.
func TestClustersAroundQuery(t *testing.T) {
	l, random := semantic.EmbeddedLexicon(), rand.New(rand.NewPCG(3, 4))
	all := manyMeanings(l, 5*view.MinProbes, random)
	v, masks := gathered(l, all, len(all)/3)
	other, otherMasks := gathered(l, all, len(all)-100)
	numbers := func(v *view.View, near []view.EntryRef) []int {
		var out []int
		for _, p := range near {
			out = append(out, v.ScoreIndex(p))
		}
		slices.Sort(out)
		return out
	}
	found, wanted := 0, 0
	for range 60 {
		asked := all[random.IntN(len(all))]
		near := numbers(v, v.NearestOperations(l.Centroids(), asked, masks, new([]uint8)))
		if again := numbers(other, other.NearestOperations(l.Centroids(), asked, otherMasks, new([]uint8))); !slices.Equal(near, again) {
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
func TestClustersUnderFilter(t *testing.T) {
	l, random := semantic.EmbeddedLexicon(), rand.New(rand.NewPCG(5, 6))
	all := manyMeanings(l, 2*view.MinProbes, random)
	v, masks := gathered(l, all, len(all)/2)
	for i := range masks {
		clear(masks[i])
		for n := 0; n < v.Segments[i].N; n += 100 {
			masks[i].Add(uint32(n))
		}
	}
	want := masks[0].Count() + masks[1].Count()
	if near := v.NearestOperations(l.Centroids(), all[7], masks, new([]uint8)); len(near) < min(want, view.EmbeddingPool/2) {
		t.Errorf("%d candidates of %d operations", len(near), want)
	}
}
