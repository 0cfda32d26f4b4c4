package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gazetteer/store"
)

// Deactivate ends an agent for good, at its owner's wish: its DID document
// answers 410, it can neither act nor be reached, its handle is free after the
// cooldown, and its attestations count no more. Its keys and history stay, so that
// what it signed can still be judged.
func (r *Registry) Deactivate(ctx context.Context, airID string, who Credentials) (Agent, error) {
	return r.changeAgent(ctx, airID, func(c *change) error {
		authority, err := c.authorizeOwner(ctx, who)
		if err != nil {
			return err
		}
		if err := c.agent.checkNoRecovery(); err != nil {
			return err
		}
		return c.endAgent(ctx, Deactivated, Entry{Event: EventDeactivated, Actor: ActorOwner, Authority: authority})
	})
}

// Delete ends an agent as the operator: the reference's soft deletion.
func (r *Registry) Delete(ctx context.Context, airID, reason string) (Agent, error) {
	return r.changeAgent(ctx, airID, func(c *change) error { return c.deleteAgent(ctx, reason) })
}

func (c *change) deleteAgent(ctx context.Context, reason string) error {
	if c.agent.Status != Active && c.agent.Status != Suspended {
		return fmt.Errorf("%s: %w", c.agent.AirID, ErrNoAgent) // the reference's answer
	}
	c.agent.Reason = reason
	return c.endAgent(ctx, Deleted, Entry{Event: EventDeleted, Actor: ActorAdmin})
}

// Suspend takes an agent out of service until [Registry.Restore], as the
// operator: it keeps its handle, its key and what is proved of it. Reason is shown
// to its owner; the error is an [*Error] when it cannot be.
func (r *Registry) Suspend(ctx context.Context, airID, reason string) (Agent, error) {
	reason, err := validateText("reason", reason, maxReason, manyLines)
	if err != nil {
		return Agent{}, err
	}
	return r.changeAgent(ctx, airID, func(c *change) error { return c.suspendAgent(reason) })
}

func (c *change) suspendAgent(reason string) error {
	if err := c.agent.Usable(); err != nil {
		return err
	}
	c.agent.Status, c.agent.Reason = Suspended, reason
	return c.addEntry(Entry{Event: EventSuspended, Actor: ActorAdmin})
}

// Restore puts a suspended agent back into service, as the operator.
func (r *Registry) Restore(ctx context.Context, airID string) (Agent, error) {
	return r.changeAgent(ctx, airID, func(c *change) error {
		if c.agent.Status != Suspended {
			return &Refusal{Kind: ErrState, Code: "not-suspended", Message: "the agent is " + c.agent.Status, Help: "only a suspended agent can be restored"}
		}
		c.agent.Status, c.agent.Reason = Active, ""
		return c.addEntry(Entry{Event: EventRestored, Actor: ActorAdmin})
	})
}

// endAgent takes an agent out of service for good.
func (c *change) endAgent(ctx context.Context, status string, e Entry) error {
	c.agent.Status, c.agent.Handle, c.agent.Recovery = status, "", nil
	if err := c.revokeIssued(ctx, e.Actor, e.Authority); err != nil {
		return err
	}
	return c.addEntry(e)
}

// revokeIssued revokes what the agent has attested: who is gone vouches for
// nobody.
func (c *change) revokeIssued(ctx context.Context, actor string, authority *Authority) error {
	for _, n := range c.agent.Issued {
		a, seq, err := c.r.loadAttestation(ctx, n)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if !a.Revoked.IsZero() {
			continue
		}
		subject, err := c.otherAgent(ctx, a.Subject)
		if err != nil {
			return err
		}
		if err := subject.writeRevocation(ctx, &a, seq, actor, authority); err != nil {
			return err
		}
	}
	return nil
}

