// Package httpruntime is a runtime inside the program: it fulfils contracts that were made from
// documents by calling the service over HTTPS. Make one with [New], then attach it with [Runtime.Run].
//
// It calls the copy of the operation that the contract pins, never what the document says today.
// Requests go only where the transport allows, redirects are not followed, and credentials come from the
// operator's own file and go only to the host that they were given for.
package httpruntime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"gazetteer/call"
	"gazetteer/protocol/agis/agishttp"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// ID is the runtime_id.
const ID = "http"

const (
	maxAnswer  = 1 << 20 // bytes of an answer
	maxDetail  = 2 << 10 // bytes of a refusal that go into the error
	maxRunning = 256
)

// A Credential is what is sent to one host.
type Credential struct {
	Header string `json:"header"` // for example "Authorization"
	Value  string `json:"value"`  // for example "Bearer …"
}

// ReadCredentials reads the operator's file: a JSON object of a credential for each host. The file must
// be readable by nobody else.
func ReadCredentials(file string) (map[string]Credential, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s may be read by others; want the mode 0600", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var list map[string]Credential
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf(`%s is not {"HOST": {"header": "Authorization", "value": "Bearer …"}}`, file)
	}
	for host, c := range list {
		if c.Header == "" || c.Value == "" {
			return nil, fmt.Errorf("%s: %s needs header and value", file, host)
		}
	}
	return list, nil
}

// Options are what [New] needs. Host and Transport are required.
type Options struct {
	Host *toolhost.Host
	// Transport makes the requests, under the rules about addresses.
	Transport   http.RoundTripper
	Credentials map[string]Credential // by host
	UserAgent   string
	Log         *slog.Logger
}

// Runtime is the runtime.
type Runtime struct {
	o      Options
	client *http.Client
	frames chan []byte
	paces  paces

	mu      sync.Mutex // guards the following
	running map[string]context.CancelFunc
	closed  bool
}

