package registry

import (
	"errors"
	"time"

	"gazetteer/registry/proofofwork"
)

// Errors of the registry. Test with errors.Is.
var (
	// ErrNoAgent: no agent is registered under the id or handle.
	ErrNoAgent = errors.New("no such agent")
	// ErrNoKey: the agent was registered without a public key, so it has no DID
	// document.
	ErrNoKey = errors.New("the agent has no public key on file")
	// ErrNoSecret: a write has neither a signature nor the agent's secret.
	ErrNoSecret = errors.New("the agent's secret is missing")
	// ErrWrongSecret: the secret is not the agent's, or is switched off.
	ErrWrongSecret = errors.New("the secret is not this agent's")
	// ErrHandleTaken: another agent holds the handle, or held it a short while ago. A
	// [HandleTakenError] wraps it.
	ErrHandleTaken = errors.New("the handle is taken")
	// ErrNothingToUpdate: an update names no member that can change, or only
	// the handle that the agent already holds.
	ErrNothingToUpdate = errors.New("nothing to update")

	// Kinds of a [Refusal].

	// ErrUnauthorized: the request does not prove that the agent sent it.
	ErrUnauthorized = errors.New("the request is not shown to be the agent's")
	// ErrForbidden: the agent sent the request, but may not do this.
	ErrForbidden = errors.New("the agent may not do this")
	// ErrState: the request contradicts the state of the registry, for example a key that belongs
	// to another agent, or a rotation of a key that is not current.
	ErrState = errors.New("this contradicts what is registered")
	// ErrGone: the agent is deactivated or deleted (410).
	ErrGone = errors.New("the agent is deactivated")
	// ErrNotFound: something of an agent does not exist, such as an attestation.
	ErrNotFound = errors.New("there is no such thing")
	// ErrTooMany: there were too many writes in a short time; a later one is accepted.
	ErrTooMany = errors.New("too many writes")
)

// A Refusal is the reason why the registry refuses a valid request. It matches one of the errors
// above and any error that it wraps. Its texts may quote the request, so do not trust them; they
// contain no secrets.
type Refusal struct {
	Kind    error  // ErrUnauthorized, ErrForbidden, ErrState, ErrGone, ErrNotFound or ErrTooMany
	Code    string // names the rule, as "signature-created" or "key-taken"
	Message string
	Help    string // how to repair it
	// Expected and Got are the required and the received value, "" if there is nothing to compare.
	Expected, Got string
	// Base is the signature base that the registry computed for a signature that does not verify.
	Base string
	// Wait is the time until another attempt can succeed; 0 if none can.
	Wait time.Duration
	Details
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

// Unwrap returns the kind of the refusal.
func (e *Refusal) Unwrap() error { return e.Kind }

// Details are facts about a refusal for programs. Most refusals have none.
type Details struct {
	Agent          string            // the AIR ID that holds the key of a registration
	Reason         string            // why an attester may not attest
	Attestation    int               // the number of the attestation that is in the way, missing or about another agent
	ClaimedSubject string            // the AIR ID under which an attestation was sought
	ActualSubject  string            // the AIR ID that the attestation is about
	Revoked        time.Time         // when the attestation was revoked
	MaxAge         time.Duration     // how old a signature may be
	Work           *proofofwork.Task // what a registration needs while registrations are flooded
}

// A HandleTakenError names a handle that is not available. It matches [ErrHandleTaken].
type HandleTakenError struct {
	Handle string
	// Free is when others can claim a released handle; zero while somebody holds it.
	Free time.Time
}

func (e *HandleTakenError) Error() string {
	if !e.Free.IsZero() {
		return "the handle " + e.Handle + " was given back a short while ago and can be claimed from " + e.Free.UTC().Format(time.RFC3339) + " on"
	}
	return ErrHandleTaken.Error() + ": " + e.Handle
}

func (e *HandleTakenError) Unwrap() error { return ErrHandleTaken }

// An Error refuses one field of a request. Message and Help may quote the request, so do not trust
// them.
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
	// Help says how to correct it.
	Help string

	Details
}

func (e *Error) Error() string {
	if e.Help == "" {
		return e.Message
	}
	return e.Message + ": " + e.Help
}

// MaxQuoted is the number of bytes of a foreign text that a message quotes.
const MaxQuoted = 200
