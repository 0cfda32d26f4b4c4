package httpruntime_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/protocol/altar"
	"gazetteer/store"
	"gazetteer/store/boltstore"
	"gazetteer/toolhost"
	"gazetteer/toolhost/httpruntime"
)

// service is a service at api.example, with the requests that it received.
type service struct {
	mu       sync.Mutex
	requests []string
	answers  map[string]http.HandlerFunc // by path, beside those of ServeHTTP
	sent     int                         // bytes of the large answer
}

// answer sets what the service answers at a path.
func (s *service) answer(path string, handler http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil {
		s.answers = map[string]http.HandlerFunc{}
	}
	s.answers[path] = handler
}

func (s *service) largeBytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimSpace(fmt.Sprintf("%s https://%s%s %s %s", r.Method, r.Host, r.URL.RequestURI(), body, r.Header.Get("X-Key"))))
	handler := s.answers[r.URL.Path]
	s.mu.Unlock()
	switch {
	case handler != nil:
		handler(w, r)
	case strings.HasPrefix(r.URL.Path, "/moved"):
		http.Redirect(w, r, "https://other.example/", http.StatusTemporaryRedirect)
	case strings.HasPrefix(r.URL.Path, "/private"):
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
	case strings.HasPrefix(r.URL.Path, "/asks"):
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://other.example/"`)
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasPrefix(r.URL.Path, "/html"):
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<p>no</p>")
	case strings.HasPrefix(r.URL.Path, "/large"):
		w.Header().Set("Content-Type", "application/json")
		chunk := strings.Repeat("x", 1<<16)
		for range 1 << 14 {
			n, err := io.WriteString(w, chunk)
			s.mu.Lock()
			s.sent += n
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	case strings.HasPrefix(r.URL.Path, "/slow"):
		<-r.Context().Done()
	case strings.HasPrefix(r.URL.Path, "/busy"):
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"ok":true}`)
	}
}

func (s *service) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == 0 {
		return ""
	}
	return s.requests[len(s.requests)-1]
}

type world struct {
	t       *testing.T
	store   *boltstore.Store
	host    *toolhost.Host
	service *service
	session string
	blocked bool
	calls   int
}

func newWorld(t *testing.T) *world { return newTimedWorld(t, time.Minute) }

// newTimedWorld is newWorld with another time limit for a call.
func newTimedWorld(t *testing.T, limit time.Duration) *world {
	t.Helper()
	s := &service{}
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	return openWorld(t, limit, s, &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the server has a certificate of another name
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "dead.") {
				return nil, fmt.Errorf("%s does not answer", address)
			}
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		},
	})
}

// openWorld returns a host whose runtime reaches the service by a transport.
func openWorld(t *testing.T, limit time.Duration, s *service, transport http.RoundTripper) *world {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	db, err := boltstore.Open(ctx, t.TempDir(), boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, store: db, service: s}
	w.host, err = toolhost.Open(ctx, toolhost.Options{Store: db, Dir: t.TempDir(), CallTimeout: limit, Blocked: func(context.Context, string) (bool, error) { return w.blocked, nil }})
	if err != nil {
		t.Fatal(err)
	}
	runtime := httpruntime.New(httpruntime.Options{
		Host: w.host, Credentials: map[string]httpruntime.Credential{
			"api.example": {Header: "X-Key", Value: "k1"}, "other.example": {Header: "X-Key", Value: "k2"}, "port.example:8443": {Header: "X-Key", Value: "k3"},
		},
		Transport: transport,
	})
	ended := make(chan error, 2)
	go func() { ended <- w.host.Run(ctx, time.Second) }()
	go func() { ended <- runtime.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		w.host.Close()
		db.Close()
	})
	created, refused := w.host.CreateSession("me", altar.CreateSession{})
	if refused != nil {
		t.Fatal(refused)
	}
	w.session = created.SessionID
	return w
}

// publish stores a document of api.example as a crawl would.
func (w *world) publish(capabilities string) { w.publishWith(capabilities, "") }

// publishWith is publish with more members of the document.
func (w *world) publishWith(capabilities, members string) {
	w.t.Helper()
	w.storeDocument(document.AI, "https://api.example/.well-known/ai", `{"aiendpoint": "1.0", "service": {"name": "S", "description": "A service for tests", "category": ["other"], "language": ["en"]}, "capabilities": [`+capabilities+`]`+members+`}`)
}

// storeDocument stores a document of api.example as a crawl would.
func (w *world) storeDocument(kind document.Kind, address, content string) {
	w.t.Helper()
	text := []byte(content)
	d, err := document.Read(document.Input{Kind: kind, Host: "api.example", URL: address, Bytes: text, MediaType: "application/json"})
	if err != nil {
		w.t.Fatal(err)
	}
	value, err := json.Marshal(d)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.store.Apply(context.Background(), store.Put(store.DocumentKey("api.example", string(kind)), value), store.Put(store.BlobKey(d.Digest), text)); err != nil {
		w.t.Fatal(err)
	}
}

// call calls a tool until its runtime has heard of it.
func (w *world) call(tool, parameters string) altar.ToolResult {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		w.calls++
		caller, refused := w.host.Call(ctx, "me", w.session, altar.ToolCall{InvocationID: fmt.Sprint(w.calls), ToolName: tool, Parameters: json.RawMessage(parameters)}, false)
		if refused != nil {
			if refused.Code == altar.ToolNotFound && ctx.Err() == nil && strings.Contains(refused.Message, "no runtime") {
				continue
			}
			return altar.ToolResult{Status: altar.Failure, Error: refused}
		}
		defer caller.Leave()
		result, err := caller.Wait(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		return result
	}
}

// toolNames returns the names of the tools that may be called now.
func (w *world) toolNames() string {
	w.t.Helper()
	tools, refused := w.host.Tools(context.Background(), "me", w.session)
	if refused != nil {
		w.t.Fatal(refused)
	}
	names := []string{}
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return fmt.Sprint(names)
}

func (w *world) approve(name string) {
	w.t.Helper()
	if _, err := w.host.Approve(context.Background(), name, toolhost.Approval{}); err != nil {
		w.t.Fatal(err)
	}
}

const (
	find  = `{"id": "find_table", "description": "Find a free table", "endpoint": "/tables/:city", "method": "GET", "params": {"city": "string, required", "people": "integer, optional"}, "returns": "tables"}`
	order = `{"id": "order", "description": "Order a dish", "endpoint": "/orders", "method": "POST", "params": {"dish": "string, required"}, "returns": "the order"}`
)

func TestFromDocumentToCall(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.publish(find + "," + order)
	proposed, skipped, err := w.host.Propose(ctx, "api.example", "")
	if err != nil || len(proposed) != 2 || len(skipped) != 0 {
		t.Fatalf("%+v, %v, %v", proposed, skipped, err)
	}
	if r := w.call("find_table", `{"city":"Rome"}`); r.Error == nil || r.Error.Code != altar.ToolNotFound {
		t.Errorf("before approval: %+v", r)
	}
	w.approve("find_table")
	w.approve("order")
	if r := w.call("find_table", `{"city":"São Paulo/x","people":4}`); r.Error != nil || string(r.Payload) != `{"ok":true}` {
		t.Fatalf("%+v", r)
	}
	if got := w.service.last(); got != "GET https://api.example/tables/S%C3%A3o%20Paulo%2Fx?people=4  k1" {
		t.Errorf("asked %q", got)
	}
	if r := w.call("order", `{"dish":"soup"}`); r.Error != nil {
		t.Fatalf("%+v", r)
	}
	if got := w.service.last(); got != `POST https://api.example/orders {"dish":"soup"} k1` {
		t.Errorf("asked %q", got)
	}

	// The owner moves the operation to another host: the contract stays, and the change waits.
	moved := strings.Replace(order, `"/orders"`, `"https://other.example/orders"`, 1)
	w.publish(find + "," + moved)
	changes, err := w.host.Changes(ctx)
	if err != nil || len(changes) != 1 || changes[0].Contract != "order" || changes[0].To != "POST https://other.example/orders" || len(changes[0].Changes) == 0 {
		t.Fatalf("%+v, %v", changes, err)
	}
	if r := w.call("order", `{"dish":"soup"}`); r.Error != nil || !strings.HasPrefix(w.service.last(), "POST https://api.example/orders") {
		t.Errorf("%+v, asked %q", r, w.service.last())
	}
	w.approve("order")
	if r := w.call("order", `{"dish":"soup"}`); r.Error != nil || w.service.last() != `POST https://other.example/orders {"dish":"soup"} k2` {
		t.Errorf("%+v, asked %q", r, w.service.last())
	}
	if changes, err := w.host.Changes(ctx); err != nil || len(changes) != 0 {
		t.Errorf("%+v, %v", changes, err)
	}

	// Another id with the same call is a change of the contract; an operation that is gone, too.
	w.publish(strings.Replace(moved, `"order"`, `"order_dish"`, 1))
	changes, err = w.host.Changes(ctx)
	if err != nil || len(changes) != 2 || changes[0].Contract != "find_table" || changes[0].To != "" || changes[1].Renamed != "order_dish" {
		t.Errorf("%+v, %v", changes, err)
	}

	// It gets no contract of its own.
	proposed, skipped, err = w.host.Propose(ctx, "api.example", "")
	if err != nil || len(proposed) != 0 || !strings.Contains(skipped["order_dish"], "the same call as the contract order,") {
		t.Errorf("%+v, %v, %v", proposed, skipped, err)
	}

	if names := w.toolNames(); names != "[find_table order]" {
		t.Errorf("tools %s", names)
	}
	w.blocked = true
	if r := w.call("order", `{"dish":"soup"}`); r.Error == nil || r.Error.Details["reason"] != "suspended" {
		t.Errorf("after the owner opted out: %+v", r)
	}
	if names := w.toolNames(); names != "[]" {
		t.Errorf("tools after the owner opted out: %s", names)
	}
	for client, want := range map[string]bool{"me": true, "other": false} {
		if err := w.host.SuspensionOf(ctx, client, w.session, "order"); (err != nil) != want {
			t.Errorf("%s: %v", client, err)
		}
	}
	if _, _, err := w.host.Propose(ctx, "service.example", ""); !errors.Is(err, toolhost.ErrBlocked) || errors.Is(err, toolhost.ErrNoProposal) {
		t.Errorf("a proposal for a blocked host: %v", err)
	}
	statuses, err := w.host.ContractStatuses(ctx)
	if err != nil || len(statuses) == 0 {
		t.Fatal(statuses, err)
	}
	for _, s := range statuses {
		if s.State != toolhost.Suspended || s.Reason == "" {
			t.Errorf("the contract %s of a blocked host is %s, %q", s.Name, s.State, s.Reason)
		}
	}
	w.blocked = false
	if _, err := w.host.Revoke(ctx, "order"); err != nil {
		t.Fatal(err)
	}
	if r := w.call("order", `{"dish":"soup"}`); r.Error == nil || r.Error.Code != altar.ToolNotFound {
		t.Errorf("after it was revoked: %+v", r)
	}
}

