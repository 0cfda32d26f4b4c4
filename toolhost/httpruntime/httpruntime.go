// Package httpruntime is a runtime inside the program: it fulfills contracts that were made from
// documents by calling the service over HTTPS. Make one with [New], then attach it with [Runtime.Run].
//
// It calls the copy of the operation that the contract pins, never what the document says today.
// Requests go only where the transport allows, redirects are not followed, and credentials come
// from the operator's own file and go only to the host that they were given for.
package httpruntime

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"gazetteer/fetch"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

const (
	maxAnswer  = 1 << 20 // bytes of an answer
	maxDetail  = 2 << 10 // bytes of a refusal that go into the error
	maxRunning = 256
)

// Options are what [New] needs. Host and Transport are required.
type Options struct {
	Host *toolhost.Host
	// Transport makes the requests, under the rules about addresses.
	Transport http.RoundTripper
	// Credentials are those of services, by host in lower case: "api.example" for the port of HTTPS,
	// "api.example:8443" for another.
	Credentials map[string]Credential
	UserAgent   string
	Log         *slog.Logger
}

// Runtime is the runtime.
type Runtime struct {
	o      Options
	client *http.Client
	frames chan []byte
	rates  rateLimiter

	mu      sync.Mutex // guards the following fields
	running map[string]context.CancelFunc
	closed  bool
}

