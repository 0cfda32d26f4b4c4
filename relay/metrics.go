package relay

import (
	"context"
	"errors"
	"maps"
	"slices"
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

// refusalTexts say what the reasons mean that are not rules of the draft.
var refusalTexts = map[string]string{
	"blocked_by_recipient": "the recipient accepts no messages from this sender",
	"evidence_required":    "the sender lacks evidence that the recipient or this relay requires",
	"id":                   "the id of the message is not valid",
	"other":                "the server could not process the message",
	"rate_limited":         "the sender or the recipient has reached a limit of messages",
	"recipient_gone":       "the recipient is deactivated, suspended or deleted",
	"recipient_unresolved": "the registry of the recipient did not answer",
	"relay_unavailable":    "the relay could not store messages at that time",
	"replay_window_full":   "the relay remembers as many message ids as it can, so it could not exclude a replay",
	"sender_blocked":       "the operator has blocked this sender",
	"sender_share_used":    "the sender has used its share of the recipient's inbox",
	"unknown_recipient":    "no agent of this registry has an inbox under this name",
	// Refusals of the transport, before Accept.
	"bad_body":             "the body of the request could not be read",
	"body_timeout":         "the body of the request did not arrive in time",
	"empty_body":           "the request had no body",
	"invalid_json":         "the body is not valid JSON",
	"missing_from":         "the message does not name its sender",
	"missing_id":           "the message has no id",
	"payload_too_large":    "the message is too large",
	"unsupported_encoding": "the body has a Content-Encoding that the relay does not support",
}

// RefusalReasons returns all reasons in [Metrics.Refused].
func RefusalReasons() []string {
	reasons := slices.Sorted(maps.Keys(refusalTexts))
	for _, rule := range a2a.Rules() {
		reasons = append(reasons, rule.Code)
	}
	return reasons
}

// DescribeRefusal says what a reason in [Metrics.Refused] means: for a rule of the draft, the rule that
// the message broke. It returns "" for an unknown reason.
func DescribeRefusal(reason string) string {
	if text, ok := refusalTexts[reason]; ok {
		return text
	}
	rules := a2a.Rules()
	if i := slices.IndexFunc(rules, func(r a2a.Rule) bool { return r.Code == reason }); i >= 0 {
		return "the message broke this rule: " + rules[i].Title
	}
	return ""
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
