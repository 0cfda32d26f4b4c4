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
	// TypeInbox is the type of the address at which an agent receives mail (A2A §3.4).
	TypeInbox = "A2AInbox"
	// TypeTrustScore is the type of the registry's own entry (A2A §12.2).
	TypeTrustScore = "AIRTrustScore"
	// TypeEd25519 is the type of a verification method with publicKeyMultibase.
	TypeEd25519 = "Ed25519VerificationKey2020"
	// KeyFragment is the fragment of the current key: a sender's signature is
	// checked against {did}#key-1 (A2A §3.5).
	KeyFragment = "#key-1"
	// RetiredFragment followed by a number from 1, the oldest, is the fragment of a former key.
	RetiredFragment = "#retired-"
)

// A Document is a DID document in the form of A2A draft-1 §3.3. Its members are written in the
// draft's order. A parsed document has unchecked, untrusted texts.
type Document struct {
	Context []string `json:"@context"`
	ID      string   `json:"id"`
	// AlsoKnownAs lists the DIDs of the same agent elsewhere, as stated by the owner.
	AlsoKnownAs        []string             `json:"alsoKnownAs,omitempty"`
	VerificationMethod []VerificationMethod `json:"verificationMethod"`
	Authentication     []string             `json:"authentication"`
	AssertionMethod    []string             `json:"assertionMethod"`
	Service            []Service            `json:"service"`
}

// A VerificationMethod is a key and its controller.
type VerificationMethod struct {
	ID                 string `json:"id"`
	Type               string `json:"type"`
	Controller         string `json:"controller"`
	PublicKeyMultibase string `json:"publicKeyMultibase"`
	// Revoked is the time (RFC 3339) from which signatures of the key no longer count, "" for a key
	// in use. A retired key stays listed so that earlier signatures can still be verified.
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

// Key returns the current key of the subject: that of the verification method {did}#key-1 (A2A
// §3.5). Senders' signatures are verified with this key only. The error is an [*Error].
func (d Document) Key() (ed25519.PublicKey, error) {
	text, err := d.Multikey()
	if err != nil {
		return nil, err
	}
	return ParseMultikey(text)
}

// Multikey returns the text of the key that [Document.Key] reads. The error is an [*Error].
func (d Document) Multikey() (string, error) {
	for _, m := range d.VerificationMethod {
		if m.ID != d.ID+KeyFragment {
			continue
		}
		if !d.isControlled(m) || m.Revoked != "" {
			return "", &Error{CodeKeyMissing, fmt.Sprintf("the key %s%s is revoked or not the subject's", protocol.ClipBytes(d.ID, maxQuoted), KeyFragment), "ask the owner to publish a current key"}
		}
		return m.PublicKeyMultibase, nil
	}
	return "", &Error{CodeKeyMissing, fmt.Sprintf("the document has no key %s%s", protocol.ClipBytes(d.ID, maxQuoted), KeyFragment), "A2A draft-1 §3.5 asks for this very id"}
}

// isControlled reports whether the subject controls a method. A method without a controller counts,
// because it is in the subject's document under the subject's id.
func (d Document) isControlled(m VerificationMethod) bool {
	return m.Controller == d.ID || m.Controller == ""
}

// KeyAt returns the key that the subject used at a time: the retired key ({did}#retired-1,
// #retired-2 …) that was revoked first after that time, else the current one. Mail may wait while a
// key is rotated, so signatures made before the revocation still count. The error is an [*Error].
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

// Vouches reports whether the document confirms that its subject uses a key: one of its
// verification methods has the key, is controlled by the subject, is not revoked, and may be used
// for authentication or assertion.
func (d Document) Vouches(key ed25519.PublicKey) bool {
	want := FormatMultikey(key)
	return slices.ContainsFunc(d.VerificationMethod, func(m VerificationMethod) bool {
		return m.PublicKeyMultibase == want && m.Controller == d.ID && m.Revoked == "" &&
			(slices.Contains(d.Authentication, m.ID) || slices.Contains(d.AssertionMethod, m.ID))
	})
}

// Inbox returns the endpoint of the first service of type A2AInbox in document order, and "" if the
// subject has none (A2A §3.4). The text is as published; resolve a relative one against the
// registry's base URL.
func (d Document) Inbox() string {
	for _, s := range d.Service {
		if s.Type == TypeInbox {
			return s.ServiceEndpoint
		}
	}
	return ""
}
