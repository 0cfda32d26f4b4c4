package a2a

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"gazetteer/protocol/did"
)

// The clock window of §4.2; both bounds are included.
const (
	MaxAge   = 300 * time.Second
	MaxAhead = 30 * time.Second
)

// A KeyFinder finds the keys of senders.
type KeyFinder interface {
	// FindKeys returns the keys that may have signed for a sender at a time: the current key first,
	// then a retired key that was in use at that time. The error matches [ErrUnknownSender] if the
	// DID document or its key does not exist, is a [*did.Error] if the key cannot be used, and is
	// any other error if a later call may succeed.
	FindKeys(ctx context.Context, sender string, at time.Time) ([]ed25519.PublicKey, error)
}

// A KeyRefresher is a [KeyFinder] over cached documents. A [Verifier] uses it for a signature that no
// key verifies: the sender may have a new key.
type KeyRefresher interface {
	// RefreshKeys is FindKeys with a document that is newer than that of an earlier call. It returns no
	// keys if there is no newer document, or if it was looked for a moment ago.
	RefreshKeys(ctx context.Context, sender string, at time.Time) ([]ed25519.PublicKey, error)
}

// ErrUnknownSender: no DID document exists for that DID, or it has no key.
var ErrUnknownSender = errors.New("the DID does not resolve to a document with a key")

// A Resolver finds DID documents.
type Resolver interface {
	// Resolve returns the document of a DID; its id is that DID. The error matches
	// [ErrUnknownSender] if there is none, and is any other error if a later call may succeed.
	Resolve(ctx context.Context, id string) (did.Document, error)
}

// A Refresher is a [Resolver] that caches documents.
type Refresher interface {
	// Refresh resolves a DID again. It returns false if no document of it is cached, or only one that
	// was resolved a moment ago.
	Refresh(ctx context.Context, id string) (did.Document, bool, error)
}

// DocumentKeys finds keys in the DID documents of a resolver. Cache may be nil. If the resolver is a
// [Refresher], it is a [KeyRefresher].
type DocumentKeys struct {
	Resolver Resolver
	Cache    *did.KeyCache // of keys that were decoded and checked
}

// FindKeys returns the key {did}#key-1 (§3.5), and the retired key of that time, if any.
func (d DocumentKeys) FindKeys(ctx context.Context, sender string, at time.Time) ([]ed25519.PublicKey, error) {
	document, err := d.Resolver.Resolve(ctx, sender)
	if err != nil {
		return nil, err
	}
	return d.keysOf(document, sender, at)
}

// RefreshKeys implements [KeyRefresher].
func (d DocumentKeys) RefreshKeys(ctx context.Context, sender string, at time.Time) ([]ed25519.PublicKey, error) {
	refresher, caches := d.Resolver.(Refresher)
	if !caches {
		return nil, nil
	}
	document, newer, err := refresher.Refresh(ctx, sender)
	if err != nil || !newer {
		return nil, err
	}
	return d.keysOf(document, sender, at)
}

func (d DocumentKeys) keysOf(document did.Document, sender string, at time.Time) ([]ed25519.PublicKey, error) {
	if document.ID != sender {
		return nil, fmt.Errorf("%w: the document is that of another", ErrUnknownSender)
	}
	text, err := document.Multikey()
	if err != nil {
		return nil, err
	}
	current, err := d.Cache.ParseMultikey(text)
	if err != nil {
		return nil, err
	}
	keys := []ed25519.PublicKey{current}
	if len(document.VerificationMethod) == 1 {
		return keys, nil // no key is retired
	}
	if then, err := document.KeyAt(at); err == nil && !then.Equal(current) {
		keys = append(keys, then)
	}
	return keys, nil
}

// A Form says which of two texts a signature covers.
type Form uint8

const (
	// Removed is the envelope without the member "signature". The vectors, all implementations and
	// [Sign] use it.
	Removed Form = iota
	// Null is the envelope with "signature":null, which the text of §5.3 requires.
	Null
)

// String returns "removed" or "null".
func (f Form) String() string {
	if f == Null {
		return "null"
	}
	return "removed"
}

// A Verified is an envelope whose signature a [Verifier] has verified: its sender is the DID in
// From.
type Verified struct {
	*Envelope
	Key  ed25519.PublicKey // that verified it
	Form Form
}

// A Verifier verifies envelopes. Its methods are safe for concurrent use if those of Keys are.
type Verifier struct {
	Profile Profile
	Keys    KeyFinder        // required
	Now     func() time.Time // time.Now when nil
	// Check reports whether a signature is valid; nil means [ed25519.Verify]. A replacement must
	// give the same verdict for every input.
	Check func(key ed25519.PublicKey, message, signature []byte) bool
}

