package registry

import (
	"strconv"

	"gazetteer/protocol/did"
)

// DID returns the DID of an agent of this registry.
func (r *Registry) DID(airID string) string { return did.AgentDID(r.host, airID).String() }

// DIDDocument computes the DID document of an agent (A2A draft-1 §3.3): its key
// as #key-1, then the keys that it has retired, which may neither authenticate
// nor assert any more, then the registry's own service, then the agent's in their
// order. [Agent.Resolvable] says whether it is to be published.
// An agent without a public key has no DID document to publish; the one
// returned for it holds no verification method, and a route answers [ErrNoKey].
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
	if a.CreatorDID != "" && a.CreatorDID != id {
		d.AlsoKnownAs = []string{a.CreatorDID}
	}
	if len(a.PublicKey) > 0 {
		key := id + did.KeyFragment
		d.VerificationMethod = []did.VerificationMethod{{ID: key, Type: did.TypeEd25519, Controller: id,
			PublicKeyMultibase: did.FormatMultikey(a.PublicKey)}}
		for i, k := range a.Retired {
			d.VerificationMethod = append(d.VerificationMethod, did.VerificationMethod{ID: id + did.RetiredFragment + strconv.Itoa(i+1),
				Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: did.FormatMultikey(k.PublicKey), Revoked: stamp(k.Until)})
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

const trustScoreFragment = "#trust-score"
