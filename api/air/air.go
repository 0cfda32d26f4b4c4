package air

import (
	"cmp"
	"context"

	"gazetteer/api/route"
	"gazetteer/limit"
	"gazetteer/registry/audit"
)

// Options contains what the routes of the registry need besides the mux.
type Options struct {
	// Proofs is the number of domain proofs that one client may request in an hour; 0 means 30, a
	// negative number removes the limit. The registry has its own limit for all agents together.
	Proofs int
	// Anchored returns the newest tree of the log that a witness has cosigned; nil if there are no
	// witnesses.
	Anchored func() *Anchor
	// Witnesses returns the state of each witness of the log; nil if there are no witnesses.
	Witnesses func() []audit.WitnessStatus
	// Publish asks the witnesses to cosign; nil if there are no witnesses.
	Publish func(ctx context.Context) error
	// Resume lets a halted log sign again; nil if there is no log.
	Resume func(ctx context.Context) error
	Limits *limit.Set
}

// Routes are the routes of the registry.
type Routes struct {
	*route.Mux
	proofs *limit.Limiter
	// logChecks and logCheckSlots limit the checks of entries of the log, which are expensive.
	logChecks     *limit.Limiter
	logCheckSlots *limit.Slots
	anchored      func() *Anchor
	witnesses     func() []audit.WitnessStatus
	publish       func(ctx context.Context) error
	resume        func(ctx context.Context) error
	counts        attestationCounts
}

// New returns the routes of the registry on a mux.
func New(m *route.Mux, o Options) *Routes {
	return &Routes{
		Mux: m, anchored: o.Anchored, witnesses: o.Witnesses, publish: o.Publish, resume: o.Resume,
		proofs:        o.Limits.Limiter(limit.Rule{Name: "proofs", Each: cmp.Or(o.Proofs, 30), All: -1}),
		logChecks:     o.Limits.Limiter(limit.Rule{Name: "log-checks", Each: 60, Wide: 240, All: -1}),
		logCheckSlots: o.Limits.Slots(limit.SlotRule{Name: "log-checks-running", All: 2, Each: 1, Waiting: 8}),
	}
}
