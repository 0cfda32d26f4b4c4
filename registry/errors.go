package registry

import (
	"errors"
	"time"
)

// Errors of the registry. Test with errors.Is.
var (
	// ErrNoAgent: no agent is registered under the id or handle.
	ErrNoAgent = errors.New("no such agent")
	// ErrNoKey: the agent was registered without a public key, so it has no DID
	// document.
	ErrNoKey = errors.New("the agent has no public key on file")
	// ErrNoSecret: a write came without signature and without the agent's secret.
	ErrNoSecret = errors.New("the agent's secret is missing")
	// ErrWrongSecret: the secret is not the agent's, or no longer.
	ErrWrongSecret = errors.New("the secret is not this agent's")
	// ErrHandleTaken: another agent holds the handle, or held it until a short
	// while ago. It comes inside a [HandleTakenError].
	ErrHandleTaken = errors.New("the handle is taken")
	// ErrNothingToUpdate: an update names no member that can change, or only
	// the handle that the agent already holds.
	ErrNothingToUpdate = errors.New("nothing to update")

	// The sorts of a [Refusal].

	// ErrUnauthorized: what came does not show that the agent sent it.
	ErrUnauthorized = errors.New("the request is not shown to be the agent's")
	// ErrForbidden: it is the agent's, and still may not be done.
	ErrForbidden = errors.New("the agent may not do this")
	// ErrState: it contradicts the state of the registry: a key that is another's,
	// a rotation from a key that is no longer current.
	ErrState = errors.New("this contradicts what is registered")
	// ErrGone: the agent is deactivated or deleted (410).
	ErrGone = errors.New("the agent is deactivated")
	// ErrNotFound: something of an agent that is not there, such as an
	// attestation.
	ErrNotFound = errors.New("there is no such thing")
	// ErrTooMany: too many writes in a short time; later they are taken.
	ErrTooMany = errors.New("too many writes")
)

// A Refusal says why something that was understood is not done. It matches one
// of the errors above, and what else it wraps. Its texts may quote the request,
// so they are untrusted; they hold no secrets.
type Refusal struct {
	Kind    error  // ErrUnauthorized, ErrForbidden, ErrState, ErrGone, ErrNotFound or ErrTooMany
	Code    string // names the rule, as "signature-created" or "key-taken"
	Message string
	Help    string // how to mend it
	// Expected and Got are what was wanted and what came, "" where there is
	// nothing to compare.
	Expected, Got string
	// Base is the signature base that the registry computed, for a signature
	// that does not verify.
	Base string
	// Wait is when it is worth to try again; 0 when that would not help.
	Wait time.Duration
	// View is the answer in the reference's words, where it has more than Message
	// and Help; nil elsewhere.
	View *ErrorView
}

func (e *Refusal) Error() string {
	text := e.Message
	if e.Expected != "" {
		text += "; expected " + e.Expected
	}
	if e.Got != "" {
		text += "; got " + e.Got
	}
	if e.Help != "" {
		text += ": " + e.Help
	}
	return text
}

// Unwrap returns the sort of the refusal.
func (e *Refusal) Unwrap() error { return e.Kind }

// A HandleTakenError says which handle cannot be had. It matches
// [ErrHandleTaken].
type HandleTakenError struct {
	Handle string
	// Free is when a handle that was given back can be claimed by others; zero
	// when somebody holds it.
	Free time.Time
}

func (e *HandleTakenError) Error() string {
	if !e.Free.IsZero() {
		return "the handle " + e.Handle + " was given back a short while ago and can be claimed from " + e.Free.UTC().Format(time.RFC3339) + " on"
	}
	return ErrHandleTaken.Error() + ": " + e.Handle
}

func (e *HandleTakenError) Unwrap() error { return ErrHandleTaken }

// An Error refuses one field of what a caller sent. Message and Help may quote
// it, so they are untrusted text.
type Error struct {
	// Field is the member, for example "service_endpoints[0].type"; "" is the
	// whole body.
	Field string
	// Code names the rule: "required", "type", "length", "count", "text", "url",
	// "scheme", "private-address", "reserved", "duplicate", "foreign-id", "value",
	// one of the codes of package did, or the name of a protocol.Problem such as
	// "duplicate" and "too-large" for a body that cannot be read.
	Code string
	// Message is the reference's text where it has one.
	Message string
	// Help says how to mend it.
	Help string

	View *ErrorView // the answer in the reference's words, where it has more
}

func (e *Error) Error() string {
	if e.Help == "" {
		return e.Message
	}
	return e.Message + ": " + e.Help
}