func TestServiceResponses(t *testing.T) {
	w := newWorld(t)
	var list []string
	names := []string{"moved", "private", "asks", "html", "large", "busy"}
	for _, name := range names {
		list = append(list, fmt.Sprintf(`{"id": "%s", "description": "Find it", "endpoint": "/%s", "method": "GET", "returns": "it"}`, name, name))
	}
	list = append(list, `{"id": "dead", "description": "Find it", "endpoint": "https://dead.example/", "method": "GET", "returns": "it"}`)
	w.publish(strings.Join(list, ","))
	if _, _, err := w.host.Propose(context.Background(), "api.example", ""); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]altar.Code{
		"moved": altar.ExecutionFailed, "private": altar.ExecutionFailed, "asks": altar.ExecutionFailed, "html": altar.ExecutionFailed, "large": altar.ExecutionFailed, "busy": altar.ExecutionFailed, "dead": altar.RuntimeUnavailable,
	} {
		w.approve(name)
		r := w.call(name, `{}`)
		if r.Error == nil || r.Error.Code != code {
			t.Errorf("%s: %+v, want %s", name, r, code)
		}
		// One request and no other: nothing follows a redirect, and no host gets the key of another.
		if got, want := w.service.last(), "GET https://api.example/"+name+"  k1"; name != "dead" && got != want {
			t.Errorf("%s: asked %q, want %q", name, got, want)
		}
		if name == "busy" && r.Error != nil && r.Error.Details["retry_after"] != 7.0 {
			t.Errorf("%+v", r.Error)
		}
	}
	if n := w.service.largeBytes(); n > 100<<20 { // of 1 GiB; the system holds some
		t.Errorf("%d bytes of the large answer were taken", n)
	}
}

