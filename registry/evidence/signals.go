package evidence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/registry"
)

// A Signal is one piece of evidence about an agent. What, Detail and Source may quote untrusted
// texts: escape them on output.
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

// Evidence returns the evidence about an agent, the strongest first in each kind, claims included.
// The error is that of the store.
func (e *Collector) Evidence(ctx context.Context, a registry.Agent) ([]Signal, error) {
	now := e.registry.Timestamp()
	out := keySignals(a, now)
	for _, d := range a.Domains {
		out = append(out, domainSignal(d))
	}
	for _, o := range []struct{ signal, what, cost string }{
		{registry.SignalDID, a.CreatorDID, "control of the web server of that domain"},
		{registry.SignalInbox, a.InboxURL(), "a web server that answers: a few dollars a month; it shows that mail arrives, not who receives it"},
		{registry.SignalAGIS, "documents of the proved domains", "control of the web server of that domain"},
		{registry.SignalRepository, a.CodeRepository, "an account at the host of the repository; it shows the owner, not that the agent runs this code"},
	} {
		if s, ok := observedSignal(a, o.signal, o.what, now); ok {
			s.Cost = o.cost
			out = append(out, s)
		}
	}
	attested, err := e.attestationSignal(ctx, a)
	if err != nil {
		return nil, err
	}
	out = append(append(out, attested), claimSignals(a)...)
	for i, s := range out {
		if s.Source == "" { // it was not checked; the history has the claim and its source
			out[i].Source = historyPath(a.AirID)
		}
		if s.Date.IsZero() {
			out[i].Date = a.Updated
		}
	}
	return out, nil
}

func historyPath(airID string) string { return "/api/v1/agents/" + airID + "/history" }

func keySignals(a registry.Agent, now time.Time) []Signal {
	if len(a.PublicKey) == 0 {
		return []Signal{{Signal: registry.SignalKey, Grade: registry.Claimed, What: a.CreatorDID, Detail: "no key on file", Cost: "nothing: a text field"}}
	}
	history := historyPath(a.AirID)
	key := Signal{Signal: registry.SignalKey, Grade: registry.Claimed, What: a.Multikey(), Detail: "possession of the private key is not proved", Date: a.CurrentKeySince(), Cost: "nothing: a text field"}
	if a.KeyProof != "" {
		key = Signal{Signal: registry.SignalKey, Grade: registry.Proved, Holds: true, What: a.Multikey(), Detail: "by " + a.KeyProof, Source: history, Date: a.CurrentKeySince(),
			Cost: "making a key costs nothing; using this one requires its private key"}
	}
	age := now.Sub(a.KeyKnownSince())
	known := Signal{Signal: registry.SignalAge, Grade: registry.Observed, Holds: age >= registry.MinKeyAge, What: fmt.Sprintf("%d days", int(age.Hours()/24)), Source: history,
		Date: a.KeyKnownSince(), Cost: "waiting: it cannot be hurried"}
	if before := a.CurrentKeySince(); before.Before(known.Date) {
		known.Detail = "in use since " + registry.FormatSecond(before) + " according to " + a.Origin + ", where it was imported from"
	}
	return []Signal{key, known}
}

// freeNameCost is the cost of a name below the domain of a provider.
const freeNameCost = "an account at the provider of the name, which may cost nothing"

func domainSignal(d registry.Domain) Signal {
	s := Signal{Signal: registry.SignalDomain, Grade: registry.Claimed, What: d.Name, Date: d.Checked, Cost: "nothing: a text field"}
	if len(d.Probes) > 0 {
		last := d.Probes[len(d.Probes)-1]
		s.Source, s.Detail = last.Query, last.String()
	}
	switch {
	case d.Proved():
		s.Grade, s.Holds = registry.Proved, true
		s.Cost = "registering a domain, some ten dollars a year, or control of its name servers or web server"
		if registry.CountedRoot(d.Name) == registry.FreeNames {
			s.Cost = freeNameCost
		}
	case !d.Withdrawn.IsZero():
		s.Detail = "withdrawn on " + registry.FormatSecond(d.Withdrawn) + ": " + s.Detail
	}
	return s
}

