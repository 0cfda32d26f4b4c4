// Package politeness limits the rate and the number of concurrent visits to hosts, domains and
// addresses. Start with [New]; a session collects its slots in [Slots].
package politeness

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"gazetteer/internal/psl"
	"gazetteer/internal/wait"

	"golang.org/x/time/rate"
)

// A Limit is the interval between the starts of two visits, and the number of concurrent visits. An
// interval of zero or less does not limit.
type Limit struct {
	Interval    time.Duration
	Concurrency int
}

// A NetworkLimit is the limit for each address of a network.
type NetworkLimit struct {
	Network netip.Prefix
	Limit
}

// Limits are the limits that a [Limiter] enforces.
type Limits struct {
	Host, Domain, Address Limit
	Networks              []NetworkLimit // exceptions from Address; the first that contains an address applies
	Rate                  float64        // sessions begun a second, to all hosts together; 0 or less does not limit
}

// A Limiter decides when a session with a host may begin, by the limits of the host, of its
// registrable domain, of its address, and by the overall rate. The three limits protect different
// things: a single name, a domain with many names, and machines that serve thousands of domains.
// The requests of a session run in sequence and need no further slot.
//
// Its methods may be called from any goroutine.
type Limiter struct {
	limits Limits
	all    *rate.Limiter
	// first is held by the session that waits for the overall rate. The others wait for it, so that
	// a time in which the process did not run accumulates no more than the burst.
	first chan struct{}

	mu      sync.Mutex             // guards the following fields
	states  map[string]*limitState // by host, "." + registrable domain, and address
	sweepAt int                    // when that many states are known, idle ones are dropped
}

// New returns a limiter.
func New(limits Limits) *Limiter {
	all := rate.NewLimiter(rate.Inf, 1)
	if limits.Rate > 0 {
		all = rate.NewLimiter(rate.Limit(limits.Rate), max(1, int(limits.Rate/10)))
	}
	return &Limiter{limits: limits, all: all, first: make(chan struct{}, 1), states: map[string]*limitState{}, sweepAt: minSweepInterval}
}

// Limits returns the limits that the limiter enforces.
func (p *Limiter) Limits() Limits { return p.limits }

// A limitState is the state of a limiter for a host, a domain or an address.
type limitState struct {
	limiter *rate.Limiter
	slots   chan struct{} // holds an element for each session that runs
	users   int           // sessions that run or wait; guarded by Limiter.mu
	tail    time.Time     // the time of the last reservation
}

const minSweepInterval = 1024

// Slots are what a session holds of the politeness limits: slots, which it releases, and the
// intervals that start with its connection.
type Slots struct {
	intervals []*rate.Limiter
	held      []func()
}

// Release releases the slots.
func (l *Slots) Release() {
	for _, give := range slices.Backward(l.held) {
		give()
	}
	*l = Slots{}
}

// EnterHost waits for slots of the host and its domain, and for the rate of all.
func (p *Limiter) EnterHost(ctx context.Context, l *Slots, host string) error {
	err := p.waitForSlot(ctx, l, host, p.limits.Host)
	if err == nil {
		err = p.waitForSlot(ctx, l, "."+psl.Domain(host), p.limits.Domain)
	}
	if err == nil {
		err = p.waitForRate(ctx)
	}
	if err != nil {
		return fmt.Errorf("wait for a slot of %s: %w", host, err)
	}
	return nil
}

// waitForRate waits for the rate of all.
func (p *Limiter) waitForRate(ctx context.Context) error {
	if p.all.Limit() == rate.Inf {
		return ctx.Err()
	}
	select {
	case p.first <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.first }()
	return p.all.Wait(ctx)
}

// WaitForAddress waits for a slot of an address.
func (p *Limiter) WaitForAddress(ctx context.Context, l *Slots, addr netip.Addr) error {
	name, limit := p.limitOf(addr)
	if err := p.waitForSlot(ctx, l, name, limit); err != nil {
		return fmt.Errorf("wait for a slot of the address %s: %w", name, err)
	}
	return nil
}

// waitForSlot waits for a slot of a limit.
func (p *Limiter) waitForSlot(ctx context.Context, l *Slots, name string, limit Limit) error {
	g := p.limitStateOf(name, limit)
	select {
	case g.slots <- struct{}{}:
		l.addSlot(p, g)
		return nil
	case <-ctx.Done():
		p.releaseUser(g)
		return ctx.Err()
	}
}

func (l *Slots) addSlot(p *Limiter, g *limitState) {
	l.intervals = append(l.intervals, g.limiter)
	l.held = append(l.held, func() {
		<-g.slots
		p.releaseUser(g)
	})
}

