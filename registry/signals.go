package registry

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/protocol/english"
)

// The signals that evidence is made of, and that a caller can require.
const (
	SignalKey          = "key"          // the agent holds its key
	SignalAge          = "age"          // the registry knows the key for 30 days or more
	SignalDomain       = "domain"       // the owner of a domain names the agent
	SignalDID          = "did"          // the creator's DID document lists the key, which the agent holds
	SignalInbox        = "inbox"        // the inbox answers
	SignalAGIS         = "agis"         // what the domain publishes for agents names the DID
	SignalRepository   = "repository"   // the code repository names the agent
	SignalAttestations = "attestations" // owners of other domains attest it
	SignalClaims       = "claims"       // what the agent says of itself; cannot be required
)

// The weights of signals.
const (
	Claimed  = "claimed"  // the agent says so
	Proved   = "proved"   // it was shown to the registry, and anybody can check it
	Observed = "observed" // the registry saw it when it looked
)

// requirableSignals are the signals that a caller can require.
var requirableSignals = []string{SignalKey, SignalAge, SignalDomain, SignalDID, SignalInbox, SignalAGIS, SignalRepository, SignalAttestations}

// Signals returns the names of the signals that can be required.
func Signals() []string { return slices.Clone(requirableSignals) }

const (
	// MinKeyAge is the age from which a key counts as old.
	MinKeyAge = 30 * 24 * time.Hour
	// MaxObserved is the time for which an observation counts without repetition.
	MaxObserved = 7 * 24 * time.Hour
)

// ParseRequire reads the evidence that a caller requires: names of signals with commas between,
// "domain,inbox". The error is an [*Error].
func ParseRequire(text string) ([]string, error) {
	var out []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if name == "" && strings.TrimSpace(text) == "" {
			return nil, nil
		}
		if !slices.Contains(requirableSignals, name) {
			return nil, &Error{Field: "require", Code: "value", Message: fmt.Sprintf("%q is no evidence that can be required", protocol.ClipBytes(name, MaxQuoted)),
				Help: english.DidYouMean(name, requirableSignals) + "write one or more of " + strings.Join(requirableSignals, ", ") + ", with commas between"}
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// HoldsSignal reports whether a signal holds that depends on the record of the agent only: any but
// [SignalAttestations], which depends on what others attest.
func (a Agent) HoldsSignal(name string, now time.Time) bool {
	switch name {
	case SignalKey:
		return a.KeyProof != ""
	case SignalAge:
		return len(a.PublicKey) > 0 && now.Sub(a.KeyKnownSince()) >= MinKeyAge
	case SignalDomain:
		return slices.ContainsFunc(a.Domains, Domain.Proved)
	}
	o, seen := a.Observation(name)
	return seen && o.Holds && now.Sub(o.At) < MaxObserved && (name != SignalDID || a.KeyProof != "")
}

// Observation returns what the registry saw last of a signal. It is false if that was not what the
// record names now: an owner could otherwise show an inbox or a repository of his own, and name
// another one afterwards.
func (a Agent) Observation(signal string) (Observation, bool) {
	o, seen := a.Observed[signal]
	switch {
	case !seen:
	case signal == SignalInbox:
		seen = o.Source == a.InboxURL()
	case signal == SignalRepository:
		seen = o.Source == a.CodeRepository
	case signal == SignalAGIS && o.Holds:
		source, err := url.Parse(o.Source)
		seen = err == nil && slices.ContainsFunc(a.Domains, func(d Domain) bool { return d.Proved() && d.Name == source.Hostname() })
	}
	return o, seen
}

// InboxURL returns the endpoint where the agent receives mail, "" if it has none.
func (a Agent) InboxURL() string {
	for _, s := range a.ServiceEndpoints {
		if s.Type == did.TypeInbox {
			return s.ServiceEndpoint
		}
	}
	return ""
}
