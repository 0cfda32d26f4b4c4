package air

import (
	"cmp"
	"context"

	"gazetteer/api/route"
	"gazetteer/limit"
)

// Options say what the routes of the registry need beside the mux.
type Options struct {
	// Proofs is how many proofs of domains one client may have looked for in an hour, ProofsGlobal how
	// many all clients together; 0 means 30 and 600, a negative number lifts the limit.
	Proofs, ProofsGlobal int
	// Anchored returns the newest tree of the log that a witness has cosigned; nil: there are no
	// witnesses.
	Anchored func() *Anchor
	// Publish asks the witnesses to cosign; nil: there are no witnesses.
	Publish func(ctx context.Context) error
	Limits  *limit.Set
}

// Routes are the routes of the registry.
type Routes struct {
	*route.Mux
	proofs   *limit.Limiter
	anchored func() *Anchor
	publish  func(ctx context.Context) error
	counts   attestationCounts
}

// New returns the routes of the registry on a mux.
func New(m *route.Mux, o Options) *Routes {
	return &Routes{
		Mux: m, anchored: o.Anchored, publish: o.Publish,
		proofs: o.Limits.Limiter(limit.Rule{Name: "proofs", Each: cmp.Or(o.Proofs, 30), All: cmp.Or(o.ProofsGlobal, 600)}),
	}
}
