// Package frontier orders hosts by the time of their next visit. Start with [New], fill it with
// [Frontier.AddHost] or from a snapshot, then call [Frontier.NextHost] and, after the visit,
// [Frontier.FinishSession]. It limits how many hosts of a registrable domain it returns at a time. It
// holds a million hosts in about 80 MB and can be written to a file and read again.
//
//	frontier.go   the parts, from far to ready; limits of domains
//	hosttable.go  the names of all hosts, by number
//	snapshot.go   the file
//
// A new rule about how often a host is visited belongs into package politeness, a new reason for a
// visit into package crawler: the frontier knows times only.
package frontier

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gazetteer/internal/heap"
	"gazetteer/internal/psl"
)

// A Frontier orders the known hosts by due time. It holds names and times only; the state of a host
// is its record in the store, from which the frontier can be rebuilt ([Frontier.WriteSnapshot]
// avoids that work). It belongs to one goroutine.
//
//	far ──minute──▶ near ──second──▶ ready ──▶ NextHost: in flight ──FinishSession──▶ far or near
//	                                 │  ▲
//	                                 ▼  │ the domain may start a session
//	                                parked
//
// Only the minute that begins is scanned, so hosts that are not due cost nothing. Sessions with the
// hosts of one registrable domain start an interval apart: the other hosts are parked with their
// domain, so that a domain with ten thousand hosts delays no other.
type Frontier struct {
	interval    time.Duration // between sessions with one registrable domain
	maxSessions int           // sessions with one registrable domain

	hosts        *hostTable
	known        int                 // hosts that are not gone
	byMinute     map[uint32][]uint32 // far hosts by the minute they are due in
	minutes      []uint32            // a heap: the minutes of byMinute
	near         []hostSecond        // a heap: near hosts, and hosts with a reserved time
	ready        []uint32            // due hosts; from head on
	head         int
	domains      map[string]*domain
	domainStarts []domainStart // a heap: when domains with parked hosts may start a session

	dueHosts, inFlight int
	sweepAt            int // domains known when idle ones are dropped next
}

// A DueHost is a host in flight: NextHost has returned it, and its session is not finished.
type DueHost struct {
	Name     string
	Reserved bool // it had a reservation for its address
	number   uint32
}

// A domain is a registrable domain with a host in flight, parked, or visited
// less than an interval ago.
type domain struct {
	running int
	next    time.Time // no session before
	parked  []uint32
	waits   bool // it is in domainStarts
}

// New returns a frontier with room for this many hosts before it grows. Sessions with one
// registrable domain begin at least an interval apart, and at most that many run at a time.
func New(interval time.Duration, atOnce, hosts int) *Frontier {
	return &Frontier{
		interval: interval, maxSessions: max(atOnce, 1), hosts: newHostTable(hosts),
		byMinute: map[uint32][]uint32{}, domains: map[string]*domain{}, sweepAt: minSweep,
	}
}

// minSweep is the number of known domains above which idle ones are dropped.
const minSweep = 1024

// horizon is how far ahead hosts are kept by the second.
const horizon = 90 * time.Second

// secondOf returns the first second after a time, so that rounding never makes a visit early.
func secondOf(t time.Time) uint32 {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return uint32(min(max(s, 0), math.MaxUint32))
}

// AddHost makes a host known. A known host keeps its due time, so that nothing is asked again too
// early.
func (f *Frontier) AddHost(name string, now, when time.Time) {
	n := f.hosts.numberOf(name)
	if p := f.hosts.place.at(n); *p != placeNone {
		// Known, and due except for the rounding.
		if (*p == placeNear || *p == placeFar) && !when.After(now) && *f.hosts.due.at(n) == secondOf(when) {
			f.scheduleHost(n, now, when)
		}
		return
	}
	f.known++
	f.scheduleHost(n, now, when)
}

