package registry

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/store"
)

// maxAbsorbed is how many agents can be merged into one.
const maxAbsorbed = 20

// A Merge says that two agents have one owner, who goes on with one of them. The
// current keys of both sign its [Merge.Statement].
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
	return formatStatement("merge",
		[2]string{"from", x.From}, [2]string{"from key", x.FromKey}, [2]string{"into", x.Into}, [2]string{"into key", x.IntoKey},
		[2]string{"created", formatSecond(x.Created)}, [2]string{"nonce", x.Nonce})
}

// NewMerge returns a merge of two agents with those DIDs, created now and signed by
// both keys.
func NewMerge(from, into string, fromKey, intoKey ed25519.PrivateKey, now time.Time) Merge {
	x := Merge{From: from, FromKey: multikeyOf(fromKey), Into: into, IntoKey: multikeyOf(intoKey), Created: now.UTC().Truncate(time.Second), Nonce: httpsig.NewNonce()}
	x.FromSignature = did.FormatSignature(ed25519.Sign(fromKey, x.Statement()))
	x.IntoSignature = did.FormatSignature(ed25519.Sign(intoKey, x.Statement()))
	return x
}

// ReadMerge reads the body of a merge: from, from_key, into, into_key, created,
// nonce, from_signature and into_signature. Values are judged by
// [Registry.Merge]. The error is an [*Error].
func ReadMerge(body []byte) (Merge, error) {
	var x Merge
	var created string
	err := readTexts(body, map[string]*string{"from": &x.From, "from_key": &x.FromKey, "into": &x.Into, "into_key": &x.IntoKey,
		"created": &created, "nonce": &x.Nonce, "from_signature": &x.FromSignature, "into_signature": &x.IntoSignature})
	if err == nil {
		x.Created, err = parseStatementTime(created)
	}
	x.FromKey, x.IntoKey = normalizeMultikey(x.FromKey), normalizeMultikey(x.IntoKey)
	return x, err
}

// Merge ends an agent in favour of another of its owner, and returns the one that
// stays. The handle goes over when that has none, and is kept for it otherwise.
// What was proved or attested of the one that ends does not: two weak records must
// not add up to a strong one. Its keys and history stay to be read, its DID says
// where to go. The error is an [*Error] for a value, [ErrNoAgent], or a
// [*Refusal]: with [ErrUnauthorized] for signatures that do not hold, with
// [ErrState] when the agents cannot be merged.
func (r *Registry) Merge(ctx context.Context, airID string, x Merge) (Agent, error) {
	if err := checkNonce(x.Nonce); err != nil {
		return Agent{}, err
	}
	into, err := r.airIDOf(x.Into)
	if err != nil {
		return Agent{}, err
	}
	authority := &Authority{By: ProofStatement, Key: x.IntoKey, Signed: string(x.Statement()),
		Signatures: map[string]string{x.FromKey: x.FromSignature, x.IntoKey: x.IntoSignature}}
	agent, err := r.mergeAgents(ctx, airID, into, func(from, into *change) (Entry, error) {
		for _, side := range []struct {
			c                          *change
			agent, key, sig, signature string
		}{{from, x.From, x.FromKey, "from_signature", x.FromSignature}, {into, x.Into, x.IntoKey, "into_signature", x.IntoSignature}} {
			if err := side.c.checkStatementTarget(side.agent, side.key, "merge"); err != nil {
				return Entry{}, err
			}
			if err := checkSigned(side.sig, side.key, x.Statement(), side.signature); err != nil {
				return Entry{}, err
			}
			if err := side.c.agent.checkNoRecovery(); err != nil {
				return Entry{}, err
			}
			if err := checkFresh(x.Created, side.c.now); err != nil {
				return Entry{}, err
			}
			if err := side.c.agent.useNonce(x.Nonce, side.c.now, x.Created); err != nil {
				return Entry{}, err
			}
			if err := r.countWrite(&side.c.agent, side.c.now); err != nil {
				return Entry{}, err
			}
			if side.c.agent.KeyProof == "" { // it signed this
				if err := side.c.proveKey(ctx, ProofStatement); err != nil {
					return Entry{}, err
				}
			}
		}
		return Entry{Actor: ActorOwner, Authority: authority}, nil
	})
	r.countFailure(x.Client, r.now(), err)
	return agent, err
}

// MergeByOperator is [Registry.Merge] as the operator, for an owner who has lost a
// key. Reason is kept with the agent that ends.
func (r *Registry) MergeByOperator(ctx context.Context, airID, into, reason string) (Agent, error) {
	reason, err := validateText("reason", reason, maxReason, manyLines)
	if err != nil {
		return Agent{}, err
	}
	return r.mergeAgents(ctx, airID, into, func(from, _ *change) (Entry, error) {
		from.agent.Reason = reason
		return Entry{Actor: ActorAdmin}, nil
	})
}

// mergeAgents merges two agents if may does not object.
func (r *Registry) mergeAgents(ctx context.Context, airID, intoID string, may func(from, into *change) (Entry, error)) (Agent, error) {
	if airID == intoID {
		return Agent{}, &Refusal{Kind: ErrState, Code: "merge-same", Message: "an agent cannot be merged into itself", Help: "name the agent that shall stay"}
	}
	var stays Agent
	_, err := r.changeAgent(ctx, airID, func(from *change) error {
		into, err := from.otherAgent(ctx, intoID)
		if err != nil {
			return err
		}
		e, err := may(from, into)
		if err != nil {
			return err
		}
		for _, c := range []*change{from, into} {
			if err := c.agent.Usable(); err != nil {
				return err
			}
		}
		if len(into.agent.Absorbed) >= maxAbsorbed {
			return &Refusal{Kind: ErrState, Code: "merged-enough", Message: fmt.Sprintf("%d agents were merged into %s already", maxAbsorbed, intoID), Help: "deactivate the agent instead"}
		}
		err = from.mergeInto(ctx, into, e)
		stays = into.agent
		return err
	})
	if err != nil {
		return Agent{}, err
	}
	r.log.Info("agents merged", "air_id", airID, "into", intoID)
	return stays, nil
}

func (c *change) mergeInto(ctx context.Context, into *change, e Entry) error {
	fields := []string{"status"}
	if handle := c.agent.Handle; handle != "" {
		fields = append(fields, "username")
		// Nobody else may get what is meant for the owner: either the agent that stays
		// holds the handle, or it alone may claim it until the cooldown is over.
		h := handleHolder{airID: into.agent.AirID}
		if into.agent.Handle == "" {
			into.agent.Handle, into.handleWritten = handle, true
		} else {
			h.until = c.now
		}
		c.handleWritten = true
		c.addWrite(store.Put(store.HandleKey(handle), []byte(h.String())))
	}
	into.agent.Absorbed = append(into.agent.Absorbed, c.agent.AirID)
	c.agent.MergedInto = into.agent.AirID
	own, theirs := e, e
	own.Event, own.Fields = EventMerged, fields
	if err := c.endAgent(ctx, Merged, own); err != nil {
		return err
	}
	theirs.Event, theirs.Fields = EventAbsorbed, slices.Concat([]string{"absorbed"}, fields[1:])
	return into.addEntry(theirs)
}
