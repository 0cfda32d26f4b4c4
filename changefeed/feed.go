package changefeed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// DefaultKeep is how many items a feed keeps unless Options say otherwise.
const DefaultKeep = 1_000_000

// MaxPage is the largest page.
const MaxPage = 100

// ErrGone says that items behind a place were dropped, so that a page that begins there would miss
// some. Test with errors.Is.
var ErrGone = errors.New("the feed no longer reaches back to this place")

// Options of [Open]. Dir and Store are required.
type Options struct {
	Dir   string // the parent must exist
	Store store.Store
	Log   *slog.Logger // nil: silent
	// Keep is how many items are kept; [DefaultKeep] when 0. The oldest are dropped.
	Keep int
	// MinFree is that of [boltfile.Options].
	MinFree int64
	// Linger is how long items are gathered before they are written together; half a second when 0.
	Linger time.Duration
}

// Feed is an open feed. Its methods may be called from any goroutine; Run is called once.
type Feed struct {
	file   *boltfile.File
	store  store.Store
	log    *slog.Logger
	keep   int
	linger time.Duration
	saved  store.Cursor // the cursor in the file; Run alone touches it

	mu       sync.RWMutex // guards what follows
	postings *postings
	cursor   store.Cursor  // up to where the store was followed
	horizon  uint64        // places before it are gone
	moved    chan struct{} // closed and replaced when items come or go
	advanced chan struct{} // closed and replaced when cursor moves
}

// Open opens the feed in a directory, or begins one there. A damaged one is begun again. The errors
// are those of [boltfile.Open].
func Open(ctx context.Context, o Options) (*Feed, error) {
	f := &Feed{store: o.Store, log: o.Log, keep: o.Keep, linger: o.Linger, moved: make(chan struct{}), advanced: make(chan struct{})}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	if f.keep == 0 {
		f.keep = DefaultKeep
	}
	if f.linger == 0 {
		f.linger = 500 * time.Millisecond
	}
	var err error
	if f.file, err = openFile(ctx, o.Dir, f.log, o.MinFree); err != nil {
		return nil, fmt.Errorf("open the change feed: %w", err)
	}
	if err := f.readFile(); err != nil {
		if !errors.Is(err, store.ErrCorrupt) {
			return nil, errors.Join(fmt.Errorf("open the change feed: %w", err), f.file.Close())
		}
		f.log.Warn("the change feed cannot be read and is made again from the store", "error", err)
		f.cursor = store.Cursor{}
	}
	return f, nil
}

// Close releases the file. Run must have returned.
func (f *Feed) Close() error { return f.file.Close() }

// Run follows the store until ctx ends, and then returns nil.
func (f *Feed) Run(ctx context.Context) error {
	for {
		head := f.store.Head()
		if after := f.Cursor(); after.Store != head.Store || after.Incarnation != head.Incarnation || after.Seq > head.Seq {
			if err := f.clearFile(ctx, f.store.Horizon().Seq); err != nil {
				return endOf(ctx, err)
			}
		}
		damaged := func(r store.Record, err error) {
			f.log.Error("a damaged record is left out of the change feed", "key", r.Key, "error", err)
		}
		err := store.Follow(ctx, f.store, f.Cursor(), store.FollowOptions{Linger: f.linger, Damaged: damaged}, func(batch []store.Record, upTo store.Cursor) error {
			return f.applyBatch(ctx, batch, upTo)
		})
		if !errors.Is(err, store.ErrCursorGone) {
			return errors.Join(endOf(ctx, err), f.saveCursor(context.WithoutCancel(ctx)))
		}
		f.log.Warn("the change feed is too far behind the store and is made again")
		f.mu.Lock()
		f.cursor = store.Cursor{}
		f.mu.Unlock()
	}
}

// endOf returns nil for an error that the end of ctx caused.
func endOf(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// Cursor returns the place in the store up to which the feed is complete.
func (f *Feed) Cursor() store.Cursor {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.cursor
}

// Len returns how many items there are.
func (f *Feed) Len() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return int(f.postings.live.GetCardinality())
}

// Moved returns a channel that is closed when items come or go. Ask for it before reading a page,
// so that nothing is missed between the two.
func (f *Feed) Moved() <-chan struct{} {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.moved
}