// New returns a runtime that is not attached yet.
func New(o Options) *Runtime {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Runtime{
		o: o, frames: make(chan []byte, 1024), running: map[string]context.CancelFunc{},
		client: &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// Send implements [toolhost.Conn].
func (r *Runtime) Send(frame []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	select {
	case r.frames <- frame:
		return true
	default:
		return false
	}
}

// Close implements [toolhost.Conn].
func (r *Runtime) Close(string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		close(r.frames)
	}
}

// Run fulfils contracts until the host closes the connection.
func (r *Runtime) Run(ctx context.Context) error {
	done, ok := r.o.Host.AddConnection()
	if !ok {
		return nil
	}
	defer done()
	attached := r.o.Host.Attach(toolhost.Identity{ID: ID, Kind: toolhost.RuntimeIdentity}, r)
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
	receive(altar.AnnounceRuntime{RuntimeID: ID, Language: "go", ProtocolVersion: altar.Current})
	for frame := range r.frames {
		m, err := altar.ReadMessage(frame, false)
		if err != nil {
			return fmt.Errorf("the host sent a frame that cannot be read: %w", err)
		}
		switch m := m.(type) {
		case altar.RequestFulfillment:
			if m.SessionID == "" {
				receive(altar.FulfillTools{ToolNames: r.tools()})
			}
		case altar.ToolCall:
			r.begin(ctx, &calls, m, receive)
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

// tools returns the names of the contracts that this runtime can execute.
func (r *Runtime) tools() []string {
	names := []string{}
	for _, c := range r.o.Host.Contracts() {
		if c.State == toolhost.Approved && c.Pin != nil && !c.Streaming && canCall(c.Pin) {
			names = append(names, c.Name)
		}
	}
	return names
}

// canCall reports whether the operation of a pin can be called over HTTPS.
func canCall(pin *toolhost.Pin) bool {
	address, err := addressOf(pin)
	return err == nil && strings.HasPrefix(address, "https://")
}

// addressOf returns the address of the operation of a pin, with {name} in place of each parameter of
// its path: over AGTP that of the HTTP binding.
func addressOf(pin *toolhost.Pin) (string, error) {
	if pin.Copy.Call.Protocol == "agtp" {
		return call.HTTPBinding(pin.Copy)
	}
	return pin.Copy.Call.URL, nil
}

func (r *Runtime) begin(ctx context.Context, calls *sync.WaitGroup, m altar.ToolCall, receive func(altar.Message)) {
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
		if result.Payload, result.RuntimeMetadata, refused = r.execute(ctx, m); refused != nil {
			result = altar.ToolResult{InvocationID: m.InvocationID, Status: altar.Failure, Error: refused}
		}
		stop()
		r.mu.Lock()
		delete(r.running, m.InvocationID)
		r.mu.Unlock()
		receive(result)
	})
}

// execute calls the service and maps its answer.
func (r *Runtime) execute(ctx context.Context, m altar.ToolCall) (payload, meta json.RawMessage, refused *altar.Error) {
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
	if credential, ok := r.o.Credentials[request.URL.Hostname()]; ok {
		request.Header.Set(credential.Header, credential.Value)
	}
	if refused := r.paces.wait(ctx, request.URL.Host, c.Pin.RequestsPerMinute); refused != nil {
		return nil, nil, refused
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
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, altar.Errorf(altar.ExecutionTimeout, "the answer of %s did not come in time", request.URL.Host)
		}
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

// mapAnswer makes a payload of an answer, or the error that it stands for.
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

// placeholder is a parameter in the path of an operation: {name}, or :name behind a slash.
var placeholder = regexp.MustCompile(`\{([A-Za-z0-9_.-]+)\}|/:([A-Za-z_][A-Za-z0-9_-]*)`)

// NewRequest makes the request of a call. Parameters go into the path by name; of the others those of
// GET, HEAD and DELETE into the query and the rest into a JSON body, unless the document says where. An
// operation over AGTP is called over the HTTP binding of AGIS (section 10.1).
func NewRequest(ctx context.Context, pin *toolhost.Pin, parameters json.RawMessage) (*http.Request, error) {
	v, err := altar.ReadValue(parameters)
	if err != nil {
		return nil, err
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the parameters are no object")
	}
	address, err := addressOf(pin)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be called: %w", pin.Operation, err)
	}
	scheme, rest, found := strings.Cut(address, "://")
	if !found || scheme != "https" {
		return nil, fmt.Errorf("%s is not called over HTTPS", pin.Operation)
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	used := map[string]bool{}
	var missing []string
	path = placeholder.ReplaceAllStringFunc(path, func(part string) string {
		prefix, name := "", strings.Trim(part, "{}")
		if strings.HasPrefix(part, "/:") {
			prefix, name = "/", part[2:]
		}
		value, there := members[name]
		text, plain := plainText(value)
		if !there || !plain || text == "" || text == "." || text == ".." {
			missing = append(missing, name)
			return part
		}
		used[name] = true
		return prefix + url.PathEscape(text)
	})
	if len(missing) > 0 {
		return nil, fmt.Errorf("the address needs %s", strings.Join(missing, ", "))
	}
	target, err := url.Parse("https://" + authority + path)
	if err != nil || target.User != nil {
		return nil, fmt.Errorf("%s is no address that can be called", address)
	}
	method, overAGTP := strings.ToUpper(pin.Copy.Call.Method), pin.Copy.Call.Protocol == "agtp"
	if overAGTP {
		method = http.MethodPost // AGIS 10.1: it governs the transport alone
	}
	inQuery := slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodDelete}, method)
	query, body := target.Query(), map[string]any{}
	for name, value := range members {
		if used[name] {
			continue
		}
		in := "body"
		if inQuery {
			in = "query"
		}
		for _, p := range pin.Copy.Parameters {
			if p.Name == name && p.In != "" {
				in = p.In
			}
		}
		if in == "body" {
			body[name] = value
			continue
		}
		list, many := value.([]any)
		if !many {
			list = []any{value}
		}
		for _, each := range list {
			text, plain := plainText(each)
			if !plain {
				text = string(altar.AppendValue(nil, each))
			}
			query.Add(name, text)
		}
	}
	target.RawQuery = query.Encode()
	var content io.Reader
	if len(body) > 0 || method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch {
		content = bytes.NewReader(altar.AppendValue(nil, body))
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if overAGTP {
		request.Header.Set(agishttp.MethodHeader, pin.Copy.Verb)
		request.Header.Set(agishttp.GrammarHeader, agishttp.Grammar)
		if pin.Namespace != "" {
			request.Header.Set(agishttp.NamespaceHeader, pin.Namespace)
		}
	}
	return request, nil
}

// plainText writes a value for an address; false for what has no plain form.
func plainText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case altar.Number:
		return string(v), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}
