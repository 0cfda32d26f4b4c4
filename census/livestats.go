package census

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"gazetteer/census/tally"
	"gazetteer/document"
	"gazetteer/store"
)

// Stats are the figures at a time, made once and read by any number of requests. Nothing of it may
// be changed.
type Stats struct {
	*Figures
	// Counted is when they were counted: At is the end of that day, up to which the figures over time
	// go, and lies ahead.
	Counted time.Time
	// Cursor is the place in the log up to which the figures go.
	Cursor store.Cursor
	// LastVisit is when the last visit to any host ended.
	LastVisit time.Time
	// Verbs counts different verbs.
	Verbs int
	// New are the services that came last, one for each registered domain, without those that exist to
	// test readers.
	New []Recent
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

// Recent is a service that came lately.
type Recent struct {
	Host string
	At   time.Time

	domain uint32
}

func (l *Live) refreshRegularly(ctx context.Context) {
	tick := time.NewTicker(refreshPause / 2)
	defer tick.Stop()
	var next time.Time // by the clock of the machine, whatever the one of the figures shows
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.comparePending(ctx, time.Now().Add(compareTime))
		l.mu.RLock()
		due := l.changed || l.stats.Load().At != EndOfDay(l.o.Now())
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
	observed := l.featureNumbers(observedFeatures(tally.SurvivalDays[len(tally.SurvivalDays)-1]))
	l.mu.Unlock()
	l.mu.RLock()
	counted := l.o.Now()
	s, hosts := l.computeStats(EndOfDay(counted), observed)
	l.mu.RUnlock()
	s.setCounted(counted)
	l.mu.Lock()
	for i, n := range observed {
		if int(n) < len(l.names) && l.names[n] == observedFeature(tally.SurvivalDays[i]) { // else the store is read again
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

// setCounted sets when the figures were counted, which is also the time of the newest point of each
// figure over time.
func (s *Stats) setCounted(at time.Time) {
	s.Counted = at.UTC()
	for _, series := range s.Series {
		if n := len(series.Points); n > 0 && series.Points[n-1].At.After(s.Counted) {
			series.Points[n-1].At = s.Counted
		}
	}
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
	known := roaring.New()
	test := l.hostsWith(Feature{"category", testCategory})
	for id, h := range l.rows {
		if !h.Known {
			continue
		}
		b.f.Hosts++
		known.Add(uint32(id))
		if !h.Visited.IsZero() {
			b.f.Visited++
		}
		if h.Visited.After(s.LastVisit) {
			s.LastVisit = h.Visited
		}
		service, full := false, h.hasFullDocument()
		current := make([]string, len(h.Documents))
		for i, d := range h.Documents {
			b.f.Documents++
			service = service || !document.Kind(d.Kind).IsAlias()
			current[i] = d.Kind
			if countsOperations(d.Kind, full) {
				b.f.Operations += d.Operations
				for j, n := range d.Verbs {
					operations[n] += int(d.VerbCounts[j])
				}
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
			if tally.SurvivalDays[i] <= days {
				hostsObserved[n].Add(uint32(id))
			}
		}
		if service && !test.Contains(uint32(id)) {
			s.addRecent(h, l.domains[id], versions, at)
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
	domains := tally.NewDomainCounter(l.domains, len(l.numbers))
	b.f.Domains = domains.Count(known)
	for n, f := range l.names {
		set := l.hosts[n]
		if now := hostsObserved[uint32(n)]; now != nil {
			set = now
		}
		if hosts := set.GetCardinality(); hosts > 0 {
			b.f.Features[f] = tally.Count{Hosts: int(hosts), Domains: domains.Count(set)}
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

// addRecent notes when a service came.
func (s *Stats) addRecent(h *liveHost, domain uint32, versions []Version, at time.Time) {
	var first Recent
	for _, v := range versions {
		if v.First && !v.Seen.After(at) && (first.At.IsZero() || v.Seen.Before(first.At)) {
			first = Recent{h.Host, v.Seen, domain}
		}
	}
	s.New = insertRecent(s.New, first)
}

// insertRecent keeps the latest of each domain, the newest first.
func insertRecent(list []Recent, r Recent) []Recent {
	if r.At.IsZero() || len(list) == maxRecents && !r.At.After(list[len(list)-1].At) {
		return list
	}
	if same := slices.IndexFunc(list, func(o Recent) bool { return o.domain == r.domain }); same >= 0 {
		if !r.At.After(list[same].At) {
			return list
		}
		list = slices.Delete(list, same, same+1)
	}
	i, _ := slices.BinarySearchFunc(list, r, func(a, b Recent) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Host, b.Host))
	})
	list = slices.Insert(list, i, r)
	return list[:min(len(list), maxRecents)]
}
