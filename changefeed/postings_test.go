package changefeed

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"gazetteer/document/diff"
)

// TestMatchFrom compares what filters choose of the newest items with what they choose of all, in a
// feed from which items were removed and dropped.
func TestMatchFrom(t *testing.T) {
	p := newPostings()
	terms := func(position uint64) []string {
		return []string{fmt.Sprintf("h%d.example", position%7), "v" + []string{"BOOK", "FIND", "PAY"}[position%3], "s" + diff.Severity(position%4).String()}
	}
	const items = 2*fewOrdinals + 100
	for position := uint64(1); position <= items; position++ {
		p.add(2*position, terms(position))
	}
	for position := uint64(1); position <= items; position++ {
		if position < 50 || rand.IntN(5) == 0 {
			p.remove(2*position, terms(position))
		}
	}
	p.dropDeadPositions()
	for _, f := range []Filter{
		{}, {Hosts: []string{"3.example"}}, {Hosts: []string{"unknown.example"}}, {Verbs: []string{"book", "PAY"}},
		{Verbs: []string{"FIND", "none"}, Severity: diff.Medium}, {Hosts: []string{"0.example", "1.example"}, Verbs: []string{"BOOK"}, Severity: diff.Low},
	} {
		for _, position := range []uint64{0, 10, 101, items, 2*items - 2*fewOrdinals - 1, 2*items - 2*fewOrdinals + 1, 2*items - 99, 2*items - 1, 2 * items, 2*items + 1} {
			first := p.ordinal(position + 1)
			var all roaring.Bitmap
			all.AddRange(uint64(first), uint64(p.ordinal(2*items+1)))
			if got, want := roaring.And(p.matchFrom(f, first), &all), roaring.And(p.match(f), &all); !got.Equals(want) {
				t.Errorf("%+v behind %d: %d items, want %d", f, position, got.GetCardinality(), want.GetCardinality())
			}
		}
	}
}

// TestNewestItemsOfLargeFeed checks that a stream that has all but the last item of a million does not
// go through all items with its filters.
func TestNewestItemsOfLargeFeed(t *testing.T) {
	p := newPostings()
	const items = 1_000_000
	p.live.AddRange(0, items)
	for position := range uint64(items) {
		p.positions = append(p.positions, position+1)
	}
	for i, verb := range []string{"vBOOK", "vFIND"} {
		p.terms[verb] = roaring.New()
		for ordinal := uint32(i); ordinal < items; ordinal += 2 {
			p.terms[verb].Add(ordinal)
		}
	}
	const times = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		if !p.matchFrom(Filter{Verbs: []string{"BOOK", "FIND"}}, items-1).Contains(items - 1) {
			t.Fatal("the last item is missing")
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / times; each > 32<<10 {
		t.Errorf("it allocates %d bytes", each)
	}
}
