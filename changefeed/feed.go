package changefeed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gazetteer/internal/wait"
	"gazetteer/store"
	"gazetteer/store/boltfile"
	"gazetteer/store/follow"
)

// defaultKeep is how many items a feed keeps unless Options say otherwise.
const defaultKeep = 1_000_000

// maxPage is the largest page.
const maxPage = 100

// ErrGone says that items behind a position were dropped, so that a page that begins there would miss
// some. Test with errors.Is.
var ErrGone = errors.New("the feed no longer reaches back to this position")

// Options of [Open]. Dir and Store are required.
type Options struct {
	Dir   string // the parent must exist
	Store store.Store
	Log   *slog.Logger // nil: silent
	// Keep is how many items are kept; defaultKeep when 0. The oldest are dropped.
	Keep int
	// MinFree is that of [boltfile.Options].
	MinFree int64
	// Linger is how long items are gathered before they are written together; half a second when 0.
	Linger time.Duration
}

// Feed is an open feed. Its methods may be called from any goroutine; Run is called once.
type Feed struct {
	file     *boltfile.File
	store    store.Store
	log      *slog.Logger
	keep     int
	linger   time.Duration
	saved    store.Cursor // the cursor in the file; Run alone touches it
	position follow.Position
	moved    wait.Broadcast // notified when items come or go

	mu       sync.RWMutex // guards what follows; held for writing when position moves with them
	postings *postings
	horizon  uint64 // positions before it are gone
	edition  uint64 // how often items were replaced or removed
}

// Open opens the feed in a directory, or begins one there. A damaged one is begun again. The errors
// are those of [boltfile.Open].
func Open(ctx context.Context, o Options) (*Feed, error) {
	f := &Feed{store: o.Store, log: o.Log, keep: o.Keep, linger: o.Linger}
	f.log = cmp.Or(f.log, slog.New(slog.DiscardHandler))
	f.keep = cmp.Or(f.keep, defaultKeep)
	f.linger = cmp.Or(f.linger, 500*time.Millisecond)
	var err error
	if f.file, err = openFile(ctx, o.Dir, f.log, o.MinFree); err != nil {
		return nil, fmt.Errorf("open the change feed: %w", err)
	}
	if err := f.readFile(); err != nil {
		if !errors.Is(err, store.ErrCorrupt) {
			return nil, errors.Join(fmt.Errorf("open the change feed: %w", err), f.file.Close())
		}
		f.log.Warn("the change feed cannot be read and is made again from the store", "error", err)
		f.position.MoveTo(store.Cursor{})
	}
	return f, nil
}

// Close releases the file. Run must have returned.
func (f *Feed) Close() error { return f.file.Close() }

// Run follows the store until ctx ends, and then returns nil.
func (f *Feed) Run(ctx context.Context) error {
	return follow.Run(ctx, f.store, &f.position, follow.Options{
		Name: "the change feed", Log: f.log, Linger: f.linger,
		Rebuild: func(ctx context.Context) error { return f.clearFile(ctx, f.store.Horizon().Seq) },
		Apply:   f.applyBatch,
		Save:    f.saveCursor,
	})
}

// Cursor returns the position in the store up to which the feed is complete.
func (f *Feed) Cursor() store.Cursor { return f.position.Cursor() }

// Len returns how many items there are.
func (f *Feed) Len() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return int(f.postings.live.GetCardinality())
}

// Moved returns a channel that is closed when items come or go. Ask for it before reading a page, so
// that nothing is missed between the two.
func (f *Feed) Moved() <-chan struct{} { return f.moved.Next() }

// WaitFor waits until the feed has followed the store up to a sequence.
func (f *Feed) WaitFor(ctx context.Context, seq uint64) error { return f.position.WaitFor(ctx, seq) }

// A Page is a part of the feed.
type Page struct {
	Items []Item
	// Next is the position to go on from: behind the last item of the page, or where the feed is
	// complete up to when there is none left.
	Next uint64
	// More reports whether there are items beyond the page now.
	More bool
}

