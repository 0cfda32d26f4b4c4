package registry

import (
	"context"
	"fmt"
	"time"

	"gazetteer/protocol"
	"gazetteer/store"
)

// Deactivate ends an agent permanently, at the request of its owner: its DID document answers 410,
// it can neither act nor be reached, its handle is free after the cooldown, and its attestations no
// longer count. Its keys and history stay, so that its signatures can still be verified.
func (r *Registry) Deactivate(ctx context.Context, airID string, who Credentials) (Agent, error) {
	return r.ChangeAgent(ctx, airID, func(c *Change) error {
		authority, err := c.AuthorizeOwner(ctx, who)
		if err != nil {
			return err
		}
		if err := c.Agent.CheckNoRecovery(); err != nil {
			return err
		}
		return c.EndAgent(ctx, Deactivated, HistoryEntry{Event: EventDeactivated, Actor: ActorOwner, Authority: authority})
	})
}

// Delete ends an agent as the operator; the reference calls it soft deletion.
func (r *Registry) Delete(ctx context.Context, airID, reason string) (Agent, error) {
	return r.ChangeAgent(ctx, airID, func(c *Change) error { return c.DeleteAgent(ctx, reason) })
}

func (c *Change) DeleteAgent(ctx context.Context, reason string) error {
	if c.Agent.Status != Active && c.Agent.Status != Suspended {
		return fmt.Errorf("%s: %w", c.Agent.AirID, ErrNoAgent) // the reference's answer
	}
	c.Agent.Reason = reason
	return c.EndAgent(ctx, Deleted, HistoryEntry{Event: EventDeleted, Actor: ActorAdmin})
}

// Suspend takes an agent out of service until [Registry.Restore], as the operator. The agent keeps
// its handle, its key and its proofs. The reason is shown to its owner; the error is an [*Error]
// for an invalid reason.
func (r *Registry) Suspend(ctx context.Context, airID, reason string) (Agent, error) {
	reason, err := ValidateText("reason", reason, MaxReason, ManyLines)
	if err != nil {
		return Agent{}, err
	}
	return r.ChangeAgent(ctx, airID, func(c *Change) error { return c.SuspendAgent(reason) })
}

func (c *Change) SuspendAgent(reason string) error {
	if c.Agent.Status == Suspended {
		return &Refusal{Kind: ErrState, Code: "suspended-already", Message: "the agent is suspended already, for the reason " + protocol.Quote(c.Agent.Reason), Help: "restore it first to give another reason"}
	}
	if err := c.Agent.Usable(); err != nil {
		return err
	}
	c.Agent.Status, c.Agent.Reason = Suspended, reason
	return c.AddEntry(HistoryEntry{Event: EventSuspended, Actor: ActorAdmin})
}

// Restore ends the suspension of an agent, as the operator.
func (r *Registry) Restore(ctx context.Context, airID string) (Agent, error) {
	return r.ChangeAgent(ctx, airID, func(c *Change) error {
		if c.Agent.Status != Suspended {
			return &Refusal{Kind: ErrState, Code: "not-suspended", Message: "the agent is " + c.Agent.Status, Help: "only a suspended agent can be restored"}
		}
		c.Agent.Status, c.Agent.Reason = Active, ""
		return c.AddEntry(HistoryEntry{Event: EventRestored, Actor: ActorAdmin})
	})
}

// EndAgent takes an agent out of service permanently.
func (c *Change) EndAgent(ctx context.Context, status string, e HistoryEntry) error {
	c.Agent.Status, c.Agent.Handle, c.Agent.Recovery = status, "", nil
	if err := c.revokeIssued(ctx, e.Actor, e.Authority); err != nil {
		return err
	}
	return c.AddEntry(e)
}

