package owner

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"gazetteer/internal/psl"
	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
)

// The window of a signed request, and how many nonces are kept for as long as their signatures are
// valid.
const (
	maxAge    = 5 * time.Minute
	maxAhead  = 30 * time.Second
	maxNonces = 10_000
)

// Signed reports whether a request is signed by the owner of a host: see [Owners.OptOut], whose
// errors it returns for a signature that does not hold. A request without a signature, or nil, is
// not signed.
func (o *Owners) Signed(ctx context.Context, host string, e Evidence) (bool, error) {
	proof, err := o.checkSignature(ctx, host, e)
	return proof != "", err
}

// checkSignature returns the proof by the signature of a request, "" for a request without one, once
// the request is admitted.
func (o *Owners) checkSignature(ctx context.Context, host string, e Evidence) (proof string, err error) {
	if e.Request != nil && isSigned(*e.Request) {
		if proof, err = o.proveBySignature(ctx, host, *e.Request); err != nil {
			return "", err
		}
	}
	if e.Admit != nil {
		if err := e.Admit(ctx, proof != ""); err != nil {
			return "", err
		}
	}
	return proof, nil
}

func isSigned(m httpsig.Message) bool {
	return m.Header.Get("Signature-Input") != "" || m.Header.Get("Signature") != ""
}

// proveBySignature returns the proof that the owner of a host signed a request: a key in the DID
// document of the host itself or of its registrable domain. A DID with a path does not count:
// anyone with a page there may control it.
func (o *Owners) proveBySignature(ctx context.Context, host string, m httpsig.Message) (proof string, err error) {
	signatures, err := httpsig.Read(m)
	if err != nil {
		return "", refusalOf(err)
	}
	wanted := []string{host, psl.Domain(host)}
	i := slices.IndexFunc(signatures, func(s httpsig.Signature) bool { return slices.Contains(wanted, hostOf(s.KeyID)) })
	if i < 0 {
		return "", newRefusal("signature-key", "the request is signed, but not by a key of the host", "did:web:"+strings.Join(slices.Compact(wanted), " or did:web:")+", with the id of a key",
			protocol.ClipBytes(signatures[0].KeyID, registry.MaxQuoted), "set keyid to a verification method of the host's DID document, such as did:web:"+host+"#key-1")
	}
	s := signatures[i]
	// A signature from before the start may have been used then.
	if !s.Created.IsZero() && s.Created.Before(o.started.Add(-time.Second)) {
		return "", newRefusal("signature-created", "the signature is older than the last start of this server", "", "", "sign the request again")
	}
	id, _, _ := strings.Cut(s.KeyID, "#")
	key, err := o.keyOf(ctx, id, s.KeyID)
	if err != nil {
		return "", err
	}
	if err := s.Verify(m, key, httpsig.Requirements{Require: httpsig.WriteComponents(), Nonce: true, Now: o.options.Now(), MaxAge: maxAge, MaxAhead: maxAhead}); err != nil {
		return "", refusalOf(err)
	}
	if err := o.nonces.spendNonce(did.FormatMultikey(key)+" "+s.Nonce, s.Created, o.options.Now()); err != nil {
		return "", err
	}
	return "a signature by " + protocol.ClipBytes(s.KeyID, registry.MaxQuoted), nil
}

// hostOf returns the host whose own DID a key belongs to, or "" for any other DID.
func hostOf(keyID string) string {
	id, _, _ := strings.Cut(keyID, "#")
	w, err := did.ParseWeb(id)
	if err != nil || len(w.Path) > 0 || w.Port != 0 && w.Port != 443 {
		return ""
	}
	return w.Host
}

// keyOf returns the key with an id in the DID document that its owner uses.
func (o *Owners) keyOf(ctx context.Context, id, keyID string) ([]byte, error) {
	if o.options.Resolver == nil {
		return nil, newRefusal("signature-key", "this server asks no other hosts for keys", "", "", "publish a TXT record and ask again without a signature")
	}
	found, err := o.options.Resolver.Resolve(ctx, id)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, newRefusal("signature-key", "the DID document of the key was not found", "the DID document of "+id, protocol.ClipBytes(err.Error(), registry.MaxQuoted), "publish it at the requested address, which is requested again after 10 seconds; an opt-out can be proved by a TXT record instead")
	}
	var ids []string
	for _, m := range found.Document.VerificationMethod {
		ids = append(ids, m.ID)
		if m.ID != keyID {
			continue
		}
		key, err := did.ParseMultikey(m.PublicKeyMultibase)
		if err == nil && found.Document.Vouches(key) {
			return key, nil
		}
		return nil, newRefusal("signature-key", "the key is not one that the DID document at "+found.URL+" lets authenticate", "a verification method under authentication or assertionMethod, not revoked", protocol.ClipBytes(m.ID, registry.MaxQuoted), "")
	}
	return nil, newRefusal("signature-key", "the DID document at "+found.URL+" has no such key", protocol.ClipBytes(keyID, registry.MaxQuoted), protocol.ClipBytes(strings.Join(ids, ", "), registry.MaxQuoted), "set keyid to the id of one of its Ed25519 keys")
}

func newRefusal(code, message, expected, got, help string) *registry.Refusal {
	return &registry.Refusal{Kind: registry.ErrUnauthorized, Code: code, Message: message, Expected: expected, Got: got, Help: help}
}

// refusalOf converts the error of a signature check into a refusal.
func refusalOf(err error) error {
	e, ok := errors.AsType[*httpsig.Error](err)
	if !ok {
		return err
	}
	r := newRefusal(e.Code, e.Message, e.Expected, e.Got, e.Help)
	r.Base = e.Base
	return r
}

// nonceCache accepts each nonce of a key once while its signature is valid.
type nonceCache struct {
	mu   sync.Mutex           // guards used
	used map[string]time.Time // the expiry by hash
}

func (n *nonceCache) spendNonce(text string, created, now time.Time) error {
	sum := sha256.Sum256([]byte(text))
	key := string(sum[:16])
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, again := n.used[key]; again {
		return newRefusal("nonce-used", "the nonce was used before", "", "", "sign every request with a new nonce")
	}
	if len(n.used) >= maxNonces {
		for old, until := range n.used {
			if until.Before(now) {
				delete(n.used, old)
			}
		}
	}
	if len(n.used) >= maxNonces {
		return &registry.Refusal{Kind: registry.ErrTooMany, Code: "too-many-writes", Message: "there were too many signed requests in the last minutes", Help: "wait a minute", Wait: time.Minute}
	}
	n.used[key] = created.Add(maxAge + time.Second)
	return nil
}
