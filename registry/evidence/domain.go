package evidence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gazetteer/internal/psl"
	"gazetteer/limit"
	"gazetteer/registry"
)

const (
	// DomainLabel is the first label in the name of a domain's TXT record.
	DomainLabel = "_gazetteer"
	// DomainFile is the path of the file that can replace a TXT record.
	DomainFile = "/.well-known/gazetteer-agents"

	maxDomainFile = 64 << 10 // bytes
	maxFailures   = 3        // in a row, before a proof is withdrawn
)

// parseDomainRecord returns the DID and the key of a published value, "" for another value. It
// ignores what editors add: a byte order mark, spaces, and the quotation marks of a zone file.
func parseDomainRecord(value string) (id, multikey string) {
	value = strings.Trim(strings.TrimPrefix(value, "\ufeff"), "\" \t")
	rest, ok := strings.CutPrefix(value, registry.DomainRecordPrefix)
	if !ok {
		return "", ""
	}
	parts := strings.FieldsFunc(rest, func(c rune) bool { return c == ';' || c == ' ' || c == '\t' })
	if len(parts) == 0 {
		return "", ""
	}
	for _, part := range parts[1:] {
		if text, ok := strings.CutPrefix(part, "key="); ok {
			multikey = text
		}
	}
	return parts[0], multikey
}

// ProveDomain notes that an agent claims a domain, and checks at once whether the owner of the
// domain names the agent. It returns the domain with the questions and answers of the check.
// [registry.Domain.Since] is zero while the domain is not proved; it is then checked again within
// the hour. The error is that of [registry.Registry.Update]; a domain that is not proved is not an
// error.
func (e *Collector) ProveDomain(ctx context.Context, airID, domain string, who registry.Credentials) (registry.Domain, registry.Agent, error) {
	name, err := registry.CheckDomain(domain)
	if err != nil {
		return registry.Domain{}, registry.Agent{}, err
	}
	agent, err := e.registry.ChangeAgent(ctx, airID, func(c *registry.Change) error {
		authority, err := authorizeDomains(ctx, c, who)
		if err != nil {
			return err
		}
		if len(c.Agent.PublicKey) == 0 {
			return registry.ErrNoKey
		}
		if wait := e.proofLimiter.reserveProof(psl.Domain(name), airID, c.Now); wait > 0 {
			return &registry.Refusal{Kind: registry.ErrTooMany, Code: "domain-busy", Message: "the domain " + psl.Domain(name) + " was checked very often within the last minutes",
				Help: "wait a moment; the registry also checks it again by itself", Wait: wait}
		}
		if exceeded, ok := errors.AsType[*limit.ExceededError](e.checks.TakeKey(ctx, airID)); ok {
			return &registry.Refusal{Kind: registry.ErrTooMany, Code: "proofs-all", Message: "very many domains are being checked", Help: "wait for the time in Retry-After; the registry also checks again by itself", Wait: exceeded.Wait}
		}
		i := slices.IndexFunc(c.Agent.Domains, func(d registry.Domain) bool { return d.Name == name })
		switch {
		case i >= 0 && c.Agent.Domains[i].Withdrawn.IsZero(): // a repeated request: only the check below is new
		case i >= 0:
			c.Agent.Domains[i] = registry.Domain{Name: name, Requested: c.Now}
		case len(c.Agent.Domains) >= registry.MaxDomains:
			return &registry.Refusal{Kind: registry.ErrState, Code: "domains-many", Message: fmt.Sprintf("the agent has %d domains already", registry.MaxDomains), Help: "give one up first"}
		default:
			c.Agent.Domains = append(c.Agent.Domains, registry.Domain{Name: name, Requested: c.Now})
		}
		return c.AddEntry(registry.HistoryEntry{Event: registry.EventDomain, Actor: registry.ActorOwner, Fields: []string{"domains"}, Authority: authority})
	})
	if err != nil {
		return registry.Domain{}, registry.Agent{}, err
	}
	check := e.probeDomain(ctx, agent, name)
	if ctx.Err() != nil {
		return registry.Domain{}, registry.Agent{}, ctx.Err()
	}
	agent, err = e.registry.ChangeAgent(ctx, airID, func(c *registry.Change) error {
		return recordProbes(c, name, check)
	})
	if err != nil {
		return registry.Domain{}, registry.Agent{}, err
	}
	i := slices.IndexFunc(agent.Domains, func(d registry.Domain) bool { return d.Name == name })
	if i < 0 { // given up meanwhile
		return registry.Domain{}, agent, nil
	}
	e.log.Info("domain checked", "air_id", airID, "domain", name, "proved", agent.Domains[i].Proved())
	return agent.Domains[i], agent, nil
}

// RemoveDomain removes a domain from an agent. The error is that of [registry.Registry.Update].
func (e *Collector) RemoveDomain(ctx context.Context, airID, domain string, who registry.Credentials) (registry.Agent, error) {
	return e.registry.ChangeAgent(ctx, airID, func(c *registry.Change) error {
		authority, err := authorizeDomains(ctx, c, who)
		if err != nil {
			return err
		}
		before := len(c.Agent.Domains)
		c.Agent.Domains = slices.DeleteFunc(c.Agent.Domains, func(d registry.Domain) bool { return strings.EqualFold(d.Name, strings.TrimSpace(domain)) })
		if len(c.Agent.Domains) == before {
			return &registry.Refusal{Kind: registry.ErrNotFound, Code: "domain-unknown", Message: "the agent has no such domain", Help: listDomains(c.Agent)}
		}
		return c.AddEntry(registry.HistoryEntry{Event: registry.EventDomain, Actor: registry.ActorOwner, Fields: []string{"domains"}, Authority: authority})
	})
}

