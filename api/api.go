package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"gazetteer/api/air"
	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/crawler"
	"gazetteer/internal/steadyclock"
	"gazetteer/limit"
	"gazetteer/registry/audit"
	"gazetteer/relay/relayhttp"
	"gazetteer/toolhost"
	"gazetteer/toolhost/hosthttp"
)

// Options configures an API. Only Answers is required.
type Options struct {
	Answers *answer.Answers
	Log     *slog.Logger // nil: silent
	// CursorKey authenticates the cursors of lists. Keep it across restarts, so that a client in
	// the middle of a list can go on; nil makes a new one.
	CursorKey []byte
	// Version is shown in the OpenAPI document and in the admin status.
	Version string
	// PublicURL is where clients reach this server, for the OpenAPI document.
	PublicURL string
	// TrustedProxies are the addresses or networks whose X-Forwarded-For is
	// believed. None by default: anybody can send that header.
	TrustedProxies []string
	// Proofs is the limit on domain checks of one client (an IPv4 address, an IPv6 /64) in an hour,
	// Resolutions that on resolutions of other hosts' DIDs; Global bounds all clients together. 0
	// means 30, 120 and 3,000; a negative number lifts the limit. The registry limits registrations
	// and changes of agents.
	Proofs                         int
	Resolutions, ResolutionsGlobal int
	// Anchored returns the newest tree of the log that a witness has cosigned, nil if there is
	// none; Publish requests cosignatures from the witnesses. Both are nil without witnesses.
	Anchored func() *air.Anchor
	Publish  func(ctx context.Context) error
	// LogLock describes the lock of the log. Witnesses returns the last result of each witness; nil
	// without witnesses. ResumeSigning lets a halted log sign again.
	LogLock       LogLock
	Witnesses     func() []audit.WitnessStatus
	ResumeSigning func(ctx context.Context) error
	// MaxLag is how many records the index may be behind the store while the
	// server still counts as ready; 10,000 when 0.
	MaxLag uint64
	// Add puts hosts into the frontier, and Crawl yields the result of each visit, for the
	// operator's socket; an error from yield ends it. Both are nil in a process that does not
	// crawl.
	Add   func(ctx context.Context, hosts ...string) error
	Crawl func(ctx context.Context, hosts []string, yield func(crawler.Result) error) error
	// Horizon is how long a compaction keeps deletions, unless the operator's request says
	// otherwise; 168 hours if 0.
	Horizon time.Duration
	// Backup writes a backup of the data directory into a new directory; nil if the process cannot.
	Backup func(ctx context.Context, dir string) (BackupResult, error)
	Now    func() time.Time // nil: time.Now
	// CompactViews removes deleted content from the files of the mail and of the feed of changes;
	// nil if there are none.
	CompactViews func(ctx context.Context) error
	// ClockJumps returns how often the machine's clock was set; nil if unknown.
	ClockJumps func() steadyclock.Jumps
	// Limits lists the limits for the metrics; share one with every part that limits clients. Nil:
	// the API has its own.
	Limits *limit.Set
	// Relay serves the inboxes; nil if there are none.
	Relay *relayhttp.Handler
	// Tools is the tool host and ToolsHTTP its handler; nil if there is none.
	Tools     *toolhost.Host
	ToolsHTTP *hosthttp.Handler
}

// API is the HTTP side of Gazetteer. Make one with [New].
type API struct {
	*route.Mux
	add          func(ctx context.Context, hosts ...string) error
	crawl        func(ctx context.Context, hosts []string, yield func(crawler.Result) error) error
	logLock      LogLock
	witnesses    func() []audit.WitnessStatus
	compactViews func(ctx context.Context) error // nil where there are none
	jumps        func() steadyclock.Jumps        // nil where nobody knows
	backup       func(ctx context.Context, dir string) (BackupResult, error)
	horizon      time.Duration // see Options.Horizon
	// searchParameters describe the GET form of a search; bodies are checked by them, too.
	searchParameters []*huma.Param
	registry         *air.Routes
	description      *huma.OpenAPI
	publicURL        string             // see Options.PublicURL
	relay            *relayhttp.Handler // nil where there is none
	tools            *toolhost.Host     // nil where there is none, and then toolsHTTP is, too
	toolsHTTP        *hosthttp.Handler
}

// New returns an API. It starts nothing: [Server] makes the server for its
// handlers.
func New(o Options) (*API, error) {
	if o.Limits == nil {
		o.Limits = &limit.Set{Now: o.Now}
	}
	m, err := route.New(route.Options{
		Answers: o.Answers, Log: o.Log, CursorKey: o.CursorKey, Version: o.Version, PublicURL: o.PublicURL,
		TrustedProxies: o.TrustedProxies, Resolutions: o.Resolutions, ResolutionsGlobal: o.ResolutionsGlobal,
		MaxLag: o.MaxLag, Now: o.Now, Limits: o.Limits,
	})
	if err != nil {
		return nil, err
	}
	if o.LogLock.Kind == "" {
		o.LogLock.Kind = LockNone
	}
	if o.Horizon == 0 {
		o.Horizon = 168 * time.Hour
	}
	a := &API{Mux: m, publicURL: o.PublicURL, add: o.Add, crawl: o.Crawl, jumps: o.ClockJumps, compactViews: o.CompactViews, backup: o.Backup, horizon: o.Horizon, logLock: o.LogLock, witnesses: o.Witnesses, relay: o.Relay, tools: o.Tools, toolsHTTP: o.ToolsHTTP, registry: air.New(m, air.Options{
		Proofs: o.Proofs, Anchored: o.Anchored, Publish: o.Publish, Resume: o.ResumeSigning, Limits: o.Limits,
	})}
	if err := a.publicRoutes(o.PublicURL); err != nil {
		return nil, err
	}
	return a, a.adminRoutes()
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
