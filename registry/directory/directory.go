package directory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"gazetteer/registry"
	"gazetteer/registry/evidence"
	"gazetteer/store"
	"gazetteer/store/follow"
)

// A Directory finds agents by their names, capabilities, evidence and hosts. It is a view of the
// store in memory, with some hundred bytes and the record of each agent. [Directory.Run] fills it
// and keeps it up to date.
//
// Agents are listed in the order of how many signals are proved or observed, then of how long this
// registry has known them, and never by scores that agents can give themselves.
type Directory struct {
	registry     *registry.Registry
	evidence     *evidence.Collector
	store        store.Store
	endorsements *endorsementGraph // owned by Run
	position     follow.Position   // at the beginning until Run has read all agents

	mu    sync.RWMutex // guards the following fields
	rows  map[string]*listing
	order []*listing
	names map[string]int // how many have a name, folded
	hosts map[string]*hostListings
}

// A listing is one active agent.
type listing struct {
	agent       registry.Agent // the parts of it that are searched or listed
	attested    bool           // attestations outside of rings hold
	weight      int            // how many signals hold
	searchText  string
	name        string   // folded
	hosts       []string // see evidence.Collector.AssociatedHosts
	provedHosts []string // those of hosts with an association that holds
}

// New returns an empty directory; store is the one that the registry keeps its agents in.
func New(r *registry.Registry, e *evidence.Collector, s store.Store) *Directory {
	return &Directory{registry: r, evidence: e, store: s, endorsements: newEndorsementGraph(), rows: map[string]*listing{}, names: map[string]int{}, hosts: map[string]*hostListings{}}
}

// Run reads the agents and follows the store until ctx ends, and then returns
// nil. It is called once.
func (d *Directory) Run(ctx context.Context) error {
	return d.registry.FollowAgents(ctx, &d.position, d.readAll, func(agents []registry.Agent) error {
		if err := d.updateAgents(ctx, agents); err != nil {
			return err
		}
		d.applyAttestations()
		return nil
	})
}

// readAll reads all agents.
func (d *Directory) readAll(ctx context.Context) error {
	head := d.store.Head()
	for agent, err := range d.registry.AllAgents(ctx, "") {
		if err != nil {
			return err
		}
		if err := d.updateAgents(ctx, []registry.Agent{agent}); err != nil {
			return err
		}
	}
	d.applyAttestations()
	d.position.MoveTo(head)
	return nil
}

// WaitFor waits until the directory has followed the store up to a sequence, so that it finds
// everything written before. With 1 it waits until the directory is filled.
func (d *Directory) WaitFor(ctx context.Context, seq uint64) error {
	return d.position.WaitFor(ctx, seq)
}

// updateAgents replaces the listings of agents. applyAttestations adds later what attestations mean
// for them.
func (d *Directory) updateAgents(ctx context.Context, agents []registry.Agent) error {
	for _, a := range agents {
		endorsers, err := d.loadEndorsers(ctx, a)
		if err != nil {
			return err
		}
		d.endorsements.setEndorsers(a.AirID, endorsers)
	}
	now := d.registry.Timestamp()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range agents {
		before := d.shownRoots(a.AirID)
		if old := d.rows[a.AirID]; old != nil {
			d.removeListing(old)
		}
		if len(a.Issued) > 0 && !slices.Equal(before, a.ShownRoots()) {
			d.endorsements.stale = true
		}
		if a.Status == registry.Active {
			w := d.newListing(a, now)
			w.setAttested(d.endorsements.domains[a.AirID] > 0)
			d.insertListing(w)
		}
	}
	return nil
}

// shownRoots returns the registrable domains that an agent shows to be its own. Only Run calls it, which
// alone changes the listings.
func (d *Directory) shownRoots(airID string) []string {
	if w := d.rows[airID]; w != nil {
		return w.agent.ShownRoots()
	}
	return nil
}

// applyAttestations updates which agents have attestations outside rings.
func (d *Directory) applyAttestations() {
	changed := d.endorsements.recountDomains(d.shownRoots)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, airID := range changed {
		if w := d.rows[airID]; w != nil {
			d.removeListing(w)
			w.setAttested(d.endorsements.domains[airID] > 0)
			d.insertListing(w)
		}
	}
}

func (d *Directory) newListing(a registry.Agent, now time.Time) *listing {
	w := &listing{agent: a.PublicCopy(), name: foldName(a.Name), hosts: d.evidence.AssociatedHosts(a)}
	for _, host := range w.hosts {
		if found := d.evidence.Associations(a, host); len(found) > 0 && found[0].Holds {
			w.provedHosts = append(w.provedHosts, host)
		}
	}
	// Members that are neither searched nor listed are dropped.
	w.agent.Attested, w.agent.Issued, w.agent.Recovery, w.agent.Retired = nil, nil, nil, nil
	w.agent.Domains = slices.Clone(a.Domains)
	for i := range w.agent.Domains {
		w.agent.Domains[i].Probes = nil
	}
	w.searchText = strings.ToLower(strings.Join([]string{a.Name, a.Handle, a.Description, a.CreatorName, strings.Join(a.Capabilities, "\n"), a.AirID}, "\n"))
	w.weight = len(w.heldSignals(now))
	return w
}

// setAttested notes whether attestations outside rings hold for the agent. The listing must not be
// in the order then.
func (w *listing) setAttested(holds bool) {
	if holds != w.attested {
		w.attested = holds
		w.weight += map[bool]int{true: 1, false: -1}[holds]
	}
}

