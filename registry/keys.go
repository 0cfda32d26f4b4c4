package registry

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/did"
)

// defaultRecoveryDelay is the time between a recovery request and its effect. An owner whose
// recovery key was stolen can notice the request and ask the operator.
const defaultRecoveryDelay = 72 * time.Hour

// A PendingRecovery completes at Due.
type PendingRecovery struct {
	To    []byte    `json:"to"`   // the new key
	Next  string    `json:"next"` // the next commitment, "" for none
	Asked time.Time `json:"asked"`
	Due   time.Time `json:"due"`
}

// Rotate replaces the current key. The error is an [*Error] for an invalid value, [ErrNoAgent], or
// a [*Refusal]: with [ErrUnauthorized] for invalid signatures, and with [ErrState] when the
// statement is not from the current key or the new key is not available. Of any number of rotations
// from one key, one succeeds.
func (r *Registry) Rotate(ctx context.Context, airID string, x Rotation) (Agent, error) {
	if err := CheckNonce(x.Nonce); err != nil {
		return Agent{}, err
	}
	if err := checkCommitment("recovery_commitment", x.Commitment); err != nil {
		return Agent{}, err
	}
	agent, err := r.ChangeAgent(ctx, airID, func(c *Change) error { return c.rotateKey(ctx, x) })
	if err != nil {
		return agent, r.guard.RefuseFailure(ctx, x.Client, err)
	}
	r.log.Info("key rotated", "air_id", airID)
	return agent, nil
}

func (c *Change) rotateKey(ctx context.Context, x Rotation) error {
	if err := c.checkStatementTarget(x.Agent, x.From, "rotation"); err != nil {
		return err
	}
	if err := checkFresh(x.Created, c.Now); err != nil {
		return err
	}
	if err := CheckSigned("old_signature", x.From, x.Statement(), x.OldSignature); err != nil {
		return err
	}
	if err := c.Agent.Usable(); err != nil {
		return err
	}
	if err := c.Agent.CheckNoRecovery(); err != nil {
		return err
	}
	if x.Commitment != "" && c.Agent.Commitment != "" && x.Commitment != c.Agent.Commitment {
		return &Refusal{Kind: ErrForbidden, Code: "recovery-set", Message: "the agent has committed to a recovery key already",
			Help: "only a recovery changes it: otherwise a thief of the current key could replace the recovery key too"}
	}
	next, err := did.ParseMultikey(x.To)
	if err != nil {
		return FieldError("public_key", "Invalid public_key: ", err)
	}
	if err := CheckSigned("new_signature", x.To, x.Statement(), x.NewSignature); err != nil {
		return err
	}
	// A rotation does not count as a write: a thief of the secret or of the key could otherwise use up
	// the owner's quota, and it has a limit of its own.
	if err := c.Agent.useNonceOf(x.Nonce, c.Now, x.Created, maxNonces+rotationNonces); err != nil {
		return err
	}
	if err := c.Agent.checkRotationCount(c.Now); err != nil {
		return err
	}
	if err := c.reserveNextKey(ctx, x.From, x.To); err != nil {
		return err
	}
	// Only a rotation that nothing else refuses is counted: a thief of the key could otherwise use up
	// the quota with rotations that do not change it.
	if err := c.registry.guard.AdmitProved(ctx, x.Client, c.Agent, ByRotation); err != nil {
		return err
	}
	c.proof = &chargedProof{x.Client, ByRotation}
	if c.Agent.KeyProof == "" { // it signed this
		if err := c.proveKey(ctx, ProofStatement); err != nil {
			return err
		}
	}
	c.Agent.replaceKey(next, c.Now, "rotation")
	if x.Commitment != "" {
		c.Agent.Commitment = x.Commitment
	}
	return c.AddEntry(HistoryEntry{Event: EventRotated, Actor: ActorOwner, Fields: []string{"public_key"},
		Authority: &Authority{By: ProofStatement, Key: x.From, Signed: string(x.Statement()),
			Signatures: map[string]string{x.From: x.OldSignature, x.To: x.NewSignature}}})
}

// checkStatementTarget checks that a statement is about this agent and its current key.
func (c *Change) checkStatementTarget(agent, from, what string) error {
	if want := c.registry.DID(c.Agent.AirID); agent != want {
		return &Refusal{Kind: ErrUnauthorized, Code: "statement-agent", Message: "the " + what + " is for another agent", Expected: want, Got: protocol.ClipBytes(agent, MaxQuoted)}
	}
	current := c.Agent.Multikey()
	if current == "" {
		return ErrNoKey
	}
	if from == current {
		return nil
	}
	for i, k := range c.Agent.Retired {
		if did.FormatMultikey(k.PublicKey) == from {
			return &Refusal{Kind: ErrState, Code: "key-retired", Message: fmt.Sprintf("the key that the %s is from was retired on %s (%s%d)", what, FormatSecond(k.Until), did.RetiredFragment, i+1),
				Expected: current, Got: from, Help: "only the current key can be replaced"}
		}
	}
	return &Refusal{Kind: ErrState, Code: "key-not-current", Message: "the key that the " + what + " is from is not the agent's", Expected: current, Got: protocol.ClipBytes(from, MaxQuoted)}
}

