package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"gazetteer/fetch"
	"gazetteer/protocol/did"
	"gazetteer/registry/resolve"
)

const (
	// DomainLabel stands before a domain in the name of its TXT record.
	DomainLabel = "_gazetteer"
	// DomainFile is the path of the file that takes the place of a TXT record.
	DomainFile = "/.well-known/gazetteer-agents"

	maxDomains     = 5        // of one agent
	maxDomainFile  = 64 << 10 // bytes
	maxShown       = 10       // values that a look shows
	maxValue       = 300      // bytes of one that it shows
	maxFailures    = 3        // in a row, before a proof is withdrawn
	defaultRecheck = 24 * time.Hour
)

// A Domain is one whose control an agent shows: its owner published the agent's
// DID and key there, and the agent asked for it. It is looked at again and again.
type Domain struct {
	Name string `json:"name"`
	// Method is how it was proved last, "dns" or "https"; "" before.
	Method string `json:"method,omitempty"`
	// Key is the multikey that was found there.
	Key       string    `json:"key,omitempty"`
	Requested time.Time `json:"asked"`
	// Since is when it was proved first; zero before.
	Since   time.Time `json:"since,omitzero"`
	Checked time.Time `json:"checked,omitzero"`
	// Failures are those in a row; with the third the proof is withdrawn.
	Failures  int       `json:"failures,omitempty"`
	Withdrawn time.Time `json:"withdrawn,omitzero"`
	// Probes are the last check, step by step.
	Probes []Probe `json:"looks,omitempty"`
}

// Proved reports whether the domain counts: it was proved and not withdrawn.
func (d Domain) Proved() bool { return d.proved() }

func (d Domain) proved() bool { return !d.Since.IsZero() && d.Withdrawn.IsZero() }

// A Look is one thing that was asked to prove a domain. All but Asked may quote
// the answer of a stranger.
type Probe struct {
	Query         string   `json:"asked"`           // "TXT _gazetteer.example.com"
	Server        string   `json:"where,omitempty"` // the server or address that answered
	Values        []string `json:"got,omitempty"`   // at most ten values, each cut at 300 bytes
	OmittedValues int      `json:"more,omitempty"`  // how many values are not shown
	Expected      string   `json:"expected"`
	Found         bool     `json:"found"`
	Problem       string   `json:"problem,omitempty"` // why it is not what is expected
}

// String tells the look in one line.
func (l Probe) String() string {
	text := l.Query
	if l.Server != "" {
		text += " at " + l.Server
	}
	if l.Found {
		return text + ": found"
	}
	text += ": " + l.Problem
	if len(l.Values) > 0 {
		text += ": got " + strconv.Quote(strings.Join(l.Values, " | "))
		if l.OmittedValues > 0 {
			text += fmt.Sprintf(" and %d more", l.OmittedValues)
		}
	}
	return text
}

// DomainRecord is what the owner of a domain publishes for an agent: as one
// value of a TXT record at _gazetteer before the domain or at the domain itself,
// or as one line of the file [DomainFile] over HTTPS. Other values and lines may
// stand beside it.
func (r *Registry) DomainRecord(a Agent) string {
	return DomainRecordFor(r.DID(a.AirID), a.multikey())
}

// DomainRecordFor is what the owner of a domain publishes for the agent with that DID and
// key in use.
func DomainRecordFor(id, multikey string) string {
	return domainRecordPrefix + id + "; key=" + multikey
}

// domainRecordPrefix is what a value that names an agent begins with.
const domainRecordPrefix = "gazetteer-agent="

// parseDomainRecord reads what a published value says: the DID and the key, "" for
// another value. What editors put around it means nothing: the mark at the
// beginning of a file, spaces, the quotation marks of a zone file.
func parseDomainRecord(value string) (id, multikey string) {
	value = strings.Trim(strings.TrimPrefix(value, "\ufeff"), "\" \t")
	rest, ok := strings.CutPrefix(value, domainRecordPrefix)
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

// checkDomain folds a domain to be proved.
func checkDomain(text string) (string, error) {
	name := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), ".")
	refuse := func(message, help string) (string, error) {
		return "", &Error{Field: "domain", Code: "value", Message: "Invalid domain: " + message, Help: help}
	}
	if e, ok := errors.AsType[*did.Error](did.CheckDomain(name)); ok {
		return refuse(e.Message, e.Help)
	}
	if err := checkPublicHost(name); err != nil {
		return refuse(err.Error(), "use a name that others can resolve")
	}
	if _, err := publicsuffix.EffectiveTLDPlusOne(name); err != nil {
		return refuse(name+" is a suffix under which others register", "prove the domain that is your own")
	}
	return name, nil
}

