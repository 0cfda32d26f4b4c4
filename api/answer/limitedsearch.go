package answer

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	"gazetteer/index"
	"gazetteer/index/pace"
	"gazetteer/index/query"
	"gazetteer/limit"
	"gazetteer/store"
)

// Errors of an unfinished search. Test with errors.Is.
var (
	// ErrSearchTimeout: the search exceeded its time limit.
	ErrSearchTimeout = errors.New("the search took too long")
	// ErrTooManySearches: all slots for running and waiting searches are taken.
	ErrTooManySearches = errors.New("too many searches at the same time")
)

// SearchLimits bounds searches. The zero value is fine.
type SearchLimits struct {
	// Time is the time limit of one search, its wait for a slot included; two seconds if 0.
	Time time.Duration
	// Concurrent is how many searches run at a time, twice the number of processors if 0; 32 times
	// as many can wait. Queries larger than people write ([query.Query.Large]) have slots of their
	// own, a quarter as many, and rest while usual ones run, so that they delay only each other; 64
	// times as many of these can wait.
	Concurrent int
	Limits     *limit.Set // lists the limits for the metrics; may be nil
}

// The number of waiting searches for each running one: more would wait longer than their time
// limit.
const (
	waitingPerSearch      = 32
	waitingPerLargeSearch = 64
)

// LimitedSearcher is a [Searcher] with a time limit for each search and a limit on how many run at
// the same time. Make one with [NewLimitedSearcher].
type LimitedSearcher struct {
	searcher     Searcher
	timeout      time.Duration
	usual, large *limit.Slots
	lastUsual    atomic.Int64 // when a usual search began or ended, in Unix nanoseconds
}

// usualPause is the longest time between two usual searches in which large ones still rest.
const usualPause = 100 * time.Millisecond

// isBusy reports whether usual searches run, or did a moment ago.
func (l *LimitedSearcher) isBusy() bool {
	return time.Now().UnixNano()-l.lastUsual.Load() < int64(usualPause)
}

// NewLimitedSearcher puts limits around a searcher.
func NewLimitedSearcher(s Searcher, o SearchLimits) *LimitedSearcher {
	usual := cmp.Or(o.Concurrent, 2*runtime.GOMAXPROCS(0))
	large := max(1, usual/4)
	return &LimitedSearcher{
		searcher: s, timeout: cmp.Or(o.Time, 2*time.Second),
		usual: o.Limits.Slots(limit.SlotRule{Name: "searches", All: usual, Waiting: usual * waitingPerSearch}),
		large: o.Limits.Slots(limit.SlotRule{Name: "searches-large", All: large, Waiting: large * waitingPerLargeSearch}),
	}
}

// slotsFor returns the slots for a query.
func (l *LimitedSearcher) slotsFor(q query.Query) *limit.Slots {
	if q.Large() {
		return l.large
	}
	return l.usual
}

// withSlot does work in one of the slots. The error is [ErrTooManySearches] if none is free,
// [ErrSearchTimeout] if the work took too long, that of the context if the client has left, or the
// work's own.
func withSlot[T any](ctx context.Context, l *LimitedSearcher, slots *limit.Slots, work func(context.Context) (T, error)) (T, error) {
	var none T
	limited, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	release, err := slots.Acquire(limited, netip.Addr{})
	if err != nil {
		return none, cmp.Or(ctx.Err(), ErrTooManySearches)
	}
	defer release()
	if slots == l.large {
		limited = pace.WithRests(limited, l.isBusy)
	} else {
		l.lastUsual.Store(time.Now().UnixNano())
		defer func() { l.lastUsual.Store(time.Now().UnixNano()) }()
	}
	done, err := work(limited)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return none, ErrSearchTimeout
	}
	return done, err
}

// Search is [Searcher.Search] within the limits; so are the other methods.
func (l *LimitedSearcher) Search(ctx context.Context, q query.Query) (index.Result, error) {
	return withSlot(ctx, l, l.slotsFor(q), func(ctx context.Context) (index.Result, error) { return l.searcher.Search(ctx, q) })
}

// Explore counts the values of fields.
func (l *LimitedSearcher) Explore(ctx context.Context, q query.Query, fields []string, limit int) (map[string][]index.Count, error) {
	return withSlot(ctx, l, l.slotsFor(q), func(ctx context.Context) (map[string][]index.Count, error) {
		return l.searcher.Explore(ctx, q, fields, limit)
	})
}

// Hosts lists the hosts of all that a query finds.
func (l *LimitedSearcher) Hosts(ctx context.Context, q query.Query) ([]string, error) {
	return withSlot(ctx, l, l.slotsFor(q), func(ctx context.Context) ([]string, error) { return l.searcher.Hosts(ctx, q) })
}

// Suggest completes the text that a person is typing.
func (l *LimitedSearcher) Suggest(ctx context.Context, before, typed string, limit int, kinds ...string) ([]index.Suggestion, error) {
	return withSlot(ctx, l, l.usual, func(ctx context.Context) ([]index.Suggestion, error) {
		return l.searcher.Suggest(ctx, before, typed, limit, kinds...)
	})
}

// Similar finds the services most like that of a host.
func (l *LimitedSearcher) Similar(ctx context.Context, host string, limit int) ([]index.SimilarService, error) {
	return withSlot(ctx, l, l.usual, func(ctx context.Context) ([]index.SimilarService, error) { return l.searcher.Similar(ctx, host, limit) })
}

// Verbs lists the verbs that are offered.
func (l *LimitedSearcher) Verbs(ctx context.Context) ([]index.VerbCount, error) {
	return withSlot(ctx, l, l.usual, l.searcher.Verbs)
}

// VerbFamily lists the verbs related to a word.
func (l *LimitedSearcher) VerbFamily(ctx context.Context, word string) ([]index.RelatedVerb, error) {
	return withSlot(ctx, l, l.usual, func(ctx context.Context) ([]index.RelatedVerb, error) { return l.searcher.VerbFamily(ctx, word) })
}

// Namespaces lists the namespaces that qualify verbs.
func (l *LimitedSearcher) Namespaces(ctx context.Context) ([]index.ValueCount, error) {
	return withSlot(ctx, l, l.usual, l.searcher.Namespaces)
}

// DataClasses lists the data classes that services hold.
func (l *LimitedSearcher) DataClasses(ctx context.Context) ([]index.ValueCount, error) {
	return withSlot(ctx, l, l.usual, l.searcher.DataClasses)
}

// Cursor returns the place in the log that answers are based on. It does not wait.
func (l *LimitedSearcher) Cursor() store.Cursor { return l.searcher.Cursor() }
