package did

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol"
)

// The service types that the A2A draft and the registry define, and the types
// of the one verification method they use.
const (
	// TypeInbox marks the address where an agent takes mail (A2A §3.4).
	TypeInbox = "A2AInbox"
	// TypeTrustScore marks the registry's own entry (A2A §12.2).
	TypeTrustScore = "AIRTrustScore"
	// TypeEd25519 is the type of a verification method with publicKeyMultibase.
	TypeEd25519 = "Ed25519VerificationKey2020"
	// KeyFragment is the fragment of the current key: a sender's signature is
	// checked against {did}#key-1 (A2A §3.5).
	KeyFragment = "#key-1"
	// RetiredFragment and a number from 1, the oldest, is the fragment of a key
	// that was in use before.
	RetiredFragment = "#retired-"
)

// A Document is a DID document as A2A draft-1 §3.3 shows it. Its members are
// written in the draft's order. One that was read from a stranger holds texts
// that nothing has checked.
type Document struct {
	Context []string `json:"@context"`
	ID      string   `json:"id"`
	// AlsoKnownAs names the DID under which the owner keeps the agent elsewhere.
	AlsoKnownAs        []string             `json:"alsoKnownAs,omitempty"`
	VerificationMethod []VerificationMethod `json:"verificationMethod"`
	Authentication     []string             `json:"authentication"`
	AssertionMethod    []string             `json:"assertionMethod"`
	Service            []Service            `json:"service"`
}

// A VerificationMethod is a key and who holds it.
type VerificationMethod struct {
	ID                 string `json:"id"`
	Type               string `json:"type"`
	Controller         string `json:"controller"`
	PublicKeyMultibase string `json:"publicKeyMultibase"`
	// Revoked is the time (RFC 3339) from which nothing that the key signs
	// counts, "" for a key in use. A retired key stays listed so that what it
	// signed before can still be judged.
	Revoked string `json:"revoked,omitempty"`
}

// A Service is one way to reach the subject.
type Service struct {
	ID              string `json:"id"`
	Type            string `json:"type"`
	ServiceEndpoint string `json:"serviceEndpoint"`
}

// Contexts returns the JSON-LD contexts that the members of a [Document] need.
func Contexts() []string {
	return []string{"https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/ed25519-2020/v1"}
}

// Key returns the current key of the subject: that of the verification method
// {did}#key-1 (A2A §3.5), and no other, for a sender's signature is judged by it.
// The error is an [*Error].
func (d Document) Key() (ed25519.PublicKey, error) {
	for _, m := range d.VerificationMethod {
		if m.ID != d.ID+KeyFragment {
			continue
		}
		if !d.isControlled(m) || m.Revoked != "" {
			return nil, &Error{CodeKeyMissing, fmt.Sprintf("the key %s%s is revoked or not the subject's", protocol.ClipBytes(d.ID, maxQuoted), KeyFragment), "ask the owner to publish a current key"}
		}
		return ParseMultikey(m.PublicKeyMultibase)
	}
	return nil, &Error{CodeKeyMissing, fmt.Sprintf("the document has no key %s%s", protocol.ClipBytes(d.ID, maxQuoted), KeyFragment), "A2A draft-1 §3.5 asks for this very id"}
}

// isControlled reports whether a method is under the subject's own control. One that
// names no controller is: it stands in the subject's document under the subject's
// id.
func (d Document) isControlled(m VerificationMethod) bool {
	return m.Controller == d.ID || m.Controller == ""
}

// KeyAt returns the key that the subject used at a time: the retired key
// ({did}#retired-1, #retired-2 …) that was revoked first after that time, and
// else the current one. Mail waits while keys rotate, so what a key signed before
// it was revoked still counts. The error is an [*Error].
func (d Document) KeyAt(t time.Time) (ed25519.PublicKey, error) {
	key, until := "", time.Time{}
	for _, m := range d.VerificationMethod {
		if !strings.HasPrefix(m.ID, d.ID+RetiredFragment) || !d.isControlled(m) {
			continue
		}
		revoked, err := time.Parse(time.RFC3339, m.Revoked)
		if err == nil && t.Before(revoked) && (key == "" || revoked.Before(until)) {
			key, until = m.PublicKeyMultibase, revoked
		}
	}
	if key == "" {
		return d.Key()
	}
	return ParseMultikey(key)
}

// Vouches reports whether the document says that its subject uses a key: one of
// its verification methods, under the subject's own control and not revoked,
// holds it, and it may authenticate or assert.
func (d Document) Vouches(key ed25519.PublicKey) bool {
	want := FormatMultikey(key)
	for _, m := range d.VerificationMethod {
		if m.PublicKeyMultibase == want && m.Controller == d.ID && m.Revoked == "" &&
			(slices.Contains(d.Authentication, m.ID) || slices.Contains(d.AssertionMethod, m.ID)) {
			return true
		}
	}
	return false
}

// Inbox returns the endpoint of the first service of type A2AInbox in document
// order, and "" when the subject cannot be reached by A2A (A2A §3.4). The text
// is as published; a relative one is to be resolved against the registry's base.
func (d Document) Inbox() string {
	for _, s := range d.Service {
		if s.Type == TypeInbox {
			return s.ServiceEndpoint
		}
	}
	return ""
}
