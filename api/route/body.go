package route

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
)

// bodyTimeout is the time limit for receiving a body: see [NewServer].
const bodyTimeout = 10 * time.Second

// lateBody returns the problem of a body that took longer than [bodyTimeout].
func lateBody() error {
	return NewProblem(bodyTimeoutProblem, "the body did not arrive in time", "send it at once")
}

// A RequestBody is the raw body of a request, read when huma resolves the input. Its error waits until
// the handler returns it.
type RequestBody struct {
	Text    []byte
	Client  netip.Addr
	request httpsig.Message // all of it, for a signature
	Err     error
}

// readError returns the problem of the body; [Handle] answers it.
func (b *RequestBody) readError() error { return b.Err }

// JSONBody, OptionalBody and EmptyBody are parts of the inputs of operations with a JSON body, one
// that may be left out, and none. A handler is called only if the body could be read.
type (
	JSONBody     struct{ RequestBody }
	OptionalBody struct{ RequestBody }
	EmptyBody    struct{ RequestBody }
)

// Resolve reads a body of at most the size that the table of routes sets (huma.Resolver).
func (b *JSONBody) Resolve(ctx huma.Context) []error {
	c := humagin.Unwrap(ctx)
	b.Client = ClientAddress(c)
	b.Text, b.Err = ReadBody(ctx, "application/json")
	b.request = httpsig.FromRequest(c.Request, b.Text)
	return nil
}

// Resolve reads the body, if there is one (huma.Resolver).
func (b *OptionalBody) Resolve(ctx huma.Context) []error {
	if humagin.Unwrap(ctx).Request.ContentLength == 0 {
		return (*EmptyBody)(b).Resolve(ctx)
	}
	return (*JSONBody)(b).Resolve(ctx)
}

// Resolve refuses a body (huma.Resolver). A signature would have to cover it.
func (b *EmptyBody) Resolve(ctx huma.Context) []error {
	c := humagin.Unwrap(ctx)
	b.Client = ClientAddress(c)
	if c.Request.ContentLength != 0 {
		var err error
		const none = "{}"
		if c.Request.ContentLength <= int64(len(none)) { // or unknown
			b.Text, err = io.ReadAll(io.LimitReader(c.Request.Body, int64(len(none))+1))
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			b.Err = lateBody()
		case err != nil, c.Request.ContentLength > int64(len(none)), len(b.Text) > 0 && string(b.Text) != none:
			b.Err = NewProblem(BadBody, "this request has no body", "send it without one")
		}
		if b.Err != nil {
			CloseAfter(c)
			return nil
		}
	}
	b.request = httpsig.FromRequest(c.Request, b.Text)
	return nil
}

// ReadCredentials reads what the request shows of its sender.
func (a *Mux) ReadCredentials(b *RequestBody, secret string) registry.Credentials {
	return registry.Credentials{Secret: secret, Request: a.SignedRequest(b), Client: b.Client}
}

// SignedRequest returns the request as its sender saw it: behind a proxy that terminates TLS, only
// the public URL has the scheme.
func (a *Mux) SignedRequest(b *RequestBody) *httpsig.Message {
	m := b.request
	if a.publicHost != "" && strings.EqualFold(m.Authority, a.publicHost) {
		m.Scheme = a.publicScheme
	}
	return &m
}

// ReadBody reads a body of one of the media types (of any type if none is named), of at most the
// size that the table of routes sets.
func ReadBody(ctx huma.Context, mediaTypes ...string) ([]byte, error) {
	c, most := humagin.Unwrap(ctx), findRoute(ctx.Operation().OperationID).Body
	r := c.Request
	err := checkCoding(r.Header)
	if len(mediaTypes) > 0 {
		err = CheckMediaType(r.Header, mediaTypes)
	}
	if err != nil {
		CloseAfter(c)
		return nil, err
	}
	tooLarge := NewProblem(bodyTooLarge, fmt.Sprintf("the body is larger than %d bytes", most), "send less")
	if r.ContentLength > most {
		CloseAfter(c)
		return nil, tooLarge
	}
	text, err := limit.ReadAll(r.Body, most)
	switch {
	case errors.Is(err, limit.ErrTooLarge):
		CloseAfter(c)
		return nil, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		CloseAfter(c)
		return nil, lateBody()
	case err != nil:
		CloseAfter(c)
		return nil, NewProblem(BadBody, "the body was cut off or is not well formed", "send the whole body")
	}
	return text, nil
}

// CloseAfter closes the connection after the answer, because the rest of the body is not worth
// reading. The server would read a part of it before it closes, so it gets only a moment, in which
// the client can read the answer.
func CloseAfter(c *gin.Context) {
	c.Writer.Header().Set("Connection", "close")
	http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(500 * time.Millisecond))
}

// CheckMediaType accepts the media types in UTF-8 without compression.
func CheckMediaType(h http.Header, mediaTypes []string) error {
	mediaType, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := parameters["charset"]
	if err != nil || !slices.Contains(mediaTypes, mediaType) || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return NewProblem(wrongMediaType, "the body must be "+bodyForms(mediaTypes)+" in UTF-8", "send it with the header Content-Type: "+mediaTypes[0]).
			WithLocation(Location{Header: "Content-Type"})
	}
	return checkCoding(h)
}

// checkCoding refuses compressed bodies.
func checkCoding(h http.Header) error {
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return NewProblem(wrongMediaType, "compressed bodies are not accepted", "send it without Content-Encoding").WithLocation(Location{Header: "Content-Encoding"})
	}
	return nil
}

// bodyForms describes the accepted forms of a body.
func bodyForms(mediaTypes []string) string {
	if slices.Contains(mediaTypes, "application/yaml") {
		return "JSON or YAML"
	}
	return "JSON"
}

// BodyLocation returns the place of a node in a body.
func BodyLocation(n *protocol.Node) Location {
	return Location{Pointer: n.Pointer, Line: n.Line, Column: n.Column}
}

// MaxAgentBody is the largest body of a registration or an update. The longest
// valid one has some 30 KB.
const MaxAgentBody = 64 << 10

// Limits of a list of hosts, in bytes and in names.
const (
	maxHostNamesBody = 4 << 20
	maxHostNames     = 20_000
)

// CrawlBody documents the body of a crawl.
type CrawlBody struct {
	Hosts []string `json:"hosts" doc:"names of hosts, 1 to 20,000"`
}

// ReadHostNames reads a body that is a list of at most that many names. It does not judge the names.
func ReadHostNames(text []byte, most int) ([]*protocol.Node, error) {
	root, err := protocol.ReadJSON(text, protocol.Limits{Bytes: maxHostNamesBody, Depth: 4, Members: maxHostNames})
	if err != nil {
		return nil, err
	}
	list := root.Member("hosts")
	if list == nil || list.Kind != protocol.Array || len(list.Items) == 0 || len(root.Items) > 1 {
		return nil, NewProblem(BadField, "the body must be an object with the one member hosts, a list of names", `for example {"hosts": ["example.com"]}`).
			WithLocation(Location{Pointer: "/hosts"})
	}
	if len(list.Items) > most {
		return nil, NewProblem(BadField, fmt.Sprintf("the list has %d names; at most %d are accepted at once", len(list.Items), most), "send them in parts").
			WithLocation(BodyLocation(list))
	}
	for _, item := range list.Items {
		if item.Kind != protocol.String {
			return nil, NewProblem(BadField, "the name of a host must be a string", `for example "example.com"`).WithLocation(BodyLocation(item))
		}
	}
	return list.Items, nil
}
