package evidence

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/registry"
)

// How an agent of this registry belongs to a host, the strongest first.
const (
	// AssociationDomain: the agent has proved the host itself as its domain.
	AssociationDomain = "domain"
	// AssociationParent: it has proved by DNS a domain above the host.
	AssociationParent = "parent-domain"
	// AssociationCreator: the DID of its creator is on the host, and the DID document there lists
	// the agent's key.
	AssociationCreator = "creator-did"
	// AssociationEndpoint: one of its service endpoints is at the host. Only the agent
	// says so.
	AssociationEndpoint = "endpoint"
	// AssociationClaim: it claims the host as its domain, or a creator's DID there, and the claim
	// does not hold, or no longer holds. Only the agent says so.
	AssociationClaim = "claim"
)

// An Association is one link between an agent and a host. What and Detail may quote untrusted
// texts.
type Association struct {
	By string // one of the Association constants
	// Holds says that the link rests on more than the agent's own words.
	Holds  bool
	What   string // the very thing: the domain, the DID, the URL
	Source string // where it was seen, "" for a claim
	Detail string
	Date   time.Time // when it was seen or said last
}

// Associations returns the links between an agent and a host, the strongest first. Host is a DNS
// name in ASCII lower case.
func (e *Collector) Associations(a registry.Agent, host string) []Association {
	var out []Association
	now := e.registry.Timestamp()
	for _, d := range a.Domains {
		above := strings.HasSuffix(host, "."+d.Name)
		if d.Name != host && !above {
			continue
		}
		s := domainSignal(d)
		t := Association{By: AssociationDomain, Holds: s.Holds, What: d.Name, Source: s.Source, Detail: s.Detail, Date: d.Checked}
		switch {
		case !s.Holds || above && d.Method != "dns":
			if above {
				continue // what is claimed of another host says nothing of this one
			}
			t.By, t.Source, t.Date = AssociationClaim, "", a.Updated
		case above:
			t.By = AssociationParent
		case d.Key != a.Multikey():
			t.Detail = "the domain still names the key before the last rotation"
		}
		out = append(out, t)
	}
	if web, err := did.ParseWeb(a.CreatorDID); err == nil && web.Host == host && !web.SameHost(e.registry.Host()) {
		t := Association{By: AssociationClaim, What: a.CreatorDID, Date: a.Updated}
		if o := a.Observed[registry.SignalDID]; a.HoldsSignal(registry.SignalDID, now) {
			t = Association{By: AssociationCreator, Holds: true, What: a.CreatorDID, Source: o.Source, Detail: o.Detail, Date: o.At}
		}
		out = append(out, t)
	}
	for _, s := range a.ServiceEndpoints {
		if endpointHost(s.ServiceEndpoint) == host && !e.registry.IsOwnHost(host) {
			out = append(out, Association{By: AssociationEndpoint, What: s.ServiceEndpoint, Detail: "its service endpoint of type " + s.Type, Date: a.Updated})
		}
	}
	slices.SortStableFunc(out, func(a, b Association) int { return associationRank(a.By) - associationRank(b.By) })
	return out
}

func associationRank(by string) int {
	return slices.Index([]string{AssociationDomain, AssociationParent, AssociationCreator, AssociationEndpoint, AssociationClaim}, by)
}

func endpointHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// AssociatedHosts returns the hosts under which the directory lists an agent.
func (e *Collector) AssociatedHosts(a registry.Agent) []string {
	var hosts []string
	for _, d := range a.Domains {
		hosts = append(hosts, d.Name)
	}
	if web, err := did.ParseWeb(a.CreatorDID); err == nil && !web.SameHost(e.registry.Host()) {
		hosts = append(hosts, web.Host)
	}
	for _, s := range a.ServiceEndpoints {
		if host := endpointHost(s.ServiceEndpoint); host != "" && !e.registry.IsOwnHost(host) {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
