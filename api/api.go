package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/limit"
)

// Options says what an API is made of. Only Answers is required.
type Options struct {
	Answers *answer.Answers
	Log     *slog.Logger // nil: silent
	// CursorKey authenticates the cursors of lists. Keep it over restarts, so
	// that a client in the middle of a list can go on; nil makes a new one.
	CursorKey []byte
	// Version is shown in the OpenAPI document and in the admin status.
	Version string
	// PublicURL is where clients reach this server, for the OpenAPI document.
	PublicURL string
	// TrustedProxies are the addresses or networks whose X-Forwarded-For is
	// believed. None by default: anybody can send that header.
	TrustedProxies []string
	// Proofs is how many domains one client (an IPv4 address, an IPv6 /64) may have
	// looked at in an hour, Resolutions how many DIDs of other hosts; the Global
	// ones bound all together. 0 means 30 and 600, 120 and 3,000; a negative number
	// lifts the limit. How often agents are registered and changed the registry
	// bounds.
	Proofs, ProofsGlobal           int
	Resolutions, ResolutionsGlobal int
	// Anchored returns the newest tree of the log that a witness has cosigned,
	// nil when there is none; Publish asks the witnesses to cosign. Both are nil
	// where there are no witnesses.
	Anchored func() *Anchor
	Publish  func(ctx context.Context) error
	// MaxLag is how many records the index may be behind the store while the
	// server still counts as ready; 10,000 when 0.
	MaxLag uint64
	// Add takes hosts into the frontier, and Crawl yields the result of each, for
	// the owner's socket; an error of yield ends it. Both are nil in a process
	// that does not crawl.
	Add   func(ctx context.Context, hosts ...string) error
	Crawl func(ctx context.Context, hosts []string, yield func(crawler.Result) error) error
	// Horizon is how long a compaction that the operator asks for keeps deletions, unless it says
	// otherwise; 168 hours when 0.
	Horizon time.Duration
	Now     func() time.Time // nil: time.Now
	// Limits lists the limits for the metrics; share one with all that refuses clients.
	// Nil: the API has one of its own.
	Limits *limit.Set
}

// API is the HTTP side of Gazetteer. Make one with [New].
type API struct {
	answers  *answer.Answers
	log      *slog.Logger
	version  string
	add      func(ctx context.Context, hosts ...string) error
	crawl    func(ctx context.Context, hosts []string, yield func(crawler.Result) error) error
	cursors  cursorCodec
	limits   *limit.Set
	proofs   *limit.Limiter // of looks at a domain
	lookups  *limit.Limiter // of DIDs of other hosts
	anchored func() *Anchor
	publish  func(ctx context.Context) error
	written  atomic.Uint64 // the store's sequence after the last write of a route
	counts   attestationCounts
	// publicHost and publicScheme are those of the public URL: clients sign them.
	publicHost   string
	publicScheme string
	// searchParameters describe GET of a search; a body is judged by them, too.
	searchParameters []*huma.Param
	ready            *readiness
	responses        *responseCache
	gzips            *gzipCache
	notFound         gin.HandlerFunc // set before serving
	// fixed are the methods of the public addresses without a variable part.
	fixed   map[string][]string
	now     func() time.Time
	started time.Time
	streams *streams

	public  *gin.Engine
	admin   *gin.Engine
	horizon time.Duration // see Options.Horizon
}

