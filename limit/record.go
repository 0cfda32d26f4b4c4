package limit

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// A State is the state of a limit after an event: what is left of the quota that is nearest to its
// end.
type State struct {
	Rule      string
	Quota     int
	Span      time.Duration
	Remaining int
	Reset     time.Duration // until the whole quota has returned; after a refusal, until the next try
}

// withReset returns the state with the time until the whole quota has returned.
func (s State) withReset() State {
	s.Reset = s.Span / time.Duration(max(s.Quota, 1)) * time.Duration(s.Quota-s.Remaining)
	return s
}

// A Record collects the states of the limits that one request counted against, for the headers of
// its answer.
type Record struct {
	mu     sync.Mutex // guards the following fields
	states []State
}

type recordKey struct{}

// WithRecord returns a context whose limits are noted in the record.
func WithRecord(ctx context.Context) (context.Context, *Record) {
	r := &Record{}
	return context.WithValue(ctx, recordKey{}, r), r
}

// recordOf returns the record of a request, nil for none.
func recordOf(ctx context.Context) *Record {
	r, _ := ctx.Value(recordKey{}).(*Record)
	return r
}

// setState notes the state of a limit in place of the one before.
func (r *Record) setState(s State) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.states {
		if r.states[i].Rule == s.Rule {
			r.states[i] = s
			return
		}
	}
	r.states = append(r.states, s)
}

// SetHeaders writes RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10), one
// item for each limit. Without limits it writes nothing.
func (r *Record) SetHeaders(h http.Header) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.states {
		h.Add("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=%d", s.Rule, s.Quota, int(s.Span.Seconds())))
		h.Add("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", s.Rule, s.Remaining, CeilSeconds(s.Reset)))
	}
}

// CeilSeconds rounds up to whole seconds, so that a client that waits as long as Retry-After says
// is not refused again.
func CeilSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
