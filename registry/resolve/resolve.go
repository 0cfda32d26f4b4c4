package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"gazetteer/internal/cache"
	"gazetteer/protocol/did"
)

// The lifetime of a cached answer: 60 seconds, plus or minus up to 10 at random (A2A §4.5.1). A host
// that has no usable document may publish one at any moment, and the first mail of its agent must not
// be refused for a minute then. If the host did not answer, the result says nothing about the DID. Both
// are cached only for a moment, so that many callers cause one request.
const (
	keepLeast  = 50 * time.Second
	keepMost   = 70 * time.Second
	keepAbsent = 10 * time.Second
	keepOfNow  = 5 * time.Second
)

// A Fetcher sends one request; [HTTPS] does.
type Fetcher interface {
	Get(ctx context.Context, address, accept string, limit int) (Page, error)
}

// Options of [New]. Fetcher is required.
type Options struct {
	Fetcher Fetcher
	// Bases maps the host of a DID (with its port, as in a URL) to the address of the registry of
	// its agents, without "/api/v1": "agentidentityregistry.org" to
	// "https://agentidentityregistry.org".
	Bases map[string]string
	// Local returns the documents of this program's own registry, without a request; it returns
	// false for any other DID. It may be nil. Its answers are not cached.
	Local func(ctx context.Context, w did.Web) (did.Document, bool, error)
	// Size is the number of cached answers; 0 means 10,000.
	Size int
	Now  func() time.Time // time.Now when nil
}

// A Resolver finds DID documents. Its methods may be called from any goroutine.
type Resolver struct {
	fetcher Fetcher
	bases   map[string]string
	local   func(ctx context.Context, w did.Web) (did.Document, bool, error)
	now     func() time.Time
	cached  *cache.Sized[string, answer]

	mu      sync.Mutex         // guards the following fields
	flights map[string]*flight // by cache key
	forgot  map[string]int     // how often a key under way was invalidated
}

// answer is a cached answer.
type answer struct {
	result Result
	err    error
	until  time.Time
}

// flight is a request that has not been answered yet.
type flight struct {
	done   chan struct{} // closed when answer is set
	answer answer
	gone   bool // the caller gave up: there is no answer
}

// A Result is a document and its origin.
type Result struct {
	Document did.Document
	URL      string // "" when it is this registry's own
	At       time.Time
	Until    time.Time // it must not be used after that
}

// Why a DID does not resolve. Test with errors.Is.
var (
	// ErrMethod: the DID is neither a did:wba nor a did:web.
	ErrMethod = errors.New("the DID cannot be resolved over the web")
	// ErrAbsent: its host says that there is no such document.
	ErrAbsent = errors.New("there is no such DID document")
	// ErrDeactivated: its host says that it is gone permanently (410).
	ErrDeactivated = errors.New("the DID is deactivated")
	// ErrUnusable: the answer of the host cannot be used: it is a redirect, the document of another
	// DID, too large, or no document.
	ErrUnusable = errors.New("the answer is no DID document that can be used")
	// ErrNoHost: the name servers answer that the name of its host has no address.
	ErrNoHost = errors.New("the host of the DID has no address")
	// ErrUnreachable: the host gave no answer, or failed; a later request may succeed.
	ErrUnreachable = errors.New("the host of the DID does not answer")
)

// An Error says which DID does not resolve, which URL was requested, and why. It matches one of the
// errors above.
type Error struct {
	DID    string
	URL    string
	Detail string // may quote the host, so it is untrusted
	kind   error
}

func (e *Error) Error() string {
	text := "resolve " + e.DID + ": " + e.kind.Error()
	if e.URL != "" {
		text += ", requested at " + e.URL
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap returns the sentinel that the error matches.
func (e *Error) Unwrap() error { return e.kind }

// New returns a resolver. It fails for options that contradict themselves.
func New(o Options) (*Resolver, error) {
	o.Size = cmp.Or(o.Size, 10000)
	if o.Now == nil {
		o.Now = time.Now
	}
	bases := map[string]string{}
	for host, base := range o.Bases {
		w, err := did.ParseWeb("did:wba:" + strings.Replace(host, ":", "%3A", 1))
		if err != nil || len(w.Path) > 0 {
			return nil, fmt.Errorf("resolve: %q in the table of registries is no host of a DID", host)
		}
		if !strings.HasPrefix(base, "https://") || len(base) == len("https://") {
			return nil, fmt.Errorf("resolve: the registry of %s is %q, want an https URL", host, base)
		}
		bases[w.Authority()] = strings.TrimRight(base, "/")
	}
	return &Resolver{fetcher: o.Fetcher, bases: bases, local: o.Local, now: o.Now, cached: cache.New[string, answer](o.Size), flights: map[string]*flight{}, forgot: map[string]int{}}, nil
}

// Resolve returns the document of a DID. The error is an [*Error], or that of
// ctx.
func (r *Resolver) Resolve(ctx context.Context, text string) (Result, error) {
	w, err := parseDID(text)
	if err != nil {
		return Result{}, err
	}
	if r.local != nil {
		d, ours, err := r.local(ctx, w)
		if ours {
			now := r.now()
			return Result{Document: d, At: now, Until: now}, err
		}
	}
	if err := w.CheckPublic(); err != nil {
		return Result{}, &Error{DID: w.String(), Detail: err.Error(), kind: ErrMethod}
	}
	key := cacheKey(w)
	for {
		a, err := r.resolveOnce(ctx, key, w)
		if !errors.Is(err, errGaveUp) {
			if err != nil {
				return Result{}, err
			}
			return a.result, a.err
		}
	}
}

// errGaveUp: the caller that sent the request has stopped waiting; another one must send it.
var errGaveUp = errors.New("the caller gave up")

// resolveOnce returns the cached answer, waits for the current request, or sends one.
func (r *Resolver) resolveOnce(ctx context.Context, key string, w did.Web) (answer, error) {
	r.mu.Lock()
	if a, ok := r.cached.Lookup(key); ok && r.now().Before(a.until) {
		r.mu.Unlock()
		return a, nil
	}
	if f := r.flights[key]; f != nil {
		r.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
		if f.gone {
			return answer{}, errGaveUp
		}
		return f.answer, nil
	}
	f := &flight{done: make(chan struct{}), gone: true} // gone also if fetch panics
	r.flights[key] = f
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.flights, key)
		if !f.gone && r.forgot[key] == 0 {
			r.cached.Put(key, f.answer, 1)
		}
		delete(r.forgot, key)
		r.mu.Unlock()
		close(f.done)
	}()
	result, err := r.fetchDocument(ctx, w)
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	now := r.now()
	until := now.Add(keepLeast + rand.N(keepMost-keepLeast))
	switch {
	case errors.Is(err, ErrUnreachable):
		until = now.Add(keepOfNow)
	case errors.Is(err, ErrAbsent), errors.Is(err, ErrNoHost), errors.Is(err, ErrUnusable):
		until = now.Add(keepAbsent)
	}
	result.At, result.Until = now, until
	if err != nil {
		result = Result{}
	}
	f.answer, f.gone = answer{result, err, until}, false
	return f.answer, nil
}

