package registry

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
)

// Kinds of proof that the owner of an agent wanted something.
const (
	ProofSignature = "signature" // an HTTP Message Signature (RFC 9421)
	ProofChallenge = "challenge" // a statement with the registry's challenge, signed
	ProofStatement = "statement" // a statement of rotation or recovery, signed
	proofSecret    = "secret"    // the once-shown secret: shows nothing to others
)

// IsKeyProof reports whether a text says how an agent proved that it holds a key.
func IsKeyProof(text string) bool {
	return text == ProofSignature || text == ProofChallenge || text == ProofStatement
}

// A WriteProof says what proved a write. Each has a separate limit, so that a thief of a secret
// cannot keep the owner from signing, and a thief of a key cannot keep the owner from replacing it.
type WriteProof string

const (
	BySecret   WriteProof = "secret"   // the agent's secret
	ByKey      WriteProof = "key"      // a signature of the current key
	ByRotation WriteProof = "rotation" // the signatures of a rotation
	ByRecovery WriteProof = "recovery" // the signature of the recovery key
	// ByRecoveryRequest is that signature for a recovery that nothing else refuses, and not for the end of one.
	ByRecoveryRequest WriteProof = "recovery-request"
	// BySecretOff is the signature of the request that switches the secret off. An agent does this once.
	BySecretOff WriteProof = "secret-off"
)

// CountsAsChange reports whether writes with this proof count against the quotas of changes and of their
// size. Those with which an owner drives a thief out do not.
func (by WriteProof) CountsAsChange() bool { return by == BySecret || by == ByKey }

// The time window of a signed request. A nonce is stored for as long as its signature is accepted.
const (
	maxSignatureAge   = 5 * time.Minute
	MaxSignatureAhead = 30 * time.Second
	// maxNonces limits the writes of one agent within that time.
	maxNonces = 300
	// rotationNonces are kept for rotations, recoveryNonces for the recovery key.
	rotationNonces = maxRotationsDay
	recoveryNonces = 20
	// minNonceGap is how long no signature was made in a span of [Agent.NonceGaps]; maxNonceGaps is the
	// number of spans.
	minNonceGap  = int64(time.Hour / time.Second)
	maxNonceGaps = 8
)

// Credentials show that an agent sent a request: a signature, or the agent's secret while it is not
// switched off. If a request has both, the signature counts.
type Credentials struct {
	Secret string // of the header X-Agent-Secret, "" without one
	// Request is the whole request, for its signature; nil if it has no signature to check.
	Request *httpsig.Message
	// Client is where the request came from; without an address it is not counted.
	Client netip.Addr
}

// hasSignature reports whether the request has a signature.
func (c Credentials) hasSignature() bool {
	return c.Request != nil && (c.Request.Header.Get("Signature-Input") != "" || c.Request.Header.Get("Signature") != "")
}

// A usedNonce is the nonce of a signed write. Its members have short names because a record may
// hold hundreds of them.
type usedNonce struct {
	Hash  string `json:"h"` // of the nonce, 12 bytes as base64url
	Until int64  `json:"u"` // Unix seconds, when its signature is too old anyway
}

// A nonceGap is a span of Unix seconds between two signatures whose nonces were dropped, without both.
type nonceGap struct {
	After  int64 `json:"a"`
	Before int64 `json:"b"`
}