// holdsSignal reports whether a signal holds.
func (w *listing) holdsSignal(signal string, now time.Time) bool {
	if signal == registry.SignalAttestations {
		return w.attested
	}
	return w.agent.HoldsSignal(signal, now)
}

// heldSignals returns the signals that hold.
func (w *listing) heldSignals(now time.Time) []string {
	var out []string
	for _, signal := range registry.Signals() {
		if w.holdsSignal(signal, now) {
			out = append(out, signal)
		}
	}
	return out
}

// foldName makes names equal that people take for the same.
func foldName(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), " ")) }

func compareListings(a, b *listing) int {
	return cmp.Or(cmp.Compare(b.weight, a.weight), a.agent.KnownSince().Compare(b.agent.KnownSince()), cmp.Compare(a.agent.AirID, b.agent.AirID))
}

// insertListing adds a listing. The caller holds d.mu.
func (d *Directory) insertListing(w *listing) {
	i, _ := slices.BinarySearchFunc(d.order, w, compareListings)
	d.order = slices.Insert(d.order, i, w)
	d.rows[w.agent.AirID] = w
	d.names[w.name]++
	d.addToHosts(w)
}

// removeListing removes a listing. The caller holds d.mu.
func (d *Directory) removeListing(w *listing) {
	if i, found := slices.BinarySearchFunc(d.order, w, compareListings); found {
		d.order = slices.Delete(d.order, i, i+1)
	}
	d.removeFromHosts(w)
	delete(d.rows, w.agent.AirID)
	if d.names[w.name]--; d.names[w.name] == 0 {
		delete(d.names, w.name)
	}
}

// A Query selects agents. The zero value selects all.
type Query struct {
	// Words must all occur in the name, handle, description, creator's name, capabilities or AIR
	// ID, in any case.
	Words string
	// Capability is one that the agent lists, in any case.
	Capability string
	// Hosts are DNS names in ASCII lower case. The agent must have an association that holds with
	// one of them, see [evidence.Collector.Associations]; nil selects agents of any host.
	Hosts []string
	// Require names signals that must be proved or observed, see [registry.ParseRequire].
	Require []string
	// Offset and Limit select a page; a limit outside 1 to [registry.MaxList] means 20.
	Offset, Limit int
}

// A Result is an agent in the directory, with the searched and listed members of its record only.
type Result struct {
	registry.Agent
	Signals []string // the signals that hold, of those that can be required
}

// maxWords limits the words of a query.
const maxWords = 24

// Search returns a page of the selected agents, and how many are selected.
func (d *Directory) Search(q Query) (agents []Result, total int) {
	if q.Limit < 1 || q.Limit > registry.MaxList {
		q.Limit = 20
	}
	words := strings.Fields(strings.ToLower(q.Words))
	words = words[:min(len(words), maxWords)]
	now := d.registry.Timestamp()
	d.mu.RLock()
	defer d.mu.RUnlock()
	if len(words) == 0 && q.Capability == "" && q.Hosts == nil && len(q.Require) == 0 {
		from := min(max(q.Offset, 0), len(d.order))
		for _, w := range d.order[from:min(from+q.Limit, len(d.order))] {
			agents = append(agents, Result{w.agent, w.heldSignals(now)})
		}
		return agents, len(d.order)
	}
	atHosts := d.listingsAt(q.Hosts)
	for _, w := range d.order {
		if !w.matchesQuery(words, q.Capability) || q.Hosts != nil && !atHosts[w] || slices.ContainsFunc(q.Require, func(signal string) bool { return !w.holdsSignal(signal, now) }) {
			continue
		}
		if total >= q.Offset && len(agents) < q.Limit {
			agents = append(agents, Result{w.agent, w.heldSignals(now)})
		}
		total++
	}
	return agents, total
}

// Select returns the first agents of the directory that match, and how many do.
func (d *Directory) Select(matches func(registry.Agent) bool, limit int) (agents []registry.Agent, total int) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, w := range d.order {
		if !matches(w.agent) {
			continue
		}
		if total++; total <= limit {
			agents = append(agents, w.agent)
		}
	}
	return agents, total
}

func (w *listing) matchesQuery(words []string, capability string) bool {
	if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(w.searchText, word) }) {
		return false
	}
	return capability == "" || slices.ContainsFunc(w.agent.Capabilities, func(c string) bool { return strings.EqualFold(c, capability) })
}

// NameView answers whether a name is in use, in the reference's shape. Names are
// not unique: the answer is a warning.
type NameView struct {
	Name           string      `json:"name"`
	Exists         bool        `json:"exists"`
	Count          int         `json:"count"`
	ExistingAgents []namedView `json:"existing_agents"` // at most five
}

// namedView is an agent of that name.
type namedView struct {
	AirID string `json:"air_id"`
	Name  string `json:"name"`
}

// CheckName returns the agents that have a name, whatever its case and spaces. The error is an
// [*registry.Error] for a text that cannot be a name.
func (d *Directory) CheckName(text string) (NameView, error) {
	name, err := registry.CheckName(text)
	if err != nil {
		return NameView{}, err
	}
	folded := foldName(name)
	v := NameView{Name: name, ExistingAgents: []namedView{}}
	d.mu.RLock()
	defer d.mu.RUnlock()
	if v.Count = d.names[folded]; v.Count == 0 {
		return v, nil
	}
	v.Exists = true
	for _, w := range d.order {
		if w.name == folded {
			v.ExistingAgents = append(v.ExistingAgents, namedView{w.agent.AirID, w.agent.Name})
		}
		if len(v.ExistingAgents) == min(v.Count, 5) {
			break
		}
	}
	return v, nil
}
