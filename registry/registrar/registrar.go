package registrar

import (
	"context"
	"crypto/ed25519"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"gazetteer/limit"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/attestation"
	"gazetteer/registry/directory"
	"gazetteer/registry/evidence"
	"gazetteer/registry/transfer"
	"gazetteer/store"
)

// Options configure a [Registrar]. Store and DIDHost are required.
type Options struct {
	Store store.Store
	// DIDHost, BaseURL, AllowLoopback, Authorities, RequireProof, RecoveryDelay, Resolver and
	// RelayKey are those of [registry.Options].
	DIDHost       string
	BaseURL       string
	AllowLoopback bool
	Authorities   []string
	RequireProof  bool
	RecoveryDelay time.Duration
	Resolver      registry.Resolver
	RelayKey      ed25519.PublicKey
	// Mode, Unattended, Limits and LimitSet are those of [admission.PolicyOptions].
	Mode       string
	Unattended time.Duration
	Limits     admission.Limits
	LimitSet   *limit.Set // nil: a set of its own
	// ReportDue is that of [admission.Options].
	ReportDue time.Duration
	// Web, DNS and Recheck are those of [evidence.Options].
	Web     evidence.HTTPSClient
	DNS     evidence.DNS
	Recheck time.Duration
	Log     *slog.Logger     // nil: silent
	Now     func() time.Time // nil: time.Now
	// Due and Steady are those of [registry.Options].
	Due, Steady func() time.Time
	Rand        io.Reader // nil: crypto/rand; several goroutines read it at once
}

// A Registrar is a registry with all its parts. Its methods are those of the parts, and may be called
// from any goroutine. [New] makes one.
type Registrar struct {
	*registry.Registry
	*admission.Admission
	*evidence.Collector
	*attestation.Graph
	*transfer.Transfer
	store store.Store
}

// New returns a registrar. The error says which option is invalid. New neither reads nor writes the
// store.
func New(o Options) (*Registrar, error) {
	policy, err := admission.NewPolicy(admission.PolicyOptions{Store: o.Store, Mode: o.Mode, Unattended: o.Unattended, Limits: o.Limits, LimitSet: o.LimitSet, Log: o.Log, Now: o.Now, Due: o.Due})
	if err != nil {
		return nil, err
	}
	agents, err := registry.New(registry.Options{Store: o.Store, DIDHost: o.DIDHost, BaseURL: o.BaseURL, AllowLoopback: o.AllowLoopback,
		Authorities: o.Authorities, RequireProof: o.RequireProof, RecoveryDelay: o.RecoveryDelay, WritesPerHour: o.Limits.Writes,
		Resolver: o.Resolver, RelayKey: o.RelayKey, Guard: policy, Log: o.Log, Now: o.Now, Due: o.Due, Steady: o.Steady, Rand: o.Rand})
	if err != nil {
		return nil, err
	}
	attestations := attestation.New(agents, o.Store, o.Log)
	collector := evidence.New(agents, attestations, evidence.Options{Store: o.Store, Web: o.Web, DNS: o.DNS, Recheck: o.Recheck, Log: o.Log, Limits: o.LimitSet})
	return &Registrar{
		Registry:  agents,
		Admission: admission.New(agents, policy, admission.Options{Creators: collector, ReportDue: o.ReportDue, Rand: o.Rand}),
		Collector: collector,
		Graph:     attestations,
		Transfer:  transfer.New(agents, o.Store, o.Log),
		store:     o.Store,
	}, nil
}

// NewDirectory returns an empty directory of the agents.
func (r *Registrar) NewDirectory() *directory.Directory {
	return directory.New(r.Registry, r.Collector, r.store)
}

// Run checks the evidence of the agents again in time and deletes what has expired, until ctx ends;
// then it returns nil. The error is that of the store.
func (r *Registrar) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.Collector.Run(ctx) })
	g.Go(func() error { return r.Admission.Run(ctx) })
	return g.Wait()
}