func nonceHash(nonce string) string {
	sum := sha256.Sum256([]byte(nonce))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// useNonce marks a nonce as used and drops expired ones.
func (a *Agent) useNonce(nonce string, now, created time.Time) error {
	return a.useNonceOf(nonce, now, created, maxNonces)
}

// useNonceOf is useNonce for an agent with its own limit of nonces.
func (a *Agent) useNonceOf(nonce string, now, created time.Time, most int) error {
	a.forgetNonces(now)
	if a.mayBeForgotten(created.Unix()) {
		return &Refusal{Kind: ErrUnauthorized, Code: "signature-created", Message: "the registry has forgotten the nonces of that time already", Got: FormatSecond(created),
			Expected: "a time after " + FormatSecond(time.Unix(a.NonceFloor, 0)), Help: "sign it again now"}
	}
	hash := nonceHash(nonce)
	if slices.ContainsFunc(a.Nonces, func(n usedNonce) bool { return n.Hash == hash }) {
		return &Refusal{Kind: ErrUnauthorized, Code: "nonce-used", Message: "the nonce was used before",
			Help: "sign every write with a new nonce; do not send an answered write again"}
	}
	if len(a.Nonces) >= most {
		return &Refusal{Kind: ErrTooMany, Code: "too-many-writes", Message: "this agent has made too many signed writes in five minutes",
			Help: "wait a minute", Wait: time.Minute}
	}
	a.Nonces = append(a.Nonces, usedNonce{Hash: hash, Until: created.Add(maxSignatureAge).Unix() + 1})
	return nil
}

// forgetNonces drops expired nonces and records the period that they covered. Unknown signatures from
// that period are refused, even if the clock was only briefly ahead.
func (a *Agent) forgetNonces(now time.Time) {
	a.Nonces = slices.DeleteFunc(a.Nonces, func(n usedNonce) bool {
		expired := n.Until < now.Unix()
		if expired {
			a.dropNonceOf(n.Until - 1 - int64(maxSignatureAge.Seconds()))
		}
		return expired
	})
}

// dropNonceOf notes that the nonce of a signature of a time is dropped.
func (a *Agent) dropNonceOf(created int64) {
	if created <= a.NonceFloor {
		for i, g := range a.NonceGaps {
			if g.After < created && created < g.Before {
				a.NonceGaps[i].After = created
			}
		}
		return
	}
	if created-a.NonceFloor > minNonceGap {
		if len(a.NonceGaps) == maxNonceGaps {
			a.NonceGaps = slices.Delete(a.NonceGaps, 0, 1)
		}
		a.NonceGaps = append(a.NonceGaps, nonceGap{After: a.NonceFloor, Before: created})
	}
	a.NonceFloor = created
}

// mayBeForgotten reports whether a signature of a time may have been used, and its nonce dropped.
func (a *Agent) mayBeForgotten(created int64) bool {
	return created <= a.NonceFloor && !slices.ContainsFunc(a.NonceGaps, func(g nonceGap) bool { return g.After < created && created < g.Before })
}

// authorizeWrite checks that the owner of a sent the request, and stores the nonce of a signed one
// in a. A signature counts as signed says. The error is [ErrNoSecret], [ErrWrongSecret] or a [*Refusal].
func (r *Registry) authorizeWrite(ctx context.Context, a *Agent, who Credentials, signed WriteProof, now time.Time) (*Authority, error) {
	if err := r.guard.CheckNetwork(ctx, who.Client); err != nil {
		return nil, err
	}
	// The proof is checked before any limit of failures, so that failed guesses of others cannot
	// block the owner.
	authority, err := r.verifyCredentials(a, who, now)
	if err != nil {
		return nil, r.guard.RefuseFailure(ctx, who.Client, err)
	}
	by := signed
	if authority.By == proofSecret {
		by = BySecret
	}
	return authority, r.admitWrite(ctx, who.Client, a, by, now)
}

// admitWrite counts a write whose proof holds: against what all agents may do, and in the record of
// the agent.
func (r *Registry) admitWrite(ctx context.Context, client netip.Addr, a *Agent, by WriteProof, now time.Time) error {
	if err := r.guard.AdmitProved(ctx, client, *a, by); err != nil {
		return err
	}
	if until := a.writesUntil(by); until != nil {
		return r.countWrite(until, now)
	}
	return nil
}

// writesUntil returns the count of writes with a proof in the record of the agent, nil without one.
func (a *Agent) writesUntil(by WriteProof) *int64 {
	switch by {
	case BySecret:
		return &a.SecretWritesUntil
	case ByKey:
		return &a.KeyWritesUntil
	}
	return nil
}

func (r *Registry) verifyCredentials(a *Agent, who Credentials, now time.Time) (*Authority, error) {
	if who.hasSignature() {
		return r.authorizeSigned(a, *who.Request, now)
	}
	if who.Secret == "" {
		return nil, ErrNoSecret
	}
	if len(a.SecretHash) == 0 {
		return nil, &Refusal{Kind: ErrWrongSecret, Code: "secret-off", Message: "This agent has switched its secret off",
			Help: "sign the request with the agent's key (RFC 9421)"}
	}
	if subtle.ConstantTimeCompare(HashSecret(who.Secret), a.SecretHash) != 1 {
		return nil, ErrWrongSecret
	}
	return &Authority{By: proofSecret}, nil
}

func (r *Registry) authorizeSigned(a *Agent, m httpsig.Message, now time.Time) (*Authority, error) {
	s, err := r.verifySignature(*a, m, now, httpsig.Requirements{Require: httpsig.WriteComponents(), Nonce: true})
	if err != nil {
		return nil, err
	}
	if err := a.useNonce(s.Nonce, now, s.Created); err != nil {
		return nil, err
	}
	base, signature, err := s.Base(m)
	if err != nil {
		return nil, signatureRefusal(err)
	}
	out := &Authority{By: ProofSignature, Key: a.Multikey()}
	if base != "" {
		out.Signed, out.Signatures = base, map[string]string{out.Key: did.FormatSignature(signature)}
	}
	return out, nil
}

// VerifyRead checks that an agent signed a request that reads, for example its mail. The signature
// needs a fresh time and no nonce: repeating a read changes nothing, and a poll costs no write.
// While a recovery is pending, all reads are refused: the current key may be a thief's. The error
// is [ErrNoKey] or a [*Refusal].
func (r *Registry) VerifyRead(a Agent, m httpsig.Message) error {
	if err := a.Usable(); err != nil {
		return err
	}
	if _, err := r.verifySignature(a, m, r.now(), httpsig.Requirements{Require: httpsig.ReadComponents()}); err != nil {
		return err
	}
	return a.CheckNoRecovery()
}

// verifySignature returns the signature of a request by the agent's current key for this registry.
func (r *Registry) verifySignature(a Agent, m httpsig.Message, now time.Time, p httpsig.Requirements) (httpsig.Signature, error) {
	if len(a.PublicKey) == 0 {
		return httpsig.Signature{}, ErrNoKey
	}
	s, err := r.selectSignature(m, r.keyIDs(a))
	if err != nil {
		return httpsig.Signature{}, err
	}
	p.Now, p.MaxAge, p.MaxAhead = now, maxSignatureAge, MaxSignatureAhead
	if err := s.Verify(m, a.PublicKey, p); err != nil {
		return httpsig.Signature{}, signatureRefusal(err)
	}
	return s, nil
}

// keyIDs returns the names under which an agent's current key may sign.
func (r *Registry) keyIDs(a Agent) []string {
	w := did.AgentDID(r.host, a.AirID)
	id := w.String()
	w.Method = did.MethodWeb
	return append([]string{id + did.KeyFragment, id, a.AirID, w.String() + did.KeyFragment, w.String()}, keyNames(a.PublicKey)...)
}

// keyNames returns the names of a key that do not depend on an agent.
func keyNames(key ed25519.PublicKey) []string {
	multikey := did.FormatMultikey(key)
	return []string{multikey, "did:key:" + multikey + "#" + multikey, "did:key:" + multikey, did.FormatPublicKey(key)}
}

// selectSignature returns the signature whose keyid is one of names. It refuses a request to
// another host, because otherwise a signature made for another host could be replayed here with a
// false Host header.
func (r *Registry) selectSignature(m httpsig.Message, names []string) (httpsig.Signature, error) {
	if authority := httpsig.NormalAuthority(m.Authority, m.Scheme); !slices.Contains(r.authorities, authority) {
		return httpsig.Signature{}, &Refusal{Kind: ErrUnauthorized, Code: "signature-host", Message: "the request was signed for another host",
			Expected: strings.Join(r.authorities, " or "), Got: protocol.ClipBytes(authority, MaxQuoted), Help: "use " + r.authorities[0] + " as the host of the address, as the registry's own URLs do"}
	}
	all, err := httpsig.Read(m)
	if err != nil {
		return httpsig.Signature{}, signatureRefusal(err)
	}
	var given []string
	for _, s := range all {
		if slices.Contains(names, s.KeyID) {
			return s, nil
		}
		given = append(given, s.KeyID)
	}
	return httpsig.Signature{}, &Refusal{Kind: ErrUnauthorized, Code: "signature-keyid", Message: "the keyid of the signature is not this agent's current key",
		Expected: strings.Join(names, " or "), Got: protocol.ClipBytes(strings.Join(given, ", "), MaxQuoted), Help: "a key that was rotated away signs nothing any more"}
}

// signatureRefusal turns an error of package httpsig into a refusal.
func signatureRefusal(err error) error {
	e, ok := errors.AsType[*httpsig.Error](err)
	if !ok {
		return err
	}
	return &Refusal{Kind: ErrUnauthorized, Code: e.Code, Message: e.Message, Help: e.Help, Expected: e.Expected, Got: e.Got, Base: e.Base}
}

// countWrite counts one write of an agent in a limit that its record holds, so that the count is exact
// for any number of writers and survives a restart.
func (r *Registry) countWrite(until *int64, now time.Time) error {
	if r.writesPerHour < 0 {
		return nil
	}
	if *until > now.Add(time.Hour+maxSizeDebt).UnixMilli() {
		*until = 0 // no wait is longer: the clock was ahead
	}
	busy := max(*until, now.UnixMilli()) + time.Hour.Milliseconds()/int64(r.writesPerHour)
	if wait := busy - now.Add(time.Hour).UnixMilli(); wait > 0 {
		return &Refusal{Kind: ErrTooMany, Code: "agent-writes", Message: fmt.Sprintf(TooManyChanges, r.writesPerHour, SizeUnit),
			Help: "wait for the time in Retry-After; one update can change several members", Wait: time.Duration(wait) * time.Millisecond}
	}
	*until = busy
	return nil
}
