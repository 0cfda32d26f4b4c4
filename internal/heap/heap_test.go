package heap

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPopReturnsLeast(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h, want, got []int
		for range random.IntN(50) {
			if len(h) > 0 && random.IntN(3) == 0 {
				least := slices.Index(want, slices.Min(want))
				if v := Pop(&h, cmp.Less[int]); v != want[least] {
					t.Fatalf("%d, want %d", v, want[least])
				}
				want = slices.Delete(want, least, least+1)
			}
			v := random.IntN(20)
			Push(&h, v, cmp.Less[int])
			want = append(want, v)
		}
		for len(h) > 0 {
			got = append(got, Pop(&h, cmp.Less[int]))
		}
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

// TestPopFreesElement checks that a removed element is not kept by the memory of the heap.
func TestPopFreesElement(t *testing.T) {
	var h []*int
	Push(&h, new(int), func(a, b *int) bool { return *a < *b })
	Pop(&h, func(a, b *int) bool { return *a < *b })
	if h[:1][0] != nil {
		t.Error("the removed element is still there")
	}
}
