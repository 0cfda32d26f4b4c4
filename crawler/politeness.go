package crawler

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"gazetteer/fetch"
)

// A Limit says how often something may be visited: the interval between the starts of two visits,
// and the number of concurrent visits. An interval of zero or less does not limit.
type Limit struct {
	Interval time.Duration
	AtOnce   int
}

// A NetworkLimit is the limit for each address of a network.
type NetworkLimit struct {
	Network netip.Prefix
	Limit
}

// politeness decides when a session with a host may begin, by the limits of the host, of its
// registrable domain, of its address, and by the overall rate. The three limits protect different
// things: a single name, a domain with many names, and machines that serve thousands of domains.
// The requests of a session run in sequence and need no further permit.
type politeness struct {
	host, domain, address Limit
	networks              []NetworkLimit // the first that holds an address counts
	all                   *rate.Limiter

	mu      sync.Mutex             // guards following
	limits  map[string]*limitState // by host, "." + registrable domain, and address
	sweepAt int                    // when that many gates are known, idle ones are dropped
}

// A limitState is what politeness remembers of a host, a domain or an address.
type limitState struct {
	limiter *rate.Limiter
	turn    chan struct{} // holds an element for each session that runs
	users   int           // sessions that run or wait; guarded by politeness.mu
	tail    time.Time     // when the last one comes that has booked; so is this
}

const minSweepInterval = 1024

// A permit is a session's share of the politeness limits: turns, which it gives back, and the
// intervals that start with its connection.
type permit struct {
	intervals []*rate.Limiter
	turns     []func()
}

// release gives the turns back.
func (l *permit) release() {
	for _, give := range slices.Backward(l.turns) {
		give()
	}
	*l = permit{}
}

// enterHost waits for the turns of the host and its domain, and for the rate of all.
func (p *politeness) enterHost(ctx context.Context, l *permit, host string) error {
	err := p.waitForTurn(ctx, l, host, p.host)
	if err == nil {
		err = p.waitForTurn(ctx, l, "."+fetch.RegistrableDomain(host), p.domain)
	}
	if err == nil {
		err = p.all.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("wait for the turn of %s: %w", host, err)
	}
	return nil
}

// waitForAddress waits for the turn of an address.
func (p *politeness) waitForAddress(ctx context.Context, l *permit, addr netip.Addr) error {
	name, limit := p.limitOf(addr)
	if err := p.waitForTurn(ctx, l, name, limit); err != nil {
		return fmt.Errorf("wait for the turn of the address %s: %w", name, err)
	}
	return nil
}

// waitForTurn waits for a turn.
func (p *politeness) waitForTurn(ctx context.Context, l *permit, name string, limit Limit) error {
	g := p.limitStateOf(name, limit)
	select {
	case g.turn <- struct{}{}:
		l.addTurn(p, g)
		return nil
	case <-ctx.Done():
		p.releaseUser(g)
		return ctx.Err()
	}
}

func (l *permit) addTurn(p *politeness, g *limitState) {
	l.intervals = append(l.intervals, g.limiter)
	l.turns = append(l.turns, func() {
		<-g.turn
		p.releaseUser(g)
	})
}

// beginIntervals waits until every interval has passed and starts new ones. It waits for all of
// them together, while holding all turns, so that each interval runs from connection to connection.
func (l *permit) beginIntervals(ctx context.Context) error {
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
		timer := time.NewTimer(longest)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for an interval: %w", ctx.Err())
		}
	}
}

// bookAddress is waitForAddress without waiting: when the address is not free now, ok is false and
// at is when to come again. A visit that comes back then has a reservation and goes before new
// ones.
func (p *politeness) bookAddress(l *permit, addr netip.Addr, booked bool) (at time.Time, ok bool) {
	name, limit := p.limitOf(addr)
	g := p.limitStateOf(name, limit)
	now := time.Now()
	if !booked && p.hasWaiters(g, now) {
		return p.requeue(g, limit, now), false
	}
	select {
	case g.turn <- struct{}{}:
	default:
		return p.requeue(g, limit, now), false
	}
	r := g.limiter.ReserveN(now, 1)
	delay := r.DelayFrom(now)
	r.CancelAt(now)
	if !booked && delay > 0 || delay > maxBookedWait {
		<-g.turn
		return p.requeue(g, limit, now), false
	}
	l.addTurn(p, g)
	return time.Time{}, true
}

// maxBookedWait is how long a visit with a reservation waits: reservations for one second are
// handed out together.
const maxBookedWait = 3 * time.Second

// hasWaiters reports whether others hold reservations.
func (p *politeness) hasWaiters(g *limitState, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return g.tail.After(now)
}

// requeue stops using a limit state and returns when to come again: a different time for each
// caller.
func (p *politeness) requeue(g *limitState, limit Limit, now time.Time) time.Time {
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

func (p *politeness) releaseUser(g *limitState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.users--
}

// limitOf returns the name and limit of an address. In IPv6 one customer has a whole /64.
func (p *politeness) limitOf(addr netip.Addr) (string, Limit) {
	limit := p.address
	for _, n := range p.networks {
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
func (p *politeness) limitStateOf(name string, limit Limit) *limitState {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, known := p.limits[name]
	if !known {
		p.sweepIdle()
		g = &limitState{limiter: rate.NewLimiter(rate.Inf, 1), turn: make(chan struct{}, max(limit.AtOnce, 1))}
		if limit.Interval > 0 {
			g.limiter.SetLimit(rate.Every(limit.Interval))
		}
		p.limits[name] = g
	}
	g.users++
	return g
}

// sweepIdle drops the limit states that nobody uses and whose interval has passed. This bounds
// memory by the number of sessions that begin within one interval.
func (p *politeness) sweepIdle() {
	if len(p.limits) < p.sweepAt {
		return
	}
	for name, g := range p.limits {
		if g.users == 0 && g.limiter.Tokens() >= 1 && !g.tail.After(time.Now()) {
			delete(p.limits, name)
		}
	}
	p.sweepAt = max(minSweepInterval, 2*len(p.limits))
}

// newPoliteness applies the options' limits and overall rate; a rate of zero or less does not
// limit.
func newPoliteness(o Options) *politeness {
	all := rate.NewLimiter(rate.Inf, 1)
	if o.Rate > 0 {
		all = rate.NewLimiter(rate.Limit(o.Rate), max(1, int(o.Rate/10)))
	}
	return &politeness{
		host:    Limit{o.HostInterval, cmp.Or(o.HostAtOnce, 1)},
		domain:  Limit{o.DomainInterval, cmp.Or(o.DomainAtOnce, 1)},
		address: Limit{o.AddressInterval, cmp.Or(o.AddressAtOnce, defaultAddressAtOnce)}, networks: o.Networks,
		all: all, limits: map[string]*limitState{}, sweepAt: minSweepInterval,
	}
}

const (
	defaultAddressInterval = 100 * time.Millisecond
	defaultAddressAtOnce   = 8
)

// countVisit counts a session of the previous process.
func (p *politeness) countVisit(host string, addr netip.Addr) {
	names := map[string]Limit{host: p.host, "." + fetch.RegistrableDomain(host): p.domain}
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
