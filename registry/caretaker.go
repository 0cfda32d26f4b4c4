package registry

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"gazetteer/store"
)

const (
	// cooldownPeriod is the least time between two looks that bother the hosts of one
	// registrable domain: a thousand agents that name it must not become a
	// thousand requests.
	cooldownPeriod = time.Minute
	// minRecheckInterval is the least time between two visits to one agent.
	minRecheckInterval = time.Minute
	// maxConcurrentChecks is how many agents are looked at side by side.
	maxConcurrentChecks = 8
)

// Recheck looks again at whatever of an agent is due: the domains it has proved,
// what can be observed of it, a recovery whose delay is over. [Registry.Run]
// calls it on time. It bothers no host twice within a minute; what had to be left
// out stays due.
func (r *Registry) Recheck(ctx context.Context, airID string) error {
	agent, _, err := r.loadAgent(ctx, airID)
	if err != nil || agent.Status != Active {
		return err
	}
	now := r.timestamp()
	type look struct {
		method string
		looks  []Probe
	}
	domains, observed := map[string]look{}, map[string]Observation{}
	for _, d := range agent.Domains {
		if d.Withdrawn.IsZero() && !d.nextProbe(r.recheck).After(now) && r.cooldown.tryStart(registrableDomain(d.Name), now) {
			looks, method := r.probeDomain(ctx, agent, d.Name)
			domains[d.Name] = look{method, looks}
		}
	}
	for _, signal := range agent.observableSignals(r) {
		o, seen := agent.Observed[signal]
		if seen && o.At.Add(r.recheck).After(now) {
			continue
		}
		if host := agent.askedDomain(signal); host == "" || r.cooldown.tryStart(host, now) {
			observed[signal] = r.observeSignal(ctx, agent, signal)
		}
	}
	if ctx.Err() != nil {
		return nil // what came back says nothing
	}
	if len(domains) == 0 && len(observed) == 0 && (agent.Recovery == nil || now.Before(agent.Recovery.Due)) {
		return nil
	}
	_, err = r.changeAgent(ctx, airID, func(c *change) error {
		for name, l := range domains {
			if err := c.recordProbes(name, agent.multikey(), l.method, l.looks); err != nil {
				return err
			}
		}
		for signal, o := range observed {
			if err := c.recordObservation(signal, o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look at agent %s: %w", airID, err)
	}
	return nil
}

// askedDomain returns the registrable domain that is asked for a signal, "" for
// none.
func (a Agent) askedDomain(signal string) string {
	switch signal {
	case SignalDID:
		return domainOfAddress(a.CreatorDID)
	case SignalInbox:
		return domainOfAddress(a.inboxURL())
	case SignalRepository:
		return domainOfAddress(a.CodeRepository)
	}
	return ""
}

// cooldown remembers which domains were bothered within the last minute.
type cooldown struct {
	mu    sync.Mutex // guards following
	until map[string]time.Time
}

// tryStart reports whether a domain may be bothered now, and if so keeps others from
// it for a while.
func (q *cooldown) tryStart(domain string, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.until == nil {
		q.until = map[string]time.Time{}
	}
	if now.Before(q.until[domain]) {
		return false
	}
	if len(q.until) > 10000 {
		for d, until := range q.until {
			if !now.Before(until) {
				delete(q.until, d)
			}
		}
	}
	q.until[domain] = now.Add(cooldownPeriod)
	return true
}

// How often owners may have a look taken at one registrable domain: so often at
// once, and then once in a while. It is enough for somebody who waits for a
// change of DNS, and no way to bother a stranger.
const (
	proofBurst    = 10
	proofInterval = 10 * time.Second
)

// proofLimiter bounds what owners ask for, by registrable domain.
type proofLimiter struct {
	mu       sync.Mutex // guards following
	limiters map[string]*rate.Limiter
}

// reserveProof reports whether a look may be taken now, and else how long to wait.
func (l *proofLimiter) reserveProof(domain string, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.limiters) > 10000 {
		maps.DeleteFunc(l.limiters, func(_ string, r *rate.Limiter) bool { return r.TokensAt(now) >= proofBurst })
	}
	limiter := l.limiters[domain]
	if limiter == nil {
		if l.limiters == nil {
			l.limiters = map[string]*rate.Limiter{}
		}
		limiter = rate.NewLimiter(rate.Every(proofInterval), proofBurst)
		l.limiters[domain] = limiter
	}
	if limiter.AllowN(now, 1) {
		return 0
	}
	return proofInterval
}

// A visit is when an agent is to be attended.
type scheduledCheck struct {
	at    time.Time
	airID string
}

// checkHeap is a heap of them, the next one first.
type checkHeap []scheduledCheck

func (v checkHeap) Len() int           { return len(v) }
func (v checkHeap) Less(i, j int) bool { return v[i].at.Before(v[j].at) }
func (v checkHeap) Swap(i, j int)      { v[i], v[j] = v[j], v[i] }
func (v *checkHeap) Push(x any)        { *v = append(*v, x.(scheduledCheck)) }
func (v *checkHeap) Pop() any {
	last := (*v)[len(*v)-1]
	*v = (*v)[:len(*v)-1]
	return last
}

// A diary knows which agent is to be attended when.
type checkSchedule struct {
	mu    sync.Mutex           // guards following
	due   map[string]time.Time // the one visit of an agent that counts
	queue checkHeap            // may hold visits that no longer do
	moved chan struct{}        // holds one while the first visit may have changed
}

// setDue sets the visit of an agent; the zero time strikes it.
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
	heap.Push(&d.queue, scheduledCheck{at, airID})
	select {
	case d.moved <- struct{}{}:
	default:
	}
}

// nextDue takes the visit that is due, or says how long it is until the next one.
func (d *checkSchedule) nextDue(now time.Time) (airID string, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.queue) > 0 {
		first := d.queue[0]
		if at, ok := d.due[first.airID]; !ok || !at.Equal(first.at) {
			heap.Pop(&d.queue)
			continue
		}
		if wait := first.at.Sub(now); wait > 0 {
			return "", wait
		}
		heap.Pop(&d.queue)
		delete(d.due, first.airID)
		return first.airID, 0
	}
	return "", time.Hour
}

