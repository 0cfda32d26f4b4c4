package hosthttp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// Prefix is the beginning of every path of the handler.
const Prefix = "/altar/v1/"

// Options are what [New] needs. Host is required.
type Options struct {
	Host *toolhost.Host
	// MCP serves /altar/v1/mcp for an identified client; nil: nothing does.
	MCP func(client string) http.Handler
	Log *slog.Logger
	// Panics counts the calls that ended in a panic, for the metrics. Nil counts nothing.
	Panics *atomic.Uint64
	// RuntimeTimeout is the time that a runtime has to announce itself, to finish a frame and to
	// answer a ping, and the time between two pings: a half-open connection ends after three times
	// this time at the latest. 10 s when 0.
	RuntimeTimeout time.Duration
}

// A Handler serves the binding.
type Handler struct {
	Options
	mux    *http.ServeMux
	origin *http.CrossOriginProtection
	// returned holds the clients' addresses of the connections that went back to net/http.
	returned sync.Map
}

// Limits of one request.
const (
	maxCallBody    = 1 << 20
	maxSessionBody = 64 << 10
	bodyTime       = 10 * time.Second
)

// New returns a handler. It starts nothing.
func New(o Options) *Handler {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Panics == nil {
		o.Panics = new(atomic.Uint64)
	}
	o.RuntimeTimeout = cmp.Or(o.RuntimeTimeout, 10*time.Second)
	h := &Handler{Options: o, mux: http.NewServeMux(), origin: http.NewCrossOriginProtection()}
	h.routePath(Prefix+"runtimes", map[string]roleHandler{"GET": {toolhost.RuntimeIdentity, h.connectRuntime}})
	h.routePath(Prefix+"sessions", map[string]roleHandler{"POST": {toolhost.ClientIdentity, h.createSession}})
	h.routePath(Prefix+"sessions/{id}", map[string]roleHandler{"DELETE": {toolhost.ClientIdentity, h.destroySession}})
	h.routePath(Prefix+"sessions/{id}/tools", map[string]roleHandler{"GET": {toolhost.ClientIdentity, h.listTools}})
	h.routePath(Prefix+"sessions/{id}/calls", map[string]roleHandler{"POST": {toolhost.ClientIdentity, h.callTool}})
	if o.MCP != nil {
		mcp := roleHandler{toolhost.ClientIdentity, h.serveMCP}
		h.routePath(Prefix+"mcp", map[string]roleHandler{"POST": mcp})
	}
	h.mux.HandleFunc(Prefix, func(w http.ResponseWriter, r *http.Request) {
		writeError(w, r, http.StatusNotFound, altar.Errorf(altar.InvalidParameters, "nothing is served at this address"))
	})
	return h
}

// roleHandler handles a request of an identity of one kind.
type roleHandler struct {
	kind   string
	handle func(w http.ResponseWriter, r *http.Request, who toolhost.Identity)
}

// routePath serves a path with the handlers of its methods.
func (h *Handler) routePath(path string, methods map[string]roleHandler) {
	var allowed []string
	for _, name := range []string{"DELETE", "GET", "POST"} {
		if _, ok := methods[name]; ok {
			allowed = append(allowed, name)
		}
	}
	allow := strings.Join(append(allowed, http.MethodOptions), ", ")
	h.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet // net/http leaves the body out
		}
		handler, ok := methods[method]
		if !ok {
			w.Header().Set("Allow", allow)
			writeError(w, r, http.StatusMethodNotAllowed, altar.Errorf(altar.InvalidParameters, "the address supports %s", strings.Join(allowed, ", ")))
			return
		}
		if err := h.origin.Check(r); err != nil || foreignOrigin(r) {
			writeError(w, r, http.StatusForbidden, altar.Errorf(altar.AuthorizationFailed, "requests from pages of other origins are refused"))
			return
		}
		who, ok := h.identifyRequest(r)
		if !ok {
			w.Header().Set("WWW-Authenticate", `Bearer realm="altar"`)
			writeError(w, r, http.StatusUnauthorized, altar.Errorf(altar.AuthorizationFailed, "the request needs a known bearer token or client certificate"))
			return
		}
		if who.Kind != handler.kind {
			writeError(w, r, http.StatusForbidden, altar.Errorf(altar.AuthorizationFailed, "%s is the identity of a %s, and this address is for a %s", who.ID, who.Kind, handler.kind))
			return
		}
		handler.handle(w, r, who)
	})
}

