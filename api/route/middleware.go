package route

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/limit"
	"gazetteer/protocol"
	"gazetteer/relay/relayhttp"
)

// answerTimeout is the time limit for one answer. Streams have none.
const answerTimeout = 15 * time.Second

// logRequest writes one line for each request. The line never has the query, a body or a whole
// address, because these reveal what a person searches for. It has the template of the route, so
// that clients cannot fill the log with text.
func (a *Mux) logRequest(c *gin.Context) {
	begun := time.Now()
	defer func() {
		route := cmp.Or(c.FullPath(), "none")
		a.Log.LogAttrs(context.WithoutCancel(c.Request.Context()), slog.LevelInfo, "request",
			slog.String("method", logMethod(c.Request.Method)), slog.String("route", route),
			slog.Int("status", c.Writer.Status()), slog.Int("bytes", max(c.Writer.Size(), 0)),
			slog.Duration("took", time.Since(begun)), slog.String("client", logNetwork(c)))
	}()
	c.Next()
}

// logMethod keeps invented methods out of the log.
func logMethod(method string) string {
	if slices.Contains(methods, method) {
		return method
	}
	return "other"
}

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace,
}

// ClientAddress returns the address of the client: that of the connection, unless a trusted proxy
// reports another one. It is invalid for the operator, whom no limit counts.
func ClientAddress(c *gin.Context) netip.Addr {
	if IsFromOperator(c.Request.Context()) {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(c.ClientIP())
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// logNetwork returns the network of a client for the log: /24 or /48.
func logNetwork(c *gin.Context) string {
	if a := ClientAddress(c); a.IsValid() {
		return limit.WideNetwork(a).String()
	}
	return "local"
}

// applyRoutePolicy gives each answer a time limit, and refuses a request line that names a server,
// which only a proxy or a request smuggler sends. It also sets the headers that every answer has; a
// page replaces those that it needs otherwise.
func (a *Mux) applyRoutePolicy(c *gin.Context) {
	h := c.Writer.Header()
	setHeaders(h, commonHeaders)
	if a.readsOnly(c) && a.readableByPages(c) {
		setHeaders(h, publicReadHeaders)
	}
	if c.Request.URL.IsAbs() {
		h.Set("Connection", "close")
		a.sendError(c, NewProblem(badRequest, "the request line contains an absolute URL; this server is not a proxy", "send only the path in the request line"))
		return
	}
	row, known := a.rows[c.Request.Method+" "+c.FullPath()]
	if known && row.NoStore {
		h.Set("Cache-Control", "no-store")
	}
	answerTimeout := row.timeLimit()
	if answerTimeout == 0 {
		c.Next()
		return
	}
	ctx, counted := limit.WithRecord(context.WithValue(c.Request.Context(), responseKey{}, c.Writer))
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	original := c.Request
	c.Request = original.WithContext(ctx)
	c.Next()
	counted.SetHeaders(h)
	// The callers of this context ask whether the client left, not whether we were slow.
	c.Request = original
}

// commonHeaders are the headers of every answer.
var commonHeaders = http.Header{
	"X-Content-Type-Options":  {"nosniff"},
	"Content-Security-Policy": {"default-src 'none'; frame-ancestors 'none'"},
	"Referrer-Policy":         {"no-referrer"},
}

// publicReadHeaders are the additional headers of public reads: any page may read what anybody may
// read, but never with credentials.
var publicReadHeaders = http.Header{
	"Access-Control-Allow-Origin":   {"*"},
	"Access-Control-Expose-Headers": {"ETag, Link, RateLimit, RateLimit-Policy, Repr-Digest, Retry-After"},
}

// setHeaders sets headers. All answers share the values: a header is replaced or added to, never
// changed in place.
func setHeaders(h, values http.Header) {
	maps.Copy(h, values)
}

// readingPosts are the public routes that only read although they take a body: pages of any origin
// may use them like GET. The other POST routes write, or cause requests to other servers.
var readingPosts = []string{"search-by-body", "explore", "export-operations"}

// readsOnly reports whether a request can change nothing.
func (a *Mux) readsOnly(c *gin.Context) bool {
	switch c.Request.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodPost:
		return slices.Contains(readingPosts, a.rows[http.MethodPost+" "+c.FullPath()].ID)
	}
	return false
}

// readableByPages reports whether pages of any origin may read the answer: that of a public route,
// and the 404 of an API address without a route.
func (a *Mux) readableByPages(c *gin.Context) bool {
	if row, known := a.rows[c.Request.Method+" "+c.FullPath()]; known {
		return !row.Operator
	}
	return ownsPath(c.Request.URL.Path)
}

// recoverPanic turns a panic into a 500, and counts it, and logs one line under the instance that
// the answer names.
func (a *Mux) recoverPanic(c *gin.Context) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler {
			panic(p)
		}
		a.Panics.Add(1)
		instance := newInstance()
		a.Log.Error("panic", "instance", instance, "route", c.FullPath(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		if r, ok := c.Writer.(*bufferedResponse); ok && !r.streaming {
			r.body.Reset()
		}
		r := NewProblem(internal, "the request was fine; the failure is ours", "try again later; if the error persists, report the instance given here to the operator")
		r.Problem.Instance = instance
		a.sendProblem(c, r)
	}()
	c.Next()
}

// newInstance returns the name of one failure, for the answer and the log.
func newInstance() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// CompleteProblem completes a refusal: our own failures are logged under the instance that the
// answer names. A state of the server that clients meet, such as a full disk or too many searches
// at a time, is not logged: any client could fill the log, when there is the least room for it. The
// operator reads the cause in the answer.
func (a *Mux) CompleteProblem(ctx context.Context, route string, err error) *Error {
	r := ProblemFor(err)
	nothingAtAddress(route, r)
	if r.Problem.Status >= http.StatusInternalServerError && r.Cause != nil && IsFromOperator(ctx) {
		r.Problem.Cause = protocol.ClipRunes(r.Cause.Error(), 1000)
	}
	if r.Problem.Status >= http.StatusInternalServerError && r.Cause != nil && !isServerState(r.Cause) {
		r.Problem.Instance = newInstance()
		a.Log.Error("failed to answer", "instance", r.Problem.Instance, "route", route, "code", r.Problem.Code, "error", r.Cause)
	}
	return r
}

// nothingAtAddress makes a malformed host or AIR ID in the path of a route what it is to a client:
// an address with nothing behind it. What is wrong with it stays in the detail and the help.
func nothingAtAddress(route string, r *Error) {
	if w := r.Problem.Where; w == nil || !strings.Contains(route, "{"+w.Parameter+"}") {
		return
	}
	if code := r.Problem.Code; code != BadHost.Code && code != BadParameter.Code {
		return
	}
	kind := NoService
	switch r.Problem.Where.Parameter {
	case "host":
	case "air_id":
		kind = NoAgent
	default:
		return
	}
	r.Problem.Type, r.Problem.Title, r.Problem.Status, r.Problem.Code = ProblemType(kind), kind.Title, kind.Status, kind.Code
}

// sendError sends the problem for err, outside huma's routes.
func (a *Mux) sendError(c *gin.Context, err error) {
	a.sendProblem(c, a.CompleteProblem(c.Request.Context(), c.FullPath(), err))
	c.Abort()
}

// sendProblem sends a refusal.
func (a *Mux) sendProblem(c *gin.Context, r *Error) {
	h := c.Writer.Header()
	maps.Copy(h, r.GetHeaders())
	if relayhttp.IsDraft(c.Request) {
		relayhttp.WriteDraftError(c.Writer, r.Problem.Status, r.Problem.Detail)
		return
	}
	h.Set("Content-Type", r.ContentType(""))
	body, err := json.Marshal(r)
	if err != nil {
		panic("a problem cannot be encoded: " + err.Error()) // it holds only strings and numbers
	}
	c.Writer.WriteHeader(r.Problem.Status)
	c.Writer.Write(append(body, '\n'))
}

// answerNoMethod answers methods that an address does not accept. Gin has put the accepted ones
// into Allow.
func (a *Mux) answerNoMethod(c *gin.Context) {
	if isReferenceOperatorRoute(c.Request.Method, c.Request.URL.Path) {
		a.sendError(c, operatorOnly())
		return
	}
	a.answerOtherMethod(c, strings.Split(c.Writer.Header().Get("Allow"), ", "))
}

// restrictFixedPaths answers the methods that an address without a variable part does not accept.
// Otherwise every method but its own would take "/api/v1/agents/register" for an agent.
func (a *Mux) restrictFixedPaths(c *gin.Context) {
	taken := a.Fixed[c.Request.URL.Path]
	if len(taken) == 0 || slices.Contains(taken, c.Request.Method) {
		return
	}
	a.answerOtherMethod(c, slices.Clone(taken))
	c.Abort()
}

// fixedBelow returns the addresses directly below a path that take the method and have no variable part:
// POST /api/v1/agents may mean /api/v1/agents/register.
func (a *Mux) fixedBelow(path, method string) []string {
	var below []string
	for address, methods := range a.Fixed {
		if rest, ok := strings.CutPrefix(address, path+"/"); ok && rest != "" && !strings.Contains(rest, "/") && slices.Contains(methods, method) {
			below = append(below, address)
		}
	}
	slices.Sort(below)
	return below
}

// answerOtherMethod answers a method that is not accepted.
func (a *Mux) answerOtherMethod(c *gin.Context, allowed []string) {
	h := c.Writer.Header()
	allowed = append(allowed, http.MethodOptions)
	slices.Sort(allowed)
	h.Set("Allow", strings.Join(allowed, ", "))
	if c.Request.Method != http.MethodOptions {
		help := "it takes " + JoinWords(allowed)
		if below := a.fixedBelow(c.Request.URL.Path, c.Request.Method); len(below) > 0 {
			help += "; " + c.Request.Method + " belongs to " + JoinWords(below)
		}
		a.sendError(c, NewProblem(wrongMethod, "the address does not support the method "+logMethod(c.Request.Method), help))
		return
	}
	wanted := c.GetHeader("Access-Control-Request-Method")
	if acceptsAnyOrigin(c.Request.URL.Path) {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Methods", strings.Join(allowed, ", "))
		h.Set("Access-Control-Allow-Headers", relayhttp.PreflightHeaders)
		h.Set("Access-Control-Max-Age", "86400")
		c.Writer.WriteHeader(http.StatusNoContent)
		c.Abort()
		return
	}
	// A preflight lists reads only: a page of another origin cannot write.
	var methods []string
	for _, read := range []string{http.MethodGet, http.MethodHead} {
		if slices.Contains(allowed, read) {
			methods = append(methods, read)
		}
	}
	if slices.ContainsFunc(Table, func(r Route) bool { return slices.Contains(readingPosts, r.ID) && r.matchesPath(c.Request.URL.Path) }) {
		methods = append(methods, http.MethodPost)
	}
	if ownsPath(c.Request.URL.Path) && slices.Contains(methods, wanted) {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
		h.Set("Access-Control-Allow-Headers", "Accept, Content-Type, If-None-Match")
		h.Set("Access-Control-Max-Age", "86400")
		h.Add("Vary", "Access-Control-Request-Method")
	}
	c.Writer.WriteHeader(http.StatusNoContent)
	c.Abort()
}
