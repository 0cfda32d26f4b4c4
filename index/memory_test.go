package index

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"gazetteer/index/query"
	"gazetteer/index/view"
	"gazetteer/internal/cache"
	"gazetteer/internal/teststore"
)

// TestPostingsAreBounded checks that decoded postings stay within their bound, and that answers do
// not depend on which are cached.
func TestPostingsAreBounded(t *testing.T) {
	x, _ := indexed(t, realServices(t)...)
	var want [][]string
	for _, g := range golden {
		want = append(want, named(search(t, x, query.Query{Words: g.asked})))
	}
	ample := x.directory.Postings.Used()
	limit := ample / 10
	x.directory.Postings = cache.New[string, *view.StemPostings](limit)
	for i, g := range golden {
		if got := named(search(t, x, query.Query{Words: g.asked})); !slices.Equal(got, want[i]) {
			t.Errorf("%s: %q, with ample memory %q", g.asked, got, want[i])
		}
		if used := x.directory.Postings.Used(); used > limit {
			t.Fatalf("%d bytes are kept, the bound is %d", used, limit)
		}
	}
	if x.directory.Postings.Used() == 0 {
		t.Error("nothing is kept at all")
	}
}

// An index that was just opened answers correctly from the first search on, with
// several at once and nothing made ready.
func TestColdStart(t *testing.T) {
	s := teststore.New(t)
	dir := filepath.Join(t.TempDir(), "index")
	put(t, s, realServices(t)...)
	x, err := Open(context.Background(), Options{Dir: dir, Store: s})
	must(t, err)
	catchUpOnce(t, x, s)
	must(t, x.Close())
	cold := openIndex(t, s, dir, io.Discard)
	var wg sync.WaitGroup
	for _, g := range golden[:8] {
		wg.Go(func() {
			r, err := cold.Search(context.Background(), query.Query{Words: g.asked})
			if err != nil {
				t.Error(err)
			} else if got := named(r); len(got) == 0 || got[0] != g.top {
				t.Errorf("%s: %q, want %s first", g.asked, got, g.top)
			}
		})
	}
	wg.Wait()
}
