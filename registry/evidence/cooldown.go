package evidence

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

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
