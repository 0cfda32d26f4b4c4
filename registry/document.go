package registry

import (
	"crypto/ed25519"
	"errors"
	"slices"
	"strconv"
	"strings"

	"gazetteer/protocol/did"
)

// BaseURL returns the address of the registry, without a slash at the end.
func (r *Registry) BaseURL() string { return r.baseURL }

// DID returns the DID of an agent of this registry.
func (r *Registry) DID(airID string) string { return r.didPrefix + airID }

// DIDDocument computes the DID document of an agent (A2A draft-1 §3.3): its key as #key-1, then its
// retired keys, which can neither authenticate nor assert, then the service of the registry, then
// the agent's services in their order. [Agent.Resolvable] says whether the document is to be
// published. The document of an agent without a key has no verification method and is not
// published: answer [ErrNoKey].
func (r *Registry) DIDDocument(a Agent) did.Document {
	id := r.DID(a.AirID)
	d := did.Document{
		Context:            did.Contexts(),
		ID:                 id,
		VerificationMethod: []did.VerificationMethod{},
		Authentication:     []string{},
		AssertionMethod:    []string{},
		Service:            make([]did.Service, 0, 1+len(a.ServiceEndpoints)),
	}
	d.AlsoKnownAs = r.otherDIDs(a)
	if len(a.PublicKey) > 0 {
		key := id + did.KeyFragment
		d.VerificationMethod = []did.VerificationMethod{{ID: key, Type: did.TypeEd25519, Controller: id,
			PublicKeyMultibase: did.FormatMultikey(a.PublicKey)}}
		for i, k := range a.Retired {
			d.VerificationMethod = append(d.VerificationMethod, did.VerificationMethod{ID: id + did.RetiredFragment + strconv.Itoa(i+1),
				Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: did.FormatMultikey(k.PublicKey), Revoked: FormatTimestamp(k.Until)})
		}
		d.Authentication = []string{key}
		d.AssertionMethod = []string{key}
	}
	d.Service = append(d.Service, did.Service{ID: id + trustScoreFragment, Type: did.TypeTrustScore,
		ServiceEndpoint: r.baseURL + "/api/v1/agents/" + a.AirID + "/trust-score"})
	for _, s := range a.ServiceEndpoints {
		d.Service = append(d.Service, did.Service(s))
	}
	return d
}

// documentUnder returns the DID document under the did:wba or the did:web form of the agent's DID.
// Both forms lead to one address, which serves the did:wba form; a resolver of the other form must
// return it as the id (DID Core §5.1.1).
func (r *Registry) documentUnder(method string, a Agent) did.Document {
	d := r.DIDDocument(a)
	w := did.AgentDID(r.host, a.AirID)
	if method == w.Method {
		return d
	}
	was := d.ID
	w.Method = method
	d.ID = w.String()
	rename := func(id *string) { *id = d.ID + strings.TrimPrefix(*id, was) }
	d.AlsoKnownAs = append([]string{was}, d.AlsoKnownAs...)
	for i := range d.VerificationMethod {
		rename(&d.VerificationMethod[i].ID)
		rename(&d.VerificationMethod[i].Controller)
	}
	for i := range d.Authentication {
		rename(&d.Authentication[i])
	}
	d.AssertionMethod = slices.Clone(d.Authentication)
	for i := range d.Service {
		rename(&d.Service[i].ID)
	}
	return d
}

const trustScoreFragment = "#trust-score"

// relayKeyFragment names the key in the registry's document that signs the receipts of its relay.
const relayKeyFragment = "#relay-1"

// RegistryDocument returns the DID document of the registry itself, which is served at
// /.well-known/did.json of its DID host. Key is the key that signs its log; nil leaves it out.
func (r *Registry) RegistryDocument(key ed25519.PublicKey) did.Document {
	id := r.host.String()
	d := did.Document{Context: did.Contexts(), ID: id, VerificationMethod: []did.VerificationMethod{}, Authentication: []string{}, AssertionMethod: []string{},
		Service: []did.Service{{ID: id + "#registry", Type: "AIRRegistry", ServiceEndpoint: r.baseURL + "/api/v1"}}}
	addKey := func(fragment string, key ed25519.PublicKey) {
		d.VerificationMethod = append(d.VerificationMethod, did.VerificationMethod{ID: id + fragment, Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: did.FormatMultikey(key)})
		d.AssertionMethod = append(d.AssertionMethod, id+fragment)
	}
	if key != nil {
		addKey(did.KeyFragment, key)
	}
	if r.relayKey != nil {
		addKey(relayKeyFragment, r.relayKey)
	}
	return d
}

// A DIDResolution is the answer of a DID resolver over HTTP, in the binding of DID Resolution:
// /1.0/identifiers/{did}.
type DIDResolution struct {
	Context          string           `json:"@context"`
	Document         *did.Document    `json:"didDocument"` // null when there is none
	Metadata         ResolutionData   `json:"didResolutionMetadata"`
	DocumentMetadata DocumentMetadata `json:"didDocumentMetadata"`
}

// ResolutionData is the metadata of a resolution.
type ResolutionData struct {
	ContentType string `json:"contentType,omitempty"`
	// Error is "invalidDid", "notFound", "methodNotSupported" or "internalError", "" when a
	// document was found.
	Error   string `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
}

// DocumentMetadata is the metadata of a document.
type DocumentMetadata struct {
	Created     string `json:"created,omitempty"` // whole seconds (DID Core §7.1.3)
	Updated     string `json:"updated,omitempty"` // left out when nothing has changed since
	VersionID   string `json:"versionId,omitempty"`
	Deactivated bool   `json:"deactivated,omitempty"`
}

// Resolution returns the resolution of an agent of this registry, under the form of its DID that
// has the method. An agent that has ended has no document, and its metadata say that it is
// deactivated (410).
func (r *Registry) Resolution(a Agent, method string) DIDResolution {
	v := DIDResolution{Context: "https://w3id.org/did-resolution/v1", Metadata: ResolutionData{ContentType: "application/did+json"},
		DocumentMetadata: DocumentMetadata{Created: FormatSecond(a.Created), VersionID: strconv.Itoa(a.Entries)}}
	if !a.Updated.Equal(a.Created) {
		v.DocumentMetadata.Updated = FormatSecond(a.Updated)
	}
	err := a.Resolvable()
	if err == nil {
		d := r.documentUnder(method, a)
		v.Document = &d
		return v
	}
	v.Metadata = ResolutionData{Message: err.Error()}
	if v.DocumentMetadata.Deactivated = errors.Is(err, ErrGone); !v.DocumentMetadata.Deactivated {
		v.Metadata.Error = "notFound"
	}
	return v
}
