package registry

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry/resolve"
	"gazetteer/store"
)

// Options configure a [Registry]. Store and DIDHost are required.
type Options struct {
	Store store.Store
	// DIDHost is the host in the DIDs of the agents, did:wba:{DIDHost}:agents:{air id}, for example
	// "example.com" or "localhost:8080". It is part of every identity: changing it later changes the
	// DIDs of all registered agents.
	DIDHost string
	// BaseURL is the address of this program without "/api/v1", as it appears in DID documents. The
	// default is "https://" and DIDHost.
	BaseURL string
	// AllowLoopback accepts service endpoints on this machine, including http ones: for
	// demonstrations and tests.
	AllowLoopback bool
	// Authorities are further hosts (with a port where needed) that signed requests may be sent to,
	// beside DIDHost and the host of BaseURL.
	Authorities []string
	// RequireProof refuses registrations that do not prove possession of their key. Clients of the
	// public reference never prove it.
	RequireProof bool
	// RecoveryDelay is the time between a recovery request and its effect; the default is 72 hours.
	RecoveryDelay time.Duration
	// WritesPerHour limits the writes of one agent; the default is 300, a negative number means no
	// limit.
	WritesPerHour int
	// RelayKey verifies the receipts of the relay beside the registry; nil without a relay.
	RelayKey ed25519.PublicKey
	// Resolver finds the DID documents of other hosts. Without a resolver no creator's DID is checked.
	Resolver Resolver
	// Guard is asked before anything changes; nil admits everything.
	Guard AdmissionPolicy
	Log   *slog.Logger     // nil: silent
	Now   func() time.Time // nil: time.Now
	// Due returns the time by which recoveries come into force, checks are due and released handles
	// become available: it does not jump with the machine's clock. Nil: Now.
	Due func() time.Time
	// Steady returns a time that never jumps: challenges expire and pauses end by it. Nil: Now.
	Steady func() time.Time
	Rand   io.Reader // nil: crypto/rand; several goroutines read it at once
}

// defaultWrites is the number of writes an hour of one agent.
const defaultWrites = 300

// A Resolver finds DID documents; [gazetteer/registry/resolve.Resolver] is one.
type Resolver interface {
	Resolve(ctx context.Context, did string) (resolve.Result, error)
}

// An AdmissionPolicy decides which writes the registry accepts: it knows the block lists, the rate
// limits of networks, and the registrations that are not agents yet. Package admission implements it.
// Refusals are [*Refusal] errors.
type AdmissionPolicy interface {
	// HoldPolicy calls commit while neither the registration policy nor a block list changes, and
	// returns its error.
	HoldPolicy(ctx context.Context, commit func() error) error
	// CheckAgent refuses a change of an agent that brings in a blocked key, handle or domain. It is
	// called by the commit function of HoldPolicy. For a new agent before is the zero value.
	CheckAgent(before, after Agent, now time.Time) error
	// CheckNetwork refuses a client whose network is blocked.
	CheckNetwork(ctx context.Context, client netip.Addr) error
	// RefuseFailure returns the refusal of a write that failed with err. If err means an invalid
	// proof, it counts the failure; after too many of them it returns the refusal that says so
	// instead of err.
	RefuseFailure(ctx context.Context, client netip.Addr, err error) error
	// AdmitProved charges a write with a valid proof to the limit that all agents share. Writes with
	// different proofs have separate limits.
	AdmitProved(ctx context.Context, client netip.Addr, agent Agent, by WriteProof) error
	// ChargeSize charges the size of a stored write to the limits of the client's network and of all
	// agents. Units are of [SizeUnit] bytes; [AdmissionPolicy.AdmitProved] charged the first to all agents.
	ChargeSize(ctx context.Context, client netip.Addr, agent Agent, by WriteProof, units int)
	// ExplainMissing says why there is no agent with an AIR ID: its registration waits for approval,
	// was refused, or has expired. It returns nil when nothing is known about the AIR ID.
	ExplainMissing(ctx context.Context, airID string) error
	// IsKeyReleased reports whether the holder of a key is a registration that was refused or has
	// expired, so that another agent may take the key.
	IsKeyReleased(ctx context.Context, holder string) (bool, error)
}

