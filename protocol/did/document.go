package did

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
