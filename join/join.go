package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/internal/cache"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/directory"
	"gazetteer/registry/evidence"
	"gazetteer/registry/registrar"
	"gazetteer/store"
)

// Options of [New]. Store, Registry and Directory are required.
type Options struct {
	Store    store.Store
	Registry *registrar.Registrar
	// Directory finds the registry's agents by host; its maker also runs it.
	Directory *directory.Directory
	// Resolver finds DID documents of other registries. Without it their agents stay unresolved.
	Resolver Resolver
	// Patience is the total time for which a call waits for other registries; 0 means two seconds.
	Patience time.Duration
	Now      func() time.Time // time.Now when nil
}

// A Joiner joins services with agents. Its methods may be called from any goroutine. It starts no
// goroutine and follows no log: it compares what it caches with the store at each call.
type Joiner struct {
	o    Options
	host did.Web // of the registry's DIDs

	namings  *cache.Sized[string, namings]   // by host
	timedOut *cache.Sized[string, time.Time] // DIDs that did not resolve in time, and when
}

const (
	maxCachedHosts = 20_000 // hosts
	maxTimedOut    = 10_000
	defaultTop     = 5
	// maxCandidates limits the agents that are read for a host: those that only claim it, and those
	// with a proof, because any number of agents can claim a host.
	maxCandidates = 20
	maxOmitted    = 5
)

