package relay

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"gazetteer/protocol/a2a"
)

// Metrics counts what happened since the start.
type Metrics struct {
	Accepted     uint64            `json:"accepted" doc:"envelopes that were stored"`
	Refused      map[string]uint64 `json:"refused,omitempty" doc:"pushes that were refused, by rule of the draft or code of the relay"`
	Pulled       uint64            `json:"pulled" doc:"envelopes that were given out; each time counts"`
	Acknowledged uint64            `json:"acknowledged" doc:"envelopes that their recipients deleted"`
	Expired      uint64            `json:"expired" doc:"envelopes that were not acknowledged in time"`
	Woken        uint64            `json:"wakeups" doc:"wake-ups that were accepted"`
	WakeFailures uint64            `json:"wakeup_failures" doc:"wake-ups that failed; each attempt counts"`
}

// Status is the state of the relay, without any content of the mail.
type Status struct {
	Metrics
	Waiting      int       `json:"waiting" doc:"envelopes that wait now"`
	WaitingBytes int64     `json:"waiting_bytes" doc:"their bytes"`
	Inboxes      int       `json:"inboxes" doc:"inboxes that are not empty"`
	Oldest       time.Time `json:"oldest,omitzero" doc:"when the oldest envelope that waits was received"`
}

// Status returns the counters and what waits at this moment.
func (r *Relay) Status(ctx context.Context) (Status, error) {
	waiting, err := r.Queue.CountAll(ctx)
	if err != nil {
		return Status{}, err
	}
	return Status{Metrics: r.Metrics(), Waiting: waiting.Mail, WaitingBytes: waiting.Bytes, Inboxes: waiting.Inboxes, Oldest: waiting.Oldest}, nil
}

type metrics struct {
	accepted, pulled, acknowledged, expired atomic.Uint64

	mu      sync.Mutex // guards the following fields
	refused map[string]uint64
}

// countPush counts the result of one push. Reasons come from closed lists, so the map stays small.
func (m *metrics) countPush(err error) {
	if err == nil {
		m.accepted.Add(1)
		return
	}
	reason := "other"
	if e, ok := errors.AsType[*a2a.Refusal](err); ok {
		reason = e.Rule
	} else if e, ok := errors.AsType[*Refusal](err); ok {
		reason = e.Code
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused == nil {
		m.refused = map[string]uint64{}
	}
	m.refused[reason]++
}

// RefusalReasons returns all reasons in [Metrics.Refused].
func RefusalReasons() []string {
	reasons := []string{
		"blocked_by_recipient", "evidence_required", "id", "other", "rate_limited", "recipient_gone", "recipient_unresolved", "relay_unavailable",
		"replay_window_full", "sender_blocked", "sender_share_used", "unknown_recipient",
		// Refusals of the transport, before Accept.
		"bad_body", "body_timeout", "empty_body", "invalid_json", "missing_from", "missing_id", "payload_too_large", "unsupported_encoding",
	}
	for _, rule := range a2a.Rules() {
		reasons = append(reasons, rule.Code)
	}
	return reasons
}

// CountRefusal counts a push that a transport refused before Accept, such as one with a body that is
// too large.
func (r *Relay) CountRefusal(err error) { r.metrics.countPush(err) }

// Metrics returns the counters at this moment.
func (r *Relay) Metrics() Metrics {
	m := &r.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	return Metrics{
		Accepted: m.accepted.Load(), Refused: maps.Clone(m.refused), Pulled: m.pulled.Load(),
		Acknowledged: m.acknowledged.Load(), Expired: m.expired.Load(), Woken: r.wakes.sent.Load(), WakeFailures: r.wakes.failed.Load(),
	}
}
