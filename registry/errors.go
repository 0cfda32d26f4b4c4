package registry

import "errors"

// Errors of the registry. Test with errors.Is.
var (
	// ErrNoAgent: no agent is registered under the id or handle.
	ErrNoAgent = errors.New("no such agent")
	// ErrNoKey: the agent was registered without a public key, so it has no DID
	// document.
	ErrNoKey = errors.New("the agent has no public key on file")
	// ErrNoSecret: an update came without the agent's secret.
	ErrNoSecret = errors.New("the agent's secret is missing")
	// ErrWrongSecret: the secret is not the agent's.
	ErrWrongSecret = errors.New("the secret is not this agent's")
	// ErrHandleTaken: another agent holds the handle. It comes inside a
	// [HandleTakenError].
	ErrHandleTaken = errors.New("the handle is taken")
	// ErrNothingToUpdate: an update names no member that can change, or only
	// the handle that the agent already holds.
	ErrNothingToUpdate = errors.New("nothing to update")
)

// A HandleTakenError says which handle is held by another agent. It matches
// [ErrHandleTaken].
type HandleTakenError struct{ Handle string }

func (e *HandleTakenError) Error() string { return ErrHandleTaken.Error() + ": " + e.Handle }

func (e *HandleTakenError) Unwrap() error { return ErrHandleTaken }

// An Error refuses one field of what a caller sent. Message and Help may quote
// it, so they are untrusted text.
type Error struct {
	// Field is the member, for example "service_endpoints[0].type"; "" is the
	// whole body.
	Field string
	// Code names the rule: "required", "type", "length", "count", "text", "url",
	// "scheme", "private-address", "reserved", "duplicate", "foreign-id", one of
	// the codes of package did, or the name of a protocol.Problem such as
	// "duplicate" and "too-large" for a body that cannot be read.
	Code string
	// Message is the reference's text where it has one.
	Message string
	// Help says how to mend it.
	Help string
}

func (e *Error) Error() string {
	if e.Help == "" {
		return e.Message
	}
	return e.Message + ": " + e.Help
}