// SetDueTime gives a host another time, unless it is being visited, and makes it known.
func (f *Frontier) SetDueTime(name string, now, when time.Time) {
	if n, known := f.hosts.findHost(name); known && *f.hosts.place.at(n) != placeNone {
		if p := f.hosts.place.at(n); *p != placeInFlight {
			f.uncountHost(p)
			f.scheduleHost(n, now, when)
		}
		return
	}
	f.AddHost(name, now, when)
}

// RemoveHost forgets a host. A host that is being visited is removed when the visit is done.
func (f *Frontier) RemoveHost(name string) {
	n, known := f.hosts.findHost(name)
	if !known || *f.hosts.place.at(n) == placeNone {
		return
	}
	p := f.hosts.place.at(n)
	f.known--
	f.uncountHost(p)
	*p = placeNone
}

// uncountHost subtracts a host from the count of its part. Its number stays in the part and is
// skipped.
func (f *Frontier) uncountHost(p *hostPlace) {
	if *p == placeReady || *p == placeParked || *p == placeCalled {
		f.dueHosts--
	}
}

// scheduleHost puts a host into the part that fits its due time.
func (f *Frontier) scheduleHost(n uint32, now, when time.Time) {
	p := f.hosts.place.at(n)
	if !when.After(now) {
		*f.hosts.due.at(n) = uint32(max(when.Unix(), 0))
		f.addReady(n)
		return
	}
	second := secondOf(when)
	*f.hosts.due.at(n) = second
	if when.Sub(now) < horizon {
		*p = placeNear
		heap.Push(&f.near, secondOfHost(second, n), cmp.Less)
		return
	}
	*p = placeFar
	minute := second / 60
	if f.byMinute[minute] == nil {
		heap.Push(&f.minutes, minute, cmp.Less)
	}
	f.byMinute[minute] = append(f.byMinute[minute], n)
}

func (f *Frontier) addReady(n uint32) { f.addReadyAs(n, placeReady) }

func (f *Frontier) addReadyAs(n uint32, as hostPlace) {
	*f.hosts.place.at(n) = as
	f.dueHosts++
	f.ready = append(f.ready, n)
}

// IsDue reports that a host is being visited or will be visited before its next due time.
func (f *Frontier) IsDue(name string, now time.Time) bool {
	n, known := f.hosts.findHost(name)
	if !known {
		return false
	}
	switch *f.hosts.place.at(n) {
	case placeNone:
		return false
	case placeReady, placeParked, placeInFlight, placeBooked, placeCalled:
		return true
	}
	return int64(*f.hosts.due.at(n)) <= now.Unix()
}

// IsInFlight reports that a host is being visited.
func (f *Frontier) IsInFlight(name string) bool {
	n, known := f.hosts.findHost(name)
	return known && *f.hosts.place.at(n) == placeInFlight
}

// DueAt returns the time of a known host's next visit, to the second.
func (f *Frontier) DueAt(name string) time.Time {
	n, known := f.hosts.findHost(name)
	if !known {
		return time.Time{}
	}
	return time.Unix(int64(*f.hosts.due.at(n)), 0)
}

// NextHost removes and returns the next host that may be visited now, or false if there is none.
// [Frontier.FinishSession] or [Frontier.Postpone] must follow.
func (f *Frontier) NextHost(now time.Time) (*DueHost, bool) {
	f.moveDue(now)
	for f.head < len(f.ready) {
		n := f.ready[f.head]
		f.head++
		p := f.hosts.place.at(n)
		if *p != placeReady && *p != placeCalled {
			continue // gone, or added a second time
		}
		e := &DueHost{Name: f.hosts.nameOf(n), Reserved: *p == placeCalled, number: n}
		d := f.domainOf(e.Name, now)
		if d.running >= f.maxSessions || d.next.After(now) {
			*p = placeParked
			d.parked = append(d.parked, n)
			f.scheduleDomain(d)
			continue
		}
		f.dueHosts--
		*p = placeInFlight
		d.running++
		d.next = now.Add(f.interval)
		f.scheduleDomain(d)
		f.inFlight++
		f.compactReady()
		return e, true
	}
	f.compactReady()
	return nil, false
}

