package directory

import (
	"iter"
	"slices"
	"strings"

	"gazetteer/internal/psl"
	"gazetteer/registry"
)

// hostListings are the active agents of one host, in the order of the directory: those with an
// association that holds, and those that only claim one.
type hostListings struct{ proved, claimed []*listing }

// addToHosts adds a listing to its hosts. The caller holds d.mu.
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

// removeFromHosts removes a listing from its hosts. The caller holds d.mu.
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

// listFor returns the list of a host that contains a listing.
func (t *hostListings) listFor(w *listing, host string) *[]*listing {
	if slices.Contains(w.provedHosts, host) {
		return &t.proved
	}
	return &t.claimed
}

// AtHost returns agents that may belong to a host: at most limit with an association that holds, as
// many that only claim one, both in the order of the directory, and the number of all others.
// [evidence.Collector.Associations] describes the associations. The host is a DNS name in ASCII
// lower case.
func (d *Directory) AtHost(host string, limit int) (proved, claimed []registry.Agent, more int) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	add := func(to *[]registry.Agent, rows []*listing) {
		taken := min(len(rows), max(0, limit-len(*to)))
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

// listingsAt returns the agents with an association that holds with one of the hosts. The caller
// holds d.mu.
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

// parentDomains yields the listings of the domains above a host, up to the registrable domain.
func (d *Directory) parentDomains(host string) iter.Seq2[*hostListings, string] {
	return func(yield func(*hostListings, string) bool) {
		if !psl.HasDomain(host) {
			return
		}
		for above, root := host, psl.Domain(host); above != root; {
			_, above, _ = strings.Cut(above, ".")
			if t := d.hosts[above]; t != nil && !yield(t, above) {
				return
			}
		}
	}
}

// provesZone reports whether an agent has proved a domain by DNS, and with it the names below.
func (w *listing) provesZone(domain string) bool {
	return slices.ContainsFunc(w.agent.Domains, func(d registry.Domain) bool { return d.Name == domain && d.Proved() && d.Method == "dns" })
}
