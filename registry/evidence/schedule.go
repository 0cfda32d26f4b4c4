package evidence

import (
	"sync"
	"time"

	"gazetteer/internal/heap"
	"gazetteer/registry"
)

// A scheduledCheck is the time of an agent's next check.
type scheduledCheck struct {
	at    time.Time
	airID string
}

func isEarlier(a, b scheduledCheck) bool { return a.at.Before(b.at) }

// A checkSchedule knows when each agent is to be checked.
type checkSchedule struct {
	mu    sync.Mutex           // guards the following fields
	due   map[string]time.Time // the one visit of an agent that counts
	queue []scheduledCheck     // a heap, the next one first; may hold visits that no longer do
	moved chan struct{}        // holds one while the first visit may have changed
}

// setDue sets the time of an agent's check; the zero time removes it.
func (d *checkSchedule) setDue(airID string, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at.IsZero() {
		delete(d.due, airID)
		return
	}
	if old, ok := d.due[airID]; ok && old.Equal(at) {
		return
	}
	d.due[airID] = at
	heap.Push(&d.queue, scheduledCheck{at, airID}, isEarlier)
	select {
	case d.moved <- struct{}{}:
	default:
	}
}

// nextDue removes and returns a check that is due, or returns the time until the next one.
func (d *checkSchedule) nextDue(now time.Time) (airID string, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.queue) > 0 {
		first := d.queue[0]
		if at, ok := d.due[first.airID]; !ok || !at.Equal(first.at) {
			heap.Pop(&d.queue, isEarlier)
			continue
		}
		if wait := first.at.Sub(now); wait > 0 {
			return "", wait
		}
		heap.Pop(&d.queue, isEarlier)
		delete(d.due, first.airID)
		return first.airID, 0
	}
	return "", time.Hour
}

// NextCheck returns the time of the next check of an agent: of a domain, of an observation, or of a
// pending recovery. The zero time means never.
func (e *Collector) NextCheck(a registry.Agent) time.Time {
	var next time.Time
	if a.Status != registry.Active {
		return next
	}
	now := e.registry.Timestamp()
	at := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, d := range a.Domains {
		if d.Withdrawn.IsZero() {
			at(nextProbe(d, e.recheck, now))
			if due := e.proven.checkDue(d.Name, a.AirID); !due.IsZero() {
				at(due)
			}
		}
	}
	for _, signal := range e.observableSignals(a) {
		if o, seen := a.Observation(signal); seen {
			at(nextObservation(o, e.recheck, now))
		} else {
			at(a.Updated)
		}
	}
	if a.Recovery != nil {
		at(a.Recovery.Due)
	}
	return next
}

// nextProbe returns when a domain is to be checked again: sooner after a failure, and soonest while
// its owner waits for it.
func nextProbe(d registry.Domain, recheck time.Duration, now time.Time) time.Time {
	switch {
	case d.Checked.IsZero(): // its request is checking it now, or the process ended meanwhile
		return d.Requested.Add(cooldownPeriod)
	case d.Checked.After(now): // by a clock that was ahead
		return now
	case d.Since.IsZero():
		return d.Checked.Add(recheck / 24)
	case d.Failures > 0:
		return d.Checked.Add(recheck / 3)
	}
	return d.Checked.Add(recheck)
}

// nextObservation returns when a signal is to be observed again.
func nextObservation(o registry.Observation, recheck time.Duration, now time.Time) time.Time {
	if o.At.After(now) { // by a clock that was ahead
		return now
	}
	return o.At.Add(recheck)
}
