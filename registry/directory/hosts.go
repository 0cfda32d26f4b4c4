package directory

import (
	"gazetteer/registry"
	"iter"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

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
func (d *Directory) AtHost(host string, most int) (proved, claimed []registry.Agent, more int) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	add := func(to *[]registry.Agent, rows []*listing) {
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
	return slices.ContainsFunc(w.agent.Domains, func(d registry.Domain) bool { return d.Name == domain && d.Proved() && d.Method == "dns" })
}
