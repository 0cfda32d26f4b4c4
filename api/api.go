package api

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"gazetteer/api/air"
	"gazetteer/api/feed"
	"gazetteer/api/operator"
	"gazetteer/api/route"
	"gazetteer/internal/steadyclock"
	"gazetteer/limit"
	"gazetteer/registry/audit"
	"gazetteer/relay/relayhttp"
	"gazetteer/toolhost"
	"gazetteer/toolhost/hosthttp"
)

// Options configures an API. Only Answers is required.
type Options struct {
	route.Options
	// Proofs is the limit on domain checks of one client (an IPv4 address, an IPv6 /64) in an hour. 0
	// means 30; a negative number lifts the limit. The registry limits registrations and changes of
	// agents.
	Proofs int
	// Anchored returns the newest tree of the log that a witness has cosigned, nil if there is
	// none; Publish requests cosignatures from the witnesses. Both are nil without witnesses.
	Anchored func() *air.Anchor
	Publish  func(ctx context.Context) error
	// LogLock describes the lock of the log. Witnesses returns the last result of each witness; nil
	// without witnesses. ResumeSigning lets a halted log sign again.
	LogLock       LogLock
	Witnesses     func() []audit.WitnessStatus
	ResumeSigning func(ctx context.Context) error
	// Operator is what the process can do for its operator.
	Operator operator.Options
	// NoCrawl is set if the server visits no hosts on its own: its status has no figures of a crawl.
	NoCrawl bool
	// ClockJumps returns how often the machine's clock was set; nil if unknown.
	ClockJumps func() steadyclock.Jumps
	// Relay serves the inboxes; nil if there are none.
	Relay *relayhttp.Handler
	// Tools is the tool host and ToolsHTTP its handler; nil if there is none.
	Tools     *toolhost.Host
	ToolsHTTP *hosthttp.Handler
}

// API is the HTTP side of Gazetteer. Make one with [New].
type API struct {
	*route.Mux
	operator  *operator.Operator
	feed      *feed.Routes
	logLock   LogLock
	witnesses func() []audit.WitnessStatus
	jumps     func() steadyclock.Jumps // nil where nobody knows
	// searchParameters describe the GET form of a search; bodies are checked by them, too.
	searchParameters []*huma.Param
	registry         *air.Routes
	description      *huma.OpenAPI
	publicURL        string             // see Options.PublicURL
	noCrawl          bool               // see Options.NoCrawl
	relay            *relayhttp.Handler // nil where there is none
	tools            *toolhost.Host     // nil where there is none, and then toolsHTTP is, too
	toolsHTTP        *hosthttp.Handler
}

// New returns an API. It starts nothing: [route.NewServer] makes the server for its
// handlers.
func New(o Options) (*API, error) {
	if o.Limits == nil {
		o.Limits = &limit.Set{Now: o.Now}
	}
	m, err := route.New(o.Options)
	if err != nil {
		return nil, err
	}
	m.NoRelay, m.NoTools = o.Relay == nil, o.ToolsHTTP == nil
	o.LogLock.Kind = cmp.Or(o.LogLock.Kind, LockNone)
	a := &API{Mux: m, publicURL: o.PublicURL, noCrawl: o.NoCrawl, operator: operator.New(m, o.Operator), feed: feed.New(m, o.PublicURL), jumps: o.ClockJumps, logLock: o.LogLock, witnesses: o.Witnesses, relay: o.Relay, tools: o.Tools, toolsHTTP: o.ToolsHTTP, registry: air.New(m, air.Options{
		Proofs: o.Proofs, Anchored: o.Anchored, Witnesses: o.Witnesses, Publish: o.Publish, Resume: o.ResumeSigning, Limits: o.Limits,
	})}
	if err := a.publicRoutes(o.PublicURL); err != nil {
		return nil, err
	}
	return a, a.declareOperatorRoutes()
}

// declareOperatorRoutes declares the routes that only the owner of the data directory may use. They
// have an engine and an OpenAPI document of their own, so that no mistake in the wiring can show
// them to the public.
func (a *API) declareOperatorRoutes() error {
	h := a.Describe(a.Operator, "Gazetteer, for its operator", "Routes that answer only on the Unix socket in the data directory.", "")
	a.operator.Declare(h)
	a.altarOperatorRoutes(h)
	a.registry.DeclareOperator(h)
	return a.Finish(h, a.Operator, "/admin/openapi.json", "The description of the operator's routes in OpenAPI 3.1")
}

// OpenAPI returns the description of the public routes. It must not be changed.
func (a *API) OpenAPI() *huma.OpenAPI { return a.description }

// ClientAddress returns the address of the client of a request that a handler beside the API
// serves. It follows the same rules about trusted proxies.
func (a *API) ClientAddress(r *http.Request) netip.Addr {
	c := gin.CreateTestContextOnly(nil, a.Engine())
	c.Request = r
	return route.ClientAddress(c)
}