// Kept returns the cached answer for a DID, without a request; false if there is none.
func (r *Resolver) Kept(text string) (Result, error, bool) {
	w, err := parseDID(text)
	if err != nil {
		return Result{}, err, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.cached.Lookup(cacheKey(w))
	if !ok || !r.now().Before(a.until) {
		return Result{}, nil, false
	}
	return a.result, a.err, true
}

// Forget drops the cached answer for a DID, so that the next Resolve sends a request: this is the
// reaction to "403 Stale Key" (A2A §4.5.3). The answer to a current request is not cached either.
func (r *Resolver) Forget(text string) {
	w, err := parseDID(text)
	if err != nil {
		return
	}
	key := cacheKey(w)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cached.Delete(key)
	if r.flights[key] != nil {
		r.forgot[key]++
	}
}

func parseDID(text string) (did.Web, error) {
	w, err := did.ParseWeb(text)
	if err != nil {
		return did.Web{}, &Error{DID: fmt.Sprintf("%.100q", text), Detail: err.Error(), kind: ErrMethod}
	}
	return w, nil
}

// cacheKey consists of method, host and AIR ID. The draft's key is the AIR ID alone; with the host
// the agents of two registries cannot be confused.
func cacheKey(w did.Web) string {
	if airID, ok := w.AirID(); ok {
		return w.Method + " " + w.Authority() + " " + airID
	}
	return w.String()
}

// fetchDocument sends the requests for a DID: a second one only if its method defines two places
// and there is nothing at the first.
func (r *Resolver) fetchDocument(ctx context.Context, w did.Web) (Result, error) {
	addresses := w.Addresses()
	if airID, ok := w.AirID(); ok {
		if base, ok := r.bases[w.Authority()]; ok {
			addresses = []string{base + "/api/v1/agents/" + airID + "/did-document"}
		}
	}
	var result Result
	var err error
	for _, address := range addresses {
		result, err = r.askAt(ctx, w, address)
		if !errors.Is(err, ErrAbsent) {
			return result, err
		}
	}
	return result, err
}

// askAt sends one request.
func (r *Resolver) askAt(ctx context.Context, w did.Web, address string) (Result, error) {
	refuse := func(kind error, format string, args ...any) (Result, error) {
		return Result{}, &Error{DID: w.String(), URL: address, Detail: fmt.Sprintf(format, args...), kind: kind}
	}
	page, err := r.fetcher.Get(ctx, address, "application/did+json, application/json", did.MaxDocument)
	if _, ok := errors.AsType[*TooLargeError](err); ok {
		return refuse(ErrUnusable, "it is larger than %d bytes", did.MaxDocument)
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return refuse(ErrNoHost, "%v", err)
	}
	if err != nil {
		return refuse(ErrUnreachable, "%v", err)
	}
	switch s := page.Status; {
	case s == http.StatusNotFound:
		return refuse(ErrAbsent, "it answered %d", s)
	case s == http.StatusGone:
		return refuse(ErrDeactivated, "it answered %d", s)
	case s >= 300 && s < 400:
		return refuse(ErrUnusable, "it answered %d and leads to %.200q; redirects are not followed", s, page.Location)
	case s >= 500 || s == http.StatusTooManyRequests || s == http.StatusRequestTimeout:
		return refuse(ErrUnreachable, "it answered %d", s)
	case s != http.StatusOK:
		return refuse(ErrUnusable, "it answered %d", s)
	}
	if m := page.MediaType; m != "application/json" && !strings.HasSuffix(m, "+json") {
		return refuse(ErrUnusable, "its Content-Type is %.100q, want application/json or application/did+json", m)
	}
	d, err := did.ParseDocument(page.Body, w.String())
	if err != nil {
		return refuse(ErrUnusable, "%v", err)
	}
	return Result{Document: d, URL: address}, nil
}
