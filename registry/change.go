package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/registry/resolve"
	"gazetteer/store"
)

// A Change is the preparation of an agent's next record. All its writes are one write of the store,
// on condition that none of the records has changed meanwhile; otherwise the change is computed
// again from the new records.
type Change struct {
	registry *Registry
	Now      time.Time
	old      Agent
	seq      uint64 // of old
	Agent    Agent
	writes   []store.Write // beside the agent's own record
	// handleWritten says that the writes include that of the handle.
	handleWritten bool
	// others are agents that change in the same write, by AIR ID.
	others map[string]*Change
	// proof is what proved the change and is charged for its size; nil if nobody is.
	proof *chargedProof
}

// ChangeAgent changes an agent with f, which may be called several times, and writes it. f must add
// at least one entry or return an error.
func (r *Registry) ChangeAgent(ctx context.Context, airID string, f func(c *Change) error) (Agent, error) {
	for {
		c, err := r.beginChange(ctx, airID)
		if err != nil {
			return Agent{}, err
		}
		if err := f(c); err != nil {
			return Agent{}, err
		}
		units := c.countSize()
		err = c.Commit(ctx)
		if errors.Is(err, store.ErrConflict) {
			if ctx.Err() != nil {
				return Agent{}, ctx.Err()
			}
			continue // somebody else made progress
		}
		if err == nil {
			c.chargeSize(ctx, units)
		}
		return c.Agent, err
	}
}

