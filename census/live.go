package census

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/fetch"
	"gazetteer/protocol"
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
	store    store.Store
	path     string // of the snapshot, "" for none
	log      *slog.Logger
	now      func() time.Time
	position follow.Position

	mu        sync.RWMutex // guards the following fields
	ids       map[string]uint32
	rows      []*liveHost
	features  map[Feature]uint32
	names     []Feature // by number
	hosts     []*roaring.Bitmap
	standings map[conformance.Standing]uint16
	turnsOf   []conformance.Standing // by number
	agents    map[string]registry.Agent
	blocks    map[string]blockRecord
	// uncompared are the hosts that may have versions whose severity is not known yet.
	uncompared map[uint32]bool
	changed    bool // since the last refresh
	owner      *rowsOwner

	refreshes sync.Mutex // held by refresh
	stats     atomic.Pointer[Stats]
	listings  sync.Mutex // held while the list of services is made
	listing   atomic.Pointer[serviceListing]
}

// Stats are the figures at a time, made once and read by any number of requests. Nothing of it may
// be changed.
type Stats struct {
	*Figures
	// Cursor is the place in the log up to which the figures go.
	Cursor store.Cursor
	// LastVisit is when the last visit to any host ended.
	LastVisit time.Time
	// Verbs counts different verbs.
	Verbs int
	// New are the services that came last, Changed those of which a document changed last in a way
	// that can break callers, both without services that exist to test readers.
	New, Changed []Recent
	// Tables are those of the census, with at most maxLiveRows rows; Totals says how many rows
	// those of a family have in all.
	Tables []Table
	Totals map[string]int
}

// Table returns the table of a name, an empty one if there is none.
func (s *Stats) Table(name string) Table {
	for _, t := range s.Tables {
		if t.Name == name {
			return t
		}
	}
	return Table{}
}

// Recent is a service that came or changed lately.
type Recent struct {
	Host string
	At   time.Time
	// Severity is that of the change, "" for a new service.
	Severity string
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

// liveHost is a host as Live holds it. Its members are exported for the snapshot.
type liveHost struct {
	Host      string
	Known     bool // there is a record of the host
	Added     time.Time
	Visited   time.Time
	Fetches   []liveFetch
	Visit     []uint32 // features of the last visit
	Documents []liveDocument
	Versions  []liveVersion // in order of format and time
	Turns     []liveTurn
	all       []uint32 // features that the sets have, in order
}

type liveFetch struct {
	Kind    string
	Outcome fetch.Outcome
	Status  int
}

type liveDocument struct {
	Kind       string
	Digest     string
	Level      int
	Operations int
	Judged     []protocol.Finding
	Features   []uint32
	// Verbs are the features of its verbs, VerbCounts how many operations have each of them.
	Verbs, VerbCounts []uint32
	Fetched           time.Time
	// Name is that of the service, cut after maxListedName bytes; Changed is when the bytes changed.
	Name    string
	Changed time.Time
}

type liveVersion struct {
	Kind string
	Seen time.Time
	// Severity is that of the change from the version before, "" where it was not compared yet.
	Severity string
}

// orderVersions orders by format and time.
func orderVersions(a, b liveVersion) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), a.Seen.Compare(b.Seen))
}

type liveTurn struct {
	Key      string // its time as the key has it
	At       time.Time
	Standing uint16
}

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
	l := &Live{store: o.Store, path: o.Snapshot, log: o.Log, now: o.Now}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if l.now == nil {
		l.now = time.Now
	}
	l.clearState()
	if err := l.readSnapshot(); err != nil {
		l.log.Info("the snapshot of the figures is unusable; they are counted again", "error", err)
		l.clearState()
	}
	l.stats.Store(&Stats{Figures: newFigureBuilder(EndOfDay(l.now())).buildFigures()})
	return l
}

