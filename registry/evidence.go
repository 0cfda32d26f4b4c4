package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The signals that evidence is made of, and that a caller can require.
const (
	SignalKey          = "key"          // the agent holds its key
	SignalAge          = "age"          // the key is in use for 30 days or more
	SignalDomain       = "domain"       // the owner of a domain names the agent
	SignalDID          = "did"          // the creator's DID document lists the key
	SignalInbox        = "inbox"        // the inbox answers
	SignalAGIS         = "agis"         // what the domain publishes for agents names the DID
	SignalRepository   = "repository"   // the code repository names the agent
	SignalAttestations = "attestations" // owners of other domains attest it
	SignalClaims       = "claims"       // what the agent says of itself; cannot be required
)

// How much a signal is worth.
const (
	Claimed  = "claimed"  // the agent says so
	Proved   = "proved"   // it was shown to the registry, and anybody can check it
	Observed = "observed" // the registry saw it when it looked
)

// requirableSignals are the signals that a caller can ask for.
var requirableSignals = []string{SignalKey, SignalAge, SignalDomain, SignalDID, SignalInbox, SignalAGIS, SignalRepository, SignalAttestations}

// Signals returns the names of the signals that can be required.
func Signals() []string { return slices.Clone(requirableSignals) }

const (
	// minKeyAge is the age of a key that counts.
	minKeyAge = 30 * 24 * time.Hour
	// maxObserved is how long an observation counts that was not repeated.
	maxObserved = 7 * 24 * time.Hour
)

// A Signal is one piece of evidence about an agent. What, Detail and Source may
// quote strangers: escape them on output.
type Signal struct {
	Signal string `json:"signal"`
	Grade  string `json:"grade"` // Claimed, Proved or Observed
	Holds  bool   `json:"holds"`
	What   string `json:"what"` // the very thing: the domain, the URL, the number
	Detail string `json:"detail,omitempty"`
	// Source is where it can be checked: a URL, a path of this registry's API, or
	// a DNS name.
	Source string    `json:"source,omitempty"`
	Date   time.Time `json:"date,omitzero"` // when it was shown or seen last
	Cost   string    `json:"cost"`          // what it takes to fake it
}

// Evidence returns what there is to judge an agent by, the strongest first in
// each sort. Claims are listed as such. The error is that of the store.
func (r *Registry) Evidence(ctx context.Context, a Agent) ([]Signal, error) {
	now := r.timestamp()
	out := a.keySignals(now)
	for _, d := range a.Domains {
		out = append(out, d.domainSignal())
	}
	for _, o := range []struct{ signal, what, cost string }{
		{SignalDID, a.CreatorDID, "control of the web server of that domain"},
		{SignalInbox, a.inboxURL(), "a web server that answers: a few dollars a month; it shows that mail arrives, not at whom"},
		{SignalAGIS, "documents of the proved domains", "control of the web server of that domain"},
		{SignalRepository, a.CodeRepository, "an account at the host of the repository; it shows who keeps it, not that the agent runs this code"},
	} {
		if s, ok := a.observedSignal(o.signal, o.what, now); ok {
			s.Cost = o.cost
			out = append(out, s)
		}
	}
	attested, err := r.attestationSignal(ctx, a)
	if err != nil {
		return nil, err
	}
	out = append(append(out, attested), a.claimSignals()...)
	for i, s := range out {
		if s.Source == "" { // nobody has looked: it was said, and where stands in the history
			out[i].Source = historyPath(a.AirID)
		}
		if s.Date.IsZero() {
			out[i].Date = a.Updated
		}
	}
	return out, nil
}

func historyPath(airID string) string { return "/api/v1/agents/" + airID + "/history" }

func (a Agent) keySignals(now time.Time) []Signal {
	if len(a.PublicKey) == 0 {
		return []Signal{{Signal: SignalKey, Grade: Claimed, What: a.CreatorDID, Detail: "no key on file", Cost: "nothing: a text field"}}
	}
	history := historyPath(a.AirID)
	key := Signal{Signal: SignalKey, Grade: Claimed, What: a.multikey(), Detail: "nobody has shown to hold the private half", Date: a.keySince(), Cost: "nothing: a text field"}
	if a.KeyProof != "" {
		key = Signal{Signal: SignalKey, Grade: Proved, Holds: true, What: a.multikey(), Detail: "by " + a.KeyProof, Source: history, Date: a.keySince(),
			Cost: "making a key costs nothing; having this one takes its private half"}
	}
	age := now.Sub(a.keySince())
	return []Signal{key, {Signal: SignalAge, Grade: Observed, Holds: age >= minKeyAge, What: fmt.Sprintf("%d days", int(age.Hours()/24)), Source: history,
		Date: a.keySince(), Cost: "waiting: it cannot be hurried"}}
}

