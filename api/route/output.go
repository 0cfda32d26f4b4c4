package route

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"gazetteer/api/badge"
	"gazetteer/internal/eventstream"
)

// StreamOutput is an answer that is written piece by piece.
type StreamOutput struct {
	Body func(huma.Context)
}

// LiftTimeLimits ends the time limits of the connection, for an answer that takes as long as its
// work.
func LiftTimeLimits(ctx huma.Context) *gin.Context {
	c := humagin.Unwrap(ctx)
	control := http.NewResponseController(c.Writer)
	control.SetReadDeadline(time.Time{})
	control.SetWriteDeadline(time.Time{})
	return c
}

// BeginLines begins an answer that sends values as lines of JSON, without time limits.
func BeginLines(ctx huma.Context) *gin.Context {
	c := LiftTimeLimits(ctx)
	c.Header("Content-Type", "application/x-ndjson")
	c.Header("Cache-Control", "no-store")
	c.Status(http.StatusOK)
	return c
}

// StreamInput is the input of a stream of events.
type StreamInput struct {
	Client netip.Addr
	Last   string `header:"Last-Event-ID" doc:"the id of the last event that was read, to go on after a stream that ended"`
}

// Resolve reads the client's address and last event (huma.Resolver). Two ids are joined,
// so that they match no event.
func (in *StreamInput) Resolve(ctx huma.Context) []error {
	c := humagin.Unwrap(ctx)
	in.Client, in.Last = ClientAddress(c), strings.Join(c.Request.Header.Values("Last-Event-ID"), ", ")
	return nil
}

// Stream answers with server-sent events, and calls release when they end.
func Stream(s eventstream.Stream, release func()) *StreamOutput {
	return &StreamOutput{Body: func(ctx huma.Context) {
		defer release()
		c := humagin.Unwrap(ctx)
		s.Serve(c.Writer, c.Request)
	}}
}

// Written is the answer to a write.
func Written[T any](a *Mux, v T) *Output[T] {
	a.NoteWrite()
	out := JSON(v)
	out.CacheControl = "no-store"
	return out
}

// Encoded writes v with the media type.
func Encoded(mediaType, cache string, v any) (*RawOutput, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &RawOutput{ContentType: mediaType, CacheControl: cache, Body: append(body, '\n')}, nil
}

// An Output is an answer in JSON.
type Output[T any] struct {
	CacheControl string `header:"Cache-Control"`
	Link         string `header:"Link"`
	Status       int
	Body         T
}

// JSON returns an answer with status 200.
func JSON[T any](v T) *Output[T] { return &Output[T]{Status: http.StatusOK, Body: v} }

// JSONResult is [JSON] for the results of a call.
func JSONResult[T any](v T, err error) (*Output[T], error) {
	if err != nil {
		return nil, err
	}
	return JSON(v), nil
}

// A RawOutput is an answer of bytes.
type RawOutput struct {
	ContentType        string `header:"Content-Type"`
	CacheControl       string `header:"Cache-Control"`
	ContentDisposition string `header:"Content-Disposition"`
	SecurityPolicy     string `header:"Content-Security-Policy"`
	ReprDigest         string `header:"Repr-Digest"`
	Body               []byte
}

// Badge returns a badge as an answer. It is an image and nothing else: a browser that opens it
// alone runs nothing in it. Caches may store it for five minutes.
func Badge(b badge.Badge) *RawOutput {
	return &RawOutput{
		ContentType: "image/svg+xml; charset=utf-8", CacheControl: "public, max-age=300",
		SecurityPolicy: "default-src 'none'; frame-ancestors 'none'; sandbox", Body: badge.Draw(b),
	}
}

// DescribeBadge describes the answer of an operation that draws a badge, also for unknown names.
func DescribeBadge(op huma.Operation, unknown string) huma.Operation {
	return Respond(op, "200", "OK; also for "+unknown+" that is not known.", "image/svg+xml", TextSchema())
}

// A PageOutput is an answer in one of several forms.
type PageOutput struct {
	ContentType string `header:"Content-Type"`
	Link        string `header:"Link"`
	Body        []byte
}

// JSONPage encodes v as huma does.
func JSONPage(v any, link string) (*PageOutput, error) {
	var b bytes.Buffer
	if err := huma.DefaultJSONFormat.Marshal(&b, v); err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return &PageOutput{ContentType: "application/json", Link: link, Body: b.Bytes()}, nil
}
