package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Path is where the server answers over HTTP. A browser that asks there gets a page for people.
const Path = "/mcp"

// maxBody is the size of the largest request: a document to validate, with its characters escaped.
const maxBody = 3 << 20

// clientHeader carries the address of the connection to the tools, so that the limits of the API
// count the client. A client cannot set it: [Handler] replaces what came.
const clientHeader = "Gazetteer-Connection"

// HTTPOptions say how a [Handler] answers.
type HTTPOptions struct {
	// PublicURL is where clients reach the server. Requests to other host names are refused.
	PublicURL string
	Log       *slog.Logger // nil: silent
}

// Handler serves s over stateless streamable HTTP: each POST is answered by itself, with JSON. It
// keeps nothing between requests. Requests with a Host or an Origin that does not belong to this
// server are refused with 403, so that a page whose name was led to this machine (DNS rebinding)
// reaches nothing.
func Handler(s *mcp.Server, o HTTPOptions) http.Handler {
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true, Logger: o.Log,
		DisableLocalhostProtection: true, // checkOrigin is stricter
	})
	own := ""
	if u, err := url.Parse(o.PublicURL); err == nil {
		own = u.Hostname()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkOrigin(r, own); err != nil {
			writeError(w, http.StatusForbidden, err.Error())
			return
		}
		if r.ContentLength > maxBody {
			w.Header().Set("Connection", "close")
			writeError(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", maxBody))
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set(clientHeader, r.RemoteAddr)
		answer := &memoryResponse{header: w.Header(), status: http.StatusOK}
		inner.ServeHTTP(answer, r)
		if answer.status >= http.StatusBadRequest && !strings.HasPrefix(answer.header.Get("Content-Type"), "application/json") {
			writeError(w, answer.status, strings.TrimSpace(answer.body.String()))
			return
		}
		w.WriteHeader(answer.status)
		w.Write(answer.body.Bytes()) // a client that left needs no answer
	})
}

// writeError writes a refusal as a JSON-RPC error. It has no id: the message was not read, or belongs
// to no call.
func writeError(w http.ResponseWriter, status int, message string) {
	code := jsonrpc.CodeInvalidRequest
	switch {
	case strings.HasPrefix(message, "malformed payload"):
		code = jsonrpc.CodeParseError
	case strings.HasPrefix(message, "JSON RPC not handled"):
		code = jsonrpc.CodeMethodNotFound
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": message}})
	if err != nil {
		panic("an error cannot be encoded: " + err.Error()) // it holds only numbers and strings
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text) // a client that left needs no answer
}

// checkOrigin refuses a request to another name than the server's own, and one from a page of
// another server.
func checkOrigin(r *http.Request, own string) error {
	if host := hostOf(r.Host); !isOwnHost(host, own) {
		return fmt.Errorf("this server does not answer for the host %.100q; public_url in its configuration names the one it answers for", host)
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !isOwnOrigin(u.Hostname(), hostOf(r.Host), own) {
		return fmt.Errorf("pages of the origin %.100q may not use this server", origin)
	}
	return nil
}

// hostOf returns the name in a Host header.
func hostOf(authority string) string {
	if host, _, err := net.SplitHostPort(authority); err == nil {
		return host
	}
	return strings.Trim(authority, "[]")
}

// isOwnHost reports whether a host can only be this server: its public name, the local machine, or an
// address. A rebinding page always has a name, which is none of these.
func isOwnHost(host, own string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || host != "" && strings.EqualFold(host, own) {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

// isOwnOrigin reports whether a page comes from this server or from this machine.
func isOwnOrigin(origin, host, own string) bool {
	address, err := netip.ParseAddr(origin)
	return strings.EqualFold(origin, host) || own != "" && strings.EqualFold(origin, own) || origin == "localhost" || err == nil && address.IsLoopback()
}

// Mount adds the server to the engine of the API, whose log, time limits and headers apply. The page
// for people at the same address is that of the package web.
func Mount(e *gin.Engine, s *mcp.Server, o HTTPOptions) {
	e.POST(Path, gin.WrapH(Handler(s, o)))
}

// FromHandler returns a requester that hands requests to the handler of the API in this process.
func FromHandler(api http.Handler) Requester {
	return func(ctx context.Context, r Request) (Response, error) {
		request, err := http.NewRequestWithContext(ctx, r.Method, r.Path, bytes.NewReader(r.Body))
		if err != nil {
			return Response{}, err
		}
		request.RequestURI, request.Host = r.Path, "localhost"
		if r.MediaType != "" {
			request.Header.Set("Content-Type", r.MediaType)
		}
		// The limits count the client that called the tool.
		request.RemoteAddr = r.From.Get(clientHeader)
		if by := r.From.Values("X-Forwarded-For"); len(by) > 0 {
			request.Header["X-Forwarded-For"] = by
		}
		w := &memoryResponse{header: http.Header{}, status: http.StatusOK}
		api.ServeHTTP(w, request)
		return Response{Status: w.status, Header: w.header, Body: w.body.Bytes()}, nil
	}
}

// A memoryResponse keeps an answer of a handler in memory.
type memoryResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *memoryResponse) Header() http.Header         { return w.header }
func (w *memoryResponse) WriteHeader(status int)      { w.status = status }
func (w *memoryResponse) Write(p []byte) (int, error) { return w.body.Write(p) }
