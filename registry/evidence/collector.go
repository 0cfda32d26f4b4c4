package evidence

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"gazetteer/limit"
	"gazetteer/registry"
	"gazetteer/registry/attestation"
	"gazetteer/registry/resolve"
	"gazetteer/store"
)

// defaultRecheck is the time between two checks of the same evidence.
const defaultRecheck = 24 * time.Hour

// Options configure a [Collector].
type Options struct {
	Store store.Store
	// Web sends HTTPS requests to other hosts and DNS asks for TXT records. Without them no domain is
	// proved and no web server observed.
	Web HTTPSClient
	DNS DNS
	// Recheck is the time between two checks of a proof or an observation; the default is 24 hours.
	Recheck time.Duration
	Log     *slog.Logger // nil: silent
	Limits  *limit.Set   // lists the limits for the metrics; nil: a set of its own
}

// allChecks is the number of checks of domains that all agents together may request in an hour,
// agentChecks that of one agent.
const (
	allChecks   = 1200
	agentChecks = 120
)

// A Collector collects the evidence about the agents of a registry and checks it again in time. Its
// methods may be called from any goroutine. [New] makes one.
type Collector struct {
	registry     *registry.Registry
	graph        *attestation.Graph
	store        store.Store
	web          HTTPSClient
	dns          DNS
	recheck      time.Duration
	log          *slog.Logger
	cooldown     cooldown
	proofLimiter proofLimiter
	checks       *limit.Limiter // of all domains, by agent
	proven       provenDomains
}

// New returns a collector for a registry with its attestations.
func New(r *registry.Registry, g *attestation.Graph, o Options) *Collector {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Collector{registry: r, graph: g, store: o.Store, web: o.Web, dns: o.DNS, recheck: cmp.Or(o.Recheck, defaultRecheck), log: o.Log,
		checks: o.Limits.Limiter(limit.Rule{Name: "domain-checks", Each: agentChecks, All: allChecks, Fair: 4})}
}

// An HTTPSClient sends HTTPS requests to other hosts; [resolve.HTTPS] does.
type HTTPSClient interface {
	Get(ctx context.Context, address, accept string, limit int) (resolve.Page, error)
	Post(ctx context.Context, address, body string, limit int) (resolve.Page, error)
}

// ObserveNewAgent looks up the creator's DID for the answer to a registration, unless its domain was
// asked a moment ago: then a recheck does it later.
func (e *Collector) ObserveNewAgent(ctx context.Context, a registry.Agent) map[string]registry.Observation {
	observed := map[string]registry.Observation{}
	if !e.registry.CanObserveCreator(a) || !e.cooldown.tryStart(registry.DomainOf(a.CreatorDID), e.registry.SteadyTime()) {
		return observed
	}
	if o, ok := e.registry.ObserveCreator(ctx, a); ok {
		observed[registry.SignalDID] = o
	}
	return observed
}
