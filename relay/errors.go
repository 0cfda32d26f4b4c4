package relay

import (
	"net/http"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/a2a"
)

// A Refusal is the error for a request that the relay refuses. Envelopes that break a rule of the
// draft are refused with an *a2a.Refusal instead.
type Refusal struct {
	Status int    // the HTTP status
	Reason string // the error text of the draft (§9.1), such as "Not Found"
	Code   string // for the deployed dialect and for metrics, such as "unknown_recipient"
	Detail string // one sentence for a person
	Cause  string // what exactly is wrong, such as the place of an error of syntax; "" for nothing more
	Most   int    // the limit in bytes that a body exceeds, 0 for none
	// ThreadID is the member of that name in the error body, "" for none.
	ThreadID string
	// Wait is the time until it may be tried again, 0 when trying again does not help.
	Wait time.Duration
}

// Error returns the error text and the detail.
func (r *Refusal) Error() string { return r.Reason + ": " + r.Detail }

// Error texts of §9.1 that package a2a does not need.
const (
	reasonUnauthorized = "Unauthorized"
	reasonForbidden    = "Forbidden"
	reasonGone         = "Gone"
	reasonRelayError   = "Relay Error"
)

func refuseUnknown(name string) *Refusal {
	return &Refusal{Status: http.StatusNotFound, Reason: a2a.ErrorNotFound, Code: "unknown_recipient",
		Detail: "no agent of this registry has an inbox under the name " + protocol.ClipBytes(name, maxQuoted)}
}

// refuseUnresolved is the refusal while the registry of a foreign recipient does not answer.
func refuseUnresolved() *Refusal {
	return &Refusal{Status: http.StatusBadGateway, Reason: a2a.ErrorBadGateway, Code: "recipient_unresolved", Detail: ErrNoAnswer.Error(), Wait: 5 * time.Second}
}

func refuseGone(box Inbox) *Refusal {
	detail := "the agent is " + box.Gone + " and accepts no mail"
	if box.MovedTo != "" {
		detail += "; it has named " + box.MovedTo + " as its new DID: write to that"
	}
	return &Refusal{Status: http.StatusGone, Reason: reasonGone, Code: "recipient_gone", Detail: detail}
}

func refuseRate(detail string, wait time.Duration) *Refusal {
	return &Refusal{Status: http.StatusTooManyRequests, Reason: a2a.ErrorRateLimited, Code: "rate_limited", Detail: detail, Wait: max(wait, time.Second)}
}

func refuseForbidden(code, detail string) *Refusal {
	return &Refusal{Status: http.StatusForbidden, Reason: reasonForbidden, Code: code, Detail: detail}
}

// refuseUnavailable is the refusal while the relay cannot store mail; the sender tries again.
func refuseUnavailable(detail string) *Refusal {
	return &Refusal{Status: http.StatusServiceUnavailable, Reason: reasonRelayError, Code: "relay_unavailable", Detail: detail, Wait: 30 * time.Second}
}

// refuseFull refuses because of a full disk, which the operator needs time to fix.
func refuseFull() *Refusal {
	refusal := refuseUnavailable("the disk of the relay is full")
	refusal.Wait = 5 * time.Minute
	return refusal
}

// maxQuoted is how many bytes of a foreign text a message quotes.
const maxQuoted = 120
