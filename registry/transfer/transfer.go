package transfer

import (
	"cmp"
	"log/slog"

	"gazetteer/registry"
	"gazetteer/store"
)

// A Transfer exports, imports and merges the agents of a registry. [New] makes one.
type Transfer struct {
	registry *registry.Registry
	store    store.Store
	log      *slog.Logger
}

// New returns the transfer of a registry's agents. A nil log is silent.
func New(r *registry.Registry, s store.Store, log *slog.Logger) *Transfer {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	return &Transfer{registry: r, store: s, log: log}
}
