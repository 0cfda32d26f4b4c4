package a2a

import (
	"encoding/json"
)

// The error texts of §9. Payload Too Large and Conflict are not in its tables: the
// first is what the deployed relay answers, the second the text of §8.3, which
// names the status alone.
const (
	ErrorBadRequest      = "Bad Request"
	ErrorTooLarge        = "Payload Too Large"
	ErrorBadSignature    = "Bad Signature"
	ErrorStaleKey        = "Stale Key"
	ErrorNotFound        = "Not Found"
	ErrorReplay          = "Replay"
	ErrorStaleTimestamp  = "Stale Timestamp"
	ErrorThreadClosed    = "Thread Closed"
	ErrorConflict        = "Conflict"
	ErrorRateLimited     = "Rate Limited"
	ErrorReplayExhausted = "Replay Window Exhausted"
	ErrorBadGateway      = "Bad Gateway"
)

// A Refusal says why an envelope is not accepted. Its JSON is the error body of
// §9.3.
type Refusal struct {
	Status int    // the HTTP status of §9
	Reason string // the error text of §9, one of the constants above
	Rule   string // the code of the rule, see [Rules]
	Detail string // one sentence; it may quote the envelope, so escape it
	// AirID and ThreadID are the members of those names in the error body, "" for
	// none.
	AirID    string
	ThreadID string
	cause    error
}

// Error returns the error text and the detail.
func (r *Refusal) Error() string {
	if r.Detail == "" {
		return r.Reason
	}
	return r.Reason + ": " + r.Detail
}

// Unwrap returns the error behind the refusal, nil for none.
func (r *Refusal) Unwrap() error { return r.cause }

// MarshalJSON writes the error body of §9.3.
func (r *Refusal) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Error    string `json:"error"`
		Detail   string `json:"detail,omitempty"`
		AirID    string `json:"air_id,omitempty"`
		ThreadID string `json:"thread_id,omitempty"`
	}{r.Reason, r.Detail, r.AirID, r.ThreadID})
}

// newRefusal returns a refusal by a rule of the table.
func newRefusal(rule, detail string) *Refusal {
	r := RuleOf(rule)
	return &Refusal{Status: r.Status, Reason: r.Reason, Rule: rule, Detail: detail}
}

// withCause sets the underlying error of the refusal.
func (r *Refusal) withCause(err error) *Refusal {
	r.cause = err
	return r
}