// A Registry keeps agents in a store. Its methods may be called from any goroutine. [New] makes one.
type Registry struct {
	store         store.Store
	host          did.Web // host and port of the DIDs
	didPrefix     string  // of all DIDs, up to the AIR ID
	baseURL       string  // without a slash at the end
	authorities   []string
	allowLoopback bool
	requireProof  bool
	recoveryDelay time.Duration
	writesPerHour int
	resolver      Resolver
	relayKey      ed25519.PublicKey
	guard         AdmissionPolicy
	log           *slog.Logger
	now, due      func() time.Time
	steady        func() time.Time
	rand          io.Reader
	challenges    *challenges
	work          *challenges // see [Registry.NewWork]
}

// New returns a registry. The error says which option is invalid. New neither reads nor writes the
// store.
func New(o Options) (*Registry, error) {
	host, err := ParseHost(o.DIDHost)
	if err != nil {
		return nil, fmt.Errorf("DID host %q: %w", o.DIDHost, err)
	}
	if o.BaseURL == "" {
		o.BaseURL = "https://" + strings.Replace(o.DIDHost, "%3A", ":", 1)
	}
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("base URL %q: want an absolute http or https URL without query and fragment", o.BaseURL)
	}
	r := &Registry{store: o.Store, host: host, didPrefix: did.AgentDID(host, "").String(), baseURL: strings.TrimRight(o.BaseURL, "/"), allowLoopback: o.AllowLoopback,
		requireProof: o.RequireProof, recoveryDelay: cmp.Or(o.RecoveryDelay, defaultRecoveryDelay), writesPerHour: cmp.Or(o.WritesPerHour, defaultWrites),
		resolver: o.Resolver, relayKey: o.RelayKey, guard: o.Guard, log: o.Log, now: o.Now, due: o.Due, steady: o.Steady, rand: o.Rand, challenges: newChallenges(), work: newChallenges()}
	for _, authority := range append([]string{host.Authority(), base.Host}, o.Authorities...) {
		if a := httpsig.NormalAuthority(authority, base.Scheme); !slices.Contains(r.authorities, a) {
			r.authorities = append(r.authorities, a)
		}
	}
	if r.guard == nil {
		r.guard = noGuard{}
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.now == nil {
		r.now = time.Now
	}
	if r.due == nil {
		r.due = r.now
	}
	if r.steady == nil {
		r.steady = r.now
	}
	if r.rand == nil {
		r.rand = rand.Reader
	}
	return r, nil
}

// ParseHost reads the DID host of a registry: a host, and a port where one is needed.
func ParseHost(text string) (did.Web, error) {
	host, err := did.ParseWeb("did:wba:" + strings.Replace(text, ":", "%3A", 1))
	if err == nil && len(host.Path) > 0 {
		err = fmt.Errorf("%q is not a host with an optional port", protocol.ClipBytes(text, MaxQuoted))
	}
	return host, err
}

// noGuard admits everything.
type noGuard struct{}

func (noGuard) HoldPolicy(_ context.Context, commit func() error) error          { return commit() }
func (noGuard) CheckAgent(_, _ Agent, _ time.Time) error                         { return nil }
func (noGuard) CheckNetwork(context.Context, netip.Addr) error                   { return nil }
func (noGuard) RefuseFailure(_ context.Context, _ netip.Addr, err error) error   { return err }
func (noGuard) AdmitProved(context.Context, netip.Addr, Agent, WriteProof) error { return nil }
func (noGuard) ChargeSize(context.Context, netip.Addr, Agent, WriteProof, int)   {}
func (noGuard) ExplainMissing(context.Context, string) error                     { return nil }
func (noGuard) IsKeyReleased(_ context.Context, holder string) (bool, error)     { return false, nil }

// Host returns the host of the DIDs of this registry.
func (r *Registry) Host() did.Web { return r.host }

// IsOwnHost reports whether a host is the registry's. An inbox at that host is stored by the
// registry and is not evidence about services.
func (r *Registry) IsOwnHost(host string) bool {
	u, err := url.Parse(r.baseURL)
	return host == r.host.Host || err == nil && host == strings.ToLower(u.Hostname())
}

// Timestamp returns the present time as records hold it: in UTC and whole milliseconds.
func (r *Registry) Timestamp() time.Time { return r.now().UTC().Truncate(time.Millisecond) }

// DueTime returns the time for decisions that cannot be undone: see Options.Due.
func (r *Registry) DueTime() time.Time { return r.due().UTC().Truncate(time.Millisecond) }

// SteadyTime returns the time for intervals: see Options.Steady.
func (r *Registry) SteadyTime() time.Time { return r.steady() }
