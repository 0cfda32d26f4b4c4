package api

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"
)

// maxKeys bounds how many keys have a quota of their own at a time. Who sprays
// addresses to push another's out meets the global one.
const maxKeys = 100_000

// A quota bounds how often something is asked of others in an hour, for each key
// and together: looks at a domain, DIDs of other hosts, documents to be judged.
// What is done to agents the registry counts itself (registry.Limits).
type rateQuota struct {
	each int
	keys *otter.Cache[string, *rate.Limiter]
	all  *rate.Limiter
	now  func() time.Time
}

// newQuota returns a quota of so many an hour; a negative number lifts a limit.
func newQuota(each, all int, now func() time.Time) (*rateQuota, error) {
	q := &rateQuota{each: each, now: now, all: hourlyLimiter(all)}
	var err error
	q.keys, err = otter.New(&otter.Options[string, *rate.Limiter]{
		MaximumSize: maxKeys,
		Executor:    func(work func()) { work() }, // no goroutine of its own
	})
	if err != nil {
		return nil, fmt.Errorf("set up a quota: %w", err)
	}
	return q, nil
}

func hourlyLimiter(n int) *rate.Limiter {
	if n < 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(float64(n)/time.Hour.Seconds()), n)
}

// An overdraft says that a quota has nothing left, and until when.
type overdraft struct {
	wait time.Duration
	all  bool // of what all have together, not of the key's own
}

// reserveOne counts one for the key. When there is none left it counts nothing and
// answers why; nil means that it may be done.
func (q *rateQuota) reserveOne(key string) *overdraft {
	limiter, _ := q.keys.ComputeIfAbsent(key, func() (*rate.Limiter, bool) { return hourlyLimiter(q.each), false })
	now := q.now()
	own := limiter.ReserveN(now, 1)
	if wait := own.DelayFrom(now); !own.OK() || wait > 0 {
		own.CancelAt(now)
		return &overdraft{wait: boundWait(wait)}
	}
	all := q.all.ReserveN(now, 1)
	if wait := all.DelayFrom(now); !all.OK() || wait > 0 {
		all.CancelAt(now)
		own.CancelAt(now)
		return &overdraft{boundWait(wait), true}
	}
	return nil
}

// admitClient counts one of what a client does, or refuses it and says when to come
// back. The owner of the machine, who comes over the Unix socket and has no
// address, is not counted.
func (q *rateQuota) admitClient(client netip.Addr, what string) error {
	if !client.IsValid() {
		return nil
	}
	over := q.reserveOne(clientNetwork(client))
	if over == nil {
		return nil
	}
	detail := fmt.Sprintf("Rate limit exceeded: at most %d %s an hour from one address", q.each, what)
	if over.all {
		detail = "Rate limit exceeded: the registry takes no more " + what + " at the moment"
	}
	return newProblem(rateLimited, detail, "wait as long as Retry-After says").withRetry(over.wait)
}

// boundWait keeps "never" (a quota of none) within what a header can say.
func boundWait(wait time.Duration) time.Duration { return min(max(wait, 0), 24*time.Hour) }

// clientNetwork is the key of a client: its IPv4 address or IPv6 /64.
func clientNetwork(client netip.Addr) string { return truncateAddress(client, 32, 64).String() }

// defaultInt returns n, or d when n is 0.
func defaultInt(n, d int) int {
	if n == 0 {
		return d
	}
	return n
}
