package fakenet

import "slices"

// A Host is one host of the standard internet and what a visit must find there.
type Host struct {
	Name string
	// Seed tells whether the host is given to the crawler; the others are
	// reached through related_services.
	Seed bool
	// Depth counts links from the nearest seed: 0 for a seed.
	Depth int
	// Expect has, for each document kind that a visit settles, the outcome in
	// the crawler's words: Expect["ai"] = "ok".
	Expect map[string]string
	// Note says in one line what is particular about the host.
	Note string
	// Reachable tells whether a crawl from the seeds visits the host at all.
	Reachable bool
}

// Hosts returns the standard hosts, by name. It is empty with Options.Empty.
func (n *Net) Hosts() []Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.hosts)
}

// Seeds returns the names of the hosts that a crawl begins with.
func (n *Net) Seeds() []string {
	var seeds []string
	for _, h := range n.Hosts() {
		if h.Seed {
			seeds = append(seeds, h.Name)
		}
	}
	return seeds
}

func (n *Net) install() error { return nil }
