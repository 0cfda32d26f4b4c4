package hosthttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"gazetteer/protocol/altar"
	"gazetteer/store/boltstore"
	"gazetteer/toolhost"
	"gazetteer/toolhost/hosthttp"
	"gazetteer/toolhost/hostmcp"
)

// testTime bounds every wait of a test.
const testTime = time.Minute

// testHost is a host on loopback, served as the program serves it.
type testHost struct {
	t    testing.TB
	host *toolhost.Host
	addr string
	http *http.Client
	stop func()
}

// contracts that the tests use.
const contractList = `[
	{"name": "echo", "parameters": [{"name": "text", "type": "string"}, {"name": "n", "type": "integer"}, {"name": "bin", "type": "binary"},
		{"name": "list", "type": "array[integer]"}, {"name": "who", "type": "object", "properties": [{"name": "name", "type": "string", "required": true}]}]},
	{"name": "need", "parameters": [{"name": "text", "type": "string", "required": true}]},
	{"name": "quick", "timeout_ms": 150},
	{"name": "count", "streaming": true},
	{"name": "secret", "allow": ["other"]},
	{"name": "tenant", "when": {"tenant_id": "t1"}},
	{"name": "nobody"},
	{"name": "erase", "effect": "irreversible"}
]`

func newTestHost(t testing.TB, change func(*toolhost.Options)) *testHost {
	t.Helper()
	return newTimedHost(t, change, 0)
}

// newTimedHost is newTestHost with the time that runtimes have to answer.
func newTimedHost(t testing.TB, change func(*toolhost.Options), runtimeTimeout time.Duration) *testHost {
	t.Helper()
	return startHost(t, hostSetup{dir: t.TempDir(), change: change, runtimeTimeout: runtimeTimeout, grace: time.Second})
}

// hostSetup is what tests change of a host.
type hostSetup struct {
	dir            string
	change         func(*toolhost.Options)
	runtimeTimeout time.Duration
	grace          time.Duration // of running calls when the host stops
}

