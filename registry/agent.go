package registry

import "time"

// An Agent is who is registered, as it is stored. Its DID document is computed
// from it, never stored; what is served over HTTP is a [RecordView]. All texts
// are the registrant's: escape them on output.
type Agent struct {
	AirID       string `json:"air_id"`
	Name        string `json:"name"`
	Handle      string `json:"handle,omitempty"`
	Description string `json:"description,omitempty"`
	// PublicKey is the raw 32-byte Ed25519 key; JSON writes it as base64. It is
	// empty when the agent was registered with only a DID of its creator.
	PublicKey []byte `json:"public_key"`
	// CreatorDID is a DID the owner claims to control, or the agent's own.
	CreatorDID             string            `json:"creator_did"`
	CreatorName            string            `json:"creator_name,omitempty"`
	CreatorType            string            `json:"creator_type,omitempty"`
	Capabilities           []string          `json:"capabilities,omitempty"`
	SecurityCertifications []string          `json:"security_certifications,omitempty"`
	OpenSource             bool              `json:"open_source,omitempty"`
	CodeRepository         string            `json:"code_repository,omitempty"`
	DocumentationURL       string            `json:"documentation_url,omitempty"`
	ServiceEndpoints       []ServiceEndpoint `json:"service_endpoints,omitempty"`
	// SecretHash is the SHA-256 of the once-shown secret.
	SecretHash []byte    `json:"secret_hash"`
	Status     string    `json:"status"` // "active"
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`
}

// A ServiceEndpoint is one entry of a DID document's service list (A2A §3.4).
// A stored one has an ID; one that is sent to the registry may leave it empty
// and gets one made of its type.
type ServiceEndpoint struct {
	ID              string `json:"id,omitempty"`
	Type            string `json:"type"`
	ServiceEndpoint string `json:"serviceEndpoint"`
}