// ProveDomain notes that an agent claims a domain and looks at once whether its
// owner says so too. The domain is returned as it is noted, with what was asked
// and what came back; [Domain.Since] is zero while it is not proved, and it is
// looked at again within the hour. The error is as that of [Registry.Update];
// that nothing was found is none.
func (r *Registry) ProveDomain(ctx context.Context, airID, domain string, who Credentials) (Domain, Agent, error) {
	name, err := checkDomain(domain)
	if err != nil {
		return Domain{}, Agent{}, err
	}
	agent, err := r.changeAgent(ctx, airID, func(c *change) error {
		authority, err := c.authorizeOwner(ctx, who)
		if err != nil {
			return err
		}
		if len(c.agent.PublicKey) == 0 {
			return ErrNoKey
		}
		if wait := r.proofLimiter.reserveProof(registrableDomain(name), c.now); wait > 0 {
			return &Refusal{Kind: ErrTooMany, Code: "domain-busy", Message: "the domain " + registrableDomain(name) + " was looked at very often within the last minutes",
				Help: "wait a moment; it is looked at again by itself, too", Wait: wait}
		}
		i := slices.IndexFunc(c.agent.Domains, func(d Domain) bool { return d.Name == name })
		switch {
		case i >= 0 && c.agent.Domains[i].Withdrawn.IsZero():
			// Asked again: only the look below is new.
			return c.addEntry(Entry{Event: EventDomain, Actor: ActorOwner, Fields: []string{"domains"}, Authority: authority})
		case i >= 0:
			c.agent.Domains[i] = Domain{Name: name, Requested: c.now}
		case len(c.agent.Domains) >= maxDomains:
			return &Refusal{Kind: ErrState, Code: "domains-many", Message: fmt.Sprintf("the agent has %d domains already", maxDomains), Help: "give one up first"}
		default:
			c.agent.Domains = append(c.agent.Domains, Domain{Name: name, Requested: c.now})
		}
		return c.addEntry(Entry{Event: EventDomain, Actor: ActorOwner, Fields: []string{"domains"}, Authority: authority})
	})
	if err != nil {
		return Domain{}, Agent{}, err
	}
	looks, method := r.probeDomain(ctx, agent, name)
	if ctx.Err() != nil {
		return Domain{}, Agent{}, ctx.Err()
	}
	agent, err = r.changeAgent(ctx, airID, func(c *change) error { return c.recordProbes(name, agent.multikey(), method, looks) })
	if err != nil {
		return Domain{}, Agent{}, err
	}
	i := slices.IndexFunc(agent.Domains, func(d Domain) bool { return d.Name == name })
	if i < 0 { // given up meanwhile
		return Domain{}, agent, nil
	}
	r.log.Info("domain looked at", "air_id", airID, "domain", name, "proved", agent.Domains[i].proved())
	return agent.Domains[i], agent, nil
}

// RemoveDomain takes a domain from an agent.
func (r *Registry) RemoveDomain(ctx context.Context, airID, domain string, who Credentials) (Agent, error) {
	return r.changeAgent(ctx, airID, func(c *change) error {
		authority, err := c.authorizeOwner(ctx, who)
		if err != nil {
			return err
		}
		before := len(c.agent.Domains)
		c.agent.Domains = slices.DeleteFunc(c.agent.Domains, func(d Domain) bool { return strings.EqualFold(d.Name, strings.TrimSpace(domain)) })
		if len(c.agent.Domains) == before {
			return &Refusal{Kind: ErrNotFound, Code: "domain-unknown", Message: "the agent has no such domain"}
		}
		return c.addEntry(Entry{Event: EventDomain, Actor: ActorOwner, Fields: []string{"domains"}, Authority: authority})
	})
}

