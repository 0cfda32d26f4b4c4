package registry

import "time"

// An Agent is who is registered. Its DID document is computed from it, never
// stored. The shape served over HTTP is the reference's (see api).
type Agent struct {
	AirID       string `json:"air_id"`
	Name        string `json:"name"`
	Handle      string `json:"handle,omitempty"`
	Description string `json:"description,omitempty"`
	// PublicKey is the raw 32-byte Ed25519 key; JSON writes it as base64.
	PublicKey              []byte            `json:"public_key"`
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
type ServiceEndpoint struct {
	ID              string `json:"id,omitempty"`
	Type            string `json:"type"`
	ServiceEndpoint string `json:"serviceEndpoint"`
}