// publishFinds publishes and approves operations without parameters at paths of their names.
func (w *world) publishFinds(names ...string) {
	w.t.Helper()
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf(`{"id": "%s", "description": "Find it", "endpoint": "/%s", "method": "GET", "returns": "it"}`, name, name))
	}
	w.publish(strings.Join(list, ","))
	if _, _, err := w.host.Propose(context.Background(), "api.example", ""); err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		w.approve(name)
	}
}

// A service that does not answer, or begins an answer and does not end it, has the time of the call.
func TestServiceDoesNotAnswer(t *testing.T) {
	w := newTimedWorld(t, time.Second)
	w.service.answer("/drip", func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		io.WriteString(out, "[1,")
		http.NewResponseController(out).Flush()
		<-r.Context().Done()
	})
	w.publishFinds("slow", "drip")
	for _, name := range []string{"slow", "drip"} {
		if r := w.call(name, `{}`); r.Error == nil || r.Error.Code != altar.ExecutionTimeout {
			t.Errorf("%s: %+v, want %s", name, r, altar.ExecutionTimeout)
		}
	}
}

// TestSwitchedProtocols checks that a service which answers 101 and nothing more does not keep a call
// permanently: it would hold one of the places for calls until the process is killed.
func TestSwitchedProtocols(t *testing.T) {
	w := newTimedWorld(t, 5*time.Second)
	w.service.answer("/switch", func(out http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(out).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: none\r\n\r\n")
		io.Copy(io.Discard, conn) // until the client closes it
	})
	w.publishFinds("switch")
	if r := w.call("switch", `{}`); r.Error == nil || r.Error.Code != altar.RuntimeUnavailable {
		t.Errorf("%+v, want %s", r, altar.RuntimeUnavailable)
	}
}

