package index

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The best that are put in order first are those that come first when all are, with
// many that share a score, too.
func TestTheFirstInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	v := &view{} // entries of one segment are in the order of their numbers
	for range 300 {
		list := make([]rankedEntry, 1+random.IntN(200))
		for i := range list {
			list[i] = rankedEntry{entryRef{0, uint32(i)}, random.Int64N(30)}
		}
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		all := slices.Clone(list)
		v.sortRanked(all)
		want := min(len(list), 1+random.IntN(100))
		first := v.sortTop(list, want)
		if first < want || !slices.Equal(list[:first], all[:first]) {
			t.Fatalf("%d of %d in order, at least %d wanted: %v, not %v", first, len(list), want, list[:first], all[:first])
		}
		if v.sortRanked(list); !slices.Equal(list, all) {
			t.Fatal("some were lost")
		}
	}
}