// beginChange reads an agent. A due recovery is completed with the change.
func (r *Registry) beginChange(ctx context.Context, airID string) (*Change, error) {
	old, seq, err := r.LoadAgent(ctx, airID)
	if err != nil {
		return nil, err
	}
	c := r.NewChange(old)
	c.old, c.seq = old, seq
	c.Agent.orderKeys(c.Now)
	if c.Agent.applyDueRecovery(r.DueTime()) {
		if err := c.AddEntry(HistoryEntry{Event: EventRecovered, Actor: ActorSystem}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// NewChange returns the change that stores an agent which the registry does not have yet.
func (r *Registry) NewChange(a Agent) *Change {
	return &Change{registry: r, Now: r.Timestamp(), Agent: a.clone(), others: map[string]*Change{}}
}

// OtherAgent returns the change of another agent that is written together with c.
func (c *Change) OtherAgent(ctx context.Context, airID string) (*Change, error) {
	if airID == c.Agent.AirID {
		return c, nil
	}
	if o := c.others[airID]; o != nil {
		return o, nil
	}
	o, err := c.registry.beginChange(ctx, airID)
	if err != nil {
		return nil, err
	}
	c.others[airID] = o
	return o, nil
}

// AddEntry adds an entry to the history, with the agent as it is now.
func (c *Change) AddEntry(e HistoryEntry) error {
	e.At = c.Now
	c.Agent.Updated = c.Now
	w, err := c.Agent.AppendEntry(e)
	if err != nil {
		return err
	}
	c.writes = append(c.writes, w)
	return nil
}

// AddWrite adds a write beside the agent's own record.
func (c *Change) AddWrite(w store.Write) { c.writes = append(c.writes, w) }

// AuthorizeOwner checks that the owner sent the request, and that the agent may still act.
func (c *Change) AuthorizeOwner(ctx context.Context, who Credentials) (*Authority, error) {
	return c.authorizeOwnerAs(ctx, who, ByKey)
}

// authorizeOwnerAs is AuthorizeOwner for a request whose signature counts as signed says.
func (c *Change) authorizeOwnerAs(ctx context.Context, who Credentials, signed WriteProof) (*Authority, error) {
	// The owner's credentials are checked first, so that other clients learn nothing else.
	a, err := c.registry.authorizeWrite(ctx, &c.Agent, who, signed, c.Now)
	if err != nil {
		return nil, err
	}
	c.proof = &chargedProof{who.Client, signed}
	if a.By == proofSecret {
		c.proof.by = BySecret
	}
	if err := c.Agent.Usable(); err != nil {
		return nil, err
	}
	if a.By == ProofSignature && c.Agent.KeyProof == "" {
		if err := c.proveKey(ctx, ProofSignature); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// proveKey marks the current key as proved and the agent as its holder.
func (c *Change) proveKey(ctx context.Context, how string) error {
	w, err := c.registry.ReserveKey(ctx, c.Agent.Multikey(), c.Agent.AirID)
	if err != nil {
		return err
	}
	c.Agent.KeyProof = how
	c.AddWrite(w)
	return nil
}

// ReserveKey returns the write that makes an agent the holder of a key.
func (r *Registry) ReserveKey(ctx context.Context, multikey, airID string) (store.Write, error) {
	record, err := r.store.Get(ctx, store.KeyKey(multikey))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.PutIf(store.KeyKey(multikey), []byte(airID), 0), nil
	case err != nil:
		return store.Write{}, fmt.Errorf("look up key %s: %w", multikey, err)
	case string(record.Value) == airID:
		return store.Write{}, &Refusal{Kind: ErrState, Code: "key-used", Message: "this agent has used the key before",
			Help: "a retired key cannot be used again: generate a new one"}
	}
	free, err := r.guard.IsKeyReleased(ctx, string(record.Value))
	if err != nil {
		return store.Write{}, err
	}
	if free {
		return store.PutIf(record.Key, []byte(airID), record.Seq), nil
	}
	return store.Write{}, &Refusal{Kind: ErrState, Code: "key-taken", Message: "the key belongs to another agent of this registry",
		Help: "give every agent its own key"}
}

// HoldsKey reports whether this registry knows that an agent holds a key.
func (r *Registry) HoldsKey(ctx context.Context, multikey, airID string) (bool, error) {
	record, err := r.store.Get(ctx, store.KeyKey(multikey))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up key %s: %w", multikey, err)
	}
	return string(record.Value) == airID, nil
}

// CheckPolicy refuses an agent that the present policy does not admit, as [Change.Commit] does, for a
// change that writes something before.
func (c *Change) CheckPolicy(ctx context.Context) error {
	return c.registry.guard.HoldPolicy(ctx, func() error { return c.registry.guard.CheckAgent(c.old, c.Agent, c.Now) })
}

// Commit writes the change. The error is [store.ErrConflict] when it must start again.
func (c *Change) Commit(ctx context.Context) error {
	return c.registry.guard.HoldPolicy(ctx, func() error {
		writes, err := c.agentWrites(ctx, nil)
		if err != nil {
			return err
		}
		for _, o := range c.others {
			if writes, err = o.agentWrites(ctx, writes); err != nil {
				return err
			}
		}
		if _, err := c.registry.store.Apply(ctx, writes...); err != nil {
			return fmt.Errorf("write agent %s: %w", c.Agent.AirID, err)
		}
		return nil
	})
}

// agentWrites appends the writes of one agent. The guard holds the policy.
func (c *Change) agentWrites(ctx context.Context, writes []store.Write) ([]store.Write, error) {
	if err := c.registry.guard.CheckAgent(c.old, c.Agent, c.Now); err != nil {
		return nil, err
	}
	var handles []store.Write
	if c.Agent.Handle != c.old.Handle && !c.handleWritten {
		var err error
		if handles, err = c.handleWrites(ctx); err != nil {
			return nil, err
		}
	}
	value, err := json.Marshal(c.Agent)
	if err != nil {
		return nil, fmt.Errorf("write agent %s: %w", c.Agent.AirID, err)
	}
	writes = append(writes, store.PutIf(store.AgentKey(c.Agent.AirID), value, c.seq))
	writes = append(writes, c.writes...)
	writes = append(writes, handles...)
	return writes, nil
}

// Usable returns nil if the agent may act and be reached. Otherwise it returns a [*Refusal]: with
// [ErrGone] for a deactivated, deleted, merged or erased agent, and with [ErrForbidden] for a
// suspended one.
func (a Agent) Usable() error {
	switch a.Status {
	case Active:
		return nil
	case Suspended:
		return &Refusal{Kind: ErrForbidden, Code: "suspended", Message: "Agent is suspended", Help: "ask the operator of the registry, who has suspended " + a.AirID + " for this reason: " + a.Reason}
	}
	if a.Status == Merged {
		return &Refusal{Kind: ErrGone, Code: Merged, Message: "Agent is merged into " + a.MergedInto, Help: "use " + a.MergedInto + "; keys and history of this one stay to be read"}
	}
	help := "this cannot be undone; keys and history of " + a.AirID + " stay to be read"
	if a.Status == Erased {
		help = "this cannot be undone; only the AIR ID " + a.AirID + " and hashes in the transparency log remain"
	}
	if a.MovedTo != "" {
		help = "use " + a.MovedTo + ", which the agent has named as its new DID; " + help
	}
	return &Refusal{Kind: ErrGone, Code: a.Status, Message: "Agent is " + a.Status, Help: help}
}

// Resolvable returns nil if the agent has a DID document to publish. Otherwise it returns the error
// of [Agent.Usable] or [ErrNoKey].
func (a Agent) Resolvable() error {
	if err := a.Usable(); err != nil {
		return err
	}
	if len(a.PublicKey) == 0 {
		return ErrNoKey
	}
	return nil
}

// Local resolves the DIDs of this registry's own agents, for [gazetteer/registry/resolve.Options];
// the result is false for a DID of another host. The error matches [resolve.ErrAbsent] unless a later
// call may succeed.
func (r *Registry) Local(ctx context.Context, w did.Web) (did.Document, bool, error) {
	if !w.SameHost(r.host) {
		return did.Document{}, false, nil
	}
	airID, ok := w.AirID()
	if !ok {
		return did.Document{}, true, absentError{fmt.Errorf("%s: %w", w, ErrNoAgent)}
	}
	a, _, err := r.Agent(ctx, airID)
	if _, refused := errors.AsType[*Refusal](err); refused || errors.Is(err, ErrNoAgent) {
		return did.Document{}, true, absentError{err}
	}
	if err != nil {
		return did.Document{}, true, err
	}
	if err := a.Resolvable(); err != nil {
		return did.Document{}, true, absentError{err}
	}
	return r.documentUnder(w.Method, a), true, nil
}

// absentError says why an agent of this registry has no DID document.
type absentError struct{ error }

// Unwrap returns the reason.
func (e absentError) Unwrap() error { return e.error }

// Is matches [resolve.ErrAbsent].
func (e absentError) Is(target error) bool { return target == resolve.ErrAbsent }