// reserveNextKey makes the agent the holder of its announced next key.
func (c *Change) reserveNextKey(ctx context.Context, from, to string) error {
	if from == to {
		return &Refusal{Kind: ErrState, Code: "key-same", Message: "the new key is the one in use", Help: "make a new key"}
	}
	w, err := c.registry.ReserveKey(ctx, to, c.Agent.AirID)
	if err != nil {
		return err
	}
	c.AddWrite(w)
	return nil
}

// The most keys that rotations retire within a day and within a year. Retired keys stay in the
// record, and every entry of the history holds the record: without a limit one agent that rotates
// for a day fills gigabytes.
const (
	maxRotationsDay  = 24
	maxRotationsYear = 400
)

// checkRotationCount refuses a rotation when too many keys were retired lately. A recovery is never
// refused.
func (a *Agent) checkRotationCount(now time.Time) error {
	for _, limit := range []struct {
		most   int
		within time.Duration
	}{{maxRotationsDay, 24 * time.Hour}, {maxRotationsYear, 365 * 24 * time.Hour}} {
		at := len(a.Retired) - limit.most
		if at < 0 {
			continue
		}
		if wait := a.Retired[at].Until.Add(limit.within).Sub(now); wait > 0 {
			return &Refusal{Kind: ErrTooMany, Code: "key-rotations", Message: fmt.Sprintf("this agent has replaced its key %d times within %d hours", limit.most, int(limit.within.Hours())),
				Help: "wait, or use the recovery key if the current one is stolen", Wait: wait}
		}
	}
	return nil
}

// replaceKey retires the current key. After a clock that was set back the next one follows at once: no
// key is in use until a time before it came into use.
func (a *Agent) replaceKey(next ed25519.PublicKey, at time.Time, by string) {
	if since := a.CurrentKeySince(); at.Before(since) {
		at = since
	}
	a.Retired = append(a.Retired, RetiredKey{PublicKey: a.PublicKey, From: a.CurrentKeySince(), Until: at, Proof: a.KeyProof, By: by})
	a.PublicKey, a.KeySince, a.KeyProof = next, at, ProofStatement
}

// orderKeys repairs intervals of keys that a fast clock has put into the future: each key is in use
// until the next one, and the current one since now at the latest.
func (a *Agent) orderKeys(now time.Time) {
	if a.KeySince.After(now) {
		a.KeySince = now
	}
	next := a.CurrentKeySince()
	for i := len(a.Retired) - 1; i >= 0; i-- {
		k := &a.Retired[i]
		if k.Until.After(next) {
			k.Until = next
		}
		if k.From.After(k.Until) {
			k.From = k.Until
		}
		next = k.From
	}
}

// CheckNoRecovery refuses changes that a thief of the current key could misuse while a recovery is
// pending, with a [*Refusal].
func (a Agent) CheckNoRecovery() error {
	if a.Recovery == nil {
		return nil
	}
	return &Refusal{Kind: ErrForbidden, Code: "recovery-pending", Message: "a recovery is under way and takes effect on " + FormatSecond(a.Recovery.Due),
		Help: "until then the key is not rotated, moves no mail, changes neither handle, endpoints nor domains, and neither makes nor revokes attestations; the recovery key can withdraw the recovery"}
}

// checkMovesNoMail refuses an update that redirects the agent's mail while a recovery is pending: a
// thief of the current key could redirect it.
func (u Update) checkMovesNoMail(a Agent) error {
	if slices.Contains(u.Changed, "service_endpoints") || u.Username != nil || u.MovedTo != nil {
		return a.CheckNoRecovery()
	}
	return nil
}

// Recover requests a new key by the recovery key, or withdraws that request. The new key becomes
// valid after the delay of the registry. Until then the current key signs updates of texts and
// nothing that affects mail: it cannot be rotated, cannot read the inbox, changes neither handle
// nor endpoints, neither makes nor revokes attestations, and does not end the agent. The error is that of [Registry.Rotate].
func (r *Registry) Recover(ctx context.Context, airID string, x Recovery) (Agent, error) {
	if err := CheckNonce(x.Nonce); err != nil {
		return Agent{}, err
	}
	if err := checkCommitment("next_commitment", x.Next); err != nil {
		return Agent{}, err
	}
	agent, err := r.ChangeAgent(ctx, airID, func(c *Change) error { return c.requestRecovery(ctx, x) })
	if err != nil {
		return agent, r.guard.RefuseFailure(ctx, x.Client, err)
	}
	r.log.Info("recovery of a key", "air_id", airID, "pending", agent.Recovery != nil)
	return agent, nil
}

