package httpruntime

import (
	"context"
	"sync"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol/altar"
)

// maxPerMinute is the most requests per minute that are counted: a higher limit of a service counts as
// this one, so that the memory of a host is bounded.
const maxPerMinute = 10_000

// rateLimiter keeps the requests to each host within the rate that its document declares (AI
// Discovery 3.6).
type rateLimiter struct {
	mu   sync.Mutex
	sent map[string][]time.Time // by host: the requests of the last minute, oldest first
}

// awaitTurn waits until a request may be sent to a host that accepts so many per minute; 0 means no
// limit. It returns an error at once if the deadline of ctx is earlier.
func (p *rateLimiter) awaitTurn(ctx context.Context, host string, perMinute int) *altar.Error {
	if perMinute <= 0 {
		return nil
	}
	perMinute = min(perMinute, maxPerMinute)
	for {
		pause := p.countRequest(host, perMinute, time.Now())
		if pause == 0 {
			return nil
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
			return altar.Errorf(altar.ExecutionFailed, "%s accepts %d requests per minute, and the limit is reached", host, perMinute).
				With("reason", "rate_limit").With("retry_after", limit.CeilSeconds(pause))
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return altar.Errorf(altar.ExecutionTimeout, "the call ended while it waited for the rate limit of %s", host)
		}
	}
}

// countRequest counts a request, or returns how long to wait before it may be sent.
func (p *rateLimiter) countRequest(host string, perMinute int, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := p.sent[host]
	for len(sent) > 0 && now.Sub(sent[0]) >= time.Minute {
		sent = sent[1:]
	}
	if len(sent) >= perMinute {
		p.sent[host] = sent
		return time.Minute - now.Sub(sent[len(sent)-perMinute])
	}
	if p.sent == nil {
		p.sent = map[string][]time.Time{}
	}
	p.sent[host] = append(sent, now)
	return 0
}
