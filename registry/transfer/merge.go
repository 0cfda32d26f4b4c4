package transfer

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/registry"
)

// maxAbsorbed is the number of agents that can be merged into one.
const maxAbsorbed = 20

// A Merge says that two agents have one owner, who keeps one of them. The current keys of both sign
// its [Merge.Statement].
type Merge struct {
	From    string // DID of the agent that ends
	FromKey string // its current key, as a multikey
	Into    string // DID of the agent that stays
	IntoKey string
	Created time.Time // whole seconds
	Nonce   string

	FromSignature string // by FromKey, over Statement, as "z…"
	IntoSignature string // by IntoKey

	Client netip.Addr // as that of a Rotation
}

// Statement returns the text that both keys sign.
func (x Merge) Statement() []byte {
	return registry.FormatStatement("merge",
		[2]string{"from", x.From}, [2]string{"from key", x.FromKey}, [2]string{"into", x.Into}, [2]string{"into key", x.IntoKey},
		[2]string{"created", registry.FormatSecond(x.Created)}, [2]string{"nonce", x.Nonce})
}

// NewMerge returns a merge of two agents with those DIDs, created now and signed by
// both keys.
func NewMerge(from, into string, fromKey, intoKey ed25519.PrivateKey, now time.Time) Merge {
	x := Merge{From: from, FromKey: registry.MultikeyOf(fromKey), Into: into, IntoKey: registry.MultikeyOf(intoKey), Created: now.UTC().Truncate(time.Second), Nonce: rand.Text()}
	x.FromSignature = did.FormatSignature(ed25519.Sign(fromKey, x.Statement()))
	x.IntoSignature = did.FormatSignature(ed25519.Sign(intoKey, x.Statement()))
	return x
}

// Merge ends an agent in favor of another one of the same owner, and returns the one that stays.
// The handle passes to the agent that stays, or is reserved for it if it has one already. Proofs
// and attestations do not pass, because two weak records must not add up to a strong one. The keys
// and the history of the ended agent stay readable, and its DID document names the agent that
// stays. The error is an [*registry.Error] for a value, [registry.ErrNoAgent], or a
// [*registry.Refusal]: with [registry.ErrUnauthorized] for invalid signatures, and with
// [registry.ErrState] when the agents cannot be merged.
func (t *Transfer) Merge(ctx context.Context, airID string, x Merge) (registry.Agent, error) {
	if err := registry.CheckNonce(x.Nonce); err != nil {
		return registry.Agent{}, err
	}
	into, err := t.registry.AirIDOf(x.Into)
	if err != nil {
		return registry.Agent{}, err
	}
	authority := &registry.Authority{By: registry.ProofStatement, Key: x.IntoKey, Signed: string(x.Statement()),
		Signatures: map[string]string{x.FromKey: x.FromSignature, x.IntoKey: x.IntoSignature}}
	agent, err := t.mergeAgents(ctx, airID, into, func(from, into *registry.Change) (registry.HistoryEntry, error) {
		for _, side := range []struct {
			c                          *registry.Change
			agent, key, sig, signature string
		}{{from, x.From, x.FromKey, "from_signature", x.FromSignature}, {into, x.Into, x.IntoKey, "into_signature", x.IntoSignature}} {
			err := side.c.VerifyStatement(ctx, registry.SignedStatement{Kind: "merge", Agent: side.agent, Key: side.key, Text: x.Statement(),
				Field: side.sig, Signature: side.signature, Created: x.Created, Nonce: x.Nonce, Client: x.Client})
			if err != nil {
				return registry.HistoryEntry{}, err
			}
		}
		return registry.HistoryEntry{Actor: registry.ActorOwner, Authority: authority}, nil
	})
	return agent, err
}

// MergeByOperator is [Transfer.Merge] as the operator, for an owner who has lost a key. The reason
// is stored with the agent that ends.
func (t *Transfer) MergeByOperator(ctx context.Context, airID, into, reason string) (registry.Agent, error) {
	reason, err := registry.ValidateText("reason", reason, registry.MaxReason, registry.ManyLines)
	if err != nil {
		return registry.Agent{}, err
	}
	return t.mergeAgents(ctx, airID, into, func(from, _ *registry.Change) (registry.HistoryEntry, error) {
		from.Agent.Reason = reason
		return registry.HistoryEntry{Actor: registry.ActorAdmin}, nil
	})
}

// mergeAgents merges two agents unless may returns an error.
func (t *Transfer) mergeAgents(ctx context.Context, airID, intoID string, may func(from, into *registry.Change) (registry.HistoryEntry, error)) (registry.Agent, error) {
	if airID == intoID {
		return registry.Agent{}, &registry.Refusal{Kind: registry.ErrState, Code: "merge-same", Message: "an agent cannot be merged into itself", Help: "name the agent that stays"}
	}
	var stays registry.Agent
	_, err := t.registry.ChangeAgent(ctx, airID, func(from *registry.Change) error {
		into, err := from.OtherAgent(ctx, intoID)
		if err != nil {
			return err
		}
		e, err := may(from, into)
		if err != nil {
			return err
		}
		for _, c := range []*registry.Change{from, into} {
			if err := c.Agent.Usable(); err != nil {
				return err
			}
		}
		if len(into.Agent.Absorbed) >= maxAbsorbed {
			return &registry.Refusal{Kind: registry.ErrState, Code: "merged-enough", Message: fmt.Sprintf("%d agents were merged into %s already", maxAbsorbed, intoID), Help: "deactivate the agent instead"}
		}
		err = mergeInto(ctx, from, into, e)
		stays = into.Agent
		return err
	})
	if err != nil {
		return registry.Agent{}, err
	}
	t.log.Info("agents merged", "air_id", airID, "into", intoID)
	return stays, nil
}

func mergeInto(ctx context.Context, c, into *registry.Change, e registry.HistoryEntry) error {
	fields := []string{"status"}
	if c.PassHandle(into) {
		fields = append(fields, "username")
	}
	into.Agent.Absorbed = append(into.Agent.Absorbed, c.Agent.AirID)
	c.Agent.MergedInto = into.Agent.AirID
	own, theirs := e, e
	own.Event, own.Fields = registry.EventMerged, fields
	if err := c.EndAgent(ctx, registry.Merged, own); err != nil {
		return err
	}
	theirs.Event, theirs.Fields = registry.EventAbsorbed, slices.Concat([]string{"absorbed"}, fields[1:])
	return into.AddEntry(theirs)
}