// endingTransport answers every request with half an array, and ends the answer without an error when
// the time of the call is over, as a service can that sees the connection close.
type endingTransport struct{ http.RoundTripper }

func (t endingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/ending" {
		return t.RoundTripper.RoundTrip(r)
	}
	body, out := io.Pipe()
	go func() {
		io.WriteString(out, "[1,")
		<-r.Context().Done()
		out.Close()
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: r}, nil
}

func TestAnswerThatEndsWithTheTimeOfTheCall(t *testing.T) {
	s := &service{}
	w := openWorld(t, 200*time.Millisecond, s, endingTransport{http.DefaultTransport})
	w.publishFinds("ending")
	if r := w.call("ending", `{}`); r.Error == nil || r.Error.Code != altar.ExecutionTimeout {
		t.Errorf("%+v, want %s", r, altar.ExecutionTimeout)
	}
}

// TestAnswersAreMapped checks what a caller gets of each kind of answer of a service.
func TestAnswersAreMapped(t *testing.T) {
	w := newWorld(t)
	bomb := func(out http.ResponseWriter, _ *http.Request) { // 16 MiB of spaces in some 16 KiB
		out.Header().Set("Content-Type", "application/json")
		out.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(out)
		for range 256 {
			packed.Write(bytes.Repeat([]byte(" "), 64<<10))
		}
		packed.Close()
	}
	for name, test := range map[string]struct {
		status     int
		kind, text string
		handler    http.HandlerFunc
		payload    string
		details    string // of EXECUTION_FAILED; "" when the call succeeds
		about      string
	}{
		"object":    {status: 200, kind: "application/json; charset=utf-8", text: `{"a": 9007199254740993}`, payload: `{"a": 9007199254740993}`},
		"created":   {status: 201, kind: "application/hal+json", text: `[1]`, payload: `[1]`},
		"nothing":   {status: 204},
		"plain":     {status: 200, kind: "text/plain", text: "ünï\n", payload: `"ünï\n"`},
		"csv":       {status: 200, kind: "text/csv", text: "a,b", payload: `"a,b"`},
		"missing":   {status: 404, kind: "application/problem+json", text: `{"title": "no table"}`, details: `{"problem":{"title":"no table"},"status":404}`, about: "404 Not Found"},
		"forbidden": {status: 403, kind: "text/html", text: "<p>", details: `{"status":403}`},
		"broken":    {status: 500, details: `{"status":500}`},
		"twice":     {status: 200, kind: "application/json", text: `{"a":1,"a":2}`, details: `{"status":200}`, about: "broken JSON"},
		"latin":     {status: 200, kind: "text/plain", text: "\xfc", details: `{"status":200}`, about: "UTF-8"},
		"unnamed":   {status: 200, text: "\x00\x01", details: `{"status":200}`, about: "no data"},
		"bomb":      {handler: bomb, details: `{"status":200}`, about: "larger than"},
		"cut": {handler: func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Length", "100")
			io.WriteString(out, "{")
			http.NewResponseController(out).Flush()
			panic(http.ErrAbortHandler)
		}, details: "null", about: "cut off"},
	} {
		handler := test.handler
		if handler == nil {
			handler = func(out http.ResponseWriter, _ *http.Request) {
				if test.kind != "" {
					out.Header().Set("Content-Type", test.kind)
				}
				out.WriteHeader(test.status)
				io.WriteString(out, test.text)
			}
		}
		w.service.answer("/"+name, handler)
		w.publishFinds(name)
		r := w.call(name, `{}`)
		if test.details == "" {
			var meta struct {
				Status int
				Host   string
			}
			if err := json.Unmarshal(r.RuntimeMetadata, &meta); err != nil || r.Error != nil || string(r.Payload) != test.payload || meta.Status != test.status || meta.Host != "api.example" {
				t.Errorf("%s: %s, %+v, %s, %v", name, r.Payload, r.Error, r.RuntimeMetadata, err)
			}
			continue
		}
		if r.Error == nil || r.Error.Code != altar.ExecutionFailed || !strings.Contains(r.Error.Message, test.about) {
			t.Errorf("%s: %s, %+v, want %q", name, r.Payload, r.Error, test.about)
			continue
		}
		if details, err := json.Marshal(r.Error.Details); err != nil || string(details) != test.details {
			t.Errorf("%s: details %s, want %s", name, details, test.details)
		}
	}
}