// New returns a runtime that is not attached yet.
func New(o Options) *Runtime {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Runtime{
		o: o, frames: make(chan []byte, 1024), running: map[string]context.CancelFunc{},
		client: &http.Client{Transport: fetch.RefuseUpgrades(o.Transport), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// Send implements [toolhost.Conn].
func (r *Runtime) Send(frame []byte, _ bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	select {
	case r.frames <- bytes.Clone(frame):
		return true
	default:
		return false
	}
}

// Close implements [toolhost.Conn].
func (r *Runtime) Close(toolhost.CloseKind, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		close(r.frames)
	}
}

// Run fulfills contracts until the host closes the connection.
func (r *Runtime) Run(ctx context.Context) error {
	done, ok := r.o.Host.AddConnection(nil)
	if !ok {
		return nil
	}
	defer done()
	attached := r.o.Host.Attach(toolhost.Identity{ID: toolhost.HTTPRuntime, Kind: toolhost.RuntimeIdentity}, r)
	defer attached.Detach()
	// Answers of calls and of the loop below reach the host one after the other.
	var receiving sync.Mutex
	receive := func(m altar.Message) {
		receiving.Lock()
		defer receiving.Unlock()
		attached.Receive(altar.Encode(m))
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the host ends it after its grace
	defer cancel()
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	receive(altar.AnnounceRuntime{RuntimeID: toolhost.HTTPRuntime, Language: "go", ProtocolVersion: altar.Current})
	for frame := range r.frames {
		m, err := altar.ReadMessage(frame, false)
		if err != nil {
			return fmt.Errorf("the host sent a frame that cannot be read: %w", err)
		}
		switch m := m.(type) {
		case altar.RequestFulfillment:
			if m.SessionID == "" {
				receive(altar.FulfillTools{ToolNames: r.callableContracts()})
			}
		case altar.ToolCall:
			r.startCall(ctx, &calls, m, receive)
		case altar.CancelCall:
			r.mu.Lock()
			stop := r.running[m.InvocationID]
			r.mu.Unlock()
			if stop != nil {
				stop()
			}
		}
	}
	return nil
}

// callableContracts returns the names of the contracts that this runtime can execute.
func (r *Runtime) callableContracts() []string {
	names := []string{}
	for _, c := range r.o.Host.Contracts() {
		if c.State == toolhost.Approved && c.Pin != nil && !c.Streaming && canCall(c.Pin) {
			names = append(names, c.Name)
		}
	}
	return names
}

func (r *Runtime) startCall(ctx context.Context, calls *sync.WaitGroup, m altar.ToolCall, receive func(altar.Message)) {
	ctx, stop := context.WithTimeout(ctx, time.Duration(max(m.TimeoutMS, 1))*time.Millisecond)
	r.mu.Lock()
	full := len(r.running) >= maxRunning
	if !full {
		r.running[m.InvocationID] = stop
	}
	r.mu.Unlock()
	if full {
		stop()
		receive(altar.ToolResult{InvocationID: m.InvocationID, Status: altar.Failure, Error: altar.Errorf(altar.RuntimeUnavailable, "too many calls run")})
		return
	}
	calls.Go(func() {
		result := altar.ToolResult{InvocationID: m.InvocationID, Status: altar.Success}
		var refused *altar.Error
		if result.Payload, result.RuntimeMetadata, refused = r.callService(ctx, m); refused != nil {
			result = altar.ToolResult{InvocationID: m.InvocationID, Status: altar.Failure, Error: refused}
		}
		stop()
		r.mu.Lock()
		delete(r.running, m.InvocationID)
		r.mu.Unlock()
		receive(result)
	})
}

// callService calls the service and maps its answer.
func (r *Runtime) callService(ctx context.Context, m altar.ToolCall) (payload, meta json.RawMessage, refused *altar.Error) {
	c, ok := r.o.Host.Contract(m.ToolName)
	if !ok || c.Pin == nil || c.State != toolhost.Approved {
		return nil, nil, altar.Errorf(altar.ToolNotFound, "the contract %s is not approved any more", m.ToolName)
	}
	request, err := NewRequest(ctx, c.Pin, m.Parameters)
	if err != nil {
		return nil, nil, altar.Errorf(altar.ExecutionFailed, "%v", err)
	}
	if r.o.UserAgent != "" {
		request.Header.Set("User-Agent", r.o.UserAgent)
	}
	if credential, ok := r.o.Credentials[authorityOf(request.URL.Host)]; ok {
		request.Header.Set(credential.Header, credential.Value)
	}
	if refused := r.rates.awaitTurn(ctx, request.URL.Host, c.Pin.RequestsPerMinute); refused != nil {
		return nil, nil, refused
	}
	if now, _ := r.o.Host.Contract(m.ToolName); now.State != toolhost.Approved || now.Pin != c.Pin {
		return nil, nil, altar.Errorf(altar.ToolNotFound, "the contract %s was changed or revoked while the call waited for its turn", m.ToolName)
	}
	begun := time.Now()
	response, err := r.client.Do(request)
	if err != nil {
		if about, ok := errors.AsType[*url.Error](err); ok {
			err = about.Err // the address may hold parameters of the caller
		}
		if ctx.Err() != nil {
			return nil, nil, altar.Errorf(altar.ExecutionTimeout, "%s did not answer in time", request.URL.Host)
		}
		return nil, nil, altar.Errorf(altar.RuntimeUnavailable, "%s cannot be reached: %v", request.URL.Host, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if ctx.Err() != nil { // also without err: the service can end the answer when it sees that the connection closes
		return nil, nil, altar.Errorf(altar.ExecutionTimeout, "the answer of %s did not arrive in time", request.URL.Host)
	}
	if err != nil {
		return nil, nil, altar.Errorf(altar.ExecutionFailed, "the answer of %s was cut off", request.URL.Host)
	}
	if payload, refused = mapAnswer(response, text); refused != nil {
		return nil, nil, refused
	}
	meta, err = json.Marshal(map[string]any{"status": response.StatusCode, "took_ms": time.Since(begun).Milliseconds(), "host": request.URL.Host})
	if err != nil {
		return nil, nil, altar.Errorf(altar.InternalError, "%v", err)
	}
	return payload, meta, nil
}

// mapAnswer returns the payload of an answer, or the corresponding error.
func mapAnswer(response *http.Response, text []byte) (json.RawMessage, *altar.Error) {
	host, status := response.Request.URL.Host, response.StatusCode
	fail := func(format string, args ...any) (json.RawMessage, *altar.Error) {
		return nil, altar.Errorf(altar.ExecutionFailed, format, args...).With("status", status)
	}
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	isJSON := kind == "application/json" || strings.HasSuffix(kind, "+json")
	switch {
	case len(text) > maxAnswer:
		return fail("the answer of %s is larger than %d bytes", host, maxAnswer)
	case status < 200:
		return fail("%s answered with the status %03d", host, status)
	case status >= 300 && status < 400:
		return fail("%s redirects elsewhere, which is not followed", host)
	case status >= 400:
		_, refused := fail("%s answered %d %s", host, status, http.StatusText(status))
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds >= 0 {
			refused.With("retry_after", seconds)
		}
		var problem any
		if isJSON && len(text) <= maxDetail && json.Unmarshal(text, &problem) == nil {
			refused.With("problem", problem)
		}
		return nil, refused
	case len(text) == 0:
		return nil, nil
	case isJSON:
		if _, err := altar.ReadValue(text); err != nil {
			return fail("%s answered with broken JSON: %v", host, err)
		}
		return text, nil
	case kind == "text/plain" || kind == "text/csv" || kind == "text/markdown":
		if !utf8.Valid(text) {
			return fail("the text of %s is not UTF-8", host)
		}
		out, err := json.Marshal(string(text))
		if err != nil {
			return fail("%v", err)
		}
		return out, nil
	}
	return fail("%s answered with %.60q, which is no data", host, kind)
}