// observedSignal returns the signal of an observation, or of a claim that was not checked yet. It
// is false when the agent claims nothing of that kind.
func observedSignal(a registry.Agent, signal, what string, now time.Time) (Signal, bool) {
	o, seen := a.Observation(signal)
	if !seen {
		if what == "" || signal == registry.SignalDID || signal == registry.SignalAGIS {
			return Signal{}, false
		}
		return Signal{Signal: signal, Grade: registry.Claimed, What: what, Detail: "not checked yet"}, true
	}
	s := Signal{Signal: signal, Grade: registry.Observed, Holds: a.HoldsSignal(signal, now), What: what, Detail: o.Detail, Source: o.Source, Date: o.At}
	if !s.Holds {
		s.Grade = registry.Claimed
		if o.Holds && signal == registry.SignalDID && a.KeyProof == "" {
			s.Detail += ", but possession of the private key is not proved"
		}
	}
	return s, true
}

// attestationSignal counts the registrable domains of the attesters. It leaves out attesters that
// the agent attests in turn, directly or through others, because such rings cost nothing, and those that
// do not show their domain any more.
func (e *Collector) attestationSignal(ctx context.Context, a registry.Agent) (Signal, error) {
	s := Signal{Signal: registry.SignalAttestations, Grade: registry.Proved, Source: "/api/v1/agents/" + a.AirID + "/attestations",
		Cost: "one registrable domain for each, and 30 days of waiting"}
	about, err := e.registry.LoadAttestations(ctx, a.Attested)
	if err != nil {
		return s, err
	}
	names, roots, rings, ended := map[string]bool{}, map[string]bool{}, 0, 0
	for _, t := range about {
		if !t.Revoked.IsZero() {
			continue
		}
		ring := t.Weight == 0
		if !ring {
			if ring, err = e.graph.AttestsTransitively(ctx, a, t.Attester); err != nil {
				return s, err
			}
		}
		if ring {
			rings++
			continue
		}
		attester, _, err := e.registry.LoadAgent(ctx, t.Attester)
		if err != nil && !errors.Is(err, registry.ErrNoAgent) {
			return s, err
		}
		if !slices.Contains(attester.ShownRoots(), t.Root) {
			ended++
			continue
		}
		names[t.Root], roots[registry.CountedRoot(t.Root)] = true, true
		if t.Created.After(s.Date) {
			s.Date = t.Created
		}
	}
	if s.Date.IsZero() { // none has counted since then
		s.Date = a.Created
	}
	s.Holds = len(roots) > 0
	switch len(roots) {
	case 0:
		s.What = "none by an agent with a proved domain"
	case 1:
		s.What = "by agents of 1 domain"
	default:
		s.What = fmt.Sprintf("by agents of %d domains", len(roots))
	}
	if len(roots) == 1 && roots[registry.FreeNames] {
		s.Cost = freeNameCost + ", and 30 days of waiting"
	}
	var omitted []string
	if n := len(names) - len(roots); n > 0 {
		omitted = append(omitted, fmt.Sprintf("%d names of providers, such as a.github.io, count as one domain", n+1))
	}
	if rings > 0 {
		omitted = append(omitted, fmt.Sprintf("%d more are not counted: the agent attests them in turn, itself or through others", rings))
	}
	if ended > 0 {
		omitted = append(omitted, fmt.Sprintf("%d more are not counted: the attester is suspended, or has not proved its domain again", ended))
	}
	s.Detail = strings.Join(omitted, "; ")
	return s, nil
}

// claimSignals returns the texts that agents can write into their records.
func claimSignals(a registry.Agent) []Signal {
	var out []Signal
	claim := func(field, what string) {
		if what != "" {
			out = append(out, Signal{Signal: registry.SignalClaims, Grade: registry.Claimed, What: field + ": " + what, Date: a.Updated, Cost: "nothing: a text field"})
		}
	}
	claim("name", a.Name)
	claim("creator_name", a.CreatorName)
	if a.CreatorType == "organization" {
		claim("creator_type", a.CreatorType)
	}
	for _, m := range registry.EditableMembers() {
		if m.Claim {
			claim(m.Name, m.Format(a))
		}
	}
	return out
}

// MissingSignals returns the required signals that do not hold for an agent now. The error is that
// of the store.
func (e *Collector) MissingSignals(ctx context.Context, a registry.Agent, require []string) ([]string, error) {
	now := e.registry.Timestamp()
	var lacking []string
	for _, name := range require {
		holds := false
		if name != registry.SignalAttestations {
			holds = a.HoldsSignal(name, now)
		} else if a.Standing.Roots > 0 {
			attested, err := e.attestationSignal(ctx, a)
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
