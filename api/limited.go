package api

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"gazetteer/index"
	"gazetteer/store"
)

// Errors of a search that was not finished. Test with errors.Is.
var (
	// ErrSearchTime: the search took longer than it may.
	ErrSearchTime = errors.New("the search took too long")
	// ErrSearches: as many searches run and wait as may at a time.
	ErrSearches = errors.New("too many searches at the same time")
)

// SearchLimits bounds searches. The zero value is fine.
type SearchLimits struct {
	// Time is how long one search may take, its wait for a place included; two
	// seconds when 0.
	Time time.Duration
	// AtOnce is how many run at a time, twice the processors when 0. Of those that
	// come meanwhile, 32 times as many wait. Searches with more than people write
	// ([index.Query.Large]) run beside them, a quarter as many, so that those who ask
	// them wait for each other and nobody for them; of these 64 times as many wait.
	AtOnce int
}

// How many searches may wait for each that runs: more would wait longer than they
// may take.
const (
	waitingEach  = 32
	waitingLarge = 64
)

// Limited is a [Searcher] with a deadline for each search and a bound on how many
// run at the same time. Make one with [NewLimited].
type Limited struct {
	searcher     Searcher
	time         time.Duration
	usual, large *lane
}

// A lane is a row of places and who waits for one.
type lane struct {
	places  chan struct{} // one for each search that runs
	waiting atomic.Int64
	most    int64 // that may wait
}

func newLane(places, waitingEach int) *lane {
	return &lane{places: make(chan struct{}, places), most: int64(places * waitingEach)}
}

// NewLimited puts limits around a searcher.
func NewLimited(s Searcher, o SearchLimits) *Limited {
	atOnce := cmp.Or(o.AtOnce, 2*runtime.GOMAXPROCS(0))
	return &Limited{
		searcher: s, time: cmp.Or(o.Time, 2*time.Second),
		usual: newLane(atOnce, waitingEach), large: newLane(max(1, atOnce/4), waitingLarge),
	}
}

// lane is where a query is asked.
func (l *Limited) lane(q index.Query) *lane {
	if q.Large() {
		return l.large
	}
	return l.usual
}

// within does work in one of the places of a lane. The error is [ErrSearches] when there is
// none, [ErrSearchTime] when the work was not done in time, the context's when who
// asked has left, or the work's own.
func within[T any](ctx context.Context, l *Limited, in *lane, work func(context.Context) (T, error)) (T, error) {
	var none T
	limited, cancel := context.WithTimeout(ctx, l.time)
	defer cancel()
	if err := in.enter(limited); err != nil {
		return none, cmp.Or(ctx.Err(), err)
	}
	defer func() { <-in.places }()
	done, err := work(limited)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return none, ErrSearchTime
	}
	return done, err
}

// enter takes a place, or waits for one until ctx ends.
func (l *lane) enter(ctx context.Context) error {
	select {
	case l.places <- struct{}{}:
		return nil
	default:
	}
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > l.most {
		return ErrSearches
	}
	select {
	case l.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ErrSearches
	}
}

// Search is that of the index, within the limits; so are the others.
func (l *Limited) Search(ctx context.Context, q index.Query) (index.Result, error) {
	return within(ctx, l, l.lane(q), func(ctx context.Context) (index.Result, error) { return l.searcher.Search(ctx, q) })
}

// Explore counts the values of fields.
func (l *Limited) Explore(ctx context.Context, q index.Query, fields []string, limit int) (map[string][]index.Count, error) {
	return within(ctx, l, l.lane(q), func(ctx context.Context) (map[string][]index.Count, error) {
		return l.searcher.Explore(ctx, q, fields, limit)
	})
}

// Hosts lists the hosts of all that a query finds.
func (l *Limited) Hosts(ctx context.Context, q index.Query) ([]string, error) {
	return within(ctx, l, l.lane(q), func(ctx context.Context) ([]string, error) { return l.searcher.Hosts(ctx, q) })
}

// Suggest completes what was typed.
func (l *Limited) Suggest(ctx context.Context, typed string, limit int, kinds ...string) ([]index.Suggestion, error) {
	return within(ctx, l, l.usual, func(ctx context.Context) ([]index.Suggestion, error) {
		return l.searcher.Suggest(ctx, typed, limit, kinds...)
	})
}

// Similar finds the services most like that of a host.
func (l *Limited) Similar(ctx context.Context, host string, limit int) ([]index.SimilarService, error) {
	return within(ctx, l, l.usual, func(ctx context.Context) ([]index.SimilarService, error) { return l.searcher.Similar(ctx, host, limit) })
}

// Verbs lists the verbs that are offered.
func (l *Limited) Verbs(ctx context.Context) ([]index.VerbCount, error) {
	return within(ctx, l, l.usual, l.searcher.Verbs)
}

// VerbFamily lists the verbs related to a word.
func (l *Limited) VerbFamily(ctx context.Context, word string) ([]index.RelatedVerb, error) {
	return within(ctx, l, l.usual, func(ctx context.Context) ([]index.RelatedVerb, error) { return l.searcher.VerbFamily(ctx, word) })
}

// Namespaces lists the namespaces that qualify verbs.
func (l *Limited) Namespaces(ctx context.Context) ([]index.ValueCount, error) {
	return within(ctx, l, l.usual, l.searcher.Namespaces)
}

// DataClasses lists the data classes that services hold.
func (l *Limited) DataClasses(ctx context.Context) ([]index.ValueCount, error) {
	return within(ctx, l, l.usual, l.searcher.DataClasses)
}

// Cursor is the place in the log up to which answers are based. It waits for
// nothing.
func (l *Limited) Cursor() store.Cursor { return l.searcher.Cursor() }