// BeginIntervals waits until every interval has passed and starts new ones. It waits for all of
// them together, while holding all slots, so that each interval runs from connection to connection.
func (l *Slots) BeginIntervals(ctx context.Context) error {
	for {
		now := time.Now()
		var longest time.Duration
		for _, i := range l.intervals {
			if missing := 1 - i.TokensAt(now); missing > 0 {
				longest = max(longest, time.Duration(missing/float64(i.Limit())*float64(time.Second))+time.Microsecond)
			}
		}
		if longest == 0 && !slices.ContainsFunc(l.intervals, func(i *rate.Limiter) bool { return !i.AllowN(now, 1) }) {
			return nil
		}
		if err := wait.For(ctx, longest); err != nil {
			return fmt.Errorf("wait for an interval: %w", err)
		}
	}
}

// BookAddress is WaitForAddress without waiting: if the address is not free now, ok is false and at
// is the time to try again. A visit that tries again then has a reservation and precedes new ones.
func (p *Limiter) BookAddress(l *Slots, addr netip.Addr, booked bool) (at time.Time, ok bool) {
	name, limit := p.limitOf(addr)
	g := p.limitStateOf(name, limit)
	now := time.Now()
	if !booked && p.hasWaiters(g, now) {
		return p.requeue(g, limit, now), false
	}
	select {
	case g.slots <- struct{}{}:
	default:
		return p.requeue(g, limit, now), false
	}
	r := g.limiter.ReserveN(now, 1)
	delay := r.DelayFrom(now)
	r.CancelAt(now)
	if !booked && delay > 0 || delay > maxBookedWait {
		<-g.slots
		return p.requeue(g, limit, now), false
	}
	l.addSlot(p, g)
	return time.Time{}, true
}

// maxBookedWait bounds the wait of a visit with a reservation: reservations for one second are
// handed out together.
const maxBookedWait = 3 * time.Second

// hasWaiters reports whether others hold reservations.
func (p *Limiter) hasWaiters(g *limitState, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return g.tail.After(now)
}

// requeue stops using a limit state and returns the time to try again: a different time for each
// caller.
func (p *Limiter) requeue(g *limitState, limit Limit, now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.users--
	if g.tail.Before(now) {
		g.tail = now
	}
	g.tail = g.tail.Add(max(limit.Interval, minBookedWait))
	return g.tail
}

// minBookedWait is the time between two reservations where no interval demands more.
const minBookedWait = 10 * time.Millisecond

func (p *Limiter) releaseUser(g *limitState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.users--
}

// limitOf returns the name and limit of an address. In IPv6 one customer has a whole /64.
func (p *Limiter) limitOf(addr netip.Addr) (string, Limit) {
	limit := p.limits.Address
	for _, n := range p.limits.Networks {
		if n.Network.Contains(addr) {
			limit = n.Limit
			break
		}
	}
	if addr.Is6() {
		return netip.PrefixFrom(addr.WithZone(""), 64).Masked().String(), limit
	}
	return addr.String(), limit
}

// limitStateOf returns the limit state of that name, with one more user.
func (p *Limiter) limitStateOf(name string, limit Limit) *limitState {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, known := p.states[name]
	if !known {
		p.sweepIdle()
		g = &limitState{limiter: rate.NewLimiter(rate.Inf, 1), slots: make(chan struct{}, max(limit.Concurrency, 1))}
		if limit.Interval > 0 {
			g.limiter.SetLimit(rate.Every(limit.Interval))
		}
		p.states[name] = g
	}
	g.users++
	return g
}

// sweepIdle drops the unused limit states whose interval has passed. This bounds memory by the
// number of sessions that begin within one interval.
func (p *Limiter) sweepIdle() {
	if len(p.states) < p.sweepAt {
		return
	}
	for name, g := range p.states {
		if g.users == 0 && g.limiter.Tokens() >= 1 && !g.tail.After(time.Now()) {
			delete(p.states, name)
		}
	}
	p.sweepAt = max(minSweepInterval, 2*len(p.states))
}

// CountVisit counts a session of the previous process.
func (p *Limiter) CountVisit(host string, addr netip.Addr) {
	names := map[string]Limit{host: p.limits.Host, "." + psl.Domain(host): p.limits.Domain}
	if addr.IsValid() {
		name, limit := p.limitOf(addr)
		names[name] = limit
	}
	for name, limit := range names {
		g := p.limitStateOf(name, limit)
		g.limiter.Allow()
		p.releaseUser(g)
	}
}