// Erase removes what the registry stores about an agent, at the request of its owner: the record
// shrinks to the AIR ID and the status, and the history, the texts of the attestations about it and
// by it, and the leaves of the transparency log are deleted; the hashes of the log stay. The
// histories of other agents name these attestations without their texts. Nobody else ever gets the
// AIR ID or the key. Erase cannot be undone.
func (r *Registry) Erase(ctx context.Context, airID string, who Credentials) (Agent, error) {
	return r.eraseAgent(ctx, airID, func(c *Change) (string, error) {
		// A deactivated agent may be erased too.
		if _, err := c.registry.authorizeWrite(ctx, &c.Agent, who, ByKey, c.Now); err != nil {
			return "", err
		}
		if c.Agent.Status == Suspended {
			return "", c.Agent.Usable()
		}
		return ActorOwner, c.Agent.CheckNoRecovery()
	})
}

// EraseByOperator is [Registry.Erase] at the request of the operator, for an owner who has lost
// every key, or by order of a court. If the agent is erased already, it removes what a crash may
// have left of its history.
func (r *Registry) EraseByOperator(ctx context.Context, airID string) (Agent, error) {
	agent, _, err := r.LoadAgent(ctx, airID)
	if err != nil {
		return Agent{}, err
	}
	if agent.Status == Erased {
		return agent, r.deleteEntries(ctx, airID, 1, agent.Entries-1)
	}
	return r.eraseAgent(ctx, airID, func(*Change) (string, error) { return ActorAdmin, nil })
}

// EntriesPerWrite limits the entries in one write of the store.
const EntriesPerWrite = 10000

func (r *Registry) eraseAgent(ctx context.Context, airID string, may func(c *Change) (actor string, err error)) (Agent, error) {
	// The revocations add entries to the histories of the subjects, maybe more than is removed.
	agent, err := r.ChangeAgent(store.WithReserve(ctx), airID, func(c *Change) error {
		actor, err := may(c)
		if err != nil {
			return err
		}
		if c.Agent.Status == Erased {
			return &Refusal{Kind: ErrGone, Code: Erased, Message: "Agent is erased"}
		}
		if err := c.revokeIssued(ctx, actor, nil); err != nil {
			return err
		}
		return c.eraseRecords(ctx, actor)
	})
	if err != nil {
		return Agent{}, err
	}
	r.log.Info("agent erased", "air_id", airID)
	return agent, r.deleteEntries(ctx, airID, EntriesPerWrite+1, agent.Entries-1)
}

// deleteEntries deletes entries of an agent's history.
func (r *Registry) deleteEntries(ctx context.Context, airID string, from, to int) error {
	for ; from <= to; from += EntriesPerWrite {
		var writes []store.Write
		for n := from; n <= to && n < from+EntriesPerWrite; n++ {
			writes = append(writes, store.Delete(store.EntryKey(airID, n)))
		}
		if _, err := r.store.Apply(ctx, writes...); err != nil {
			return fmt.Errorf("erase the history of %s: %w", airID, err)
		}
	}
	return nil
}

func (c *Change) eraseRecords(ctx context.Context, actor string) error {
	for n := 1; n <= min(c.old.Entries, EntriesPerWrite); n++ {
		c.AddWrite(store.Delete(store.EntryKey(c.Agent.AirID, n)))
	}
	for _, n := range append(append([]int(nil), c.Agent.Attested...), c.Agent.Issued...) {
		if err := c.blankAttestation(ctx, n); err != nil {
			return err
		}
	}
	a := &c.Agent
	*a = Agent{AirID: a.AirID, Status: Erased, Created: a.Created.Truncate(24 * time.Hour), Updated: c.Now, Entries: a.Entries, LastHash: a.LastHash}
	return c.AddEntry(HistoryEntry{Event: EventErased, Actor: actor})
}

// replaceWrite adds a write and replaces an earlier one of the change for the same key.
func (c *Change) replaceWrite(w store.Write) {
	for _, o := range c.others {
		for i := range o.writes {
			if o.writes[i].Key == w.Key {
				w.Expect = o.writes[i].Expect
				o.writes[i] = w
				return
			}
		}
	}
	c.AddWrite(w)
}