// After returns at most limit items behind a position, the oldest first; maxPage at most. The error
// is [ErrGone] for a position whose followers were dropped; position 0 is never gone.
func (f *Feed) After(filter Filter, position uint64, limit int) (Page, error) {
	s, err := f.SelectAfter(filter, position, limit)
	if err != nil {
		return Page{}, err
	}
	items, err := f.ReadItems(s.Positions)
	return Page{Items: items, Next: s.Next, More: s.More}, err
}

// A Selection is a page without the content of its items.
type Selection struct {
	Positions []uint64
	Next      uint64 // as in [Page]
	More      bool   // as in [Page]
	// Edition grows when items are replaced or removed. While it is the same, an item that was read
	// at it is still the item at its position.
	Edition uint64
}

// SelectAfter returns the positions of the items that [Feed.After] returns, for a caller that holds
// some of them already.
func (f *Feed) SelectAfter(filter Filter, position uint64, limit int) (Selection, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if position > 0 && position < f.horizon {
		return Selection{}, ErrGone
	}
	s := Selection{Edition: f.edition, Next: max(position, f.position.Cursor().Seq)}
	if s.Positions, s.More = f.selectPositions(filter, position, limit); s.More {
		s.Next = s.Positions[len(s.Positions)-1]
	}
	return s, nil
}

// selectPositions returns the positions of the first items behind a position that a filter chooses.
func (f *Feed) selectPositions(filter Filter, position uint64, limit int) (positions []uint64, more bool) {
	limit = min(max(limit, 1), maxPage)
	first := f.postings.ordinal(position + 1)
	found := f.postings.matchFrom(filter, first).Iterator()
	found.AdvanceIfNeeded(first)
	for found.HasNext() {
		if len(positions) == limit {
			return positions, true
		}
		positions = append(positions, f.postings.positionOf(found.Next()))
	}
	return positions, false
}

// Before returns at most limit items before a position, the newest first; before 0 means the newest of
// all. Next is the position of the last one, to go on before.
func (f *Feed) Before(filter Filter, position uint64, limit int) (Page, error) {
	limit = min(max(limit, 1), maxPage)
	f.mu.RLock()
	matches := f.postings.match(filter)
	var count uint64 // of the matches before the position
	switch {
	case position == 0:
		count = matches.GetCardinality()
	default:
		if end := f.postings.ordinal(position); end > 0 {
			count = matches.Rank(end - 1)
		}
	}
	first := count - min(count, uint64(limit))
	var positions []uint64
	for n := count; n > first; n-- {
		ordinal, err := matches.Select(uint32(n - 1))
		if err != nil { // cannot be: there are count of them
			break
		}
		positions = append(positions, f.postings.positionOf(ordinal))
	}
	f.mu.RUnlock()
	items, err := f.ReadItems(positions)
	page := Page{Items: items, More: first > 0}
	if len(positions) > 0 {
		page.Next = positions[len(positions)-1]
	}
	return page, err
}

// saveInterval is how many records the cursor in the file may be behind: so many are read again
// after a crash, all of which made no item.
const saveInterval = 20_000

// applyBatch makes items of a batch of records and writes them together with the cursor.
func (f *Feed) applyBatch(ctx context.Context, batch []store.Record, upTo store.Cursor) error {
	p := &projection{feed: f, hosts: map[string]*hostState{}, items: map[uint64]*Item{}, removed: map[uint64]bool{}}
	for r := range follow.InTurns(batch) {
		if err := p.readRecord(ctx, r); err != nil {
			return err
		}
	}
	if !p.hasChanges() {
		if upTo.Seq-f.saved.Seq < saveInterval {
			return nil
		}
		f.position.MoveTo(upTo)
		return f.saveCursor(ctx)
	}
	p.dropOldest()
	if err := p.writeBatch(ctx, upTo); err != nil {
		return err
	}
	f.saved = upTo
	f.mu.Lock()
	p.applyTo(f.postings)
	f.horizon = max(f.horizon, p.horizon)
	if len(p.terms) > 0 {
		f.edition++
	}
	f.position.MoveTo(upTo)
	f.mu.Unlock()
	f.moved.Notify()
	return nil
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

// matchingPositions returns the positions of all items of a filter.
func (f *Feed) matchingPositions(filter Filter) []uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var positions []uint64
	f.postings.match(filter).Iterate(func(ordinal uint32) bool {
		positions = append(positions, f.postings.positionOf(ordinal))
		return true
	})
	return positions
}
