package crawler

import (
	"context"
	"time"

	"gazetteer/crawler/frontier"
)

// A frontierLoop is the goroutine that owns the frontier.
type frontierLoop struct {
	c        *Crawler
	frontier *frontier.Frontier
	replies  map[string][]chan<- Result // the callers that wait for each host
	again    map[string]time.Time       // hosts to visit again after their current visit
	snapshot snapshots
	clock    clockReading
}

// handOutHosts starts sessions with hosts as they become due and workers are free, until ctx or
// working ends.
func (o *frontierLoop) handOutHosts(ctx, working context.Context, done <-chan []*visit, room chan<- struct{}, begin func(*frontier.DueHost)) {
	c, f := o.c, o.frontier
	var next *frontier.DueHost
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		o.checkClock()
		o.addPending()
		o.saveSnapshot()
		if next == nil {
			next, _ = f.NextHost(c.now())
		}
		o.publishStatus()
		var free chan<- struct{}
		if next != nil && c.busy != nil && len(room) >= visitsWhileBusy && c.busy() {
			timer.Reset(busyPause)
		} else if next != nil {
			free = room
		} else if at, ok := f.WakeAt(); ok {
			timer.Reset(min(max(at.Sub(c.now()), 0), clockCheck))
		}
		select {
		case free <- struct{}{}:
			begin(next)
			next = nil
		case batch := <-done:
			o.takeBackVisits(batch)
		case <-c.poke:
		case <-timer.C:
		case <-working.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// busyPause is the time until the load of a busy machine is checked again. On a busy machine
// visitsWhileBusy visits still run: a flood of other work slows the crawl down, but does not stop it.
const (
	busyPause       = 5 * time.Millisecond
	visitsWhileBusy = 32
)

// addPending adds new hosts to the frontier, and registers or answers the callers that wait for a
// result.
func (o *frontierLoop) addPending() {
	o.c.mu.Lock()
	pending := o.c.pending
	o.c.pending = nil
	o.c.mu.Unlock()
	now := o.c.now()
	for _, r := range pending {
		if r.remove {
			o.frontier.RemoveHost(r.host)
			o.answerWaiters(Result{Host: r.host, State: Refused, Summary: "not visited: the owner or the operator does not want it"})
			continue
		}
		if r.again {
			o.rescheduleHost(r, now)
			continue
		}
		o.frontier.AddHost(r.host, now, r.due)
		switch {
		case r.reply == nil:
		case o.frontier.IsDue(r.host, now), !r.due.After(now) && o.frontier.IsDue(r.host, now.Add(maxQueuedVisits)):
			o.replies[r.host] = append(o.replies[r.host], r.reply)
		default:
			r.reply <- Result{Host: r.host, NotDue: true, NextDue: o.frontier.DueAt(r.host)}
		}
	}
}

// rescheduleHost gives a host a new due time. A host that is being visited gets it when the visit
// is done.
func (o *frontierLoop) rescheduleHost(r request, now time.Time) {
	if held := o.c.journal.HeldUntil(r.host); held.After(r.due) {
		r.due = held
	}
	if o.frontier.IsInFlight(r.host) {
		o.again[r.host] = r.due
		return
	}
	o.frontier.SetDueTime(r.host, now, r.due)
}

// maxQueuedVisits is the maximum time that a reply waits for a host that is due but delayed because
// the end of the process interrupted its last visit.
const maxQueuedVisits = 2 * time.Minute

// takeBackVisits returns committed visits to the frontier.
func (o *frontierLoop) takeBackVisits(batch []*visit) {
	c, f := o.c, o.frontier
	now := c.now()
	hosts := make([]string, 0, len(batch))
	for _, v := range batch {
		hosts = append(hosts, v.entry.Name)
		if v.interrupted && v.later.IsZero() {
			continue // the host stays due
		}
		if !v.later.IsZero() {
			f.Postpone(v.entry, now, v.later)
			delete(o.again, v.entry.Name) // this visit is still to come
			c.mu.Lock()
			c.metrics.Waits++
			c.mu.Unlock()
			if v.result.Summary != "" { // it says why the visit is still to come
				o.answerWaiters(v.result)
			}
			continue
		}
		if v.err != nil {
			c.log.Error("a host could not be visited", "host", v.entry.Name, "error", v.err)
			v.result = Result{Host: v.entry.Name, State: Unvisited, Summary: "internal error: see the log", NextDue: now.Add(time.Hour)}
			v.host.Due = v.result.NextDue
		}
		f.FinishSession(v.entry, now, v.host.Due)
		if due, ok := o.again[v.entry.Name]; ok {
			delete(o.again, v.entry.Name)
			f.SetDueTime(v.entry.Name, now, due)
		}
		for _, name := range v.result.New {
			f.AddHost(name, now, now)
		}
		o.reportVisit(v)
	}
	c.journal.EndVisits(hosts)
	o.publishStatus()
}

// reportVisit reports a visit to its waiting callers and to the observer.
func (o *frontierLoop) reportVisit(v *visit) {
	c, r := o.c, v.result
	c.mu.Lock()
	c.status.Visits++
	c.status.Documents += r.Documents
	if r.Documents == 0 {
		c.status.Errors++
	}
	c.rate.countEvent(time.Now())
	c.metrics.countVisit(v)
	c.mu.Unlock()
	if v.err == nil {
		for _, f := range r.Fetches {
			c.log.Debug("fetch", "host", r.Host, "kind", f.Kind, "outcome", f.Outcome, "status", f.Status, "took", time.Duration(f.Took)*time.Millisecond)
		}
		kind, outcome := r.decidingFetch()
		c.log.Info("visit", "host", r.Host, "kind", kind, "outcome", outcome, "documents", r.Documents, "took", r.Took)
	}
	c.observe(r)
	o.answerWaiters(r)
}

// answerWaiters sends a result to the callers that wait for the host.
func (o *frontierLoop) answerWaiters(r Result) {
	for _, reply := range o.replies[r.Host] {
		reply <- r
	}
	delete(o.replies, r.Host)
}

func (o *frontierLoop) publishStatus() {
	f := o.frontier
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	s := &o.c.status
	n := f.Counts()
	s.Loaded = true
	s.Known, s.Waiting, s.Due, s.InFlight = n.Known, n.Waiting, n.Due, n.InFlight
	o.c.metrics.QueueAge = f.QueueAge(o.c.now())
}
