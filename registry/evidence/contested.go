package evidence

import (
	"hash/fnv"
	"sync"
	"time"

	"gazetteer/registry"
)

// A provenDomain names the proof of a domain by an agent.
type provenDomain struct{ domain, airID string }

// proofTimes are the times of a proof: when it was made, and when a check found it last.
type proofTimes struct{ since, found time.Time }

// provenDomains knows which agents have proved which domain. A proof is contested if another agent
// has proved the domain since the last check of it, as after the sale of a domain. Both proofs may
// be right, such as those of two agents of one owner, so the contested one is checked at once.
// Nobody can contest a proof without a proof of the same domain.
type provenDomains struct {
	mu        sync.Mutex // guards the following fields
	holders   map[string]map[string]proofTimes
	domains   map[string][]string        // by AIR ID
	postponed map[provenDomain]time.Time // contested proofs whose check got no answer
}

// update notes the proved domains of an agent and returns the agents whose proofs it contests.
func (p *provenDomains) update(a registry.Agent) (contested []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holders == nil {
		p.holders, p.domains, p.postponed = map[string]map[string]proofTimes{}, map[string][]string{}, map[provenDomain]time.Time{}
	}
	before := map[string]proofTimes{}
	for _, domain := range p.domains[a.AirID] {
		before[domain] = p.holders[domain][a.AirID]
		if delete(p.holders[domain], a.AirID); len(p.holders[domain]) == 0 {
			delete(p.holders, domain)
		}
	}
	delete(p.domains, a.AirID)
	for _, d := range a.Domains {
		if a.Status != registry.Active || !d.Proved() {
			continue
		}
		times := proofTimes{d.Since, d.Checked}
		if old, ok := before[d.Name]; ok && d.Failures > 0 {
			times.found = old.found
		}
		for airID, other := range p.holders[d.Name] {
			if times.contests(other) {
				contested = append(contested, airID)
			}
		}
		if p.holders[d.Name] == nil {
			p.holders[d.Name] = map[string]proofTimes{}
		}
		p.holders[d.Name][a.AirID] = times
		p.domains[a.AirID] = append(p.domains[a.AirID], d.Name)
	}
	for domain := range before {
		if _, ok := p.holders[domain][a.AirID]; !ok {
			delete(p.postponed, provenDomain{domain, a.AirID})
		}
	}
	return contested
}

// contests reports whether a proof was made since a check found the other one last.
func (t proofTimes) contests(other proofTimes) bool { return !t.since.Before(other.found) }

// checkDue returns when the proof of a domain by an agent is to be checked because it is contested;
// the zero time if it is not. The checks of many agents are spread, as their domain is asked once in
// [cooldownPeriod].
func (p *provenDomains) checkDue(domain, airID string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	own, ok := p.holders[domain][airID]
	var newest time.Time
	for other, times := range p.holders[domain] {
		if ok && other != airID && times.contests(own) && times.since.After(newest) {
			newest = times.since
		}
	}
	if newest.IsZero() {
		return time.Time{}
	}
	if at := p.postponed[provenDomain{domain, airID}]; at.After(newest) {
		return at
	}
	h := fnv.New32a()
	h.Write([]byte(airID))
	others := uint32(len(p.holders[domain]) - 1)
	return newest.Add(time.Duration(h.Sum32()%others) * cooldownPeriod)
}

// postpone sets when a contested proof is checked again, if it is still contested then.
func (p *provenDomains) postpone(domain, airID string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.postponed[provenDomain{domain, airID}] = at
}