// Erase removes what an agent is and was, at its owner's wish: its record shrinks
// to the AIR ID and the word erased, its history and the texts of its attestations
// go from the store, and their content from the transparency log, whose hashes
// stay. The AIR ID and the key are never given to anybody else. It cannot be
// undone.
func (r *Registry) Erase(ctx context.Context, airID string, who Credentials) (Agent, error) {
	return r.eraseAgent(ctx, airID, func(c *change) (string, error) {
		// A deactivated agent may be erased too.
		if _, err := c.r.authorizeWrite(ctx, &c.agent, who, c.now); err != nil {
			return "", err
		}
		if c.agent.Status == Suspended {
			return "", c.agent.Usable()
		}
		return ActorOwner, c.agent.checkNoRecovery()
	})
}

// EraseByOperator is [Registry.Erase] at the wish of the operator, for an owner
// who has lost every key, or by order of a court. Of an agent that is erased
// already it removes what a crash may have left of its history.
func (r *Registry) EraseByOperator(ctx context.Context, airID string) (Agent, error) {
	agent, _, err := r.loadAgent(ctx, airID)
	if err != nil {
		return Agent{}, err
	}
	if agent.Status == Erased {
		return agent, r.deleteEntries(ctx, airID, 1, agent.Entries-1)
	}
	return r.eraseAgent(ctx, airID, func(*change) (string, error) { return ActorAdmin, nil })
}

// entriesPerWrite is how many entries go in one write of the store.
const entriesPerWrite = 10000

func (r *Registry) eraseAgent(ctx context.Context, airID string, may func(c *change) (actor string, err error)) (Agent, error) {
	agent, err := r.changeAgent(ctx, airID, func(c *change) error {
		actor, err := may(c)
		if err != nil {
			return err
		}
		if c.agent.Status == Erased {
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
	return agent, r.deleteEntries(ctx, airID, entriesPerWrite+1, agent.Entries-1)
}

// deleteEntries deletes entries of an agent's history.
func (r *Registry) deleteEntries(ctx context.Context, airID string, from, to int) error {
	for ; from <= to; from += entriesPerWrite {
		var writes []store.Write
		for n := from; n <= to && n < from+entriesPerWrite; n++ {
			writes = append(writes, store.Delete(store.EntryKey(airID, n)))
		}
		if _, err := r.store.Apply(ctx, writes...); err != nil {
			return fmt.Errorf("erase the history of %s: %w", airID, err)
		}
	}
	return nil
}

func (c *change) eraseRecords(ctx context.Context, actor string) error {
	for n := 1; n <= min(c.old.Entries, entriesPerWrite); n++ {
		c.addWrite(store.Delete(store.EntryKey(c.agent.AirID, n)))
	}
	for _, n := range append(append([]int(nil), c.agent.Attested...), c.agent.Issued...) {
		if err := c.blankAttestation(ctx, n); err != nil {
			return err
		}
	}
	a := &c.agent
	*a = Agent{AirID: a.AirID, Status: Erased, Created: a.Created.Truncate(24 * time.Hour), Updated: c.now, Entries: a.Entries, LastHash: a.LastHash}
	return c.addEntry(Entry{Event: EventErased, Actor: actor})
}

// blankAttestation takes the content out of an attestation and leaves its number, so that
// it is not given out again.
func (c *change) blankAttestation(ctx context.Context, n int) error {
	old, _, err := c.r.loadAttestation(ctx, n)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	blank := Attestation{N: n, Subject: old.Subject, Attester: old.Attester, Type: old.Type, Why: Erased, Created: old.Created, Revoked: old.Revoked}
	if blank.Revoked.IsZero() {
		blank.Revoked = c.now
	}
	value, err := json.Marshal(blank)
	if err != nil {
		return fmt.Errorf("write an attestation: %w", err)
	}
	c.replaceWrite(store.Put(store.AttestationKey(n), value))
	return nil
}

// replaceWrite adds a write in the place of one that the change has for the same key.
func (c *change) replaceWrite(w store.Write) {
	for _, o := range c.others {
		for i := range o.writes {
			if o.writes[i].Key == w.Key {
				w.Expect = o.writes[i].Expect
				o.writes[i] = w
				return
			}
		}
	}
	c.addWrite(w)
}
