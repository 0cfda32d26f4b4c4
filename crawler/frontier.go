package crawler

import (
	"container/heap"
	"time"

	"gazetteer/fetch"
)

// frontier orders the known hosts by when they are due. It holds names and
// times only; the state of a host is its record in the store, from which the
// frontier is rebuilt. It is owned by the goroutine of Run.
//
//	later ──due──▶ ready ──▶ next: in flight ──done──▶ later
//	                 │  ▲
//	                 ▼  │ the domain's turn
//	               parked
//
// Hosts of one registrable domain are handed out one at a time, an interval
// apart: the others are parked with their domain, so that a domain with ten
// thousand of them holds up nobody.
type frontier struct {
	interval time.Duration // between sessions with one registrable domain

	hosts   map[string]*entry
	later   entryHeap // not due yet, the earliest first
	ready   []*entry  // due, in the order they became so; from head on
	head    int
	domains map[string]*domain

	parked, inFlight int
	sweepAt          int // domains known when idle ones are dropped next
}

// An entry is one host.
type entry struct {
	name  string
	when  time.Time // when it is due, or its domain's turn
	state entryState
	late  bool // it is due, and when is its domain's turn
}

type entryState uint8

const (
	waiting entryState = iota // in later
	due                       // in ready or parked
	flying                    // handed out
)

// isDue reports that the host is being visited or will be without its next time
// passing first.
func (e *entry) isDue(now time.Time) bool { return e.state != waiting || e.late || !e.when.After(now) }

// A domain is a registrable domain with a host in flight, parked, or visited
// less than an interval ago.
type domain struct {
	busy   bool
	next   time.Time // no session before
	parked []*entry
}

func newFrontier(interval time.Duration) *frontier {
	return &frontier{
		interval: interval, hosts: map[string]*entry{}, domains: map[string]*domain{}, sweepAt: leastSweep,
	}
}

// add makes a host known. A known host keeps its time: nothing is asked twice
// before it may be.
func (f *frontier) add(name string, when time.Time) *entry {
	if e, known := f.hosts[name]; known {
		return e
	}
	e := &entry{name: name, when: when}
	f.hosts[name] = e
	heap.Push(&f.later, e)
	return e
}

// next takes the next host that may be visited now, and false when there is
// none. done must follow.
func (f *frontier) next(now time.Time) (*entry, bool) {
	f.ripen(now)
	for f.head < len(f.ready) {
		e := f.ready[f.head]
		f.ready[f.head] = nil
		f.head++
		d := f.domain(e.name, now)
		if d.busy || d.next.After(now) {
			f.park(d, e)
			continue
		}
		d.busy = true
		e.state = flying
		f.inFlight++
		f.compact()
		return e, true
	}
	f.compact()
	return nil, false
}

// ripen moves what has become due.
func (f *frontier) ripen(now time.Time) {
	for len(f.later) > 0 && !f.later[0].when.After(now) {
		e := heap.Pop(&f.later).(*entry)
		e.state = due
		f.ready = append(f.ready, e)
	}
}

// compact gives back the part of ready that was taken.
func (f *frontier) compact() {
	if f.head > 64 && f.head*2 > len(f.ready) {
		f.ready = append([]*entry(nil), f.ready[f.head:]...)
		f.head = 0
	}
}

func (f *frontier) domain(host string, now time.Time) *domain {
	name := fetch.Registrable(host)
	d, known := f.domains[name]
	if !known {
		f.sweep(now)
		d = &domain{}
		f.domains[name] = d
	}
	return d
}

// sweep drops the domains that are as good as unknown.
func (f *frontier) sweep(now time.Time) {
	if len(f.domains) < f.sweepAt {
		return
	}
	for name, d := range f.domains {
		if !d.busy && len(d.parked) == 0 && !d.next.After(now) {
			delete(f.domains, name)
		}
	}
	f.sweepAt = max(leastSweep, 2*len(f.domains))
}

// park keeps a due host until its domain's turn. While the domain is busy, done
// brings the first of them back; else its time does.
func (f *frontier) park(d *domain, e *entry) {
	if !d.busy && len(d.parked) == 0 {
		f.wake(e, d.next, true)
		return
	}
	d.parked = append(d.parked, e)
	f.parked++
}

// wake puts a host where it becomes ready at that time.
func (f *frontier) wake(e *entry, when time.Time, late bool) {
	e.when, e.state, e.late = when, waiting, late
	heap.Push(&f.later, e)
}

// done takes a host back whose session ended at now and that is due again at
// when.
func (f *frontier) done(e *entry, now, when time.Time) {
	f.inFlight--
	d := f.domain(e.name, now)
	d.busy, d.next = false, now.Add(f.interval)
	f.wake(e, when, false)
	if len(d.parked) == 0 {
		return
	}
	first := d.parked[0]
	d.parked = d.parked[1:]
	f.parked--
	f.wake(first, d.next, true)
}

// wakeAt is when next may answer differently although nothing was added or
// done, and false when never.
func (f *frontier) wakeAt() (time.Time, bool) {
	if len(f.later) == 0 {
		return time.Time{}, false
	}
	return f.later[0].when, true
}

// dueNow counts the hosts that wait for a worker or for their domain's turn.
func (f *frontier) dueNow() int { return len(f.ready) - f.head + f.parked }

// entryHeap implements heap.Interface.
type entryHeap []*entry

func (h entryHeap) Len() int           { return len(h) }
func (h entryHeap) Less(i, j int) bool { return h[i].when.Before(h[j].when) }
func (h entryHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *entryHeap) Push(x any)        { *h = append(*h, x.(*entry)) }
func (h *entryHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