func (c *Change) requestRecovery(ctx context.Context, x Recovery) error {
	if err := c.checkStatementTarget(x.Agent, x.From, "recovery"); err != nil {
		return err
	}
	if err := checkFresh(x.Created, c.Now); err != nil {
		return err
	}
	key, err := did.ParseMultikey(x.Key)
	if err != nil {
		return FieldError("recovery_key", "Invalid recovery_key: ", err)
	}
	switch c.Agent.Commitment {
	case RecoveryCommitment(key):
	case "":
		return &Refusal{Kind: ErrForbidden, Code: "recovery-none", Message: "the agent has not committed to a recovery key", Help: "ask the operator of the registry"}
	default:
		return &Refusal{Kind: ErrUnauthorized, Code: "recovery-key", Message: "this is not the recovery key that the agent committed to",
			Expected: c.Agent.Commitment, Got: RecoveryCommitment(key)}
	}
	if err := CheckSigned("recovery_signature", x.Key, x.Statement(), x.RecoverySignature); err != nil {
		return err
	}
	if err := c.Agent.Usable(); err != nil {
		return err
	}
	// A recovery does not count as a write: a thief of the current key could otherwise use up the
	// owner's quota.
	if err := c.Agent.useNonceOf(x.Nonce, c.Now, x.Created, maxNonces+rotationNonces+recoveryNonces); err != nil {
		return err
	}
	if err := c.registry.guard.AdmitProved(ctx, x.Client, c.Agent, ByRecovery); err != nil {
		return err
	}
	authority := &Authority{By: ProofStatement, Key: x.Key, Signed: string(x.Statement()), Signatures: map[string]string{x.Key: x.RecoverySignature}}
	if x.To == "" {
		return c.withdrawRecovery(authority)
	}
	if c.Agent.Recovery != nil {
		return &Refusal{Kind: ErrState, Code: "recovery-pending", Message: "a recovery is under way already", Help: "withdraw it first, with the recovery key: gazetteer agent recover --withdraw"}
	}
	next, err := did.ParseMultikey(x.To)
	if err != nil {
		return FieldError("public_key", "Invalid public_key: ", err)
	}
	if err := CheckSigned("new_signature", x.To, x.Statement(), x.NewSignature); err != nil {
		return err
	}
	if x.To == x.Key || x.Next == RecoveryCommitment(key) || x.Next == RecoveryCommitment(next) {
		return &Refusal{Kind: ErrForbidden, Code: "recovery-reused", Message: "a recovery key is used once, and is no key for signing", Help: "make three keys: one to sign with, one to recover with next, and leave this one"}
	}
	if err := c.reserveNextKey(ctx, x.From, x.To); err != nil {
		return err
	}
	// Each request stores the whole record again. The end of a recovery is not counted, so that nobody can
	// keep the owner from it.
	if err := c.registry.guard.AdmitProved(ctx, x.Client, c.Agent, ByRecoveryRequest); err != nil {
		return err
	}
	authority.Signatures[x.To] = x.NewSignature
	c.Agent.Recovery = &PendingRecovery{To: next, Next: x.Next, Asked: c.Now, Due: c.Now.Add(c.registry.recoveryDelay)}
	return c.AddEntry(HistoryEntry{Event: EventRecovery, Actor: ActorOwner, Fields: []string{"recovery"}, Authority: authority})
}

func (c *Change) withdrawRecovery(authority *Authority) error {
	if c.Agent.Recovery == nil {
		return &Refusal{Kind: ErrState, Code: "recovery-none-pending", Message: "no recovery is under way"}
	}
	c.Agent.Recovery = nil
	return c.AddEntry(HistoryEntry{Event: EventWithdrawn, Actor: ActorOwner, Fields: []string{"recovery"}, Authority: authority})
}

// applyDueRecovery applies a recovery that is due, and reports whether there was one.
func (a *Agent) applyDueRecovery(now time.Time) bool {
	p := a.Recovery
	if p == nil || now.Before(p.Due) || a.Status != Active {
		return false
	}
	a.replaceKey(p.To, p.Due, "recovery")
	a.Commitment, a.Recovery = p.Next, nil
	return true
}

// A Key is one that an agent uses or used.
type Key struct {
	ID        string // fragment and number: "#key-1" is the current one
	PublicKey ed25519.PublicKey
	From      time.Time
	Until     time.Time // zero for the current one
	Proof     string    // how possession was shown, "" when it is only claimed
	By        string    // what retired it, "" for the current one
}

// Keys returns the current key first, then the retired ones, oldest first.
func (a Agent) Keys() []Key {
	var out []Key
	if len(a.PublicKey) > 0 {
		out = append(out, Key{ID: did.KeyFragment, PublicKey: a.PublicKey, From: a.CurrentKeySince(), Proof: a.KeyProof})
	}
	for i, k := range a.Retired {
		out = append(out, Key{ID: did.RetiredFragment + strconv.Itoa(i+1), PublicKey: k.PublicKey, From: k.From, Until: k.Until, Proof: k.Proof, By: k.By})
	}
	return out
}