// TestCredentialsOfPorts checks that a credential goes to its host and its port alone: another service
// may answer at another port.
func TestCredentialsOfPorts(t *testing.T) {
	w := newWorld(t)
	keys := map[string]string{
		"https://api.example/a": "k1", "https://api.example:443/b": "k1", "https://API.Example/c": "k1",
		"https://api.example:8443/d": "", "https://port.example:8443/e": "k3", "https://port.example/f": "", "https://sub.api.example/g": "",
	}
	var list []string
	for address := range keys {
		id := address[len(address)-1:]
		list = append(list, fmt.Sprintf(`{"id": "find_%s", "description": "Find it", "endpoint": "%s", "method": "GET", "returns": "it"}`, id, address))
	}
	w.publish(strings.Join(list, ","))
	if _, skipped, err := w.host.Propose(context.Background(), "api.example", ""); err != nil || len(skipped) > 0 {
		t.Fatal(skipped, err)
	}
	for address, key := range keys {
		id := address[len(address)-1:]
		w.approve("find_" + id)
		if r := w.call("find_"+id, `{}`); r.Error != nil {
			t.Fatalf("%s: %v", address, r.Error)
		}
		got := w.service.last()
		if !strings.HasSuffix(strings.TrimSpace(got), strings.TrimSpace("/"+id+"  "+key)) || strings.Contains(got, " k") != (key != "") {
			t.Errorf("%s: asked %q, want the key %q", address, got, key)
		}
	}
}

// TestInvalidDocumentsGetNoContract checks that nobody can call what a document with errors describes,
// or one that was found only at /ai (AI Discovery §4.1).
func TestInvalidDocumentsGetNoContract(t *testing.T) {
	text := func(id string) string {
		return `{"aiendpoint":"1.0","service":{"name":"S","description":"D"},"capabilities":[{"id":"` + id + `","description":"Order a dish","endpoint":"/orders","method":"POST","returns":"it"}]}`
	}
	for _, c := range []struct {
		kind       document.Kind
		id, reason string
	}{
		{document.AI, "order", ""},
		{document.AI, "Order-Dish", "has errors: gazetteer validate api.example names them"},
		{document.AIAlias, "order", "only at /ai"},
	} {
		w := newWorld(t)
		w.storeDocument(c.kind, "https://api.example/ai", text(c.id))
		proposed, skipped, err := w.host.Propose(t.Context(), "api.example", "")
		if err != nil || (len(proposed) == 1) != (c.reason == "") || !strings.Contains(skipped[c.id], c.reason) {
			t.Errorf("%s, %s: %+v, %v, %v", c.kind, c.id, proposed, skipped, err)
		}
	}
}

// TestChangeToInvalidDocumentIsNotApproved checks that a contract is not changed to what a document with
// errors describes, and can be when the errors are gone.
func TestChangeToInvalidDocumentIsNotApproved(t *testing.T) {
	w := newWorld(t)
	store := func(version, endpoint string) {
		w.storeDocument(document.AI, "https://api.example/.well-known/ai", `{"aiendpoint":"`+version+`","service":{"name":"S","description":"D"},
			"capabilities":[{"id":"order","description":"Order a dish","endpoint":"`+endpoint+`","method":"POST","returns":"it"}]}`)
	}
	store("1.0", "/orders")
	proposed, skipped, err := w.host.Propose(t.Context(), "api.example", "")
	if err != nil || len(proposed) != 1 {
		t.Fatal(proposed, skipped, err)
	}
	name := proposed[0].Name
	for _, step := range []struct{ version, endpoint, reason, calls string }{
		{"1.0", "/orders", "", "/orders"},
		{"0.9", "/new", "has errors: gazetteer validate api.example names them", "/orders"},
		{"1.0", "/new", "", "/new"},
	} {
		store(step.version, step.endpoint)
		_, err := w.host.Approve(t.Context(), name, toolhost.Approval{})
		if (err == nil) != (step.reason == "") || err != nil && (!errors.Is(err, toolhost.ErrNoProposal) || !strings.Contains(err.Error(), step.reason)) {
			t.Errorf("%+v: %v", step, err)
		}
		if c, _ := w.host.Contract(name); c.Pin.Copy.Call.URL != "https://api.example"+step.calls || c.State != toolhost.Approved {
			t.Errorf("%+v: the contract is %s and calls %s", step, c.State, c.Pin.Copy.Call.URL)
		}
	}
}

// Only HTTPS is spoken: an operation over plain HTTP gets no contract, and a contract of one that the
// store has anyway is not called.
func TestOnlyHTTPSIsCalled(t *testing.T) {
	w := newWorld(t)
	w.publish(`{"id": "plain", "description": "Find it", "endpoint": "http://api.example/plain", "method": "GET", "returns": "it"}`)
	if proposed, skipped, err := w.host.Propose(context.Background(), "api.example", ""); err != nil || len(proposed) != 0 || !strings.Contains(skipped["plain"], "https") {
		t.Errorf("%v, %v, %v", proposed, skipped, err)
	}
	for _, address := range []string{"http://api.example/plain", "//api.example/plain", "ftp://api.example/", "https://user:word@api.example/", "https://"} {
		pin := &toolhost.Pin{Operation: "plain", Copy: document.Operation{Call: document.Call{URL: address, Method: "GET"}}}
		if r, err := httpruntime.NewRequest(context.Background(), pin, json.RawMessage(`{}`)); err == nil {
			t.Errorf("%s is called at %s", address, r.URL)
		}
	}
}

