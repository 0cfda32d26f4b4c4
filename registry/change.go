package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/store"
)

// A change is a record of an agent that is being worked out anew. Everything it
// brings along goes into one write of the store, on condition that nobody wrote
// any of it meanwhile; else it is worked out again on what is there then.
type change struct {
	r      *Registry
	now    time.Time
	old    Agent
	seq    uint64 // of old
	agent  Agent
	writes []store.Write // beside the agent's own record
	// handleWritten says that the writes bring the handle along already.
	handleWritten bool
	// others are agents that change along, by AIR ID.
	others map[string]*change
}

// changeAgent works out a change with f and writes it. f may be called several times.
// It records at least one entry, or returns an error.
func (r *Registry) changeAgent(ctx context.Context, airID string, f func(c *change) error) (Agent, error) {
	for {
		c, err := r.beginChange(ctx, airID)
		if err != nil {
			return Agent{}, err
		}
		if err := f(c); err != nil {
			return Agent{}, err
		}
		err = c.commit(ctx)
		if errors.Is(err, store.ErrConflict) {
			if ctx.Err() != nil {
				return Agent{}, ctx.Err()
			}
			continue // somebody else made progress
		}
		return c.agent, err
	}
}

// beginChange reads an agent. A recovery that is due comes into force with the change.
func (r *Registry) beginChange(ctx context.Context, airID string) (*change, error) {
	old, seq, err := r.loadAgent(ctx, airID)
	if err != nil {
		return nil, err
	}
	c := &change{r: r, now: r.timestamp(), old: old, seq: seq, agent: old.clone(), others: map[string]*change{}}
	if c.agent.applyDueRecovery(c.now) {
		if err := c.addEntry(Entry{Event: EventRecovered, Actor: ActorSystem}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// otherAgent returns the change of another agent that is written together with c.
func (c *change) otherAgent(ctx context.Context, airID string) (*change, error) {
	if airID == c.agent.AirID {
		return c, nil
	}
	if o := c.others[airID]; o != nil {
		return o, nil
	}
	o, err := c.r.beginChange(ctx, airID)
	if err != nil {
		return nil, err
	}
	c.others[airID] = o
	return o, nil
}

// addEntry adds an entry to the history, with the agent as it is now.
func (c *change) addEntry(e Entry) error {
	e.At = c.now
	c.agent.Updated = c.now
	w, err := c.agent.appendEntry(e)
	if err != nil {
		return err
	}
	c.writes = append(c.writes, w)
	return nil
}

// addWrite adds a write beside the agent's own record.
func (c *change) addWrite(w store.Write) { c.writes = append(c.writes, w) }

// authorizeOwner shows that the owner sent the request, and that the agent may still act.
func (c *change) authorizeOwner(ctx context.Context, who Credentials) (*Authority, error) {
	// Whether it is the owner comes first: a stranger learns nothing else.
	a, err := c.r.authorizeWrite(ctx, &c.agent, who, c.now)
	if err != nil {
		return nil, err
	}
	if err := c.agent.Usable(); err != nil {
		return nil, err
	}
	if a.By == ProofSignature && c.agent.KeyProof == "" {
		if err := c.proveKey(ctx, ProofSignature); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// proveKey marks the current key as proved and the agent as its holder.
func (c *change) proveKey(ctx context.Context, how string) error {
	w, err := c.r.reserveKey(ctx, c.agent.multikey(), c.agent.AirID)
	if err != nil {
		return err
	}
	c.agent.KeyProof = how
	c.addWrite(w)
	return nil
}

// reserveKey returns the write that makes an agent the holder of a key.
func (r *Registry) reserveKey(ctx context.Context, multikey, airID string) (store.Write, error) {
	record, err := r.store.Get(ctx, store.KeyKey(multikey))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.PutIf(store.KeyKey(multikey), []byte(airID), 0), nil
	case err != nil:
		return store.Write{}, fmt.Errorf("look up key %s: %w", multikey, err)
	case string(record.Value) == airID:
		return store.Write{}, &Refusal{Kind: ErrState, Code: "key-used", Message: "this agent has used the key before",
			Help: "a key that was retired does not come back: make a new one"}
	}
	free, err := r.isKeyReleased(ctx, string(record.Value))
	if err != nil {
		return store.Write{}, err
	}
	if free {
		return store.PutIf(record.Key, []byte(airID), record.Seq), nil
	}
	return store.Write{}, &Refusal{Kind: ErrState, Code: "key-taken", Message: "the key belongs to another agent of this registry",
		Help: "give every agent a key of its own"}
}

// commit writes the change. The error is store.ErrConflict when it must be
// worked out again.
func (c *change) commit(ctx context.Context) error {
	return c.r.holdPolicy(ctx, func() error {
		writes, err := c.agentWrites(ctx, nil)
		if err != nil {
			return err
		}
		for _, o := range c.others {
			if writes, err = o.agentWrites(ctx, writes); err != nil {
				return err
			}
		}
		if _, err := c.r.store.Apply(ctx, writes...); err != nil {
			return fmt.Errorf("write agent %s: %w", c.agent.AirID, err)
		}
		return nil
	})
}

// agentWrites appends the writes of one agent; the gate is held.
func (c *change) agentWrites(ctx context.Context, writes []store.Write) ([]store.Write, error) {
	if err := c.r.blockLists.checkAgent(c.old, c.agent, c.now); err != nil {
		return nil, err
	}
	c.agent.setNextCheck(c.r)
	value, err := encodeAgent(&c.agent)
	if err != nil {
		return nil, fmt.Errorf("write agent %s: %w", c.agent.AirID, err)
	}
	writes = append(writes, store.PutIf(store.AgentKey(c.agent.AirID), value, c.seq))
	writes = append(writes, c.writes...)
	if c.agent.Handle != c.old.Handle && !c.handleWritten {
		handles, err := c.r.handleWrites(ctx, c.agent.AirID, c.old.Handle, c.agent.Handle, c.now)
		if err != nil {
			return nil, err
		}
		writes = append(writes, handles...)
	}
	return writes, nil
}

// Usable reports whether the agent may act and be reached. The error is a
// [*Refusal]: with [ErrGone] for one that is deactivated, deleted or erased, and
// with [ErrForbidden] for one that is suspended.
func (a Agent) Usable() error {
	switch a.Status {
	case Active:
		return nil
	case Suspended:
		return &Refusal{Kind: ErrForbidden, Code: "suspended", Message: "Agent is suspended", Help: "ask the operator of the registry: " + a.Reason}
	}
	if a.Status == Merged {
		return &Refusal{Kind: ErrGone, Code: Merged, Message: "Agent is merged into " + a.MergedInto, Help: "use " + a.MergedInto + "; keys and history of this one stay to be read"}
	}
	help := "this cannot be undone; its keys and history stay to be read"
	if a.Status == Erased {
		help = "this cannot be undone; only its AIR ID and hashes in the transparency log are kept"
	}
	return &Refusal{Kind: ErrGone, Code: a.Status, Message: "Agent is " + a.Status, Help: help}
}

// Resolvable reports whether the agent has a DID document to publish: beside
// what [Agent.Usable] says, [ErrNoKey].
func (a Agent) Resolvable() error {
	if err := a.Usable(); err != nil {
		return err
	}
	if len(a.PublicKey) == 0 {
		return ErrNoKey
	}
	return nil
}

// Local answers for the DIDs of this registry's own agents, as
// [gazetteer/registry/resolve.Options] asks for it; false stands for a DID of
// another host.
func (r *Registry) Local(ctx context.Context, w did.Web) (did.Document, bool, error) {
	if !w.SameHost(r.host) {
		return did.Document{}, false, nil
	}
	airID, ok := w.AirID()
	if !ok {
		return did.Document{}, true, fmt.Errorf("%s: %w", w, ErrNoAgent)
	}
	a, _, err := r.Agent(ctx, airID)
	if err == nil {
		err = a.Resolvable()
	}
	if err != nil {
		return did.Document{}, true, err
	}
	return r.documentUnder(w.Method, a), true, nil
}
