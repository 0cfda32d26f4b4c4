package attestation

import (
	"cmp"
	"log/slog"

	"gazetteer/registry"
	"gazetteer/store"
)

// A Graph holds the attestations between the agents of a registry. Its methods may be called from any
// goroutine. [New] makes one.
type Graph struct {
	registry *registry.Registry
	store    store.Store
	log      *slog.Logger
	numbers  attestationNumbers
}

// New returns the attestations of a registry. A nil log is silent.
func New(r *registry.Registry, s store.Store, log *slog.Logger) *Graph {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	return &Graph{registry: r, store: s, log: log}
}
