package crawler

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"gazetteer/fetch"
)

// A Limit says how often something may be visited: an interval from the start of
// one visit to that of the next, and how many at once. An interval of zero or
// less does not limit.
type Limit struct {
	Interval time.Duration
	AtOnce   int
}

// A NetworkLimit is the limit of each address of a network.
type NetworkLimit struct {
	Network netip.Prefix
	Limit
}

// politeness says when a session with a host may begin: as the limits of the
// host, of its registrable domain and of its address and the rate of all allow.
// The three guard against different things: names below one domain, many of them
// below a name that many share, and machines that serve thousands of domains.
// Requests within a session are in sequence and need no further leave.
type politeness struct {
	host, domain, address Limit
	networks              []NetworkLimit // the first that holds an address counts
	all                   *rate.Limiter

	mu      sync.Mutex       // guards following
	gates   map[string]*gate // by host, "." + registrable domain, and address
	sweepAt int              // when that many gates are known, idle ones are dropped
}

// A gate is what politeness remembers of a host, a domain or an address.
type gate struct {
	limiter *rate.Limiter
	turn    chan struct{} // holds an element for each session that runs
	users   int           // sessions that run or wait; guarded by politeness.mu
	tail    time.Time     // when the last one comes that has booked; so is this
}

const leastSweep = 1024

// enter waits until a session with the host may begin. leave ends it.
func (p *politeness) enter(ctx context.Context, host string) (leave func(), err error) {
	leaveHost, err := p.pass(ctx, host, p.host)
	if err != nil {
		return nil, fmt.Errorf("wait for the turn of %s: %w", host, err)
	}
	leaveDomain, err := p.pass(ctx, "."+fetch.Registrable(host), p.domain)
	if err == nil {
		if err = p.all.Wait(ctx); err == nil {
			return func() { leaveDomain(); leaveHost() }, nil
		}
		leaveDomain()
	}
	leaveHost()
	return nil, fmt.Errorf("wait for the turn of %s: %w", host, err)
}

// A berth is the turn of an address, taken.
type berth struct {
	limiter *rate.Limiter
	leave   func()
}

// arrive waits for the turn of an address. Its interval is waited out by land,
// when all other turns are taken, so that it is one between connections.
func (p *politeness) arrive(ctx context.Context, addr netip.Addr) (*berth, error) {
	name, limit := p.limitOf(addr)
	g := p.gate(name, limit)
	select {
	case g.turn <- struct{}{}:
		return &berth{g.limiter, p.leaving(g)}, nil
	case <-ctx.Done():
		p.done(g)
		return nil, fmt.Errorf("wait for the turn of the address %s: %w", name, ctx.Err())
	}
}

// land waits until a connection to the address may be made.
func (b *berth) land(ctx context.Context) error {
	if err := b.limiter.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the interval of an address: %w", err)
	}
	return nil
}

// book is arrive without waiting: when the address is not free now, the berth is
// nil and at is when to come again. Who comes then has booked, and goes before
// those who come for the first time.
func (p *politeness) book(addr netip.Addr, booked bool) (b *berth, at time.Time) {
	name, limit := p.limitOf(addr)
	g := p.gate(name, limit)
	now := time.Now()
	if !booked && p.queued(g, now) {
		return nil, p.enqueue(g, limit, now)
	}
	select {
	case g.turn <- struct{}{}:
	default:
		return nil, p.enqueue(g, limit, now)
	}
	r := g.limiter.ReserveN(now, 1)
	delay := r.DelayFrom(now)
	r.CancelAt(now)
	if !booked && delay > 0 || delay > bookedPatience {
		<-g.turn
		return nil, p.enqueue(g, limit, now)
	}
	return &berth{g.limiter, p.leaving(g)}, time.Time{}
}

// bookedPatience is how long a visit waits that has booked: those of one second
// are handed out together.
const bookedPatience = 3 * time.Second

// queued reports that others have booked.
func (p *politeness) queued(g *gate, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return g.tail.After(now)
}

// enqueue ends the use of a gate and returns when to come again: each at another
// time.
func (p *politeness) enqueue(g *gate, limit Limit, now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.users--
	if g.tail.Before(now) {
		g.tail = now
	}
	g.tail = g.tail.Add(max(limit.Interval, bookedLeast))
	return g.tail
}

// bookedLeast is between two who booked where no interval says more.
const bookedLeast = 10 * time.Millisecond

// pass waits at a gate.
func (p *politeness) pass(ctx context.Context, name string, limit Limit) (leave func(), err error) {
	g := p.gate(name, limit)
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		p.done(g)
		return nil, ctx.Err()
	}
	if err := g.limiter.Wait(ctx); err != nil {
		p.leaving(g)()
		return nil, err
	}
	return p.leaving(g), nil
}

func (p *politeness) leaving(g *gate) func() {
	return func() {
		<-g.turn
		p.done(g)
	}
}

func (p *politeness) done(g *gate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.users--
}

// limitOf returns the name and limit of an address. In IPv6 one customer has a
// whole /64.
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

// gate returns the gate of that name, with one more user.
func (p *politeness) gate(name string, limit Limit) *gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, known := p.gates[name]
	if !known {
		p.sweep()
		g = &gate{limiter: rate.NewLimiter(rate.Inf, 1), turn: make(chan struct{}, max(limit.AtOnce, 1))}
		if limit.Interval > 0 {
			g.limiter.SetLimit(rate.Every(limit.Interval))
		}
		p.gates[name] = g
	}
	g.users++
	return g
}

// sweep drops the gates that nobody uses and whose interval has passed, which
// are as good as new ones. Memory is so bounded by the sessions that begin
// within one interval.
func (p *politeness) sweep() {
	if len(p.gates) < p.sweepAt {
		return
	}
	for name, g := range p.gates {
		if g.users == 0 && g.limiter.Tokens() >= 1 && !g.tail.After(time.Now()) {
			delete(p.gates, name)
		}
	}
	p.sweepAt = max(leastSweep, 2*len(p.gates))
}

// newPoliteness takes limits and a rate of all, which does not limit when it is
// zero or less.
func newPoliteness(o Options) *politeness {
	all := rate.NewLimiter(rate.Inf, 1)
	if o.Rate > 0 {
		all = rate.NewLimiter(rate.Limit(o.Rate), max(1, int(o.Rate/10)))
	}
	return &politeness{
		host:    Limit{o.HostInterval, cmp.Or(o.HostAtOnce, 1)},
		domain:  Limit{o.DomainInterval, cmp.Or(o.DomainAtOnce, 1)},
		address: Limit{o.AddressInterval, cmp.Or(o.AddressAtOnce, defaultAddressAtOnce)}, networks: o.Networks,
		all: all, gates: map[string]*gate{}, sweepAt: leastSweep,
	}
}

const (
	defaultAddressInterval = 100 * time.Millisecond
	defaultAddressAtOnce   = 8
)

// visited counts a session of the process before.
func (p *politeness) visited(host string, addr netip.Addr) {
	names := map[string]Limit{host: p.host, "." + fetch.Registrable(host): p.domain}
	if addr.IsValid() {
		name, limit := p.limitOf(addr)
		names[name] = limit
	}
	for name, limit := range names {
		g := p.gate(name, limit)
		g.limiter.Allow()
		p.done(g)
	}
}
