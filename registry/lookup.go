package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gazetteer/protocol/did"
	"gazetteer/store"
)

// MaxList is the most agents that one [Registry.List] returns.
const MaxList = 100

// Agent returns the agent with that AIR ID and the sequence of its record. The
// error is an [*Error] for a text that is no AIR ID, and [ErrNoAgent].
func (r *Registry) Agent(ctx context.Context, airID string) (Agent, uint64, error) {
	if err := did.CheckAirID(airID); err != nil {
		return Agent{}, 0, fieldError("air_id", "", err)
	}
	record, err := r.store.Get(ctx, store.AgentKey(airID))
	if errors.Is(err, store.ErrNotFound) {
		return Agent{}, 0, fmt.Errorf("%s: %w", airID, ErrNoAgent)
	}
	if err != nil {
		return Agent{}, 0, fmt.Errorf("read agent %s: %w", airID, err)
	}
	agent, err := decode(record)
	return agent, record.Seq, err
}

func decode(record store.Record) (Agent, error) {
	var a Agent
	if err := json.Unmarshal(record.Value, &a); err != nil {
		return Agent{}, fmt.Errorf("read %s: %w: %w", record.Key, store.ErrCorrupt, err)
	}
	return a, nil
}

// ByHandle returns the agent that holds a handle, in any spelling that folds to
// it, and the sequence of its record. The error is an [*Error] for a text that
// can be no handle, and [ErrNoAgent].
func (r *Registry) ByHandle(ctx context.Context, text string) (Agent, uint64, error) {
	handle, err := did.FoldHandle(text)
	if err != nil {
		return Agent{}, 0, fieldError("username", "Invalid username: ", err)
	}
	record, err := r.store.Get(ctx, store.HandleKey(handle))
	if errors.Is(err, store.ErrNotFound) {
		return Agent{}, 0, fmt.Errorf("handle %s: %w", handle, ErrNoAgent)
	}
	if err != nil {
		return Agent{}, 0, fmt.Errorf("look up handle %s: %w", handle, err)
	}
	agent, seq, err := r.Agent(ctx, string(record.Value))
	if err == nil && agent.Handle != handle {
		// It was given back between the two reads.
		return Agent{}, 0, fmt.Errorf("handle %s: %w", handle, ErrNoAgent)
	}
	return agent, seq, err
}

// Find returns the agent that id names: an AIR ID, a handle, or a did:wba or
// did:web of this registry. A DID of another host is [ErrNoAgent], because it
// is known only there. The error is an [*Error] for a text that is none of
// these.
func (r *Registry) Find(ctx context.Context, id string) (Agent, uint64, error) {
	switch {
	case strings.HasPrefix(id, "did:"):
		airID, err := r.airIDOf(id)
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

func (r *Registry) airIDOf(text string) (string, error) {
	web, err := did.ParseWeb(text)
	if err != nil {
		return "", fieldError("id", "Invalid DID: ", err)
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

// List returns at most limit agents whose AIR ID is greater than after, in
// order of AIR ID; "" begins at the first. A limit outside 1 to [MaxList] means
// MaxList.
func (r *Registry) List(ctx context.Context, after string, limit int) ([]Agent, error) {
	if limit < 1 || limit > MaxList {
		limit = MaxList
	}
	if after != "" {
		after = store.AgentKey(after)
	}
	var agents []Agent
	for record, err := range r.store.List(ctx, store.AgentPrefix, after) {
		if store.Damaged(record, err) {
			continue // looking it up by its id says so
		}
		if err != nil {
			return nil, fmt.Errorf("list agents: %w", err)
		}
		agent, err := decode(record)
		if err != nil {
			return nil, err
		}
		agents = append(agents, agent)
		if len(agents) == limit {
			break
		}
	}
	return agents, nil
}