// recordProbes notes what a look at a domain brought, done when the agent had that
// key. An entry is made when it is proved or withdrawn by it.
func (c *change) recordProbes(name, multikey, method string, looks []Probe) error {
	i := slices.IndexFunc(c.agent.Domains, func(d Domain) bool { return d.Name == name })
	if i < 0 || c.agent.Status != Active || !c.agent.Domains[i].Withdrawn.IsZero() {
		return nil
	}
	d := &c.agent.Domains[i]
	d.Checked, d.Probes = c.now, looks
	if method == "" {
		if d.Failures++; d.Failures < maxFailures {
			return nil
		}
		d.Withdrawn = c.now
		return c.addEntry(Entry{Event: EventDomain, Actor: ActorSystem, Fields: []string{"domains"}})
	}
	changed := d.Since.IsZero() || d.Key != multikey || d.Method != method
	d.Failures, d.Method, d.Key = 0, method, multikey
	if d.Since.IsZero() {
		d.Since = c.now
	}
	if !changed {
		return nil
	}
	return c.addEntry(Entry{Event: EventDomain, Actor: ActorSystem, Fields: []string{"domains"}})
}

// probeDomain asks whether the owner of a domain names the agent: TXT at both
// names, then the file. Method is "" when nobody says so.
func (r *Registry) probeDomain(ctx context.Context, a Agent, name string) (looks []Probe, method string) {
	want := r.DomainRecord(a)
	if r.dns != nil {
		for _, at := range []string{DomainLabel + "." + name, name} {
			l := r.probeTXT(ctx, at, want)
			if looks = append(looks, l); l.Found {
				return looks, "dns"
			}
		}
	}
	if r.web != nil {
		l := r.probeFile(ctx, name, want)
		if looks = append(looks, l); l.Found {
			return looks, "https"
		}
	}
	if len(looks) == 0 {
		looks = []Probe{{Query: "nothing", Expected: want, Problem: "this registry asks no other hosts"}}
	}
	return looks, ""
}

func (r *Registry) probeTXT(ctx context.Context, name, want string) Probe {
	l := Probe{Query: "TXT " + name, Expected: want}
	values, server, err := r.dns.TXT(ctx, name)
	l.Server = server
	if err != nil {
		l.Problem = "the name server did not answer as it should: " + clipText(err.Error())
		return l
	}
	l.evaluateValues(values, "the name has no TXT record")
	return l
}

func (r *Registry) probeFile(ctx context.Context, name, want string) Probe {
	address := "https://" + name + DomainFile
	l := Probe{Query: "GET " + address, Expected: want}
	page, err := r.web.Get(ctx, address, "text/plain", maxDomainFile)
	l.Server = page.Remote
	large, tooLarge := errors.AsType[*resolve.TooLargeError](err)
	switch {
	case tooLarge:
		l.Problem = large.Error()
		return l
	case err != nil:
		l.Problem = "there was no whole answer: " + clipText(fetch.Reason(err))
		return l
	case page.Location != "":
		l.Problem = fmt.Sprintf("it answered %d and leads to %s; redirects are not followed", page.Status, clipText(page.Location))
		return l
	case page.Status != http.StatusOK:
		l.Problem = fmt.Sprintf("it answered %d", page.Status)
		return l
	}
	lines := strings.FieldsFunc(strings.ToValidUTF8(string(page.Body), "\uFFFD"), func(c rune) bool { return c == '\n' || c == '\r' })
	l.evaluateValues(lines, "the file is empty")
	return l
}

// evaluateValues compares what is published with what is expected.
func (l *Probe) evaluateValues(values []string, none string) {
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
			l.Found, l.Problem, l.Values, l.OmittedValues = true, "", []string{clipValue(v)}, len(values)-1
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
	shown := append(about, others...)
	l.OmittedValues = max(0, len(shown)-maxShown)
	for _, v := range shown[:len(shown)-l.OmittedValues] {
		l.Values = append(l.Values, clipValue(v))
	}
}

func clipValue(v string) string {
	v = strings.ToValidUTF8(v, "\uFFFD")
	if len(v) > maxValue {
		v = strings.ToValidUTF8(v[:maxValue], "") + "…"
	}
	return v
}

// Web asks other hosts over HTTPS; [resolve.HTTPS] does.
type Web interface {
	Get(ctx context.Context, address, accept string, limit int) (resolve.Page, error)
	Post(ctx context.Context, address, body string, limit int) (resolve.Page, error)
}

// Resolver finds DID documents; [resolve.Resolver] does.
type Resolver interface {
	Resolve(ctx context.Context, did string) (resolve.Result, error)
}