// Run looks after the agents until ctx ends, and then returns nil: what was
// proved or observed of each is looked at again when it is due, recoveries come
// into force, and what has run out is forgotten. From its first start on it is
// counted how long nobody looks after the registry, see [Registry.Attended]. It returns an error only when the store fails.
func (r *Registry) Run(ctx context.Context) error {
	if err := r.startAttendedTime(ctx); err != nil {
		return ignoreContextEnd(ctx, err)
	}
	d := &checkSchedule{due: map[string]time.Time{}, moved: make(chan struct{}, 1)}
	head := r.store.Head()
	for agent, err := range r.allAgents(ctx, "") {
		if err != nil {
			return ignoreContextEnd(ctx, err)
		}
		d.setDue(agent.AirID, agent.NextCheck)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return r.followAgents(ctx, head, func(agents []Agent, _ store.Cursor) error {
			for _, a := range agents {
				d.setDue(a.AirID, a.NextCheck)
			}
			return nil
		})
	})
	g.Go(func() error { return r.recheckDue(ctx, d) })
	g.Go(func() error { return r.deleteExpiredPeriodically(ctx) })
	return ignoreContextEnd(ctx, g.Wait())
}

// ignoreContextEnd returns nil for what is said because ctx ended.
func ignoreContextEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

// followAgents hands over the agents that were written after the cursor, and up to
// where that is, until ctx ends. What is damaged is left out.
func (r *Registry) followAgents(ctx context.Context, after store.Cursor, written func(agents []Agent, upTo store.Cursor) error) error {
	o := store.FollowOptions{Damaged: func(store.Record, error) {}} // looking the agent up says so
	apply := func(batch []store.Record, upTo store.Cursor) error {
		var agents []Agent
		for _, record := range batch {
			airID, ok := strings.CutPrefix(record.Key, store.AgentPrefix)
			if !ok || strings.Contains(airID, "/") || record.Deleted {
				continue
			}
			if agent, err := decodeAgent(record); err == nil {
				agents = append(agents, agent)
			}
		}
		return written(agents, upTo)
	}
	for {
		err := store.Follow(ctx, r.store, after, o, apply)
		if !errors.Is(err, store.ErrCursorGone) {
			return err
		}
		after = store.Cursor{} // too far behind: every agent is read again
	}
}

// recheckDue attends the agents as they become due.
func (r *Registry) recheckDue(ctx context.Context, d *checkSchedule) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxConcurrentChecks)
	lately := map[string]time.Time{} // owned by this loop: when agents were attended
	for ctx.Err() == nil {
		now := r.now()
		airID, wait := d.nextDue(now)
		if airID == "" {
			waitFor(ctx, wait, d.moved)
			continue
		}
		if again := lately[airID].Add(minRecheckInterval); now.Before(again) {
			d.setDue(airID, again)
			continue
		}
		if len(lately) > 10000 {
			for old, at := range lately {
				if now.After(at.Add(minRecheckInterval)) {
					delete(lately, old)
				}
			}
		}
		lately[airID] = now
		g.Go(func() error {
			if err := r.Recheck(ctx, airID); err != nil && !errors.Is(err, ErrNoAgent) {
				if !slices.ContainsFunc([]error{store.ErrFull, store.ErrCorrupt}, func(e error) bool { return errors.Is(err, e) }) {
					return ignoreContextEnd(ctx, err)
				}
				r.log.Warn("an agent could not be looked at", "air_id", airID, "error", err)
			}
			// What had to be left out is still due.
			if agent, _, err := r.loadAgent(ctx, airID); err == nil {
				d.setDue(airID, agent.NextCheck)
			}
			return nil
		})
	}
	return g.Wait()
}

// cleanupInterval is how often what has run out is forgotten.
const cleanupInterval = time.Hour

// deleteExpiredPeriodically forgets what has run out, now and then.
func (r *Registry) deleteExpiredPeriodically(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := r.DeleteExpired(ctx); err != nil {
			if !errors.Is(err, store.ErrFull) && !errors.Is(err, store.ErrCorrupt) {
				return ignoreContextEnd(ctx, err)
			}
			r.log.Warn("what has run out could not be forgotten", "error", err)
		}
		waitFor(ctx, cleanupInterval, nil)
	}
	return nil
}

// waitFor waits for d, for a signal, or for the end of ctx.
func waitFor(ctx context.Context, d time.Duration, moved <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-moved:
	case <-ctx.Done():
	}
}