// The rate that a document declares holds for all of its operations.
func TestDocumentRate(t *testing.T) {
	w := newTimedWorld(t, 10*time.Second) // far less than the half minute of the third call
	w.publishWith(find+","+order, `, "rate_limits": {"requests_per_minute": 2}`)
	if _, _, err := w.host.Propose(context.Background(), "api.example", ""); err != nil {
		t.Fatal(err)
	}
	w.approve("find_table")
	w.approve("order")
	if r := w.call("find_table", `{"city": "Rome"}`); r.Error != nil {
		t.Fatal(r.Error)
	}
	if r := w.call("order", `{"dish": "soup"}`); r.Error != nil {
		t.Fatal(r.Error)
	}
	before := w.service.last()
	r := w.call("find_table", `{"city": "Milan"}`)
	if r.Error == nil || r.Error.Code != altar.ExecutionFailed || r.Error.Details["reason"] != "rate_limit" {
		t.Fatalf("%+v", r)
	}
	if seconds, _ := r.Error.Details["retry_after"].(float64); seconds < 1 || seconds > 60 {
		t.Errorf("%+v", r.Error.Details)
	}
	if w.service.last() != before {
		t.Error("the service was asked beyond its rate")
	}
}

// TestSchemaOfAnAGISInput checks that the JSON Schema of an AGIS input is kept in full beside the
// parameters, and that calls are checked against both.
func TestSchemaOfAnAGISInput(t *testing.T) {
	w := newWorld(t)
	w.storeDocument(document.AGIS, "https://api.example/agis.json", `{"agis": "1.0", "service": "s", "agtp": "agtp://api.example", "vocabulary": {"declared_verbs": ["BOOK"], "domain": "travel"}, "schemas": {"guest": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "minLength": 2}}}},
		"endpoints": [{"method": "BOOK", "path": "/rooms/{room}", "semantic": {"intent": "Books a room for a guest", "actor": "agent", "outcome": "The room is booked", "capability": "transaction", "impact_tier": "reversible"},
			"input": {"type": "object", "required": ["nights"], "properties": {"nights": {"type": "integer", "minimum": 1, "maximum": 30}, "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
				"guest": {"$ref": "#/schemas/guest"}, "size": {"$ref": "#/$defs/size"}}, "$defs": {"size": {"type": "string", "enum": ["small", "large"]}}},
			"output": {"type": "object"}, "errors": ["room_not_found"]}]}`)
	proposed, skipped, err := w.host.Propose(context.Background(), "api.example", "")
	if err != nil || len(proposed) != 1 {
		t.Fatalf("%+v, %v, %v", proposed, skipped, err)
	}
	for _, want := range []string{`"minimum":1`, `"maximum":30`, `"pattern":"^[A-Z]{3}$"`, `"$defs"`, `"minLength":2`, `"room"`} {
		if schema := string(proposed[0].InputSchema); !strings.Contains(schema, want) {
			t.Errorf("no %s in %s", want, schema)
		}
	}
	w.approve(proposed[0].Name)
	for parameters, path := range map[string]string{
		`{"nights":2}`:                                 "/room",
		`{"room":"7","nights":0}`:                      "/nights",
		`{"room":"7","nights":31}`:                     "/nights",
		`{"room":"7","nights":"2"}`:                    "/nights",
		`{"room":"7","nights":2,"code":"a1"}`:          "/code",
		`{"room":"7","nights":2,"guest":{}}`:           "/guest/name",
		`{"room":"7","nights":2,"guest":{"name":"x"}}`: "/guest/name",
		`{"room":"7","nights":2,"size":"huge"}`:        "/size",
		`{"room":"7","nights":2,"other":1}`:            "/other",
	} {
		r := w.call(proposed[0].Name, parameters)
		if r.Error == nil || r.Error.Code != altar.InvalidParameters || r.Error.Details["path"] != path {
			t.Errorf("%s: %+v, want a problem at %s", parameters, r.Error, path)
		}
	}
	if r := w.call(proposed[0].Name, `{"room":"7","nights":2,"code":"ABC","guest":{"name":"Ann"},"size":"small"}`); r.Error != nil {
		t.Errorf("%+v", r.Error)
	}
	if got, want := w.service.last(), `POST https://api.example/rooms/7 {"code":"ABC","guest":{"name":"Ann"},"nights":2,"size":"small"}`; got != want+" k1" {
		t.Errorf("asked %q", got)
	}
}

