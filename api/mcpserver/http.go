package mcpserver

import (
	"bytes"
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gazetteer/api"
	"gazetteer/internal/mcphttp"
)

// Path is the address of the server over HTTP. A browser that requests it gets a page for people.
const Path = "/mcp"

// maxBody is the size of the largest request: a document to validate, with its characters escaped.
const maxBody = 3 << 20

// clientHeader carries the address of the connection to the tools, so that the limits of the API
// count the client. A client cannot set it: [Handler] replaces what came.
const clientHeader = "Gazetteer-Connection"

// Handler serves s over HTTP to clients that reach it at publicURL; see [mcphttp.Handler].
func Handler(s *Server, publicURL string) http.Handler {
	inner := mcphttp.Handler(func(*http.Request) *mcp.Server { return s.Server }, mcphttp.Options{PublicURL: publicURL, MaxBody: maxBody, Tools: s.tools, Implementation: s.implementation})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.Header.Set(clientHeader, r.RemoteAddr)
		inner.ServeHTTP(w, r)
	})
}

// Mount adds the server to the engine of the API, whose log, time limits and headers apply. The page
// for people at the same address is that of the package web.
func Mount(e *gin.Engine, s *Server, publicURL string) {
	e.POST(Path, gin.WrapH(Handler(s, publicURL)))
}

// FromHandler returns a requester that hands requests to the handler of the API in this process.
func FromHandler(handler http.Handler) Requester {
	return func(ctx context.Context, r Request) (Response, error) {
		request, err := http.NewRequestWithContext(ctx, r.Method, r.Path, bytes.NewReader(r.Body))
		if err != nil {
			return Response{}, err
		}
		request.RequestURI, request.Host = r.Path, "localhost"
		if r.Search != nil {
			request = request.WithContext(api.WithPageSlot(ctx, r.Search))
		}
		if r.MediaType != "" {
			request.Header.Set("Content-Type", r.MediaType)
		}
		// The limits count the client that called the tool.
		request.RemoteAddr = r.From.Get(clientHeader)
		if by := r.From.Values("X-Forwarded-For"); len(by) > 0 {
			request.Header["X-Forwarded-For"] = by
		}
		w := &memoryResponse{header: http.Header{}, status: http.StatusOK}
		handler.ServeHTTP(w, request)
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