// moveDue moves the hosts that have become due.
func (f *Frontier) moveDue(now time.Time) {
	soon := uint32(max(now.Add(horizon/2).Unix(), 0)) / 60
	for len(f.minutes) > 0 && f.minutes[0] <= soon {
		minute := heap.Pop(&f.minutes, cmp.Less)
		for _, n := range f.byMinute[minute] {
			if p := f.hosts.place.at(n); *p == placeFar && *f.hosts.due.at(n)/60 == minute {
				*p = placeNear
				heap.Push(&f.near, secondOfHost(*f.hosts.due.at(n), n), cmp.Less)
			}
		}
		delete(f.byMinute, minute)
	}
	for len(f.near) > 0 && f.near[0].second() <= now.Unix() {
		s := heap.Pop(&f.near, cmp.Less)
		n := s.host()
		switch p := f.hosts.place.at(n); {
		case *p == placeNear && int64(*f.hosts.due.at(n)) == s.second():
			f.addReady(n)
		case *p == placeBooked && int64(*f.hosts.due.at(n)) == s.second():
			f.addReadyAs(n, placeCalled)
		}
	}
	for len(f.domainStarts) > 0 && !f.domainStarts[0].at.After(now) {
		d := heap.Pop(&f.domainStarts, startsBefore).domain
		d.waits = false
		if d.next.After(now) { // it was postponed in the meantime
			f.scheduleDomain(d)
			continue
		}
		f.releaseParked(d)
	}
}

// releaseParked puts the next parked host of a domain into the ready part.
func (f *Frontier) releaseParked(d *domain) {
	for len(d.parked) > 0 && d.running < f.maxSessions {
		n := d.parked[0]
		d.parked = d.parked[1:]
		if p := f.hosts.place.at(n); *p == placeParked {
			*p = placeReady
			f.ready = append(f.ready, n)
			return
		}
	}
}

// scheduleDomain ensures that a domain with parked hosts and room for a session starts one in time.
func (f *Frontier) scheduleDomain(d *domain) {
	if d.running < f.maxSessions && len(d.parked) > 0 && !d.waits {
		d.waits = true
		heap.Push(&f.domainStarts, domainStart{d.next, d}, startsBefore)
	}
}

// compactReady frees the consumed entries of ready.
func (f *Frontier) compactReady() {
	if f.head > 64 && f.head*2 > len(f.ready) {
		f.ready = append([]uint32(nil), f.ready[f.head:]...)
		f.head = 0
	}
}

func (f *Frontier) domainOf(host string, now time.Time) *domain {
	name := psl.Domain(host)
	d, known := f.domains[name]
	if !known {
		f.sweepDomains(now)
		d = &domain{}
		f.domains[name] = d
	}
	return d
}

// sweepDomains drops the domains without any remaining effect.
func (f *Frontier) sweepDomains(now time.Time) {
	if len(f.domains) < f.sweepAt {
		return
	}
	for name, d := range f.domains {
		if d.running == 0 && len(d.parked) == 0 && !d.waits && !d.next.After(now) {
			delete(f.domains, name)
		}
	}
	f.sweepAt = max(minSweep, 2*len(f.domains))
}

// AdvanceHosts makes every waiting host due at once that is due later than a time, and returns
// their number. It is for due times that no interval explains, such as those of a clock that was
// ahead.
func (f *Frontier) AdvanceHosts(now, latest time.Time) int {
	pulled, last := 0, secondOf(latest)
	for n := range uint32(f.hosts.len()) {
		p := *f.hosts.place.at(n)
		if (p == placeFar || p == placeNear || p == placeBooked) && *f.hosts.due.at(n) > last {
			f.scheduleHost(n, now, now)
			pulled++
		}
	}
	f.advanceDomains(now)
	return pulled
}