// A schema that cannot be handed on to models is left out, and the contract says so.
func TestSchemaThatIsLeftOut(t *testing.T) {
	w := newWorld(t)
	w.storeDocument(document.AGIS, "https://api.example/agis.json", `{"agis": "1.0", "service": "s", "agtp": "agtp://api.example", "vocabulary": {"declared_verbs": ["BOOK"], "domain": "travel"},
		"endpoints": [{"method": "BOOK", "path": "/rooms", "semantic": {"intent": "Books a room", "actor": "agent", "outcome": "The room is booked", "capability": "transaction", "impact_tier": "reversible"},
			"input": {"type": "object", "properties": {"nights": {"type": "integer", "minimum": 1}, "a note": {"type": "string"}}}, "output": {"type": "object"}, "errors": ["room_not_found"]}]}`)
	proposed, skipped, err := w.host.Propose(context.Background(), "api.example", "")
	if err != nil || len(proposed) != 1 {
		t.Fatalf("%+v, %v, %v", proposed, skipped, err)
	}
	for _, want := range []string{"the JSON Schema of the document is left out", `"/properties" has a name other than`, "1 of 2 parameters are left out"} {
		if !strings.Contains(proposed[0].InputNote, want) {
			t.Errorf("the note does not say %q: %s", want, proposed[0].InputNote)
		}
	}
	w.approve(proposed[0].Name)
	if c, _ := w.host.Contract(proposed[0].Name); c.InputNote != proposed[0].InputNote {
		t.Errorf("the approved contract says %q", c.InputNote)
	}
	if r := w.call(proposed[0].Name, `{"nights":0}`); r.Error != nil { // what the note says
		t.Errorf("%+v", r.Error)
	}
}

// framesConn is the connection of a runtime that keeps the received frames.
type framesConn struct{ frames []string }

func (c *framesConn) Send(frame []byte, _ bool) bool {
	c.frames = append(c.frames, string(frame))
	return true
}
func (c *framesConn) Close(toolhost.CloseKind, string) {}

// A contract from a document is fulfilled by the runtime inside the program alone, until the operator
// names others. Identities cannot take its name.
func TestRuntimesOfApprovedContracts(t *testing.T) {
	w := newWorld(t)
	w.publish(find)
	if _, _, err := w.host.Propose(context.Background(), "api.example", "find_table"); err != nil {
		t.Fatal(err)
	}
	conn := &framesConn{}
	other := w.host.Attach(toolhost.Identity{ID: "other", Kind: toolhost.RuntimeIdentity}, conn)
	defer other.Detach()
	other.Receive([]byte(`{"type":"AnnounceRuntime","runtime_id":"other","protocol_version":"1.0"}`))
	offers := func() bool {
		conn.frames = nil
		other.Receive([]byte(`{"type":"FulfillTools","tool_names":["find_table"]}`))
		refused := strings.Contains(strings.Join(conn.frames, ""), "AUTHORIZATION_FAILED")
		i := slices.IndexFunc(w.host.Runtimes(), func(r toolhost.RuntimeStatus) bool { return r.ID == "other" })
		if offered := len(w.host.Runtimes()[i].Tools) == 1; offered == refused {
			t.Errorf("offered %t, refused %t: %q", offered, refused, conn.frames)
		}
		return !refused
	}
	for _, step := range []struct {
		runtimes []string
		stored   string
		offers   bool
	}{{nil, "http", false}, {[]string{"other"}, "other", true}, {nil, "other", true}, {[]string{"http"}, "http", false}, {[]string{"any"}, "*", true}} {
		c, err := w.host.Approve(context.Background(), "find_table", toolhost.Approval{Runtimes: step.runtimes})
		if err != nil || strings.Join(c.Runtimes, ",") != step.stored {
			t.Fatalf("approved for %v: %v, %v", step.runtimes, c.Runtimes, err)
		}
		if offers() != step.offers {
			t.Errorf("approved for %v: offers %t", step.runtimes, !step.offers)
		}
	}
	for _, id := range []string{"http", "any"} {
		if err := w.host.AddIdentity(context.Background(), toolhost.Identity{ID: id, Kind: toolhost.RuntimeIdentity, Token: toolhost.HashToken(id)}); !errors.Is(err, toolhost.ErrBadIdentity) {
			t.Errorf("the identity %s: %v", id, err)
		}
	}
}

