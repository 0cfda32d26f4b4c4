package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gazetteer/index/view"
)

// The best that are put in order first are those that come first when all are, with
// many that share a score, too.
func TestSortTop(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	v := &view.View{} // entries of one segment are in the order of their numbers
	for range 300 {
		list := make([]view.RankedEntry, 1+random.IntN(200))
		for i := range list {
			list[i] = view.RankedEntry{EntryRef: view.EntryRef{Segment: 0, Number: uint32(i)}, Score: random.Int64N(30)}
		}
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		all := slices.Clone(list)
		v.SortRanked(all)
		want := min(len(list), 1+random.IntN(100))
		first := v.SortTop(list, want)
		if first < want || !slices.Equal(list[:first], all[:first]) {
			t.Fatalf("%d of %d in order, at least %d wanted: %v, not %v", first, len(list), want, list[:first], all[:first])
		}
		if v.SortRanked(list); !slices.Equal(list, all) {
			t.Fatal("some were lost")
		}
	}
}
