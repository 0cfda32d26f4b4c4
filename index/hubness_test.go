package index

import (
	"fmt"
	"testing"

	"gazetteer/document"
	"gazetteer/index/view"
)

// thinned gives all operations of some documents one score, as if a query had found
// each as good as the others, and returns what the crowds leave of it, by host and
// ordinal.
func thinned(t *testing.T, score int64, docs ...*document.Document) map[string]int64 {
	t.Helper()
	x, _ := indexed(t, docs...)
	snapshot, v, err := x.directory.OpenSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	must(t, v.PrepareView())
	var pool []view.RankedEntry
	for i := range v.Segments {
		v.Segments[i].Searchable.ForEach(func(n uint32) {
			pool = append(pool, view.RankedEntry{EntryRef: view.EntryRef{Segment: i, Number: n}, Score: score})
		})
	}
	v.PenalizeHubs(pool, nil)
	left := map[string]int64{}
	for _, r := range pool {
		left[fmt.Sprintf("%s %d", v.RunOf(r.EntryRef).Host, v.OrdinalOf(r.EntryRef))] = r.Score
	}
	return left
}

const (
	listing = "LIST /invoices: Lists the invoices of a customer"
	lone    = "FIND /restaurants: Finds restaurants near a place"
)

func TestCommonOperationsScoreLower(t *testing.T) {
	left := thinned(t, 500_000,
		agis("a.test", listing), agis("b.test", listing), agis("c.test", listing), agis("lone.test", lone))
	if left["lone.test 0"] != 500_000 {
		t.Errorf("the least crowded has %d left", left["lone.test 0"])
	}
	// Two of three neighbors are the same: two thirds of crowding, and of that
	// what the cosine has of a score.
	for _, host := range []string{"a", "b", "c"} {
		if of := left[host+".test 0"]; of < 400_000 || of > 440_000 {
			t.Errorf("of the crowd %s has %d left", host, of)
		}
	}
}

func TestOwnServiceDoesNotCountForHubness(t *testing.T) {
	left := thinned(t, 500_000,
		agis("large.test", listing, listing, listing, listing, listing, listing), agis("lone.test", lone))
	for id, score := range left {
		if score != 500_000 {
			t.Errorf("%s has %d left", id, score)
		}
	}
}

func TestServiceCountsOnceForHubness(t *testing.T) {
	one := thinned(t, 500_000,
		agis("a.test", listing), agis("mine.test", listing), agis("lone.test", lone))
	six := thinned(t, 500_000,
		agis("a.test", listing, listing, listing, listing, listing, listing), agis("mine.test", listing), agis("lone.test", lone))
	if one["mine.test 0"] != six["mine.test 0"] || one["mine.test 0"] == 500_000 {
		t.Errorf("beside one operation %d is left, beside six %d", one["mine.test 0"], six["mine.test 0"])
	}
}

func TestHubnessTakesHalfOfScoreAtMost(t *testing.T) {
	left := thinned(t, 1_000, agis("a.test", listing), agis("b.test", listing), agis("lone.test", lone))
	if left["a.test 0"] != 500 || left["lone.test 0"] != 1_000 {
		t.Errorf("%v is left", left)
	}
}

// TestHubnessPoolStaysFirst checks that entries outside the pool, whose hubness is not computed, do
// not overtake those inside.
func TestHubnessPoolStaysFirst(t *testing.T) {
	docs := []*document.Document{agis("zz.test", lone)} // the last of a tie
	for i := range view.HubnessPool + 5 {
		docs = append(docs, agis(fmt.Sprintf("s%02d.test", i), listing))
	}
	docs = append(docs, agis("aa.test", lone))
	left := thinned(t, 500_000, docs...)
	if left["aa.test 0"] != 500_000 || left["zz.test 0"] != left["s00.test 0"] {
		t.Errorf("%v is left", left)
	}
}
