package answer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/api/answer"
	"gazetteer/index"
	"gazetteer/index/pace"
	"gazetteer/index/query"
)

// A workingSearcher works for a millisecond in each of ten turns.
type workingSearcher struct{ answer.Searcher }

func (workingSearcher) Search(ctx context.Context, _ query.Query) (index.Result, error) {
	for range 10 {
		time.Sleep(time.Millisecond)
		if err := pace.Yield(ctx); err != nil {
			return index.Result{}, err
		}
	}
	return index.Result{}, nil
}

// TestLargeSearchesRestBesideUsualOnes checks that a large search takes a quarter of a processor while
// usual searches run, and all of one when there are none or when its client has left.
func TestLargeSearchesRestBesideUsualOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := answer.NewLimitedSearcher(workingSearcher{}, answer.SearchLimits{})
		usual, large := query.Query{Words: "book a table"}, query.Query{Words: "book", Phrases: []string{"a table"}}
		search := func(ctx context.Context, q query.Query) (time.Duration, error) {
			began := time.Now()
			_, err := l.Search(ctx, q)
			return time.Since(began), err
		}
		expect := func(what string, q query.Query, want time.Duration) {
			t.Helper()
			if took, err := search(t.Context(), q); took != want || err != nil {
				t.Errorf("%s: %v, %v, want %v", what, took, err, want)
			}
		}
		expect("a large search alone", large, 10*time.Millisecond)
		expect("a usual one", usual, 10*time.Millisecond)
		expect("a large one right after it", large, 40*time.Millisecond)
		time.Sleep(time.Second)
		expect("a large one later", large, 10*time.Millisecond)
		done := make(chan struct{})
		go func() {
			defer close(done)
			expect("a usual one beside a large one", usual, 10*time.Millisecond)
		}()
		ctx, leave := context.WithTimeout(t.Context(), 15*time.Millisecond)
		defer leave()
		time.Sleep(time.Millisecond)
		if took, err := search(ctx, large); took != 14*time.Millisecond || err == nil {
			t.Errorf("its client left: %v, %v", took, err)
		}
		<-done
	})
}