func (d Domain) domainSignal() Signal {
	s := Signal{Signal: SignalDomain, Grade: Claimed, What: d.Name, Date: d.Checked, Cost: "nothing: a text field"}
	if len(d.Probes) > 0 {
		last := d.Probes[len(d.Probes)-1]
		s.Source, s.Detail = last.Query, last.String()
	}
	switch {
	case d.proved():
		s.Grade, s.Holds = Proved, true
		s.Cost = "registering a domain, some ten dollars a year, or control of its name servers or web server"
	case !d.Withdrawn.IsZero():
		s.Detail = "withdrawn on " + formatSecond(d.Withdrawn) + ": " + s.Detail
	}
	return s
}

// observedSignal returns the signal of an observation, or of the claim that nobody
// has looked at; false when the agent says nothing of the sort.
func (a Agent) observedSignal(signal, what string, now time.Time) (Signal, bool) {
	o, seen := a.Observed[signal]
	if !seen {
		if what == "" || signal == SignalDID || signal == SignalAGIS {
			return Signal{}, false
		}
		return Signal{Signal: signal, Grade: Claimed, What: what, Detail: "not looked at yet"}, true
	}
	s := Signal{Signal: signal, Grade: Observed, Holds: o.Holds && now.Sub(o.At) < maxObserved, What: what, Detail: o.Detail, Source: o.Source, Date: o.At}
	if !s.Holds {
		s.Grade = Claimed
	}
	return s, true
}

// attestationSignal counts the registrable domains of the attesters. Whoever the agent
// attests in turn, itself or through others, is not counted: rings cost nothing.
func (r *Registry) attestationSignal(ctx context.Context, a Agent) (Signal, error) {
	s := Signal{Signal: SignalAttestations, Grade: Proved, Source: "/api/v1/agents/" + a.AirID + "/attestations",
		Cost: "one registrable domain for each, and 30 days of waiting"}
	about, err := r.loadAttestations(ctx, a.Attested)
	if err != nil {
		return s, err
	}
	roots, rings := map[string]bool{}, 0
	for _, t := range about {
		if !t.Revoked.IsZero() {
			continue
		}
		ring := t.Weight == 0
		if !ring {
			if ring, err = r.attestsTransitively(ctx, a, t.Attester); err != nil {
				return s, err
			}
		}
		if ring {
			rings++
			continue
		}
		if roots[t.Root] = true; t.Created.After(s.Date) {
			s.Date = t.Created
		}
	}
	if s.Date.IsZero() { // none has counted since then
		s.Date = a.Created
	}
	s.Holds, s.What = len(roots) > 0, fmt.Sprintf("%d domains", len(roots))
	if rings > 0 {
		s.Detail = fmt.Sprintf("%d more are not counted: the agent attests them in turn, itself or through others", rings)
	}
	return s, nil
}

// claimSignals lists what anybody can write into their record.
func (a Agent) claimSignals() []Signal {
	var out []Signal
	claim := func(field, what string) {
		if what != "" {
			out = append(out, Signal{Signal: SignalClaims, Grade: Claimed, What: field + ": " + what, Date: a.Updated, Cost: "nothing: a text field"})
		}
	}
	claim("name", a.Name)
	claim("creator_name", a.CreatorName)
	if a.CreatorType == "organization" {
		claim("creator_type", a.CreatorType)
	}
	claim("security_certifications", strings.Join(a.SecurityCertifications, ", "))
	if a.OpenSource {
		claim("open_source", "true")
	}
	claim("documentation_url", a.DocumentationURL)
	return out
}

// ParseRequire reads the evidence that a caller asks for: names of signals with
// commas between, "domain,inbox". The error is an [*Error].
func ParseRequire(text string) ([]string, error) {
	var out []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if name == "" && strings.TrimSpace(text) == "" {
			return nil, nil
		}
		if !slices.Contains(requirableSignals, name) {
			return nil, &Error{Field: "require", Code: "value", Message: fmt.Sprintf("%q is no evidence that can be required", clipText(name)),
				Help: "write one or more of " + strings.Join(requirableSignals, ", ") + ", with commas between"}
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// MissingSignals returns those of the required signals that do not hold of an agent now,
// neither proved nor observed. The error is that of the store.
func (r *Registry) MissingSignals(ctx context.Context, a Agent, require []string) ([]string, error) {
	now := r.timestamp()
	var lacking []string
	for _, name := range require {
		holds := false
		if name != SignalAttestations {
			holds = a.holdsSignal(name, now)
		} else if a.Standing.Roots > 0 {
			attested, err := r.attestationSignal(ctx, a)
			if err != nil {
				return nil, err
			}
			holds = attested.Holds
		}
		if !holds {
			lacking = append(lacking, name)
		}
	}
	return lacking, nil
}

// holdsSignal reports whether a signal holds that the record of an agent alone tells:
// any but [SignalAttestations], which depends on whom others attest.
func (a Agent) holdsSignal(name string, now time.Time) bool {
	switch name {
	case SignalKey:
		return a.KeyProof != ""
	case SignalAge:
		return len(a.PublicKey) > 0 && now.Sub(a.keySince()) >= minKeyAge
	case SignalDomain:
		return slices.ContainsFunc(a.Domains, Domain.proved)
	}
	o := a.Observed[name]
	return o.Holds && now.Sub(o.At) < maxObserved
}