func startHost(t testing.TB, setup hostSetup) *testHost {
	t.Helper()
	dir, change := setup.dir, setup.change
	ctx := context.Background()
	db, err := boltstore.Open(ctx, dir+"/store", boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	o := toolhost.Options{Store: db, Dir: dir + "/altar"}
	if change != nil {
		change(&o)
	}
	host, err := toolhost.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	h := &testHost{t: t, host: host}
	for kind, ids := range map[string][]string{"runtime": {"rt", "rt2"}, "client": {"me", "other"}} {
		for _, id := range ids {
			identity := toolhost.Identity{ID: id, Kind: kind, Token: toolhost.HashToken(id + "-token")}
			if id == "me" {
				identity.Tenants = []string{"t1", "t2"}
			}
			if err := host.AddIdentity(ctx, identity); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.addContracts(contractList)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = l.Addr().String()
	handler := hosthttp.New(hosthttp.Options{Host: host, MCP: hostmcp.New(hostmcp.Options{Host: host}), RuntimeTimeout: setup.runtimeTimeout})
	server := &http.Server{Handler: handler, ReadTimeout: 20 * time.Second, WriteTimeout: 60 * time.Second}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- host.Run(running, setup.grace) }()
	go func() { ended <- server.Serve(l) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 200}
	h.http = &http.Client{Transport: transport}
	stopped := false
	h.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		transport.CloseIdleConnections()
		shut, done := context.WithTimeout(ctx, testTime)
		defer done()
		if err := server.Shutdown(shut); err != nil {
			t.Errorf("shut down: %v", err)
		}
		for range 2 {
			if err := <-ended; err != nil && err != http.ErrServerClosed {
				t.Error(err)
			}
		}
		if err := host.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(h.stop)
	return h
}

func (h *testHost) addContracts(text string) {
	h.t.Helper()
	list, err := toolhost.ReadContracts([]byte(text))
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.host.AddContracts(context.Background(), list); err != nil {
		h.t.Fatal(err)
	}
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   []byte
	altar.ToolResult
	Code      altar.Code `json:"code"`
	SessionID string     `json:"session_id"`
	TTL       int64      `json:"ttl_seconds"`
}

// ask sends a request as a client and reads the answer.
func (h *testHost) ask(method, path, token, body string, headers ...string) answer {
	h.t.Helper()
	a, err := h.try(context.Background(), method, path, token, body, headers...)
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

func (h *testHost) try(ctx context.Context, method, path, token, body string, headers ...string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+h.addr+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := h.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if a.body, err = io.ReadAll(response.Body); err != nil {
		return a, err
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		err = json.Unmarshal(a.body, &a)
	}
	return a, err
}

// session makes a session of a client.
func (h *testHost) session(token, body string) string {
	h.t.Helper()
	a := h.ask("POST", "/altar/v1/sessions", token, body)
	if a.status != 201 {
		h.t.Fatalf("create a session: %d %s", a.status, a.body)
	}
	return a.SessionID
}

func callPath(session string) string { return "/altar/v1/sessions/" + session + "/calls" }

func callBody(id, tool, parameters string) string {
	return `{"invocation_id":"` + id + `","tool_name":"` + tool + `","parameters":` + parameters + `}`
}

// call calls a tool as "me".
func (h *testHost) call(session, id, tool, parameters string) answer {
	h.t.Helper()
	return h.ask("POST", callPath(session), "me-token", callBody(id, tool, parameters))
}

// callLater calls a tool in a goroutine.
func (h *testHost) callLater(ctx context.Context, session, id, tool, parameters string, headers ...string) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		a, err := h.try(ctx, "POST", callPath(session), "me-token", callBody(id, tool, parameters), headers...)
		if err != nil {
			a.status = -1
		}
		out <- a
	}()
	return out
}

func (h *testHost) want(a answer, status int, code altar.Code) {
	h.t.Helper()
	got := a.Code
	if a.Error != nil {
		got = a.Error.Code
	}
	if a.status != status || got != code {
		h.t.Errorf("%d %s, want %d %s\n%s", a.status, got, status, code, a.body)
	}
}

// peer is a runtime that a test plays frame by frame.
type peer struct {
	t     testing.TB
	ws    *websocket.Conn
	ahead chan readFrame // set by readAhead
}

// readFrame is what a read of a connection returned.
type readFrame struct {
	text []byte
	err  error
}

// readAhead reads frames before the test asks for them, so that pings are answered while it is busy
// with something else.
func (p *peer) readAhead() {
	p.ahead = make(chan readFrame, 1000)
	go func() {
		for {
			_, text, err := p.ws.Read(context.Background())
			p.ahead <- readFrame{text, err}
			if err != nil {
				return
			}
		}
	}()
}

// dial connects a runtime without a word.
func (h *testHost) dial(token string) *peer {
	h.t.Helper()
	return h.dialWith(nil, token)
}

// dialWith is dial with an HTTP client that opens the connection; nil: http.DefaultClient.
func (h *testHost) dialWith(client *http.Client, token string) *peer {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, "ws://"+h.addr+"/altar/v1/runtimes", &websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		h.t.Fatal(err)
	}
	ws.SetReadLimit(8 << 20)
	p := &peer{t: h.t, ws: ws}
	h.t.Cleanup(func() { ws.CloseNow() })
	return p
}

// connect connects a runtime that fulfills tools in every session.
func (h *testHost) connect(id string, tools ...string) *peer {
	h.t.Helper()
	return h.connectWith(nil, id, tools...)
}

func (h *testHost) connectWith(client *http.Client, id string, tools ...string) *peer {
	h.t.Helper()
	p := h.dialWith(client, strings.SplitN(id, "-", 2)[0]+"-token")
	p.sendText(`{"type":"AnnounceRuntime","runtime_id":"` + id + `","language":"test","protocol_version":"1.0.0","capabilities":["streaming"]}`)
	p.next("AcknowledgeRuntime")
	p.next("RequestFulfillment")
	if tools != nil {
		p.fulfill("", tools...)
		p.barrier()
	}
	return p
}

func (p *peer) sendText(text string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	defer cancel()
	if err := p.ws.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		p.t.Errorf("send %.80s: %v", text, err)
	}
}

func (p *peer) send(m altar.Message) { p.sendText(string(altar.Encode(m))) }