// TestCallWithAForm checks that parameters are sent as a form if the document says so.
func TestCallWithAForm(t *testing.T) {
	pin := &toolhost.Pin{Operation: "contact", Copy: document.Operation{
		Call: document.Call{Protocol: "http", Method: "POST", URL: "https://inn.example/contact"},
		Parameters: []document.Parameter{
			{Name: "email", In: "body", Description: "(sent as application/x-www-form-urlencoded)"}, {Name: "days", In: "body"},
		},
	}}
	r, err := httpruntime.NewRequest(context.Background(), pin, json.RawMessage(`{"email": "a@b.example", "days": [1, 2]}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Header.Get("Content-Type")+" "+string(body), "application/x-www-form-urlencoded days=1&days=2&email=a%40b.example"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestCallWithAFormOfParts is TestCallWithAForm for a form that can have files.
func TestCallWithAFormOfParts(t *testing.T) {
	pin := &toolhost.Pin{Operation: "upload", Copy: document.Operation{
		Call: document.Call{Protocol: "http", Method: "POST", URL: "https://inn.example/photos"},
		Parameters: []document.Parameter{
			{Name: "photo", In: "body", Description: "(format binary, sent as multipart/form-data)"}, {Name: "days", In: "body"},
		},
	}}
	r, err := httpruntime.NewRequest(context.Background(), pin, json.RawMessage(`{"photo": "bytes", "days": [1, 2]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.ParseMultipartForm(1000); err != nil {
		t.Fatal(err)
	}
	if files := r.MultipartForm.File["photo"]; len(files) != 1 || files[0].Size != 5 || !slices.Equal(r.MultipartForm.Value["days"], []string{"1", "2"}) {
		t.Errorf("the form is %+v", r.MultipartForm)
	}
}

// An operation over AGTP is called over the HTTP binding of AGIS.
func TestCallOverAGTP(t *testing.T) {
	pin := &toolhost.Pin{Operation: "CANCEL /reservation/{id}", Namespace: "acme", Copy: document.Operation{
		Verb: "CANCEL", Path: "/reservation/{id}", Call: document.Call{Protocol: "agtp", URL: "agtp://api.example"},
	}}
	r, err := httpruntime.NewRequest(context.Background(), pin, json.RawMessage(`{"id": "a/b", "why": "rain"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Method+" "+r.URL.String()+" "+string(body), `POST https://api.example/reservation/a%2Fb {"why":"rain"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if r.Header.Get("X-AGIS-Method") != "CANCEL" || r.Header.Get("X-AGIS-Grammar") != "AGIS/1.0" || r.Header.Get("X-AGIS-Namespace") != "acme" {
		t.Errorf("%v", r.Header)
	}
	for _, address := range []string{"", "agtp://AIR-1234@api.example", "agtp://api.example:7000", "agtp://api.example/deep", "https://api.example"} {
		pin.Copy.Call.URL = address
		if r, err := httpruntime.NewRequest(context.Background(), pin, json.RawMessage(`{"id": "x"}`)); err == nil {
			t.Errorf("%q is called at %s", address, r.URL)
		}
	}
}

func TestCredentialsFile(t *testing.T) {
	file := t.TempDir() + "/credentials.json"
	write := func(text string, mode os.FileMode) (map[string]httpruntime.Credential, error) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		return httpruntime.ReadCredentials(file)
	}
	const good = `{"api.example": {"header": "Authorization", "value": "Bearer x"}, "API.example:8443": {"header": "X-Key", "value": "y"}, "other.example:443": {"header": "X-Key", "value": "z"}}`
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604} {
		if _, err := write(good, mode); err == nil {
			t.Errorf("a file of the mode %o was read", mode)
		}
	}
	list, err := write(good, 0o600)
	if err != nil || len(list) != 3 || list["api.example"].Value != "Bearer x" || list["api.example:8443"].Value != "y" || list["other.example"].Value != "z" {
		t.Errorf("%v, %v", list, err)
	}
	const c = `{"header": "X-Key", "value": "a-secret"}`
	for _, bad := range []string{
		`[]`, `{"api.example": "a-secret"}`, `{"api.example": ` + c, `{"api.example": ` + c + `} x`, `{"api.example": {"header": "X-Key", "value": "a-secret", "more": 1}}`,
		`{"api.example": ` + c + `, "api.example": ` + c + `}`, `{"api.example": ` + c + `, "API.example:443": ` + c + `}`,
		`{"https://api.example": ` + c + `}`, `{"api.example/path": ` + c + `}`, `{"user@api.example": ` + c + `}`, `{"api.example:": ` + c + `}`, `{"": ` + c + `}`, `{":8443": ` + c + `}`,
		`{"api.example": {"header": "X-Key", "value": ""}}`, `{"api.example": {"value": "a-secret"}}`, `{"api.example": {"header": "X Key", "value": "a-secret"}}`, `{"api.example": {"header": "X-Key", "value": "a-secret\r\nX: y"}}`,
	} {
		if list, err := write(bad, 0o600); err == nil || strings.Contains(err.Error(), "a-secret") {
			t.Errorf("%s: %v, %v", bad, list, err)
		}
	}
	for bad, line := range map[string]string{
		"{\n\"a.example\": {\"header\": \"X\",\n\"value\": 5}}\n":                          ":3: it is not {",
		"{\n\"a.example\": {\"header\": \"X\",\n\"value\": \"y\"},\n}\n":                   ":3: it is not {",
		"{\"a.example\": {\n\"header\": \"X\",\n\"valuee\": \"y\"},\n\"b.example\": {}}\n": ":3: it is not {",
		"{\"a.example\": {},\n\"a.example\": {}\n}\n":                                      ":2: it is not {",
	} {
		if _, err := write(bad, 0o600); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%s: %v, want %s", bad, err, line)
		}
	}
}
