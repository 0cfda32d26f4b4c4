// Package airjson is the JSON of the public AIR reference: it reads the bodies of requests and
// builds the bodies of answers, member for member, so that clients of the reference work unchanged.
// It does not depend on HTTP. Start with [ReadRegistration] and [NewRecordView].
package airjson

import (
	"context"

	"gazetteer/registry"
	"gazetteer/registry/attestation"
)

// Registry contains the properties of a registry that the answers about an agent need.
type Registry interface {
	DID(airID string) string
	BaseURL() string
	History(ctx context.Context, airID string, limit, offset int) ([]registry.HistoryEntry, int, error)
}

// Graph is the source of the answers about attestations.
type Graph interface {
	Attestations(ctx context.Context, a registry.Agent) ([]registry.Attestation, error)
	Issued(ctx context.Context, a registry.Agent) ([]registry.Attestation, error)
	Recent(ctx context.Context, limit int) ([]registry.Attestation, error)
	Dependents(ctx context.Context, a registry.Agent, depth, limit int) ([]attestation.Dependent, bool, error)
	Stats(ctx context.Context) (attestation.Stats, error)
}