func (p *peer) fulfill(session string, tools ...string) {
	p.send(altar.FulfillTools{SessionID: session, ToolNames: tools})
}

// barrier waits until the host has handled all frames so far: it answers one that it does not know.
func (p *peer) barrier() {
	p.t.Helper()
	p.sendText(`{"type":"barrier"}`)
	for {
		m := p.read()
		if e, ok := m.(altar.ProtocolError); ok && e.InReplyTo == "barrier" {
			return
		}
	}
}

// read returns the next message, nil when the connection has ended.
func (p *peer) read() altar.Message {
	p.t.Helper()
	m, err := p.tryRead()
	if err != nil {
		p.t.Fatalf("read: %v", err)
	}
	return m
}

func (p *peer) tryRead() (altar.Message, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	defer cancel()
	if p.ahead != nil {
		select {
		case f := <-p.ahead:
			if f.err != nil {
				return nil, f.err
			}
			return altar.ReadMessage(f.text, true)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	_, text, err := p.ws.Read(ctx)
	if err != nil {
		return nil, err
	}
	return altar.ReadMessage(text, true)
}

// next returns the next message that is no request for fulfilment of one session, which must have the
// type.
func (p *peer) next(kind string) altar.Message {
	p.t.Helper()
	for {
		m := p.read()
		if r, ok := m.(altar.RequestFulfillment); ok && r.SessionID != "" && kind != "RequestFulfillment" {
			continue
		}
		if m.MessageType() != kind {
			p.t.Fatalf("%s came, want %s: %s", m.MessageType(), kind, altar.Encode(m))
		}
		return m
	}
}

func (p *peer) nextCall() altar.ToolCall { p.t.Helper(); return p.next("ToolCall").(altar.ToolCall) }
func (p *peer) nextCancel() altar.CancelCall {
	p.t.Helper()
	return p.next("CancelCall").(altar.CancelCall)
}

func (p *peer) nextError(code altar.Code) altar.ProtocolError {
	p.t.Helper()
	e := p.next("ProtocolError").(altar.ProtocolError)
	if e.Error == nil || e.Error.Code != code {
		p.t.Fatalf("%s, want %s", altar.Encode(e), code)
	}
	return e
}

// succeed answers a call.
func (p *peer) succeed(id, payload string) {
	p.send(altar.ToolResult{InvocationID: id, Status: altar.Success, Payload: json.RawMessage(payload)})
}

func (p *peer) chunk(id string, n int64, payload string, final bool) {
	p.send(altar.StreamChunk{InvocationID: id, ChunkID: n, Payload: json.RawMessage(payload), IsFinal: final})
}

// wantClosed reads until the connection ends, and wants that status.
func (p *peer) wantClosed(codes ...websocket.StatusCode) {
	p.t.Helper()
	for {
		_, err := p.tryRead()
		if err == nil {
			continue
		}
		got := websocket.CloseStatus(err)
		for _, code := range codes {
			if got == code {
				return
			}
		}
		p.t.Errorf("the connection ended with %d (%v), want %v", got, err, codes)
		return
	}
}

// event is one server-sent event.
type event struct {
	id int64
	altar.StreamChunk
}

// stream opens a call as a stream of events.
func (h *testHost) stream(ctx context.Context, session, id, tool string) (*http.Response, func() (event, error)) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+h.addr+callPath(session), strings.NewReader(callBody(id, tool, "{}")))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer me-token")
	r.Header.Set("Accept", "text/event-stream")
	response, err := h.http.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { response.Body.Close() })
	scanner := bufio.NewScanner(response.Body)
	scanner.Buffer(nil, 2<<20)
	return response, func() (event, error) {
		var e event
		e.id = -1
		for scanner.Scan() {
			line := scanner.Text()
			switch {
			case strings.HasPrefix(line, "id: "):
				e.id, err = strconv.ParseInt(line[4:], 10, 64)
			case strings.HasPrefix(line, "data: "):
				err = json.Unmarshal([]byte(line[6:]), &e.StreamChunk)
			case line == "" && e.id >= 0:
				return e, err
			}
			if err != nil {
				return e, err
			}
		}
		if err := scanner.Err(); err != nil {
			return e, err
		}
		return e, io.EOF
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(text))
}