// New returns an API. It starts nothing: [Server] makes the server for its
// handlers.
func New(o Options) (*API, error) {
	if o.Answers == nil {
		return nil, errors.New("api: Options.Answers is missing")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Limits == nil {
		o.Limits = &limit.Set{Now: o.Now}
	}
	if len(o.CursorKey) == 0 {
		o.CursorKey = make([]byte, 32)
		rand.Read(o.CursorKey) // never fails
	}
	if len(o.CursorKey) < 16 {
		return nil, fmt.Errorf("api: the cursor key has %d bytes; want 16 or more", len(o.CursorKey))
	}
	public, err := url.Parse(o.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("api: the public URL: %w", err)
	}
	if o.MaxLag == 0 {
		o.MaxLag = 10_000
	}
	if o.Horizon == 0 {
		o.Horizon = 168 * time.Hour
	}
	a := &API{
		answers: o.Answers, log: o.Log, version: o.Version, add: o.Add, crawl: o.Crawl,
		cursors:  cursorCodec{key: o.CursorKey, now: o.Now},
		limits:   o.Limits,
		proofs:   o.Limits.Limiter(limit.Rule{Name: "proofs", Each: cmp.Or(o.Proofs, 30), All: cmp.Or(o.ProofsGlobal, 600)}),
		lookups:  o.Limits.Limiter(limit.Rule{Name: "resolutions", Each: cmp.Or(o.Resolutions, 120), All: cmp.Or(o.ResolutionsGlobal, 3000)}),
		anchored: o.Anchored, publish: o.Publish, publicHost: public.Host, publicScheme: public.Scheme,
		horizon: o.Horizon,
		ready:   &readiness{target: o.Answers.Store.Head(), maxLag: o.MaxLag},
		now:     o.Now, started: o.Now(),
		streams: newStreams(o.Limits),
	}
	if a.responses, err = newResponseCache(o.Answers.Store); err != nil {
		return nil, err
	}
	if a.gzips, err = newGzipCache(); err != nil {
		return nil, err
	}
	if a.public, err = a.newEngine(o.TrustedProxies); err != nil {
		return nil, err
	}
	if a.admin, err = a.newEngine(nil); err != nil {
		return nil, err
	}
	if err := a.publicRoutes(o.PublicURL); err != nil {
		return nil, err
	}
	return a, a.adminRoutes()
}

// newEngine returns a gin engine with its defaults made strict: 405 is told from
// 404, nothing is redirected, no proxy is believed unless named.
func (a *API) newEngine(trustedProxies []string) (*gin.Engine, error) {
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	// A name within a path may have a slash, which is written %2F there.
	e.UseRawPath, e.UnescapePathValues = true, false
	if err := e.SetTrustedProxies(trustedProxies); err != nil {
		return nil, fmt.Errorf("trusted proxies %q: %w", trustedProxies, err)
	}
	e.Use(unescapeParams, a.logRequest, a.answerFromCache, a.bufferResponse, a.applyRoutePolicy, a.recoverPanic, a.restrictFixedPaths)
	e.NoRoute(a.answerNoRoute)
	e.NoMethod(a.answerNoMethod)
	return e, nil
}

// unescapeParams is the middleware that reads the parameters of a path which was matched
// as it was written. gin would take a plus sign in them for a space.
func unescapeParams(c *gin.Context) {
	if c.Request.URL.RawPath == "" {
		return
	}
	for i, p := range c.Params {
		if value, err := url.PathUnescape(p.Value); err == nil { // the server has parsed it already
			c.Params[i].Value = value
		}
	}
}

// Engine returns the engine of the public routes, for pages to be added to
// before it serves. They get the API's limits, log, tags and compression.
func (a *API) Engine() *gin.Engine { return a.public }

// SetNotFound sets the page for addresses outside the API where nothing is.
// Call it before serving.
func (a *API) SetNotFound(page gin.HandlerFunc) { a.notFound = page }

// Handler answers the public.
func (a *API) Handler() http.Handler { return a.public }

// AdminHandler answers the owner of the data directory: what the public gets,
// the routes below /admin, and what the AIR reference takes from its operator. It
// must be reachable by nobody else, so serve it on a Unix socket of mode 0600.
func (a *API) AdminHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isAdminPath(r.URL.Path) || isOperatorRoute(r.Method, r.URL.Path) {
			a.admin.ServeHTTP(w, r)
			return
		}
		a.public.ServeHTTP(w, r)
	})
}

// LocalAdminHandler is [API.AdminHandler] for an address of this machine, where any
// of its programs can ask. A page in a browser must not be one of them: what names
// another host than address (its own name was led here) and what a page of another
// origin has sent is refused.
func (a *API) LocalAdminHandler(address string) http.Handler {
	handler := http.NewCrossOriginProtection().Handler(a.AdminHandler())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != address {
			http.Error(w, "this is not the address of the operator's routes", http.StatusMisdirectedRequest)
			return
		}
		handler.ServeHTTP(w, r)
	})
}