// advanceDomains corrects the domains whose interval ends later than is possible.
func (f *Frontier) advanceDomains(now time.Time) {
	latest := now.Add(max(f.interval, 0) + time.Minute)
	for _, d := range f.domains {
		if d.next.After(latest) {
			d.next = now
		}
	}
	for i := range f.domainStarts {
		if f.domainStarts[i].at.After(latest) {
			f.domainStarts[i].at = now
		}
	}
	slices.SortFunc(f.domainStarts, func(a, b domainStart) int { return a.at.Compare(b.at) }) // a sorted slice is a heap
}

// FinishSession returns a host to the frontier. Its session ended at now, and it is due again at
// when.
func (f *Frontier) FinishSession(e *DueHost, now, when time.Time) {
	f.takeBack(e, now, now.Add(f.interval))
	if p := f.hosts.place.at(e.number); *p == placeInFlight {
		f.scheduleHost(e.number, now, when)
	}
}

// Postpone returns a host to the frontier that got no request: its reservation for its address is
// at that time.
func (f *Frontier) Postpone(e *DueHost, now, when time.Time) {
	d := f.domainOf(e.Name, now)
	if d.running == 1 { // its domain's interval does not begin
		d.next = now
	}
	f.takeBack(e, now, now)
	if p := f.hosts.place.at(e.number); *p == placeInFlight {
		*p, *f.hosts.due.at(e.number) = placeBooked, secondOf(when)
		heap.Push(&f.near, secondOfHost(secondOf(when), e.number), cmp.Less)
	}
}

func (f *Frontier) takeBack(e *DueHost, now, next time.Time) {
	f.inFlight--
	d := f.domainOf(e.Name, now)
	d.running--
	if next.After(d.next) {
		d.next = next
	}
	f.scheduleDomain(d)
}

// HoldDomain prevents visits to a domain before that time.
func (f *Frontier) HoldDomain(host string, now, until time.Time) {
	if d := f.domainOf(host, now); until.After(d.next) {
		d.next = until
	}
}

// WakeAt returns when NextHost may return a host although none was added or finished, and false for
// never.
func (f *Frontier) WakeAt() (at time.Time, ok bool) {
	earlier := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	if len(f.minutes) > 0 {
		earlier(time.Unix(int64(f.minutes[0])*60, 0).Add(-horizon / 2))
	}
	if len(f.near) > 0 {
		earlier(time.Unix(f.near[0].second(), 0))
	}
	if len(f.domainStarts) > 0 {
		earlier(f.domainStarts[0].at)
	}
	return at, ok
}

// Counts are the numbers of hosts that a frontier knows.
type Counts struct {
	Known    int
	Waiting  int // not due yet
	Due      int // due, and not in flight
	InFlight int // in flight
}

// Counts returns how many hosts are known, by their place.
func (f *Frontier) Counts() Counts {
	return Counts{Known: f.known, Waiting: f.known - f.dueHosts - f.inFlight, Due: f.dueHosts, InFlight: f.inFlight}
}

// QueueAge returns how long the next host has been due, 0 if there is none.
func (f *Frontier) QueueAge(now time.Time) time.Duration {
	for _, n := range f.ready[f.head:] {
		if p := *f.hosts.place.at(n); p == placeReady || p == placeCalled {
			return max(now.Sub(time.Unix(int64(*f.hosts.due.at(n)), 0)), 0)
		}
	}
	return 0
}

// A hostSecond combines the number of a host and the second it waits for, ordered by the second.
type hostSecond uint64

func secondOfHost(second, n uint32) hostSecond { return hostSecond(second)<<32 | hostSecond(n) }

func (s hostSecond) second() int64 { return int64(s >> 32) }
func (s hostSecond) host() uint32  { return uint32(s) }

// A domainStart is the time at which a domain with parked hosts may start a session.
type domainStart struct {
	at     time.Time
	domain *domain
}

func startsBefore(a, b domainStart) bool { return a.at.Before(b.at) }
