package route

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

	"github.com/gin-gonic/gin"

	"gazetteer/api/answer"
	"gazetteer/limit"
)

// Options configure a [Mux]. Only Answers is required.
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
	// TrustedProxies are the addresses or networks whose X-Forwarded-For is trusted. None by default:
	// anybody can send that header.
	TrustedProxies []string
	// Resolutions is how many DIDs of other hosts one client can resolve in an hour,
	// ResolutionsGlobal how many all clients can resolve together; 0 means 120 and 3,000, and a
	// negative number lifts the limit.
	Resolutions, ResolutionsGlobal int
	// MaxLag is how many records the index may be behind the store while the server still counts as
	// ready; 10,000 when 0.
	MaxLag uint64
	Now    func() time.Time // nil: time.Now
	// Limits lists the limits for the metrics; share one with every part that limits clients.
	Limits *limit.Set
	// Panics counts the panics of handlers for the metrics; share one with every part that recovers
	// from panics. Nil: the API has its own.
	Panics *atomic.Uint64
}

// A Mux serves routes: it has the two engines, public and operator, and everything that all routes
// share. Make one with [New], declare routes with [Handle], then serve its handlers.
type Mux struct {
	Answers     *answer.Answers
	Log         *slog.Logger
	Version     string
	Cursors     cursorCodec
	Limits      *limit.Set
	Panics      *atomic.Uint64 // of handlers, since the start
	Resolutions *limit.Limiter // of DIDs of other hosts
	written     atomic.Uint64  // the store's sequence after the last write of a route
	// publicHost and publicScheme are those of the public URL: clients sign them.
	publicHost   string
	publicScheme string
	Ready        *readiness // of the index
	readyStates  *readiness // of the states of hosts
	responses    *responseCache
	gzips        *gzipCache
	transfers    *transfers
	notFound     gin.HandlerFunc // set before serving
	// Fixed are the methods of the public addresses without a variable part.
	Fixed   map[string][]string
	rows    map[string]Route // the table, by method and by path as gin has it
	Now     func() time.Time
	Started time.Time
	Streams *streams
	// NoRelay and NoTools are set if the server has no relay, or no tool host: their addresses say so.
	NoRelay, NoTools bool

	// origins detects requests that a page of another site has sent.
	origins *http.CrossOriginProtection

	// Public and Operator have the routes for everybody and for the operator. Add pages to them before
	// they serve.
	Public   *gin.Engine
	Operator *gin.Engine
}

// New returns a mux without routes. It starts nothing.
func New(o Options) (*Mux, error) {
	if o.Answers == nil {
		return nil, errors.New("api: Options.Answers is missing")
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Panics == nil {
		o.Panics = new(atomic.Uint64)
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
	a := &Mux{
		rows:    byFullPath(),
		Answers: o.Answers, Log: o.Log, Version: o.Version, Limits: o.Limits, Panics: o.Panics,
		Cursors:     cursorCodec{key: o.CursorKey, now: o.Now},
		Resolutions: o.Limits.Limiter(limit.SharedRule("resolutions", cmp.Or(o.Resolutions, 120), cmp.Or(o.ResolutionsGlobal, 3000))),
		publicHost:  public.Host, publicScheme: public.Scheme,
		Ready:       &readiness{target: o.Answers.Store.Head(), maxLag: cmp.Or(o.MaxLag, 10_000)},
		readyStates: &readiness{target: o.Answers.Store.Head(), maxLag: cmp.Or(o.MaxLag, 10_000)},
		Now:         o.Now, Started: o.Now(),
		responses: newResponseCache(o.Answers.Store),
		gzips:     newGzipCache(),
		Streams:   newStreams(o.Limits),
		transfers: &transfers{now: o.Now, max: maxTransfers},
	}
	if a.origins, err = newOriginCheck(public); err != nil {
		return nil, err
	}
	if a.Public, err = a.newEngine(o.TrustedProxies); err != nil {
		return nil, err
	}
	if a.Operator, err = a.newEngine(nil); err != nil {
		return nil, err
	}
	return a, nil
}

// newEngine returns a gin engine with strict settings: 405 differs from 404, nothing is redirected,
// and only named proxies are trusted.
func (a *Mux) newEngine(trustedProxies []string) (*gin.Engine, error) {
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	// A name within a path may contain a slash, written as %2F.
	e.UseRawPath, e.UnescapePathValues = true, false
	// A proxy that sets X-Forwarded-For forwards the client's own X-Real-IP unchanged.
	e.RemoteIPHeaders = []string{"X-Forwarded-For"}
	if err := e.SetTrustedProxies(trustedProxies); err != nil {
		return nil, fmt.Errorf("trusted proxies %q: %w", trustedProxies, err)
	}
	e.Use(unescapeParams, a.logRequest, a.warnOfUntrustedProxy(trustedProxies), a.answerFromCache, a.bufferResponse, a.applyRoutePolicy, a.refuseForeignPages, a.recoverPanic, a.restrictFixedPaths)
	e.NoRoute(a.answerNoRoute)
	e.NoMethod(a.answerNoMethod)
	return e, nil
}

// unescapeParams is the middleware that decodes the parameters of a path, which gin matched in
// encoded form. gin itself would take a plus sign for a space.
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

// Engine returns the engine of the public routes. Add pages to it before it serves; they get the
// API's limits, log, tags and compression.
func (a *Mux) Engine() *gin.Engine { return a.Public }

// SetNotFound sets the page for addresses without a route outside the API. Call it before serving.
func (a *Mux) SetNotFound(page gin.HandlerFunc) { a.notFound = page }

// Handler serves the public routes.
func (a *Mux) Handler() http.Handler { return a.Public }

// operatorKey marks the context of a request that came to the operator's listeners.
type operatorKey struct{}

// OperatorHandler serves the owner of the data directory: the public routes, the routes below
// /admin, and the operator's routes of the AIR reference. Nobody else may reach it, so serve it on
// a Unix socket of mode 0600. On the public routes too the client is the operator: [ClientAddress]
// has none, unless a browser sends the request for a page of another site.
func (a *Mux) OperatorHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if site := r.Header.Get("Sec-Fetch-Site"); site != "cross-site" && site != "same-site" {
			r = r.WithContext(context.WithValue(r.Context(), operatorKey{}, true))
		}
		if isOperatorRoute(r.Method, r.URL.Path) {
			a.Operator.ServeHTTP(w, r)
			return
		}
		a.Public.ServeHTTP(w, r)
	})
}

// IsFromOperator reports whether the request of a context came to the operator's listeners, and no page of
// another site made a browser send it.
func IsFromOperator(ctx context.Context) bool { return ctx.Value(operatorKey{}) != nil }

// LocalOperatorHandler is [Mux.OperatorHandler] for an address of this machine, which any local program
// can reach. A page in a browser must not: requests that name another host than address (DNS
// rebinding) and requests from a page of another origin are refused.
func (a *Mux) LocalOperatorHandler(address string) http.Handler {
	handler := http.NewCrossOriginProtection().Handler(a.OperatorHandler())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != address {
			http.Error(w, "this is not the address of the operator's routes", http.StatusMisdirectedRequest)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// CachedResponses returns the number of cached responses, and of the sets of headers that they
// share.
func (a *Mux) CachedResponses() (responses, headerSets int) {
	a.responses.mu.Lock()
	defer a.responses.mu.Unlock()
	return a.responses.answers.Len(), len(a.responses.headers)
}