// foreignOrigin reports whether the request comes from a page of another origin.
// CrossOriginProtection lets it read, and here a GET opens a WebSocket.
func foreignOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	_, host, found := strings.Cut(origin, "://")
	return !found || !strings.EqualFold(host, r.Host)
}

type operatorKey struct{}

// AsOperator returns handler for the operator's listeners: a request without a token is one of the
// client [toolhost.OperatorClient], because only the operator reaches them.
func AsOperator(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), operatorKey{}, true)))
	})
}

// identifyRequest returns whose request it is.
func (h *Handler) identifyRequest(r *http.Request) (toolhost.Identity, bool) {
	if r.Context().Value(operatorKey{}) != nil && r.Header.Get("Authorization") == "" {
		return toolhost.Identity{ID: toolhost.OperatorClient, Kind: toolhost.ClientIdentity}, true
	}
	if scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " "); found && strings.EqualFold(scheme, "Bearer") {
		return h.Host.IdentifyToken(strings.TrimSpace(token))
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		return h.Host.IdentifyCertificate(r.TLS.PeerCertificates[0])
	}
	return toolhost.Identity{}, false
}

// Serves reports whether a path is one of the handler's.
func (h *Handler) Serves(path string) bool { return strings.HasPrefix(path, Prefix) }

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header["Cache-Control"] = noStore
	header["X-Content-Type-Options"] = noSniff
	h.mux.ServeHTTP(w, r)
}

// Shared by all answers: replaced by a handler that wants another, never changed in place.
var (
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
	jsonType = []string{"application/json"}
)

// readBody reads a body of at most so many bytes, into buffer if it is large enough. The error has the
// status that answers it.
func readBody(w http.ResponseWriter, r *http.Request, most int64, buffer []byte) ([]byte, int, *altar.Error) {
	if server := serverOf(r); server == nil || server.ReadTimeout <= 0 || server.ReadTimeout > 2*bodyTime {
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	}
	fail := func(status int, message string) ([]byte, int, *altar.Error) {
		w.Header().Set("Connection", "close")
		return nil, status, altar.Errorf(altar.InvalidParameters, "%s", message)
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return fail(http.StatusUnsupportedMediaType, "the body must not be compressed")
	}
	if r.ContentLength > most {
		return fail(http.StatusRequestEntityTooLarge, "the body is larger than "+strconv.FormatInt(most, 10)+" bytes")
	}
	text, err := readAll(r.Body, r.ContentLength, most+1, buffer)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fail(http.StatusRequestTimeout, "the body did not arrive in time")
	case err != nil:
		return fail(http.StatusBadRequest, "the body was cut off")
	case int64(len(text)) > most:
		return fail(http.StatusRequestEntityTooLarge, "the body is larger than "+strconv.FormatInt(most, 10)+" bytes")
	}
	// The server has lifted the deadline: from the end of the body on it waits for the client to leave.
	return text, 0, nil
}

// readAll reads a body of the length, if that is known, and at most so many bytes.
func readAll(body io.Reader, length, most int64, buffer []byte) ([]byte, error) {
	if length <= 0 {
		return io.ReadAll(io.LimitReader(body, most))
	}
	text := slices.Grow(buffer[:0], int(length))[:length]
	_, err := io.ReadFull(body, text)
	return text, err
}

// serverOf returns the server that serves a request, nil when it is not known. Its timeouts are set
// already; setting them again costs time.
func serverOf(r *http.Request) *http.Server {
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	return server
}

// statusOfBody returns the status for a body that cannot be read.
func statusOfBody(err error) (int, *altar.Error) {
	bad, ok := errors.AsType[*altar.FrameError](err)
	if !ok {
		return http.StatusBadRequest, altar.Errorf(altar.InvalidParameters, "%v", err)
	}
	if bad.Broken {
		return http.StatusBadRequest, bad.Protocol().Error
	}
	return http.StatusUnprocessableEntity, bad.Protocol().Error
}

// statusOf returns the status for an error (docs/altar.md has the table).
func statusOf(err *altar.Error) int {
	switch err.Code {
	case altar.ToolNotFound:
		return http.StatusNotFound
	case altar.InvalidParameters:
		return http.StatusUnprocessableEntity
	case altar.SessionInvalid:
		return http.StatusGone
	case altar.AuthorizationFailed:
		if _, quota := toolhost.QuotaWait(err); quota {
			return http.StatusTooManyRequests
		}
		return http.StatusForbidden
	case altar.RuntimeUnavailable:
		return http.StatusServiceUnavailable
	case altar.ExecutionTimeout:
		return http.StatusGatewayTimeout
	case altar.ExecutionFailed:
		return http.StatusBadGateway
	}
	return http.StatusInternalServerError
}

