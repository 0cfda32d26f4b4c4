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
	// TieDomain: the agent has proved the host itself as its domain.
	TieDomain = "domain"
	// TieParent: it has proved by DNS a domain above the host.
	TieParent = "parent-domain"
	// TieCreator: the DID of its creator lies on the host, and the DID document
	// there lists the agent's key.
	TieCreator = "creator-did"
	// TieEndpoint: one of its service endpoints is at the host. Only the agent
	// says so.
	TieEndpoint = "endpoint"
	// TieClaim: it claims the host as its domain, or the creator's DID there, and
	// that does not hold, or not any more. Only the agent says so.
	TieClaim = "claim"
)

// A Tie is one thing that ties an agent to a host. What and Detail may quote the
// agent or strangers.
type Tie struct {
	By string // one of the Tie constants
	// Holds says that more than the agent's own word stands behind it.
	Holds  bool
	What   string // the very thing: the domain, the DID, the URL
	Source string // where it was seen, "" for a claim
	Detail string
	Date   time.Time // when it was seen or said last
}

// Ties returns what ties an agent to a host, the strongest first. Host is a DNS
// name in ASCII lower case.
func (r *Registry) Ties(a Agent, host string) []Tie {
	var out []Tie
	now := r.moment()
	for _, d := range a.Domains {
		above := strings.HasSuffix(host, "."+d.Name)
		if d.Name != host && !above {
			continue
		}
		s := d.signal()
		t := Tie{By: TieDomain, Holds: s.Holds, What: d.Name, Source: s.Source, Detail: s.Detail, Date: d.Checked}
		switch {
		case !s.Holds || above && d.Method != "dns":
			if above {
				continue // what is claimed of another host says nothing of this one
			}
			t.By, t.Source, t.Date = TieClaim, "", a.Updated
		case above:
			t.By = TieParent
		case d.Key != a.multikey():
			t.Detail = "the domain still names the key before the last rotation"
		}
		out = append(out, t)
	}
	if web, err := did.ParseWeb(a.CreatorDID); err == nil && web.Host == host && !web.SameHost(r.host) {
		t := Tie{By: TieClaim, What: a.CreatorDID, Date: a.Updated}
		if o := a.Observed[SignalDID]; a.shows(SignalDID, now) {
			t = Tie{By: TieCreator, Holds: true, What: a.CreatorDID, Source: o.Source, Detail: o.Detail, Date: o.At}
		}
		out = append(out, t)
	}
	for _, s := range a.ServiceEndpoints {
		if endpointHost(s.ServiceEndpoint) == host && !r.own(host) {
			out = append(out, Tie{By: TieEndpoint, What: s.ServiceEndpoint, Detail: "its service endpoint of type " + s.Type, Date: a.Updated})
		}
	}
	slices.SortStableFunc(out, func(a, b Tie) int { return tieRank(a.By) - tieRank(b.By) })
	return out
}

func tieRank(by string) int {
	return slices.Index([]string{TieDomain, TieParent, TieCreator, TieEndpoint, TieClaim}, by)
}

// own reports whether a host is the registry's: an inbox there is mail that it
// keeps for the agent, and says nothing of services.
func (r *Registry) own(host string) bool {
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

// tiedHosts lists the hosts under which the directory files an agent.
func (r *Registry) tiedHosts(a Agent) []string {
	var hosts []string
	for _, d := range a.Domains {
		hosts = append(hosts, d.Name)
	}
	if web, err := did.ParseWeb(a.CreatorDID); err == nil && !web.SameHost(r.host) {
		hosts = append(hosts, web.Host)
	}
	for _, s := range a.ServiceEndpoints {
		if host := endpointHost(s.ServiceEndpoint); host != "" && !r.own(host) {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// tied are the active agents with a tie to one host, those with a tie that holds
// apart from those that only claim it, each in the order of the directory.
type tied struct{ proved, claimed []*row }

// file adds a row under its hosts; d.mu is held.
func (d *Directory) file(w *row) {
	for _, host := range w.hosts {
		t := d.hosts[host]
		if t == nil {
			t = &tied{}
			d.hosts[host] = t
		}
		list := t.list(w, host)
		i, _ := slices.BinarySearchFunc(*list, w, compareRows)
		*list = slices.Insert(*list, i, w)
	}
}

// unfile takes a row from its hosts; d.mu is held.
func (d *Directory) unfile(w *row) {
	for _, host := range w.hosts {
		t := d.hosts[host]
		list := t.list(w, host)
		if i, found := slices.BinarySearchFunc(*list, w, compareRows); found {
			*list = slices.Delete(*list, i, i+1)
		}
		if len(t.proved)+len(t.claimed) == 0 {
			delete(d.hosts, host)
		}
	}
}

// list is where a row stands under a host: of a row that never changes.
func (t *tied) list(w *row, host string) *[]*row {
	if slices.Contains(w.holds, host) {
		return &t.proved
	}
	return &t.claimed
}

// At returns active agents that may be tied to a host: at most so many with a tie
// that holds, and as many that only claim it, those of which most is proved or
// observed first, and how many more there are. [Registry.Ties] says by what.
// The host is a DNS name in ASCII lower case.
func (d *Directory) At(host string, most int) (proved, claimed []Agent, more int) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	add := func(to *[]Agent, rows []*row) {
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
	for t, above := range d.above(host) {
		add(&proved, slices.DeleteFunc(slices.Clone(t.proved), func(w *row) bool { return !w.zone(above) }))
	}
	return proved, claimed, more
}

// tiedTo returns the agents with a tie that holds to one of the hosts; d.mu is held.
func (d *Directory) tiedTo(hosts []string) map[*row]bool {
	rows := map[*row]bool{}
	for _, host := range hosts {
		if t := d.hosts[host]; t != nil {
			for _, w := range t.proved {
				rows[w] = true
			}
		}
		for t, above := range d.above(host) {
			for _, w := range t.proved {
				if w.zone(above) {
					rows[w] = true
				}
			}
		}
	}
	return rows
}

// above yields what is tied to the domains above a host, up to the registrable one.
func (d *Directory) above(host string) iter.Seq2[*tied, string] {
	return func(yield func(*tied, string) bool) {
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

// zone reports whether an agent has proved a domain by DNS, and with it the names
// below.
func (w *row) zone(domain string) bool {
	return slices.ContainsFunc(w.agent.Domains, func(d Domain) bool { return d.Name == domain && d.proved() && d.Method == "dns" })
}
