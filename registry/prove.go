package registry

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/store"
)

// challengeLifetime is the time within which a challenge can be answered.
const challengeLifetime = 5 * time.Minute

// A Proof answers a challenge. It shows that the registrant holds the private half of the key, and
// is bound to the whole registration, so that it cannot be used for another one.
type Proof struct {
	Challenge string
	// Signature is "z…" by the key to be registered, over the statement of the challenge.
	Signature string

	// Canonical is the registration without the proof, in canonical JSON (RFC 8785).
	Canonical []byte
}

// A Challenge can be answered once, until it expires.
type Challenge struct {
	Challenge string    `json:"challenge"`
	Expires   time.Time `json:"expires"`
	// Statement is the text to sign, with {key} and {registration} in the places of the multikey
	// and the digest.
	Statement string `json:"statement"`
}

// challenges issues challenges and accepts each once. A challenge contains its expiry time and a
// code of the registry, so unanswered challenges cost nothing. The secret of the code is new in
// each process, so a restart invalidates all challenges. All times are [Registry.SteadyTime]: a
// clock that was ahead for a while neither ends a challenge nor makes an old one valid again.
type challenges struct {
	secret [32]byte

	mu   sync.Mutex           // guards the following field
	used map[string]time.Time // answered, until they expire
}

func newChallenges() *challenges {
	c := &challenges{used: map[string]time.Time{}}
	rand.Read(c.secret[:]) // never fails
	return c
}

func (c *challenges) computeMAC(head []byte) []byte {
	mac := hmac.New(sha256.New, c.secret[:])
	mac.Write(head)
	return mac.Sum(nil)[:16]
}

// issueChallenge returns a challenge: its expiry time, 16 random bytes, and the code.
func (c *challenges) issueChallenge(random io.Reader, expires time.Time) (string, error) {
	var head [24]byte
	binary.BigEndian.PutUint64(head[:], uint64(expires.Unix()))
	if _, err := io.ReadFull(random, head[8:]); err != nil {
		return "", fmt.Errorf("make a challenge: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(append(head[:], c.computeMAC(head[:])...)), nil
}

// checkChallenge checks that a challenge was issued here and has not expired.
func (c *challenges) checkChallenge(text string, now time.Time) (expires time.Time, err error) {
	refuse := func(code, message string) (time.Time, error) {
		return time.Time{}, &Refusal{Kind: ErrUnauthorized, Code: code, Message: message, Help: "ask for a new challenge; each can be answered once, within five minutes"}
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != 40 || !hmac.Equal(b[24:], c.computeMAC(b[:24])) {
		return refuse("challenge-unknown", "the challenge is not one of this registry, or older than its last start")
	}
	expires = time.Unix(int64(binary.BigEndian.Uint64(b)), 0)
	if !now.Before(expires) {
		return refuse("challenge-expired", "the challenge has expired")
	}
	return expires, nil
}

// useChallenge marks a challenge as used, or refuses one that was used before.
func (c *challenges) useChallenge(text string, expires, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for old, until := range c.used {
		if !now.Before(until) {
			delete(c.used, old)
		}
	}
	if _, used := c.used[text]; used {
		return &Refusal{Kind: ErrUnauthorized, Code: "challenge-used", Message: "the challenge was answered before", Help: "ask for a new challenge; each can be answered once"}
	}
	c.used[text] = expires
	return nil
}

// releaseChallenge makes a challenge usable again when its registration failed.
func (c *challenges) releaseChallenge(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.used, text)
}

// Challenge returns a challenge for a registration.
func (r *Registry) Challenge() (Challenge, error) {
	text, err := r.challenges.issueChallenge(r.rand, r.steady().Add(challengeLifetime))
	if err != nil {
		return Challenge{}, err
	}
	return Challenge{Challenge: text, Expires: r.challengeExpiry(), Statement: string(FormatStatement("registration",
		[2]string{"registry", r.host.Authority()}, [2]string{"challenge", text}, [2]string{"key", "{key}"}, [2]string{"registration", "{registration}"}))}, nil
}

// challengeExpiry returns when a challenge of now expires, for its reader.
func (r *Registry) challengeExpiry() time.Time {
	return r.now().Add(challengeLifetime).UTC().Truncate(time.Second)
}

// ProveRegistration checks how a registration proves possession of its key. It returns the
// authority, nil if the key is only claimed, and a function to call when the registration fails.
func (r *Registry) ProveRegistration(ctx context.Context, reg Registration, key ed25519.PublicKey) (*Authority, func(), error) {
	nothing := func() {}
	who := Credentials{Request: reg.Request}
	switch {
	case len(key) == 0:
		return nil, nothing, nil
	case who.hasSignature():
		a, err := r.proveBySignature(*reg.Request, key)
		return a, nothing, err
	case reg.Proof != nil:
		return r.proveByChallenge(*reg.Proof, key)
	case r.requireProof:
		return nil, nothing, &Refusal{Kind: ErrUnauthorized, Code: "proof-missing", Message: "possession of the private key of public_key is not proved",
			Help: "sign the request with it (RFC 9421), or answer a challenge in the member proof"}
	}
	// A claimed key without proof must not be a key that another agent has proved.
	_, err := r.store.Get(ctx, store.KeyKey(did.FormatMultikey(key)))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nothing, nil
	}
	if err != nil {
		return nil, nothing, fmt.Errorf("look up a key: %w", err)
	}
	return nil, nothing, &Refusal{Kind: ErrState, Code: "key-taken", Message: "the key belongs to another agent of this registry, which has proved it", Help: "register with a key of your own"}
}

func (r *Registry) proveBySignature(m httpsig.Message, key ed25519.PublicKey) (*Authority, error) {
	multikey := did.FormatMultikey(key)
	s, err := r.selectSignature(m, keyNames(key))
	if err != nil {
		return nil, err
	}
	err = s.Verify(m, key, httpsig.Requirements{Require: httpsig.WriteComponents(), Nonce: true, Now: r.now(), MaxAge: maxSignatureAge, MaxAhead: MaxSignatureAhead})
	if err != nil {
		return nil, signatureRefusal(err)
	}
	base, signature, err := s.Base(m)
	if err != nil {
		return nil, signatureRefusal(err)
	}
	a := &Authority{By: ProofSignature, Key: multikey}
	if base != "" {
		a.Signed, a.Signatures = base, map[string]string{multikey: did.FormatSignature(signature)}
	}
	return a, nil
}

func (r *Registry) proveByChallenge(p Proof, key ed25519.PublicKey) (*Authority, func(), error) {
	nothing := func() {}
	now := r.steady()
	expires, err := r.challenges.checkChallenge(p.Challenge, now)
	if err != nil {
		return nil, nothing, err
	}
	multikey := did.FormatMultikey(key)
	text := registrationStatement(r.host.Authority(), p.Challenge, multikey, p.Canonical)
	if err := CheckSigned("proof.signature", multikey, text, p.Signature); err != nil {
		return nil, nothing, err
	}
	if err := r.challenges.useChallenge(p.Challenge, expires, now); err != nil {
		return nil, nothing, err
	}
	return &Authority{By: ProofChallenge, Key: multikey, Signed: string(text), Signatures: map[string]string{multikey: p.Signature}},
		func() { r.challenges.releaseChallenge(p.Challenge) }, nil
}
