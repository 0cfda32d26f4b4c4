package registry

import (
	"iter"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"gazetteer/protocol/did"
)

// How an agent of this registry belongs to a host, the strongest first.
const (
	// AssociationDomain: the agent has proved the host itself as its domain.
	AssociationDomain = "domain"
	// AssociationParent: it has proved by DNS a domain above the host.
	AssociationParent = "parent-domain"
	// AssociationCreator: the DID of its creator lies on the host, and the DID document
	// there lists the agent's key.
	AssociationCreator = "creator-did"
	// AssociationEndpoint: one of its service endpoints is at the host. Only the agent
	// says so.
	AssociationEndpoint = "endpoint"
	// AssociationClaim: it claims the host as its domain, or the creator's DID there, and
	// that does not hold, or not any more. Only the agent says so.
	AssociationClaim = "claim"
)

// A Tie is one thing that ties an agent to a host. What and Detail may quote the
// agent or strangers.
type Association struct {
	By string // one of the Tie constants
	// Holds says that more than the agent's own word stands behind it.
	Holds  bool
	What   string // the very thing: the domain, the DID, the URL
	Source string // where it was seen, "" for a claim
	Detail string
	Date   time.Time // when it was seen or said last
}

// Associations returns what ties an agent to a host, the strongest first. Host is a DNS
// name in ASCII lower case.
func (r *Registry) Associations(a Agent, host string) []Association {
	var out []Association
	now := r.timestamp()
	for _, d := range a.Domains {
		above := strings.HasSuffix(host, "."+d.Name)
		if d.Name != host && !above {
			continue
		}
		s := d.domainSignal()
		t := Association{By: AssociationDomain, Holds: s.Holds, What: d.Name, Source: s.Source, Detail: s.Detail, Date: d.Checked}
		switch {
		case !s.Holds || above && d.Method != "dns":
			if above {
				continue // what is claimed of another host says nothing of this one
			}
			t.By, t.Source, t.Date = AssociationClaim, "", a.Updated
		case above:
			t.By = AssociationParent
		case d.Key != a.multikey():
			t.Detail = "the domain still names the key before the last rotation"
		}
		out = append(out, t)
	}
	if web, err := did.ParseWeb(a.CreatorDID); err == nil && web.Host == host && !web.SameHost(r.host) {
		t := Association{By: AssociationClaim, What: a.CreatorDID, Date: a.Updated}
		if o := a.Observed[SignalDID]; a.holdsSignal(SignalDID, now) {
			t = Association{By: AssociationCreator, Holds: true, What: a.CreatorDID, Source: o.Source, Detail: o.Detail, Date: o.At}
		}
		out = append(out, t)
	}
	for _, s := range a.ServiceEndpoints {
		if endpointHost(s.ServiceEndpoint) == host && !r.isOwnHost(host) {
			out = append(out, Association{By: AssociationEndpoint, What: s.ServiceEndpoint, Detail: "its service endpoint of type " + s.Type, Date: a.Updated})
		}
	}
	slices.SortStableFunc(out, func(a, b Association) int { return associationRank(a.By) - associationRank(b.By) })
	return out
}

func associationRank(by string) int {
	return slices.Index([]string{AssociationDomain, AssociationParent, AssociationCreator, AssociationEndpoint, AssociationClaim}, by)
}

// isOwnHost reports whether a host is the registry's: an inbox there is mail that it
// keeps for the agent, and says nothing of services.
func (r *Registry) isOwnHost(host string) bool {
	u, err := url.Parse(r.baseURL)
	return host == r.host.Host || err == nil && host == strings.ToLower(u.Hostname())
}

func endpointHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// associatedHosts lists the hosts under which the directory files an agent.
func (r *Registry) associatedHosts(a Agent) []string {
	var hosts []string
	for _, d := range a.Domains {
		hosts = append(hosts, d.Name)
	}
	if web, err := did.ParseWeb(a.CreatorDID); err == nil && !web.SameHost(r.host) {
		hosts = append(hosts, web.Host)
	}
	for _, s := range a.ServiceEndpoints {
		if host := endpointHost(s.ServiceEndpoint); host != "" && !r.isOwnHost(host) {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// hostListings are the active agents with a tie to one host, those with a tie that holds
// apart from those that only claim it, each in the order of the directory.
type hostListings struct{ proved, claimed []*listing }

// addToHosts adds a row under its hosts; d.mu is held.
func (d *Directory) addToHosts(w *listing) {
	for _, host := range w.hosts {
		t := d.hosts[host]
		if t == nil {
			t = &hostListings{}
			d.hosts[host] = t
		}
		list := t.listFor(w, host)
		i, _ := slices.BinarySearchFunc(*list, w, compareListings)
		*list = slices.Insert(*list, i, w)
	}
}

// removeFromHosts takes a row from its hosts; d.mu is held.
func (d *Directory) removeFromHosts(w *listing) {
	for _, host := range w.hosts {
		t := d.hosts[host]
		list := t.listFor(w, host)
		if i, found := slices.BinarySearchFunc(*list, w, compareListings); found {
			*list = slices.Delete(*list, i, i+1)
		}
		if len(t.proved)+len(t.claimed) == 0 {
			delete(d.hosts, host)
		}
	}
}

// listFor is where a row stands under a host: of a row that never changes.
func (t *hostListings) listFor(w *listing, host string) *[]*listing {
	if slices.Contains(w.provedHosts, host) {
		return &t.proved
	}
	return &t.claimed
}

// AtHost returns active agents that may be tied to a host: at most so many with a tie
// that holds, and as many that only claim it, those of which most is proved or
// observed first, and how many more there are. [Registry.Ties] says by what.
// The host is a DNS name in ASCII lower case.
func (d *Directory) AtHost(host string, most int) (proved, claimed []Agent, more int) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	add := func(to *[]Agent, rows []*listing) {
		taken := min(len(rows), max(0, most-len(*to)))
		more += len(rows) - taken
		for _, w := range rows[:taken] {
			*to = append(*to, w.agent)
		}
	}
	if t := d.hosts[host]; t != nil {
		add(&proved, t.proved)
		add(&claimed, t.claimed)
	}
	for t, above := range d.parentDomains(host) {
		add(&proved, slices.DeleteFunc(slices.Clone(t.proved), func(w *listing) bool { return !w.provesZone(above) }))
	}
	return proved, claimed, more
}

// listingsAt returns the agents with a tie that holds to one of the hosts; d.mu is held.
func (d *Directory) listingsAt(hosts []string) map[*listing]bool {
	rows := map[*listing]bool{}
	for _, host := range hosts {
		if t := d.hosts[host]; t != nil {
			for _, w := range t.proved {
				rows[w] = true
			}
		}
		for t, above := range d.parentDomains(host) {
			for _, w := range t.proved {
				if w.provesZone(above) {
					rows[w] = true
				}
			}
		}
	}
	return rows
}

// parentDomains yields what is tied to the domains above a host, up to the registrable one.
func (d *Directory) parentDomains(host string) iter.Seq2[*hostListings, string] {
	return func(yield func(*hostListings, string) bool) {
		root, err := publicsuffix.EffectiveTLDPlusOne(host)
		if err != nil {
			return
		}
		for above := host; above != root; {
			_, above, _ = strings.Cut(above, ".")
			if t := d.hosts[above]; t != nil && !yield(t, above) {
				return
			}
		}
	}
}

// provesZone reports whether an agent has proved a domain by DNS, and with it the names
// below.
func (w *listing) provesZone(domain string) bool {
	return slices.ContainsFunc(w.agent.Domains, func(d Domain) bool { return d.Name == domain && d.proved() && d.Method == "dns" })
}
