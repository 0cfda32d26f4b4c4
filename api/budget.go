package api

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"
)

// maxClients bounds how many clients have a budget of their own at a time. Who
// sprays addresses to push another's budget out meets the global one.
const maxClients = 100_000

// A budget bounds how many registrations are taken in an hour: of one client,
// which is an IPv4 address or an IPv6 /64, and of everybody.
type budget struct {
	perClient int
	clients   *otter.Cache[netip.Prefix, *rate.Limiter]
	global    *rate.Limiter
	now       func() time.Time
}

// newBudget returns a budget of so many an hour; 0 takes the default, a
// negative number lifts the limit.
func newBudget(perClient, global int, now func() time.Time) (*budget, error) {
	b := &budget{perClient: perClient, now: now, global: hourly(global)}
	var err error
	b.clients, err = otter.New(&otter.Options[netip.Prefix, *rate.Limiter]{
		MaximumSize: maxClients,
		Executor:    func(work func()) { work() }, // no goroutine of its own
	})
	if err != nil {
		return nil, fmt.Errorf("set up the budgets of clients: %w", err)
	}
	return b, nil
}

func hourly(n int) *rate.Limiter {
	if n < 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(float64(n)/time.Hour.Seconds()), n)
}

// take counts one registration, or refuses it and says when to come back. The
// owner of the machine, who comes over the Unix socket and has no address, is
// not counted.
func (b *budget) take(client netip.Addr) error {
	if !client.IsValid() {
		return nil
	}
	limiter, _ := b.clients.ComputeIfAbsent(prefix(client, 32, 64), func() (*rate.Limiter, bool) {
		return hourly(b.perClient), false
	})
	now := b.now()
	own := limiter.ReserveN(now, 1)
	if wait := own.DelayFrom(now); !own.OK() || wait > 0 {
		own.CancelAt(now)
		return refuse(rateLimited, fmt.Sprintf("Rate limit exceeded: at most %d registrations an hour from one address", b.perClient),
			"wait as long as Retry-After says").after(bound(wait))
	}
	all := b.global.ReserveN(now, 1)
	if wait := all.DelayFrom(now); !all.OK() || wait > 0 {
		all.CancelAt(now)
		own.CancelAt(now)
		return refuse(rateLimited, "Rate limit exceeded: the registry takes no more registrations at the moment",
			"wait as long as Retry-After says").after(bound(wait))
	}
	return nil
}

// bound keeps "never" (a budget of none) within what a header can say.
func bound(wait time.Duration) time.Duration { return min(max(wait, 0), 24*time.Hour) }
