package crawler

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"gazetteer/fetch"
)

// politeness says when a session with a host may begin: one at a time for each
// host, and no more often than the interval of the host, the interval of its
// registrable domain and the rate of all allow. Requests within a session are
// in sequence and need no further leave.
type politeness struct {
	hostInterval, domainInterval time.Duration
	all                          *rate.Limiter

	mu      sync.Mutex       // guards following
	gates   map[string]*gate // by host, and by "." + registrable domain
	sweepAt int              // when that many gates are known, idle ones are dropped
}

// A gate is what politeness remembers of a host or a domain.
type gate struct {
	limiter *rate.Limiter
	turn    chan struct{} // holds one element while a session runs
	users   int           // sessions that run or wait; guarded by politeness.mu
}

const leastSweep = 1024

// newPoliteness: intervals of zero or less do not limit.
func newPoliteness(hostInterval, domainInterval time.Duration, perSecond float64) *politeness {
	all := rate.NewLimiter(rate.Inf, 1)
	if perSecond > 0 {
		all = rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/10)))
	}
	return &politeness{
		hostInterval: hostInterval, domainInterval: domainInterval, all: all,
		gates: map[string]*gate{}, sweepAt: leastSweep,
	}
}

// enter waits until a session with the host may begin. leave ends it.
func (p *politeness) enter(ctx context.Context, host string) (leave func(), err error) {
	own := p.gate(host, p.hostInterval)
	domain := p.gate("."+fetch.Registrable(host), p.domainInterval)
	done := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		own.users--
		domain.users--
	}
	defer func() {
		if err != nil {
			done()
			err = fmt.Errorf("wait for the turn of %s: %w", host, err)
		}
	}()
	select {
	case own.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for _, l := range []*rate.Limiter{own.limiter, domain.limiter, p.all} {
		if err := l.Wait(ctx); err != nil {
			<-own.turn
			return nil, err
		}
	}
	return func() {
		<-own.turn
		done()
	}, nil
}

// gate returns the gate of that name, with one more user.
func (p *politeness) gate(name string, interval time.Duration) *gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, known := p.gates[name]
	if !known {
		p.sweep()
		g = &gate{limiter: rate.NewLimiter(rate.Inf, 1), turn: make(chan struct{}, 1)}
		if interval > 0 {
			g.limiter.SetLimit(rate.Every(interval))
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
		if g.users == 0 && g.limiter.Tokens() >= 1 {
			delete(p.gates, name)
		}
	}
	p.sweepAt = max(leastSweep, 2*len(p.gates))
}