// listDomains says which domains an agent has.
func listDomains(a registry.Agent) string {
	if len(a.Domains) == 0 {
		return "it has none"
	}
	var names []string
	for _, d := range a.Domains {
		names = append(names, d.Name)
	}
	return "it has " + strings.Join(names, ", ")
}

// authorizeDomains authorizes a change of an agent's domains. They are evidence that others rely on,
// so a thief of the key cannot change them while a recovery is pending.
func authorizeDomains(ctx context.Context, c *registry.Change, who registry.Credentials) (*registry.Authority, error) {
	authority, err := c.AuthorizeOwner(ctx, who)
	if err != nil {
		return nil, err
	}
	return authority, c.Agent.CheckNoRecovery()
}

// A domainCheck is the result of a check that began when the agent had that key.
type domainCheck struct {
	multikey  string
	method    string // "": the domain does not name the agent
	probes    []registry.Probe
	answered  map[string]bool // the methods by which the domain answered every question
	scheduled bool
	contested bool // another agent has proved the domain since
}

// recordProbes stores the result of a check. It adds an entry when the check proves or withdraws the
// domain. The failure of a check that was not scheduled does not count against a proof, and delays
// no scheduled check: an owner may repeat it at any time. A contested proof is withdrawn as soon as
// the domain does not name the agent and answers where it did: a failure to answer says nothing about
// its owner.
func recordProbes(c *registry.Change, name string, check domainCheck) error {
	i := slices.IndexFunc(c.Agent.Domains, func(d registry.Domain) bool { return d.Name == name })
	if i < 0 || c.Agent.Status != registry.Active || !c.Agent.Domains[i].Withdrawn.IsZero() {
		return nil
	}
	d := &c.Agent.Domains[i]
	lost := check.method == "" && check.contested && check.answered[d.Method]
	if check.method == "" && !check.scheduled && !lost && d.Proved() {
		d.Probes = check.probes
		return nil
	}
	wasAhead := d.Checked.After(c.Now) // the clock: the interval since the last check has not passed
	d.Checked, d.Probes = c.Now, check.probes
	if check.method == "" {
		if wasAhead && !lost {
			return nil
		}
		if d.Failures++; d.Failures < maxFailures && !lost {
			return nil
		}
		d.Withdrawn = c.Now
		return c.AddEntry(registry.HistoryEntry{Event: registry.EventDomain, Actor: registry.ActorSystem, Fields: []string{"domains"}})
	}
	changed := d.Since.IsZero() || d.Key != check.multikey || d.Method != check.method
	d.Failures, d.Method, d.Key = 0, check.method, check.multikey
	if d.Since.IsZero() {
		d.Since = c.Now
	}
	if !changed {
		return nil
	}
	return c.AddEntry(registry.HistoryEntry{Event: registry.EventDomain, Actor: registry.ActorSystem, Fields: []string{"domains"}})
}

// probeDomain checks whether the owner of a domain names the agent: by TXT records at both names,
// then by the file.
func (e *Collector) probeDomain(ctx context.Context, a registry.Agent, name string) domainCheck {
	check := domainCheck{multikey: a.Multikey(), answered: map[string]bool{}}
	want := e.registry.DomainRecord(a)
	if e.dns != nil {
		check.answered["dns"] = true
		for _, at := range []string{DomainLabel + "." + name, name} {
			l, answered := ProbeTXT(ctx, e.dns, at, want, evaluateValues)
			if check.probes = append(check.probes, l); l.Found {
				check.method = "dns"
				return check
			}
			check.answered["dns"] = check.answered["dns"] && answered
		}
	}
	if e.web != nil {
		l, answered := ProbeFile(ctx, e.web, "https://"+name+DomainFile, maxDomainFile, want, evaluateValues)
		if check.probes = append(check.probes, l); l.Found {
			check.method = "https"
			return check
		}
		check.answered["https"] = answered
	}
	if len(check.probes) == 0 {
		check.probes = []registry.Probe{{Query: registry.NoProbe, Expected: want, Problem: "no request was sent, because this registry asks no other hosts; once its operator lets it look up names and pages, the domain can be proved"}}
	}
	return check
}

// evaluateValues compares the published values with the expected one.
func evaluateValues(l *registry.Probe, values []string, none string) {
	id, multikey := parseDomainRecord(l.Expected)
	l.Problem = "no value names the agent"
	if len(values) == 0 {
		l.Problem = none
	}
	var about []string // values that say something of agents are shown first
	var others []string
	for _, v := range values {
		gotID, gotKey := parseDomainRecord(v)
		switch {
		case gotID == id && gotKey == multikey:
			l.Found, l.Problem = true, ""
			ShowValues(l, []string{v})
			l.OmittedValues = len(values) - 1
			return
		case gotID == id:
			l.Problem = "the agent is named with another key; after a rotation the new one must be published"
			about = append([]string{v}, about...)
		case gotID != "":
			about = append(about, v)
		default:
			others = append(others, v)
		}
	}
	ShowValues(l, append(about, others...))
}