// New returns a joiner.
func New(o Options) (*Joiner, error) {
	if o.Store == nil || o.Registry == nil || o.Directory == nil {
		return nil, errors.New("join: store, registry and directory are needed")
	}
	host, err := did.ParseWeb(o.Registry.RegistryDocument(nil).ID)
	if err != nil {
		return nil, fmt.Errorf("join: the DID of the registry: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	return &Joiner{o: o, host: host,
		namings: cache.New[string, namings](maxCachedHosts), timedOut: cache.New[string, time.Time](maxTimedOut)}, nil
}

// A Want is the caller's requirements on agents. The zero value accepts all.
type Want struct {
	// Require lists evidence that must be proved or observed: see [registry.ParseRequire]. "domain"
	// and "agis" refer to the service in question: its own domain must be proved, its own documents
	// must name the agent.
	Require []string
	// Least is the weakest accepted association; "" means Claimed.
	Least Strength
	// Most is the number of agents of a service that are listed; 0 means 5.
	Most int
	// Admit is called before each DID of another registry is resolved; on an error the DID stays
	// unresolved. If Admit is nil, none is resolved.
	Admit func() error
}

// ParseStrength reads a strength; "" is the weakest one. It returns false for any other text.
func ParseStrength(text string) (Strength, bool) {
	s := cmp.Or(Strength(text), Claimed)
	return s, slices.Contains(strengths, s)
}

// Join returns the agents of each of the hosts, which are DNS names in ASCII lower case. The error
// is that of the store, or of ctx.
func (j *Joiner) Join(ctx context.Context, hosts []string, w Want) (map[string]*Joined, error) {
	w.Least, w.Most = cmp.Or(w.Least, Claimed), cmp.Or(w.Most, defaultTop)
	r := &joinCall{j: j, want: w, named: map[string][]naming{}, agents: map[string]*member{}, signals: map[string][]evidence.Signal{}}
	var foreign []string
	for _, host := range hosts {
		if _, done := r.named[host]; done {
			continue
		}
		list, err := j.documentNamings(ctx, host)
		if err != nil {
			return nil, err
		}
		r.named[host] = list
		for _, n := range list {
			if id, ours := j.localAirID(n); !ours && id != "" && !slices.Contains(foreign, id) {
				foreign = append(foreign, id)
			}
		}
	}
	if len(foreign) > 0 {
		r.foreign = j.resolveAll(ctx, foreign, w)
	}
	out := make(map[string]*Joined, len(r.named))
	for host := range r.named {
		joined, err := r.joinHost(ctx, host)
		if err != nil {
			return nil, err
		}
		out[host] = joined
	}
	return out, ctx.Err()
}

// localAirID returns the AIR ID of an agent of this registry that a document names, or the DID of
// an agent of another registry and false.
func (j *Joiner) localAirID(n naming) (string, bool) {
	if n.DID == "" {
		return n.AirID, true
	}
	if w, err := did.ParseWeb(n.DID); err == nil && w.SameHost(j.host) && n.AirID != "" {
		return n.AirID, true
	}
	return n.DID, false
}

// A joinCall is one call of Join. It reads each record once.
type joinCall struct {
	j       *Joiner
	want    Want
	named   map[string][]naming
	foreign map[string]resolution
	agents  map[string]*member
	signals map[string][]evidence.Signal
}

// A member is an agent of this registry with its current record.
type member struct {
	agent   registry.Agent
	missing []string // the signals that do not hold of it
	err     error    // of [registry.Agent.Resolvable], or that there is none
}

func (r *joinCall) loadMember(ctx context.Context, airID string) (*member, error) {
	if m := r.agents[airID]; m != nil {
		return m, nil
	}
	agent, _, err := r.j.o.Registry.Agent(ctx, airID)
	var refused *registry.Refusal
	switch {
	case err == nil:
		err = agent.Resolvable()
	case !errors.Is(err, registry.ErrNoAgent) && !errors.As(err, &refused):
		return nil, err
	}
	m := &member{agent: agent, err: err}
	if err == nil {
		if m.missing, err = r.j.o.Registry.MissingSignals(ctx, agent, registry.Signals()); err != nil {
			return nil, err
		}
	}
	r.agents[airID] = m
	return m, nil
}

// joinHost joins one host.
func (r *joinCall) joinHost(ctx context.Context, host string) (*Joined, error) {
	out := &Joined{Agents: []ServingAgent{}}
	proved, claimed, more := r.j.o.Directory.AtHost(host, maxCandidates)
	var ids []string // of this registry's agents, each once
	links := map[string][]Link{}
	for _, n := range r.named[host] {
		id, ours := r.j.localAirID(n)
		links[id] = append(links[id], Link{By: LinkDocument, Side: SideService, What: cmp.Or(n.DID, n.AirID), Source: n.url, Detail: "at " + n.Pointer, Date: n.at})
		if ours && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, a := range append(proved, claimed...) {
		if !slices.Contains(ids, a.AirID) {
			ids = append(ids, a.AirID)
		}
	}
	for _, id := range ids {
		m, err := r.loadMember(ctx, id)
		if err != nil {
			return nil, err
		}
		r.addLocalAgent(out, host, id, m, links[id])
	}
	for id, found := range r.foreign {
		if links[id] == nil {
			continue
		}
		if found.gone != "" {
			out.omitAgent(OmittedAgent{DID: id, Why: found.gone})
			continue
		}
		a, meets := r.j.foreignAgent(host, id, links[id], found)
		r.offerAgent(out, a, func(name string) bool { return slices.Contains(meets, name) })
	}
	slices.SortFunc(out.Agents, compareAgents)
	shown := min(len(out.Agents), r.want.Most)
	if out.More = len(out.Agents) - shown; r.want.Least == Claimed {
		out.More += more
	}
	out.Agents = out.Agents[:shown]
	for i := range out.Agents {
		if err := r.addEvidence(ctx, &out.Agents[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out.Omitted, func(a, b OmittedAgent) int { return strings.Compare(a.DID, b.DID) })
	out.Omitted = out.Omitted[:min(len(out.Omitted), maxOmitted)]
	out.explainEmpty()
	return out, nil
}

// addLocalAgent adds one agent of this registry if the caller accepts it.
func (r *joinCall) addLocalAgent(out *Joined, host, airID string, m *member, links []Link) {
	id := r.j.o.Registry.DID(airID)
	if m.err != nil {
		why := m.err.Error()
		if errors.Is(m.err, registry.ErrNoAgent) {
			why = "this registry has no such agent"
		}
		out.omitAgent(OmittedAgent{DID: id, AirID: airID, Why: why})
		return
	}
	links = slices.Clone(links)
	for _, t := range r.j.o.Registry.Associations(m.agent, host) {
		l := Link{By: t.By, Side: SideAgent, What: t.What, Source: t.Source, Detail: t.Detail, Date: t.Date}
		if t.Holds {
			l.Side = SideBoth
		}
		links = append(links, l)
	}
	if len(links) == 0 { // it has changed since the directory saw it
		return
	}
	document := r.j.o.Registry.DIDDocument(m.agent)
	a := ServingAgent{Contact: ContactOf(document), Name: m.agent.Name, Handle: m.agent.Handle, Links: links, UpdatedAt: m.agent.Updated}
	if a.Key != nil {
		a.Key.Since = m.agent.CurrentKeySince()
	}
	a.rankLinks()
	meets := func(name string) bool {
		switch name {
		case registry.SignalDomain:
			return a.Strength == Proved
		case registry.SignalAGIS:
			return slices.ContainsFunc(a.Links, func(l Link) bool { return l.By == LinkDocument })
		}
		return !slices.Contains(m.missing, name)
	}
	for _, name := range registry.Signals() {
		if meets(name) {
			a.signalCount++
		}
	}
	r.offerAgent(out, a, meets)
}

// addEvidence adds the signals of an agent of this registry, without its own statements.
func (r *joinCall) addEvidence(ctx context.Context, a *ServingAgent) error {
	m := r.agents[a.AirID]
	if m == nil || a.Evidence != nil {
		return nil // another registry's
	}
	signals, known := r.signals[a.AirID]
	if !known {
		var err error
		if signals, err = r.j.o.Registry.Evidence(ctx, m.agent); err != nil {
			return err
		}
		signals = slices.DeleteFunc(signals, func(s evidence.Signal) bool { return s.Signal == registry.SignalClaims })
		r.signals[a.AirID] = signals
	}
	a.Evidence = signals
	return nil
}

// offerAgent adds an agent to the result, or to the omitted ones if it does not meet the caller's
// requirements.
func (r *joinCall) offerAgent(out *Joined, a ServingAgent, meets func(signal string) bool) {
	var missing []string
	for _, name := range r.want.Require {
		if !meets(name) {
			missing = append(missing, name)
		}
	}
	switch {
	case slices.Index(strengths, a.Strength) > slices.Index(strengths, r.want.Least):
		out.omitAgent(OmittedAgent{DID: a.DID, AirID: a.AirID, Why: fmt.Sprintf("its association is %s, but %s is required: %s", a.Strength, r.want.Least, a.Says), Missing: missing})
	case len(missing) > 0:
		out.omitAgent(OmittedAgent{DID: a.DID, AirID: a.AirID, Why: "required evidence is missing: " + strings.Join(missing, ", "), Missing: missing})
	default:
		out.Agents = append(out.Agents, a)
	}
}

func (out *Joined) omitAgent(l OmittedAgent) { out.Omitted = append(out.Omitted, l) }

// explainEmpty sets the reason why there is no agent.
func (out *Joined) explainEmpty() {
	switch {
	case len(out.Agents) > 0:
	case len(out.Omitted) == 0:
		out.None = "no document of the service names an agent, and no agent of this registry proves or claims its host"
	default:
		out.None = "all agents of the service are left out: " + out.Omitted[0].Why
	}
}

// rankLinks sorts the links, and sets the strength of the join and its description from them.
func (a *ServingAgent) rankLinks() {
	slices.SortStableFunc(a.Links, func(x, y Link) int { return linkRank(x.By) - linkRank(y.By) })
	has := func(by ...string) *Link {
		i := slices.IndexFunc(a.Links, func(l Link) bool { return slices.Contains(by, l.By) })
		if i < 0 {
			return nil
		}
		return &a.Links[i]
	}
	service, agent := has(LinkDocument), has(evidence.AssociationEndpoint, evidence.AssociationClaim)
	a.Strength = Claimed
	switch l := has(evidence.AssociationDomain, evidence.AssociationParent, LinkDIDHost, evidence.AssociationCreator); {
	case l != nil && l.By == evidence.AssociationDomain:
		a.Strength, a.Says = Proved, "it has proved that the owner of "+l.What+" names it"
	case l != nil && l.By == evidence.AssociationParent:
		a.Strength, a.Says = Proved, "it has proved by DNS that the owner of "+l.What+", above the host, names it"
	case l != nil && l.By == LinkDIDHost:
		a.Strength, a.Says = Proved, "the service names its DID, which is on the service's own host"
	case l != nil:
		a.Strength, a.Says = Mutual, "the DID of its creator is on the host, and the document there lists its key"
	case service != nil && agent != nil:
		a.Strength, a.Says = Mutual, "a document of the service names it, and it names the host"
	case service != nil:
		a.Says = "only the service claims this: its document names the agent"
	case agent != nil && agent.By == evidence.AssociationEndpoint:
		a.Says = "only the agent claims this: it has an endpoint at the host"
	default:
		a.Says = "only the agent claims this: " + cmp.Or(agent.Detail, "it claims "+agent.What)
	}
}

var linkOrder = []string{evidence.AssociationDomain, evidence.AssociationParent, LinkDIDHost, evidence.AssociationCreator, LinkDocument, evidence.AssociationEndpoint, evidence.AssociationClaim}

func linkRank(by string) int { return slices.Index(linkOrder, by) }

// compareAgents orders agents: the stronger join first, then statements of the service before those
// of the agent, agents with an inbox, agents with more evidence, and older keys. Nothing that an
// agent only states about itself counts.
func compareAgents(a, b ServingAgent) int {
	flag := func(yes bool) int {
		if yes {
			return 0
		}
		return 1
	}
	since := func(a ServingAgent) time.Time {
		if a.Key == nil || a.Key.Since.IsZero() {
			return a.ResolvedAt
		}
		return a.Key.Since
	}
	return cmp.Or(
		slices.Index(strengths, a.Strength)-slices.Index(strengths, b.Strength),
		linkRank(a.Links[0].By)-linkRank(b.Links[0].By),
		flag(a.Unresolved == "")-flag(b.Unresolved == ""),
		flag(a.Inbox != "")-flag(b.Inbox != ""),
		b.signalCount-a.signalCount,
		since(a).Compare(since(b)),
		strings.Compare(a.DID, b.DID),
	)
}
