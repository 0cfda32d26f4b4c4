package directory

import (
	"context"
	"errors"
	"slices"

	"gazetteer/registry"
	"gazetteer/store"
)

// An endorser is an attester whose attestation is in force, with the registrable domain that counts
// for it; the domain is "" for an attestation without weight.
type endorser struct{ attester, root string }

// loadEndorsers returns the endorsers of an agent. It leaves out damaged attestations, which a
// lookup reports.
func (d *Directory) loadEndorsers(ctx context.Context, a registry.Agent) ([]endorser, error) {
	var out []endorser
	for _, n := range a.Attested {
		t, _, err := d.registry.LoadAttestation(ctx, n)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !t.Revoked.IsZero() {
			continue
		}
		v := endorser{attester: t.Attester}
		if t.Weight > 0 {
			v.root = t.Root
		}
		out = append(out, v)
	}
	return out, nil
}

// endorsementGraph is a view of the attestations in memory. An attestation is in a ring when its
// subject attests its attester in turn, directly or through others. Rings cost nothing, so
// attestations in rings do not count.
type endorsementGraph struct {
	about   map[string][]endorser // by the subject; a subject without endorsers is absent
	domains map[string]int        // by the subject: registrable domains outside of rings; see count
	stale   bool                  // about, or what an attester shows, has changed since count
}

func newEndorsementGraph() *endorsementGraph {
	return &endorsementGraph{about: map[string][]endorser{}, domains: map[string]int{}}
}

// setEndorsers replaces the endorsers of an agent.
func (v *endorsementGraph) setEndorsers(subject string, endorsers []endorser) {
	if len(endorsers) == 0 && len(v.about[subject]) == 0 {
		return
	}
	v.stale = true
	if len(endorsers) == 0 {
		delete(v.about, subject)
		return
	}
	v.about[subject] = endorsers
}

// recountDomains counts the domains again and returns the agents whose number has changed. Only a domain
// that its attester shows at present is counted; shownRoots returns those of an agent.
func (v *endorsementGraph) recountDomains(shownRoots func(airID string) []string) (changed []string) {
	if !v.stale {
		return nil
	}
	v.stale = false
	ring := v.stronglyConnected()
	domains := make(map[string]int, len(v.about))
	roots := map[string]bool{}
	for subject, endorsers := range v.about {
		clear(roots)
		for _, from := range endorsers {
			if from.root != "" && ring[subject] != ring[from.attester] && slices.Contains(shownRoots(from.attester), from.root) {
				roots[registry.CountedRoot(from.root)] = true
			}
		}
		if len(roots) > 0 {
			domains[subject] = len(roots)
		}
	}
	for subject, n := range domains {
		if n != v.domains[subject] {
			changed = append(changed, subject)
		}
	}
	for subject := range v.domains {
		if domains[subject] == 0 {
			changed = append(changed, subject)
		}
	}
	v.domains = domains
	return changed
}

// stronglyConnected numbers the agents from 1, so that two agents have the same number when each
// attests the other, directly or through others. These are the strongly connected components of the
// graph, found by the algorithm of R. Tarjan (Depth-first search and linear graph algorithms,
// 1972), without recursion, because a chain may be long.
func (v *endorsementGraph) stronglyConnected() map[string]int {
	type visit struct {
		agent string
		next  int // the endorser to follow
	}
	ring := make(map[string]int, len(v.about))
	met := make(map[string]int, len(v.about)) // in which order, from 1
	low := map[string]int{}                   // the first met that is reached from here and has no ring yet
	var waiting []string                      // those met that have no ring yet
	rings := 0
	for start := range v.about {
		if met[start] != 0 {
			continue
		}
		path := []visit{{agent: start}}
		for len(path) > 0 {
			at := &path[len(path)-1]
			if met[at.agent] == 0 {
				met[at.agent] = len(met) + 1
				low[at.agent] = met[at.agent]
				waiting = append(waiting, at.agent)
			}
			if endorsers := v.about[at.agent]; at.next < len(endorsers) {
				from := endorsers[at.next].attester
				switch at.next++; {
				case met[from] == 0:
					path = append(path, visit{agent: from})
				case ring[from] == 0:
					low[at.agent] = min(low[at.agent], met[from])
				}
				continue
			}
			agent := at.agent
			if path = path[:len(path)-1]; len(path) > 0 {
				below := path[len(path)-1].agent
				low[below] = min(low[below], low[agent])
			}
			if low[agent] != met[agent] {
				continue
			}
			rings++
			for last := ""; last != agent; {
				last = waiting[len(waiting)-1]
				waiting = waiting[:len(waiting)-1]
				ring[last] = rings
			}
		}
	}
	return ring
}