// writeError answers with an error: in a ToolResult if the request was a call.
func writeError(w http.ResponseWriter, r *http.Request, status int, err *altar.Error) {
	if strings.HasSuffix(r.URL.Path, "/calls") {
		writeResult(w, status, &altar.ToolResult{Status: altar.Failure, Error: err})
		return
	}
	writeJSON(w, status, err)
}

// writeRefusal answers with an error and the status of its code.
func writeRefusal(w http.ResponseWriter, r *http.Request, err *altar.Error) {
	setRetry(w, err)
	writeError(w, r, statusOf(err), err)
}

func setRetry(w http.ResponseWriter, err *altar.Error) {
	if wait := retryAfter(err); wait != "" {
		w.Header().Set("Retry-After", wait)
	}
}

// retryAfter returns when a call that a quota refuses may be tried again, "" for another error.
func retryAfter(err *altar.Error) string {
	if wait, quota := toolhost.QuotaWait(err); quota {
		return strconv.Itoa(limit.CeilSeconds(wait))
	}
	return ""
}

// buffers holds buffers for bodies, of at most keptBuffer bytes each.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func writeResult(w http.ResponseWriter, status int, result *altar.ToolResult) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	// A payload of a runtime has been read as JSON already.
	text := append(altar.AppendToolResult((*buffer)[:0], result), '\n')
	if cap(text) <= keptBuffer {
		*buffer = text
	}
	writeText(w, status, text)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	writeText(w, status, append(text, '\n'))
}

func writeText(w http.ResponseWriter, status int, text []byte) {
	header := w.Header()
	header["Content-Type"] = jsonType
	if len(text) >= 2048 { // the server counts a shorter body itself
		header["Content-Length"] = []string{strconv.Itoa(len(text))}
	}
	w.WriteHeader(status)
	w.Write(text)
}

// createSession is POST /altar/v1/sessions.
func (h *Handler) createSession(w http.ResponseWriter, r *http.Request, who toolhost.Identity) {
	text, status, refused := readBody(w, r, maxSessionBody, nil)
	if refused != nil {
		writeError(w, r, status, refused)
		return
	}
	if len(text) == 0 {
		text = []byte("{}")
	}
	in, err := altar.ReadBody[altar.CreateSession](text)
	if err != nil {
		status, refused := statusOfBody(err)
		writeError(w, r, status, refused)
		return
	}
	created, refused := h.Host.CreateSession(who.ID, in)
	if refused != nil {
		writeRefusal(w, r, refused)
		return
	}
	w.Header().Set("Location", Prefix+"sessions/"+created.SessionID)
	writeJSON(w, http.StatusCreated, created)
}

// destroySession is DELETE /altar/v1/sessions/{id}.
func (h *Handler) destroySession(w http.ResponseWriter, r *http.Request, who toolhost.Identity) {
	id := r.PathValue("id")
	text, status, refused := readBody(w, r, maxSessionBody, nil)
	if refused != nil {
		writeError(w, r, status, refused)
		return
	}
	if len(text) > 0 {
		in, err := altar.ReadBody[altar.DestroySession](text)
		if err != nil {
			status, refused := statusOfBody(err)
			writeError(w, r, status, refused)
			return
		}
		if in.SessionID != "" && in.SessionID != id {
			writeRefusal(w, r, otherSession())
			return
		}
	}
	if err := h.Host.DestroySession(who.ID, id); err != nil {
		writeRefusal(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, altar.SessionDestroyed{SessionID: id})
}

func otherSession() *altar.Error {
	return altar.ParametersError([]altar.Problem{{Path: "/session_id", Message: "is not the session of the address"}})
}

// listTools is GET /altar/v1/sessions/{id}/tools.
func (h *Handler) listTools(w http.ResponseWriter, r *http.Request, who toolhost.Identity) {
	tools, err := h.Host.Tools(r.Context(), who.ID, r.PathValue("id"))
	if err != nil {
		writeRefusal(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Tools []toolhost.Tool `json:"tools"`
	}{tools})
}

func (h *Handler) serveMCP(w http.ResponseWriter, r *http.Request, who toolhost.Identity) {
	http.NewResponseController(w).SetWriteDeadline(time.Time{}) // a call has its own time
	h.MCP(who.ID).ServeHTTP(w, r)
}
