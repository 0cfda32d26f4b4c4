package index

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/index/bitset"
	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/index/view"
	"gazetteer/index/wordvec"
	"gazetteer/internal/teststore"
)

func TestEmbeddingFindsOperationsWithoutSharedWord(t *testing.T) {
	x, _ := indexed(t,
		agis("hotel.test", "BOOK /lodging: Reserves accommodation"),
		agis("bank.test", "TRANSFER /money: Sends funds to an account"),
		agis("weather.test", "RETRIEVE /forecast: Tells the temperature to expect"),
	)
	for asked, want := range map[string]string{
		"a room in a hotel for the night": "hotel.test BOOK /lodging",
		"pay my brother fifty euros":      "bank.test TRANSFER /money",
		"will it rain tomorrow":           "weather.test RETRIEVE /forecast",
	} {
		r := search(t, x, query.Query{Words: asked})
		if got := named(r); len(got) == 0 || got[0] != want {
			t.Errorf("%s: %q", asked, got)
			continue
		}
		if r.Total < len(r.Hits) {
			t.Errorf("%s: %d hits, total %d", asked, len(r.Hits), r.Total)
		}
	}
	if r := search(t, x, query.Query{Words: "qwxyz vbnmk"}); r.Total != 0 || len(r.Hits) != 0 {
		t.Errorf("words that nobody knows: %+v", r)
	}
}

// TestCopiedEmbeddingsEqualComputed checks that embeddings copied from a merged segment equal
// computed ones.
func TestCopiedEmbeddingsEqualComputed(t *testing.T) {
	x, s := indexed(t, agis("a.test", "BOOK /table: Reserves a table"))
	for i, d := range realServices(t) {
		put(t, s, d)
		if i%5 == 0 {
			catchUp(t, x, s)
			search(t, x, query.Query{Words: "book a table"}) // so that the view is made
		}
	}
	catchUp(t, x, s)
	compare := func(x *Index) map[string]semantic.Embedding {
		snapshot, v, err := x.directory.OpenSnapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer snapshot.Close()
		must(t, v.PrepareView())
		all := map[string]semantic.Embedding{}
		for i := range v.Segments {
			seg := &v.Segments[i]
			for n := range seg.N {
				if !seg.Deleted.Has(uint32(n)) && seg.Operations.Has(uint32(n)) {
					p := view.EntryRef{Segment: i, Number: uint32(n)}
					all[entry.ID(v.RunOf(p).Source, "", entry.KindOperation, v.OrdinalOf(p))] = v.EmbeddingOf(p)
				}
			}
		}
		return all
	}
	fresh := openIndex(t, s, t.TempDir(), newLogged())
	catchUpOnce(t, fresh, s)
	grown, made := compare(x), compare(fresh)
	if len(grown) != len(made) {
		t.Fatalf("%d and %d operations", len(grown), len(made))
	}
	for id, want := range made {
		got := grown[id]
		if got.Scale != want.Scale || !slices.Equal(got.Vector, want.Vector) {
			t.Fatalf("%q: %v, computed %v", id, got, want)
		}
	}
}

// TestNearCodesHaveNearEmbeddings checks that nearly all of the nearest entries by cosine are among
// the nearest by code, which is used to find candidates. It asks with the same operations however
// the entries are spread over segments, so that its result is the same in every run.
func TestNearCodesHaveNearEmbeddings(t *testing.T) {
	x, _ := indexed(t, manyServices(t, 4000)...)
	snapshot, v, err := x.directory.OpenSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	must(t, v.PrepareView())
	var masks []bitset.Set
	places := map[string]view.EntryRef{}
	for i := range v.Segments {
		masks = append(masks, v.Segments[i].Searchable)
		v.Segments[i].Searchable.ForEach(func(n uint32) {
			p := view.EntryRef{Segment: i, Number: n}
			places[fmt.Sprint(v.RunOf(p).Source, " ", v.OrdinalOf(p))] = p
		})
	}
	ids := slices.Sorted(maps.Keys(places))
	const queries = 60
	found, wanted := 0, 0
	for q := range queries {
		asked := v.EmbeddingOf(places[ids[q*len(ids)/queries]])
		all := make([]view.RankedEntry, 0, len(ids))
		for _, id := range ids {
			all = append(all, view.RankedEntry{EntryRef: places[id], Score: int64(1e6 * v.EmbeddingOf(places[id]).Cosine(asked))})
		}
		slices.SortStableFunc(all, func(a, b view.RankedEntry) int { return cmp.Compare(b.Score, a.Score) })
		near := v.NearestOperations(x.lexicon.Centroids(), asked, masks, new([]uint8))
		if len(near) == len(all) {
			t.Fatal("there are too few operations to tell")
		}
		for _, r := range all[:20] {
			wanted++
			if slices.Contains(near, r.EntryRef) {
				found++
			}
		}
	}
	share := float64(found) / float64(wanted)
	if t.Logf("%.4f of the nearest are found", share); share < 0.95 {
		t.Errorf("%.3f of the nearest are found", share)
	}
}

func TestStemForms(t *testing.T) {
	v := view.NewVocabulary(slices.Values([]string{"books", "book", "booking", "weather", "meetings", "book", "statuses", "status"}))
	for stem, want := range map[string][]string{
		"book": {"book", "booking", "books"}, "weather": {"weather"}, "meet": {"meetings"}, "unheard": {"unheard"},
		"status": {"status", "statuses"}, "statu": {"status"},
	} {
		if got := v.FormsOf(stem); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", stem, got, want)
		}
	}
	if v.Len() != 4 {
		t.Errorf("%d stems have other forms, want 4", v.Len())
	}
}

// A command that has an index of its own and does not search does not wait for the table of words.
func TestFollowReadsNoVectors(t *testing.T) {
	s, dir := teststore.New(t), t.TempDir()
	put(t, s, agis("a.test", "BOOK /table: Reserves a table"))
	first := openIndex(t, s, dir, io.Discard)
	catchUpOnce(t, first, s)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := Open(t.Context(), Options{Dir: dir, Store: s, Vectors: wordvec.Embedded(), Linger: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var read atomic.Bool
	table := x.lexicon.Table
	x.lexicon.Table = func() *wordvec.Table {
		read.Store(true)
		return table()
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Follow(ctx) }()
	put(t, s, agis("b.test", "BOOK /room: Reserves a room"))
	catchUp(t, x, s)
	if read.Load() {
		t.Error("the table was read before a search")
	}
	if hits := words(t, x, "reserve a room"); len(hits) == 0 || !strings.HasPrefix(hits[0], "b.test") {
		t.Errorf("the first search found %v", hits)
	}
	if !read.Load() {
		t.Error("the search did not read the table")
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
