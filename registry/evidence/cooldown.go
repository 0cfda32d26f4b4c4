package evidence

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// cooldown remembers which domains were asked within the last minute.
type cooldown struct {
	mu    sync.Mutex // guards the following fields
	until map[string]time.Time
}

// tryStart reports whether a domain may be queried now. If so, no other query of it may start until
// the cooldown is over. now is the steady time of the registry.
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

// These limits define how often owners may have one registrable domain checked: a burst, and then
// once in a while. That is enough for an owner who waits for a DNS change, and too little to harass
// the owner of a domain. An agent that has not requested a check of the domain before has two
// checks of its own, so that requests of others do not prevent the proof of the owner.
const (
	proofBurst    = 10
	proofInterval = 10 * time.Second
	ownBurst      = 2
	ownInterval   = 10 * time.Minute
	maxLimiters   = 10_000
)

// proofLimiter limits the checks that owners ask for, by registrable domain and agent.
type proofLimiter struct {
	mu      sync.Mutex // guards the following fields
	domains map[string]*rate.Limiter
	agents  map[string]*rate.Limiter // by domain and AIR ID
}

// reserveProof returns 0 if a check may start now, and otherwise how long to wait.
func (l *proofLimiter) reserveProof(domain, airID string, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.domains == nil {
		l.domains, l.agents = map[string]*rate.Limiter{}, map[string]*rate.Limiter{}
	}
	own := findLimiter(l.agents, domain+" "+airID, ownInterval, ownBurst, now)
	all := findLimiter(l.domains, domain, proofInterval, proofBurst, now)
	if own.AllowN(now, 1) || all.AllowN(now, 1) {
		return 0
	}
	return proofInterval
}

func findLimiter(limiters map[string]*rate.Limiter, name string, every time.Duration, burst int, now time.Time) *rate.Limiter {
	if len(limiters) > maxLimiters {
		maps.DeleteFunc(limiters, func(_ string, r *rate.Limiter) bool { return r.TokensAt(now) >= float64(burst) })
	}
	limiter := limiters[name]
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Every(every), burst)
		limiters[name] = limiter
	}
	return limiter
}