// WaitFor waits until the feed has followed the store up to a sequence.
func (f *Feed) WaitFor(ctx context.Context, seq uint64) error {
	for {
		f.mu.RLock()
		at, advanced := f.cursor.Seq, f.advanced
		f.mu.RUnlock()
		if at >= seq {
			return nil
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A Page is a part of the feed.
type Page struct {
	Items []Item
	// Next is the place to go on from: behind the last item of the page, or where the feed is
	// complete up to when there is none left.
	Next uint64
	// More reports whether there are items beyond the page now.
	More bool
}

// After returns at most limit items behind a place, the oldest first; [MaxPage] at most. The error
// is [ErrGone] for a place whose followers were dropped; place 0 is never gone.
func (f *Feed) After(filter Filter, place uint64, limit int) (Page, error) {
	f.mu.RLock()
	if place > 0 && place < f.horizon {
		f.mu.RUnlock()
		return Page{}, ErrGone
	}
	places, more := f.selectPlaces(filter, place, limit)
	next := max(place, f.cursor.Seq)
	f.mu.RUnlock()
	if more {
		next = places[len(places)-1]
	}
	items, err := f.readItems(places)
	return Page{Items: items, Next: next, More: more}, err
}

// selectPlaces returns the places of the first items behind a place that a filter chooses.
func (f *Feed) selectPlaces(filter Filter, place uint64, limit int) (places []uint64, more bool) {
	limit = min(max(limit, 1), MaxPage)
	found := f.postings.match(filter).Iterator()
	found.AdvanceIfNeeded(f.postings.ordinal(place + 1))
	for found.HasNext() {
		if len(places) == limit {
			return places, true
		}
		places = append(places, f.postings.placeOf(found.Next()))
	}
	return places, false
}

// Before returns at most limit items before a place, the newest first; before 0 means the newest of
// all. Next is the place of the last one, to go on before.
func (f *Feed) Before(filter Filter, place uint64, limit int) (Page, error) {
	limit = min(max(limit, 1), MaxPage)
	f.mu.RLock()
	matches := f.postings.match(filter)
	var count uint64 // of the matches before the place
	switch {
	case place == 0:
		count = matches.GetCardinality()
	default:
		if end := f.postings.ordinal(place); end > 0 {
			count = matches.Rank(end - 1)
		}
	}
	first := count - min(count, uint64(limit))
	var places []uint64
	for n := count; n > first; n-- {
		ordinal, err := matches.Select(uint32(n - 1))
		if err != nil { // cannot be: there are count of them
			break
		}
		places = append(places, f.postings.placeOf(ordinal))
	}
	f.mu.RUnlock()
	items, err := f.readItems(places)
	page := Page{Items: items, More: first > 0}
	if len(places) > 0 {
		page.Next = places[len(places)-1]
	}
	return page, err
}

// saveInterval is how many records the cursor in the file may be behind: so many are read again
// after a crash, all of which made no item.
const saveInterval = 20_000

// applyBatch makes items of a batch of records and writes them together with the cursor.
func (f *Feed) applyBatch(ctx context.Context, batch []store.Record, upTo store.Cursor) error {
	p := &projection{feed: f, hosts: map[string]*hostState{}, items: map[uint64]*Item{}, removed: map[uint64]bool{}}
	for _, r := range batch {
		if err := p.readRecord(ctx, r); err != nil {
			return err
		}
	}
	if !p.hasChanges() {
		f.advanceTo(upTo, nil)
		if upTo.Seq-f.saved.Seq < saveInterval {
			return nil
		}
		return f.saveCursor(ctx)
	}
	p.dropOldest()
	if err := p.writeBatch(ctx, upTo); err != nil {
		return err
	}
	f.saved = upTo
	f.advanceTo(upTo, p)
	return nil
}

// advanceTo moves the feed to a place in the store, with what a batch changed, nil for nothing.
func (f *Feed) advanceTo(upTo store.Cursor, p *projection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p != nil {
		p.applyTo(f.postings)
		f.horizon = max(f.horizon, p.horizon)
		close(f.moved)
		f.moved = make(chan struct{})
	}
	f.cursor = upTo
	close(f.advanced)
	f.advanced = make(chan struct{})
}

// saveCursor writes how far the store was followed.
func (f *Feed) saveCursor(ctx context.Context) error {
	cursor := f.Cursor()
	if cursor == f.saved || cursor == (store.Cursor{}) {
		return nil
	}
	if err := f.writeFile(ctx, func(tx *boltfile.Tx) error { return putCursor(tx, cursor) }); err != nil {
		return err
	}
	f.saved = cursor
	return nil
}

// matchingPlaces returns the places of all items of a filter.
func (f *Feed) matchingPlaces(filter Filter) []uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var places []uint64
	f.postings.match(filter).Iterate(func(ordinal uint32) bool {
		places = append(places, f.postings.placeOf(ordinal))
		return true
	})
	return places
}
