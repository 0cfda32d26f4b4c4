package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gazetteer/protocol/did"
	"gazetteer/store"
)

// MaxList is the largest number of agents that [Registry.List] returns.
const MaxList = 100

// Agent returns the agent with an AIR ID and the sequence of its record. A recovery that is due
// counts even before it is written. The error is an [*Error] for a text that is not an AIR ID, and
// [ErrNoAgent], in a [*Refusal] when its registration waits for approval, was refused or has
// expired.
func (r *Registry) Agent(ctx context.Context, airID string) (Agent, uint64, error) {
	agent, seq, err := r.LoadAgent(ctx, airID)
	agent.applyDueRecovery(r.DueTime())
	agent.orderKeys(r.Timestamp())
	return agent, seq, err
}

// LoadAgent returns an agent as it is stored.
func (r *Registry) LoadAgent(ctx context.Context, airID string) (Agent, uint64, error) {
	if err := did.CheckAirID(airID); err != nil {
		return Agent{}, 0, FieldError("air_id", "", err)
	}
	record, err := r.store.Get(ctx, store.AgentKey(airID))
	if errors.Is(err, store.ErrNotFound) {
		if err := r.guard.ExplainMissing(ctx, airID); err != nil {
			return Agent{}, 0, err
		}
		return Agent{}, 0, fmt.Errorf("%s: %w", airID, ErrNoAgent)
	}
	if err != nil {
		return Agent{}, 0, fmt.Errorf("read agent %s: %w", airID, err)
	}
	agent, err := decodeAgent(record)
	return agent, record.Seq, err
}

func decodeAgent(record store.Record) (Agent, error) {
	var a Agent
	if err := record.Decode(&a); err != nil {
		return Agent{}, err
	}
	for i := range a.Domains {
		if d := &a.Domains[i]; d.EarlierProbes != nil {
			d.Probes, d.EarlierProbes = d.EarlierProbes, nil
		}
	}
	return a, nil
}

// ByHandle returns the agent that holds a handle, in any spelling that folds to it, and the
// sequence of its record. The error is an [*Error] for a text that cannot be a handle, and
// [ErrNoAgent].
func (r *Registry) ByHandle(ctx context.Context, text string) (Agent, uint64, error) {
	handle, err := did.FoldHandle(text)
	if err != nil {
		return Agent{}, 0, FieldError("username", "Invalid username: ", err)
	}
	h, _, err := r.loadHandle(ctx, handle)
	if err != nil {
		return Agent{}, 0, err
	}
	if h.airID == "" || !h.until.IsZero() {
		return Agent{}, 0, fmt.Errorf("handle %s: %w", handle, ErrNoAgent)
	}
	agent, seq, err := r.Agent(ctx, h.airID)
	if err == nil && agent.Handle != handle {
		// The handle was released between the two reads.
		return Agent{}, 0, fmt.Errorf("handle %s: %w", handle, ErrNoAgent)
	}
	return agent, seq, err
}

// Find returns the agent that id names: an AIR ID, a handle, or a did:wba or did:web of this
// registry. For a DID of another host it returns [ErrNoAgent], because only that host knows it. The
// error is an [*Error] for any other text.
func (r *Registry) Find(ctx context.Context, id string) (Agent, uint64, error) {
	switch {
	case strings.HasPrefix(id, "did:"):
		airID, err := r.AirIDOf(id)
		if err != nil {
			return Agent{}, 0, err
		}
		return r.Agent(ctx, airID)
	case len(id) > 4 && strings.EqualFold(id[:4], "AIR-"):
		return r.Agent(ctx, id)
	}
	if _, err := did.FoldHandle(id); err != nil {
		return Agent{}, 0, &Error{Field: "id", Code: "id", Message: "neither an AIR ID, a handle nor a DID",
			Help: "write AIR-XXXX-XXXX-XXXX, a handle of 3-30 characters a-z, 0-9 and _, or " + r.DID("AIR-XXXX-XXXX-XXXX")}
	}
	return r.ByHandle(ctx, id)
}

func (r *Registry) AirIDOf(text string) (string, error) {
	web, err := did.ParseWeb(text)
	if err != nil {
		return "", FieldError("id", "Invalid DID: ", err)
	}
	if !web.SameHost(r.host) {
		return "", fmt.Errorf("%s is not a DID of this registry, whose host is %s: %w", web, r.host.Host, ErrNoAgent)
	}
	airID, ok := web.AirID()
	if !ok {
		return "", fmt.Errorf("%s: DIDs of this registry look like %s: %w", web, r.DID("AIR-XXXX-XXXX-XXXX"), ErrNoAgent)
	}
	return airID, nil
}

// A Filter selects agents for a list.
type Filter struct {
	// All also lists agents that are not active.
	All bool
}

func (f Filter) matchesAgent(a Agent) bool { return f.All || a.Status == Active }

// MaxScan is the number of agents that one [Registry.List] reads, so that a rare filter costs no
// more than a common one.
const MaxScan = 10000

// List returns at most limit agents that the filter selects and whose AIR ID is greater than after,
// in the order of AIR IDs; "" begins at the first. A limit outside 1 to [MaxList] means MaxList.
// Next is the position of the next list, "" at the end: a list may be short, or empty, and not be
// the last.
func (r *Registry) List(ctx context.Context, f Filter, after string, limit int) (agents []Agent, next string, err error) {
	if limit < 1 || limit > MaxList {
		limit = MaxList
	}
	scanned := 0
	now := r.DueTime()
	for agent, err := range r.AllAgents(ctx, after) {
		if err != nil {
			return nil, "", err
		}
		if len(agents) == limit || scanned == MaxScan {
			return agents, next, nil
		}
		scanned++
		next = agent.AirID
		if agent.applyDueRecovery(now); f.matchesAgent(agent) {
			agents = append(agents, agent)
		}
	}
	return agents, "", nil
}
