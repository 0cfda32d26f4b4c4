package evidence

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// cooldown remembers which domains were asked within the last minute.
type cooldown struct {
	mu    sync.Mutex // guards following
	until map[string]time.Time
}

// tryStart reports whether a domain may be asked now. If so, nobody else may ask it for a while.
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

// These limits say how often owners may have one registrable domain checked: a burst, and then once
// in a while. It is enough for an owner who waits for a DNS change, and too little to harass a
// stranger.
const (
	proofBurst    = 10
	proofInterval = 10 * time.Second
)

// proofLimiter limits the checks that owners ask for, by registrable domain.
type proofLimiter struct {
	mu       sync.Mutex // guards following
	limiters map[string]*rate.Limiter
}

// reserveProof returns 0 if a check may start now, and otherwise how long to wait.
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
