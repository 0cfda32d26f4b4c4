package census

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"gazetteer/census/tally"
	"gazetteer/conformance"
	"gazetteer/internal/cache"
	"gazetteer/registry"
	"gazetteer/store"
	"gazetteer/store/follow"
)

// A Live follows the log and knows the figures of the present: how many hosts have which feature,
// which hosts those are, and the same over time. Open it with [OpenLive]; [Live.Run] fills it and
// keeps it up to date, [Live.Stats] and [Live.Hosts] read it.
//
// For each host it holds some hundred bytes, and for each feature a compressed set of hosts, so
// that no figure and no list walks the store.
type Live struct {
	o        LiveOptions
	position follow.Position

	mu        sync.RWMutex // guards the following fields
	ids       map[string]uint32
	rows      []*liveHost
	features  map[Feature]uint32
	names     []Feature // by number
	hosts     []*roaring.Bitmap
	numbers   tally.DomainNumbers
	domains   []uint32 // the registered domains of rows
	standings map[conformance.Standing]uint16
	turnsOf   []conformance.Standing // by number
	agents    map[string]registry.Agent
	blocks    map[string]blockRecord
	// uncompared are the hosts that may have versions whose severity is not known yet.
	uncompared map[uint32]bool
	changed    bool // since the last refresh
	owner      *rowsOwner

	saving    sync.Mutex    // held while the snapshot is written
	refreshes sync.Mutex    // held by refresh
	comparing chan struct{} // has an element while comparePending runs
	stats     atomic.Pointer[Stats]
	listing   *cache.Single[*serviceListing]
}

const (
	maxLiveRows = 100
	maxRecents  = 30
	// testCategory is that of services that exist to test readers.
	testCategory = "test"
	// refreshPause is the shortest time between two refreshes, and refreshShare how many times
	// longer than a refresh it is at least, so that refreshes take at most a fiftieth of the time.
	refreshPause = 2 * time.Second
	refreshShare = 50
	// snapshotPause is the time between two snapshots.
	snapshotPause = 10 * time.Minute
)

// LiveOptions say what a Live follows.
type LiveOptions struct {
	Store store.Store
	// Snapshot is the file in which it is kept across restarts, "" for none. It can be deleted at
	// any time.
	Snapshot string
	Log      *slog.Logger     // nil: nothing is logged
	Now      func() time.Time // nil: time.Now
}

// OpenLive reads the snapshot, if there is one of this store.
func OpenLive(o LiveOptions) *Live {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Live{o: o, comparing: make(chan struct{}, 1), listing: cache.NewSingle[*serviceListing]()}
	l.clearState()
	if err := l.readSnapshot(); err != nil {
		l.o.Log.Info("the snapshot of the figures is unusable; they are counted again", "error", err)
		l.clearState()
	}
	counted := l.o.Now()
	none := &Stats{Figures: newFigureBuilder(EndOfDay(counted)).buildFigures()}
	none.setCounted(counted)
	l.stats.Store(none)
	return l
}

func (l *Live) clearState() {
	l.ids, l.rows, l.owner = map[string]uint32{}, nil, new(rowsOwner)
	l.features, l.names, l.hosts = map[Feature]uint32{}, nil, nil
	l.numbers, l.domains = tally.DomainNumbers{}, nil
	l.standings, l.turnsOf = map[conformance.Standing]uint16{}, nil
	l.agents, l.blocks, l.uncompared = map[string]registry.Agent{}, map[string]blockRecord{}, map[uint32]bool{}
	l.position.MoveTo(store.Cursor{})
}

// Stats returns the figures as they were at the last refresh, some seconds ago.
func (l *Live) Stats() *Stats { return l.stats.Load() }

// Run follows the store until ctx ends, and then returns nil. Only one runs at a time.
func (l *Live) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.followStore(ctx) })
	group.Go(func() error { l.refreshRegularly(ctx); return nil })
	return group.Wait()
}

func (l *Live) followStore(ctx context.Context) error {
	l.refreshFigures()
	return follow.Run(ctx, l.o.Store, &l.position, follow.Options{
		Name: "the figures", Log: l.o.Log,
		Rebuild: l.readAll, Apply: l.applyBatch,
		Save: l.keepSnapshot, SaveEvery: snapshotPause,
	})
}

// followed are the prefixes of the records that are read.
var followed = []string{store.BlockPrefix, store.HostPrefix, store.DocumentPrefix, store.VersionPrefix, store.TurnPrefix, store.AgentPrefix}

// readAll reads the present content of the store. That is faster than to follow the log from its
// beginning, which has the bytes of all documents.
func (l *Live) readAll(ctx context.Context) error {
	l.mu.Lock()
	l.clearState()
	l.mu.Unlock()
	head := l.o.Store.Head()
	var batch []store.Record
	for _, prefix := range followed {
		for r, err := range store.Readable(l.o.Store.List(ctx, prefix, "")) {
			if err != nil {
				return fmt.Errorf("read the records of %s: %w", prefix, err)
			}
			if batch = append(batch, r); len(batch) == 1000 {
				if err := l.applyBatch(ctx, batch, store.Cursor{}); err != nil {
					return err
				}
				batch = batch[:0]
			}
		}
	}
	if err := l.applyBatch(ctx, batch, head); err != nil {
		return err
	}
	l.position.MoveTo(head)
	l.refreshFigures()
	return nil
}

// WaitFor waits until the store was followed up to a sequence, and brings the figures up to date.
func (l *Live) WaitFor(ctx context.Context, seq uint64) error {
	if err := l.position.WaitFor(ctx, seq); err != nil {
		return err
	}
	for !l.comparePending(ctx, time.Now().Add(compareTime)) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	l.refreshFigures()
	return nil
}

// Follower returns the position in the store. To wait for it does not bring the figures up to date.
func (l *Live) Follower() follow.Follower { return &l.position }

// applyBatch takes records in.
func (l *Live) applyBatch(ctx context.Context, records []store.Record, _ store.Cursor) error {
	var list []decoded
	for r := range follow.InTurns(records) {
		d, ok, err := l.decodeChange(ctx, r)
		if err != nil {
			return err
		}
		if ok {
			list = append(list, d)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	touched := map[uint32]bool{}
	for i := range list {
		l.applyChange(&list[i], touched)
	}
	for id := range touched {
		l.updateFeatures(id)
	}
	l.changed = l.changed || len(list) > 0
	return nil
}