func (l *Live) clearState() {
	l.ids, l.rows, l.owner = map[string]uint32{}, nil, new(rowsOwner)
	l.features, l.names, l.hosts = map[Feature]uint32{}, nil, nil
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
	return follow.Run(ctx, l.store, &l.position, follow.Options{
		Name: "the figures", Log: l.log,
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
	head := l.store.Head()
	var batch []store.Record
	for _, prefix := range followed {
		for r, err := range l.store.List(ctx, prefix, "") {
			if store.Damaged(r, err) {
				continue
			}
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

// decoded is a record that was read before the lock is taken.
type decoded struct {
	key      string
	parts    []string
	deleted  bool
	host     *hostRecord
	document *documentRecord
	tokens   int
	turn     *turnRecord
	agent    *registry.Agent
	block    *blockRecord
}

// applyBatch takes records in.
func (l *Live) applyBatch(ctx context.Context, records []store.Record, _ store.Cursor) error {
	var list []decoded
	for _, r := range records {
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

// decodeChange reads a record; false for one that does not count. One that cannot be read counts as
// gone.
func (l *Live) decodeChange(ctx context.Context, r store.Record) (d decoded, ok bool, err error) {
	if !slices.ContainsFunc(followed, func(p string) bool { return strings.HasPrefix(r.Key, p) }) {
		return d, false, nil
	}
	d = decoded{key: r.Key, parts: store.SplitKey(r.Key), deleted: r.Deleted || r.Value == nil}
	if d.deleted {
		return d, len(d.parts) > 1, nil
	}
	switch d.parts[0] + "/" {
	case store.HostPrefix:
		d.host = new(hostRecord)
		d.deleted = decodeRecord(r.Value, d.host) != nil
	case store.DocumentPrefix:
		d.document = new(documentRecord)
		if d.deleted = decodeRecord(r.Value, d.document) != nil; !d.deleted {
			w := walker{store: l.store}
			body, err := w.readBlob(ctx, d.document.Digest)
			if err != nil {
				return d, false, err
			}
			d.tokens = protocol.Tokens(string(body))
		}
	case store.TurnPrefix:
		d.turn = new(turnRecord)
		d.deleted = decodeRecord(r.Value, d.turn) != nil
	case store.AgentPrefix:
		if len(d.parts) != 2 {
			return d, false, nil
		}
		d.agent = new(registry.Agent)
		d.deleted = decodeStandardRecord(r.Value, d.agent) != nil
	case store.BlockPrefix:
		d.block = new(blockRecord)
		_ = decodeRecord(r.Value, d.block) // a damaged reason does not lift the block
	}
	return d, len(d.parts) > 1, nil
}

// applyChange updates the facts about a host or agent. l.mu is held.
func (l *Live) applyChange(d *decoded, touched map[uint32]bool) {
	switch d.parts[0] + "/" {
	case store.AgentPrefix:
		delete(l.agents, d.parts[1])
		if !d.deleted && d.agent.Status == registry.Active {
			l.agents[d.parts[1]] = slimAgent(d.agent)
		}
		return
	case store.BlockPrefix:
		delete(l.blocks, d.parts[1])
		if !d.deleted {
			l.blocks[d.parts[1]] = *d.block
		}
		return
	}
	id := l.idOf(d.parts[1])
	h := l.rows[id]
	touched[id] = true
	switch d.parts[0] + "/" {
	case store.HostPrefix:
		h.Known, h.Fetches, h.Visit = !d.deleted, nil, nil
		if !d.deleted {
			h.Added, h.Visited = d.host.Added, d.host.Visited
			h.Fetches = d.host.listFetches()
			tls := ""
			if d.host.TLS != nil {
				tls = d.host.TLS.Version
			}
			h.Visit = l.featureNumbers(visitFeatures(d.host.robotsState(), tls, d.host.listOutcomes()))
		}
	case store.DocumentPrefix:
		if len(d.parts) != 3 {
			return
		}
		h.Documents = slices.DeleteFunc(h.Documents, func(old liveDocument) bool { return old.Kind == d.parts[2] })
		if !d.deleted {
			doc := newDocument(d.document, d.tokens)
			live := liveDocument{
				Kind: strings.Clone(d.parts[2]), Digest: doc.Digest, Level: doc.Level, Operations: len(doc.Verbs), Judged: doc.judged, Features: l.featureNumbers(documentFeatures(&doc)), Fetched: doc.Fetched,
				Name: strings.Clone(protocol.ClipBytes(d.document.Service.Name, maxListedName)), Changed: d.document.ChangedAt,
			}
			l.countVerbs(&live, doc.Verbs)
			h.Documents = append(h.Documents, live)
			slices.SortFunc(h.Documents, func(a, b liveDocument) int { return strings.Compare(a.Kind, b.Kind) })
		}
	case store.VersionPrefix:
		l.takeVersion(h, d)
		l.uncompared[id] = true
	case store.TurnPrefix:
		if len(d.parts) != 3 {
			return
		}
		h.Turns = slices.DeleteFunc(h.Turns, func(t liveTurn) bool { return t.Key == d.parts[2] })
		if !d.deleted {
			at := d.turn.At
			if !d.turn.Measured.IsZero() {
				at = d.turn.Measured
			}
			h.Turns = append(h.Turns, liveTurn{strings.Clone(d.parts[2]), at, l.standingNumber(d.turn.Standing)})
			slices.SortFunc(h.Turns, func(a, b liveTurn) int { return strings.Compare(a.Key, b.Key) })
		}
	}
}

func (l *Live) takeVersion(h *liveHost, d *decoded) {
	if len(d.parts) != 4 {
		return
	}
	seen, _, _ := strings.Cut(d.parts[3], "-")
	at, err := time.Parse(keyTime, seen)
	if err != nil {
		return
	}
	v := liveVersion{Kind: d.parts[2], Seen: at}
	i, found := slices.BinarySearchFunc(h.Versions, v, orderVersions)
	switch {
	case found && d.deleted:
		h.Versions = slices.Delete(h.Versions, i, i+1)
	case !found && !d.deleted:
		v.Kind = strings.Clone(v.Kind)
		h.Versions = slices.Insert(h.Versions, i, v)
		i++
	default:
		return
	}
	if i < len(h.Versions) { // another version stands before it now
		h.Versions[i].Severity = ""
	}
}

// countVerbs counts the operations of each verb; verbs are in order. l.mu is held.
func (l *Live) countVerbs(d *liveDocument, verbs []string) {
	for i, verb := range verbs {
		switch {
		case verb == "":
		case i > 0 && verb == verbs[i-1]:
			d.VerbCounts[len(d.VerbCounts)-1]++
		default:
			d.Verbs = append(d.Verbs, l.featureNumbers([]Feature{{"verb", valueOf(verb)}})[0])
			d.VerbCounts = append(d.VerbCounts, 1)
		}
	}
}

// slimAgent keeps what evidence is counted by.
func slimAgent(a *registry.Agent) registry.Agent {
	slim := registry.Agent{AirID: a.AirID, PublicKey: a.PublicKey, KeySince: a.KeySince, KeyProof: a.KeyProof, Created: a.Created, Status: a.Status, Standing: a.Standing}
	for _, d := range a.Domains {
		d.Probes, d.EarlierProbes = nil, nil
		slim.Domains = append(slim.Domains, d)
	}
	if len(a.Observed) > 0 {
		slim.Observed = map[string]registry.Observation{}
		for signal, o := range a.Observed {
			slim.Observed[signal] = registry.Observation{Holds: o.Holds, At: o.At}
		}
	}
	return slim
}

// idOf returns the number of a host, a new one if it has none. l.mu is held.
func (l *Live) idOf(host string) uint32 {
	id, known := l.ids[host]
	if !known {
		host = strings.Clone(host)
		id = uint32(len(l.rows))
		l.ids[host] = id
		l.rows = append(l.rows, &liveHost{Host: host})
	}
	return id
}

// featureNumbers returns the numbers of features. l.mu is held.
func (l *Live) featureNumbers(list []Feature) []uint32 {
	numbers := make([]uint32, 0, len(list))
	for _, f := range list {
		n, known := l.features[f]
		if !known {
			f = Feature{strings.Clone(f.Family), strings.Clone(f.Value)}
			n = uint32(len(l.names))
			l.features[f] = n
			l.names = append(l.names, f)
			l.hosts = append(l.hosts, roaring.New())
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func (l *Live) standingNumber(s conformance.Standing) uint16 {
	n, known := l.standings[s]
	if !known {
		n = uint16(len(l.turnsOf))
		l.standings[s] = n
		l.turnsOf = append(l.turnsOf, s)
	}
	return n
}

// updateFeatures updates the sets with the facts about a host. l.mu is held.
func (l *Live) updateFeatures(id uint32) {
	h := l.rows[id]
	var all []uint32
	if h.Known {
		all = append(all, h.Visit...)
		docs := make([]Document, len(h.Documents))
		published := map[string]bool{}
		for i, d := range h.Documents {
			all = append(all, d.Features...)
			docs[i] = Document{Kind: d.Kind, Level: d.Level, judged: d.Judged}
			published[d.Kind] = true
		}
		all = append(all, l.featureNumbers(standingFeatures(judgeHost(h.Fetches, docs)))...)
		all = append(all, l.featureNumbers(kindsFeatures(published))...)
		all = append(all, l.featureNumbers(versionFeatures(h.storedVersions(time.Time{})))...)
		slices.Sort(all)
		all = slices.Clip(slices.Compact(all))
	}
	for _, n := range h.all {
		if _, stays := slices.BinarySearch(all, n); !stays {
			l.hosts[n].Remove(id)
		}
	}
	for _, n := range all {
		l.hosts[n].Add(id)
	}
	h.all = all
}

// storedVersions returns the stored versions as the figures want them: those since a time with the
// severities of their changes.
func (h *liveHost) storedVersions(since time.Time) []Version {
	list := make([]Version, len(h.Versions))
	for i, v := range h.Versions {
		list[i] = Version{Kind: v.Kind, Seen: v.Seen, First: i == 0 || h.Versions[i-1].Kind != v.Kind}
		if !list[i].First && v.Seen.After(since) {
			list[i].Severity = cmp.Or(v.Severity, notCompared)
		}
	}
	return list
}

// Hosts returns hosts that have a feature, in the order in which this server first read them, from
// the one behind a place on; the place of the last of them, and how many there are in all.
func (l *Live) Hosts(f Feature, after uint32, limit int) (hosts []string, last uint32, total int) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	n, known := l.features[f]
	if !known {
		return nil, after, 0
	}
	set := l.hosts[n]
	i := set.Iterator()
	i.AdvanceIfNeeded(after)
	for i.HasNext() && len(hosts) < limit {
		id := i.Next()
		hosts, last = append(hosts, l.rows[id].Host), id+1
	}
	if !i.HasNext() {
		last = 0
	}
	return hosts, last, int(set.GetCardinality())
}

// refreshRegularly refreshes the figures when they have changed, until ctx ends.
func (l *Live) refreshRegularly(ctx context.Context) {
	tick := time.NewTicker(refreshPause / 2)
	defer tick.Stop()
	next := l.now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.comparePending(ctx, time.Now().Add(compareTime))
		l.mu.RLock()
		due := l.changed || l.stats.Load().At != EndOfDay(l.now())
		l.mu.RUnlock()
		if due && !time.Now().Before(next) {
			begun := time.Now()
			l.refreshFigures()
			next = time.Now().Add(max(refreshPause, refreshShare*time.Since(begun)))
		}
	}
}

// refreshFigures computes the figures again.
func (l *Live) refreshFigures() {
	l.refreshes.Lock()
	defer l.refreshes.Unlock()
	l.mu.Lock()
	l.changed = false
	l.updateDuplicates()
	observed := l.observedNumbers()
	l.mu.Unlock()
	l.mu.RLock()
	s, hosts := l.computeStats(EndOfDay(l.now()), observed)
	l.mu.RUnlock()
	l.mu.Lock()
	for i, n := range observed {
		if int(n) < len(l.names) && l.names[n] == observedFeature(survivalDays[i]) { // else the store is read anew
			l.hosts[n] = hosts[n]
		}
	}
	l.mu.Unlock()
	s.Tables, s.Totals = s.Figures.Tables(), map[string]int{}
	for i := range s.Tables {
		if t := &s.Tables[i]; t.Columns[0] != "date" {
			s.Totals[t.Name] = len(t.Rows)
			t.Rows = slices.Clone(t.Rows[:min(len(t.Rows), maxLiveRows)])
		}
	}
	l.stats.Store(s)
}

// updateDuplicates finds the hosts whose documents others have too. l.mu is held.
func (l *Live) updateDuplicates() {
	first := make(map[string]uint32, len(l.rows))
	numbers := l.featureNumbers([]Feature{{"duplicate", "yes"}, {"duplicate", "no"}})
	yes, no := roaring.New(), roaring.New()
	for id, h := range l.rows {
		if !h.Known {
			continue
		}
		for _, d := range h.Documents {
			no.Add(uint32(id))
			if other, seen := first[d.Digest]; seen {
				yes.Add(uint32(id))
				yes.Add(other)
			} else {
				first[d.Digest] = uint32(id)
			}
		}
	}
	no.AndNot(yes)
	l.hosts[numbers[0]], l.hosts[numbers[1]] = yes, no
}

// observedNumbers returns the numbers of the features of how long hosts were observed, in order.
// l.mu is held.
func (l *Live) observedNumbers() []uint32 {
	return l.featureNumbers(observedFeatures(survivalDays[len(survivalDays)-1]))
}

// computeStats makes the figures of all that is known, and the sets of hosts by how long they were
// observed, by these numbers: they change with time alone. l.mu is held for reading.
func (l *Live) computeStats(at time.Time, observed []uint32) (*Stats, map[uint32]*roaring.Bitmap) {
	b := newFigureBuilder(at)
	hostsObserved := make(map[uint32]*roaring.Bitmap, len(observed))
	for _, n := range observed {
		hostsObserved[n] = roaring.New()
	}
	operations := make([]int, len(l.names)) // of verbs
	since := at.Add(-changeWindow)
	s := &Stats{Cursor: l.position.Cursor()}
	test := roaring.New()
	if n, known := l.features[Feature{"category", testCategory}]; known {
		test = l.hosts[n]
	}
	for id, h := range l.rows {
		if !h.Known {
			continue
		}
		b.f.Hosts++
		if !h.Visited.IsZero() {
			b.f.Visited++
		}
		if h.Visited.After(s.LastVisit) {
			s.LastVisit = h.Visited
		}
		service := false
		current := make([]string, len(h.Documents))
		for i, d := range h.Documents {
			b.f.Documents++
			b.f.Operations += d.Operations
			service = service || !document.Kind(d.Kind).IsAlias()
			current[i] = d.Kind
			for j, n := range d.Verbs {
				operations[n] += int(d.VerbCounts[j])
			}
		}
		if service {
			b.f.Services++
		}
		versions := h.storedVersions(since)
		turns := make([]Turn, len(h.Turns))
		for i, t := range h.Turns {
			turns[i] = Turn{t.At, l.turnsOf[t.Standing]}
			if i > 0 && turns[i].At.Before(turns[i-1].At) {
				turns[i].At = turns[i-1].At
			}
		}
		days := b.addHistory(h.Added, spansOf(versions, current, turns), versions, turns)
		for i, n := range observed {
			if survivalDays[i] <= days {
				hostsObserved[n].Add(uint32(id))
			}
		}
		if service && !test.Contains(uint32(id)) {
			s.addRecent(h, versions, at)
		}
	}
	for _, a := range l.agents {
		b.addAgent(&a)
	}
	for _, block := range l.blocks {
		if block.By == "owner" {
			b.f.OptedOut++
		}
	}
	for n, f := range l.names {
		set := l.hosts[n]
		if now := hostsObserved[uint32(n)]; now != nil {
			set = now
		}
		if hosts := set.GetCardinality(); hosts > 0 {
			b.f.Features[f] = int(hosts)
			if f.Family == "verb" {
				s.Verbs++
			}
		}
		if operations[n] > 0 {
			b.f.VerbOperations[f.Value] += operations[n]
		}
	}
	f := b.f
	b.addHistories(&f)
	s.Figures = &f
	return s, hostsObserved
}

// addRecent notes a service if it came lately, or changed so that it can break callers.
func (s *Stats) addRecent(h *liveHost, versions []Version, at time.Time) {
	var first, last Recent
	for _, v := range versions {
		if v.Seen.After(at) {
			continue
		}
		if v.First && (first.At.IsZero() || v.Seen.Before(first.At)) {
			first = Recent{Host: h.Host, At: v.Seen}
		}
		if (v.Severity == diff.High.String() || v.Severity == diff.Medium.String()) && v.Seen.After(last.At) {
			last = Recent{h.Host, v.Seen, v.Severity}
		}
	}
	s.New = insertRecent(s.New, first)
	s.Changed = insertRecent(s.Changed, last)
}

// insertRecent keeps the latest, the newest first.
func insertRecent(list []Recent, r Recent) []Recent {
	if r.At.IsZero() || len(list) == maxRecents && !r.At.After(list[len(list)-1].At) {
		return list
	}
	i, _ := slices.BinarySearchFunc(list, r, func(a, b Recent) int {
		if c := b.At.Compare(a.At); c != 0 {
			return c
		}
		return strings.Compare(a.Host, b.Host)
	})
	list = slices.Insert(list, i, r)
	return list[:min(len(list), maxRecents)]
}
