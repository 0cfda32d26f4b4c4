package attestation

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"gazetteer/registry"
	"gazetteer/store"
)

// A Dependent has attested a dependency, Depth steps away.
type Dependent struct {
	AirID string
	Depth int // from 1
}

// Dependents follows attestations of the type dependency from an agent to the attesters, level by
// level, at most depth steps. It reports whether there are more than limit.
func (g *Graph) Dependents(ctx context.Context, a registry.Agent, depth, limit int) (dependents []Dependent, more bool, err error) {
	seen := map[string]bool{a.AirID: true}
	level := []registry.Agent{a}
	for d := 1; d <= depth && len(level) > 0; d++ {
		var next []registry.Agent
		for _, agent := range level {
			about, err := g.Attestations(ctx, agent)
			if err != nil {
				return dependents, false, err
			}
			for _, t := range about {
				if !t.Revoked.IsZero() || t.Type != "dependency" || seen[t.Attester] {
					continue
				}
				if len(dependents) == limit {
					return dependents, true, nil
				}
				seen[t.Attester] = true
				dependents = append(dependents, Dependent{t.Attester, d})
				attester, _, err := g.registry.Agent(ctx, t.Attester)
				if err != nil {
					return dependents, false, err
				}
				next = append(next, attester)
			}
		}
		level = next
	}
	return dependents, false, nil
}

// Stats are counts of all active attestations.
type Stats struct {
	Subjects, Attesters int // agents that are attested, that attest
	Agents              int // both together, each once
	Active              int // attestations
	ByType              map[string]int
	// TopAttested and TopAttesters are the agents with most attestations, at most 10 each.
	TopAttested, TopAttesters []AgentCount
}

// An AgentCount is an agent and its number of attestations.
type AgentCount struct {
	AirID string
	Count int
}

// maxTopAgents limits the lists of the agents with most attestations.
const maxTopAgents = 10

// Stats counts all active attestations. It reads every one.
func (g *Graph) Stats(ctx context.Context) (Stats, error) {
	subjects, attesters := map[string]int{}, map[string]int{}
	s := Stats{ByType: map[string]int{}}
	next, err := g.numbers.nextFree(ctx, g.store)
	if err != nil {
		return s, err
	}
	for n := 1; n < next; n++ {
		t, _, err := g.registry.LoadAttestation(ctx, n)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
			continue
		}
		if err != nil {
			return s, err
		}
		if !t.Revoked.IsZero() {
			continue
		}
		subjects[t.Subject]++
		attesters[t.Attester]++
		s.Active++
		s.ByType[t.Type]++
	}
	s.Subjects, s.Attesters, s.Agents = len(subjects), len(attesters), len(subjects)
	for airID := range attesters {
		if subjects[airID] == 0 {
			s.Agents++
		}
	}
	s.TopAttested, s.TopAttesters = rankAgents(subjects), rankAgents(attesters)
	return s, nil
}

func rankAgents(counts map[string]int) []AgentCount {
	out := make([]AgentCount, 0, len(counts))
	for airID, n := range counts {
		out = append(out, AgentCount{airID, n})
	}
	slices.SortFunc(out, func(a, b AgentCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.AirID, b.AirID))
	})
	return out[:min(len(out), maxTopAgents)]
}