func (v Verifier) now() time.Time {
	if v.Now == nil {
		return time.Now()
	}
	return v.Now()
}

// Verify makes the stateless checks of §6.2 in their order: form, signature, sender, clock. The
// error is a [*Refusal], or that of ctx.
func (v Verifier) Verify(ctx context.Context, text []byte) (*Verified, error) {
	e, err := Read(text, v.Profile)
	if err != nil {
		return nil, err
	}
	return v.VerifyEnvelope(ctx, e)
}

// Authenticate makes the checks of [Verifier.Verify] without that of the clock, for mail that a
// relay accepted earlier. The error is a [*Refusal], or that of ctx.
func (v Verifier) Authenticate(ctx context.Context, text []byte) (*Verified, error) {
	e, err := Read(text, v.Profile)
	if err != nil {
		return nil, err
	}
	return v.authenticate(ctx, e)
}

// VerifyEnvelope is [Verifier.Verify] for an envelope that [Read] returned.
func (v Verifier) VerifyEnvelope(ctx context.Context, e *Envelope) (*Verified, error) {
	verified, err := v.authenticate(ctx, e)
	if err == nil {
		err = verified.CheckFresh(v.now())
	}
	if err != nil {
		return nil, err
	}
	return verified, nil
}

func (v Verifier) authenticate(ctx context.Context, e *Envelope) (*Verified, error) {
	signature, err := e.signatureBytes()
	if err != nil {
		return nil, err
	}
	keys, err := v.Keys.FindKeys(ctx, e.From, e.Timestamp)
	if err != nil {
		return nil, refuseSender(ctx, e, err)
	}
	check := v.Check
	if check == nil {
		check = ed25519.Verify
	}
	verified, refused := e.checkSignature(signature, keys, check)
	refresher, caches := v.Keys.(KeyRefresher)
	if refused == nil || !caches {
		return verified, refused
	}
	keys, err = refresher.RefreshKeys(ctx, e.From, e.Timestamp)
	switch {
	case err != nil:
		return nil, refuseSender(ctx, e, err)
	case len(keys) == 0:
		return nil, refused
	}
	return e.checkSignature(signature, keys, check)
}

// signatureBytes decodes the signature (§6.2 step 2).
func (e *Envelope) signatureBytes() ([]byte, error) {
	if e.Signature == "" {
		return nil, newRefusal(RuleSignatureText, "signature field absent or null")
	}
	signature, err := did.ParseSignature(e.Signature)
	if err != nil {
		return nil, newRefusal(RuleSignatureText, err.Error()).withCause(err)
	}
	return signature, nil
}

// checkSignature verifies the signature under one of the keys (§6.2 step 5).
func (e *Envelope) checkSignature(signature []byte, keys []ed25519.PublicKey, check func(key ed25519.PublicKey, message, signature []byte) bool) (*Verified, error) {
	for _, key := range keys {
		if check(key, e.canonical, signature) {
			return &Verified{e, key, Removed}, nil
		}
	}
	withNull := e.canonicalWithNull()
	for _, key := range keys {
		if check(key, withNull, signature) {
			return &Verified{e, key, Null}, nil
		}
	}
	return nil, newRefusal(RuleSignature, "signature does not verify")
}

// refuseSender turns an error of a [KeyFinder] into a refusal (§6.2 step 4).
func refuseSender(ctx context.Context, e *Envelope, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var r *Refusal
	if keyError, ok := errors.AsType[*did.Error](err); ok {
		switch keyError.Code {
		case did.CodeKeyCurve, did.CodeKeyCanonical, did.CodeKeySmallOrder:
			r = newRefusal(RuleSenderKey, "the sender's key cannot be relied on: "+keyError.Message)
		default:
			r = newRefusal(RuleSender, "the sender's DID document has no key that can be used: "+keyError.Message)
		}
	} else if errors.Is(err, ErrUnknownSender) {
		r = newRefusal(RuleSender, "the sender's DID cannot be resolved")
	} else {
		r = newRefusal(RuleResolver, "the registry of the sender does not answer")
	}
	r.AirID = airIDOf(e.From)
	return r.withCause(err)
}

// CheckFresh checks the timestamp against a time (§6.2 step 6): now, or the time at which a relay
// received the envelope. The error is a [*Refusal].
func (e *Envelope) CheckFresh(now time.Time) error {
	switch age := now.Sub(e.Timestamp); {
	case age > MaxAge:
		return newRefusal(RuleClock, fmt.Sprintf("timestamp is more than %.0f s in the past", MaxAge.Seconds()))
	case age < -MaxAhead: // -age would overflow for a time that is centuries ahead
		return newRefusal(RuleClock, fmt.Sprintf("timestamp is more than %.0f s in the future", MaxAhead.Seconds()))
	}
	return nil
}
