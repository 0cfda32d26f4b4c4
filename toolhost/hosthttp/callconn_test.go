package hosthttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/api/route"
	"gazetteer/limit"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
	"gazetteer/toolhost/hosthttp"
)

// A programServer serves a host with the limits and checks of the program.
type programServer struct {
	*testHost
	server      *http.Server
	connections *limit.ConnectionPool
	begun       atomic.Int64 // connections that net/http has got, also those that came back
	taken       atomic.Int64 // connections that left net/http
}

// serveAsProgram serves a host; a rule without All allows many connections.
func (h *testHost) serveAsProgram(rule limit.ConnectionRule, idle time.Duration) *programServer {
	h.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	s := &programServer{testHost: &testHost{t: h.t, host: h.host, addr: l.Addr().String(), http: h.http}}
	if rule.All == 0 {
		rule = limit.ConnectionRule{All: 1000, Idle: 1000}
	}
	var set *limit.Set
	s.connections = set.ConnectionPool(rule)
	connections := s.connections.Listen(l)
	s.server = route.NewServer(route.AllowUpgrades(hosthttp.New(hosthttp.Options{Host: h.host})), slog.New(slog.DiscardHandler))
	s.server.IdleTimeout = idle
	s.server.ConnState = func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.begun.Add(1)
		case http.StateHijacked:
			s.taken.Add(1)
		}
		connections.ConnState(conn, state)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(route.StrictLines(connections)) }()
	h.t.Cleanup(func() {
		s.server.Close()
		if err := <-ended; err != http.ErrServerClosed {
			h.t.Error(err)
		}
	})
	return s
}

// A callClient is one connection of a client.
type callClient struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
	path string
}

func (s *programServer) client(session string) *callClient {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(testTime))
	return &callClient{s.t, conn, bufio.NewReader(conn), callPath(session)}
}

// request returns a request for a call.
func (c *callClient) request(body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: host.test\r\nAuthorization: Bearer me-token\r\nContent-Length: %d\r\n\r\n%s", c.path, len(body), body)
}

func (c *callClient) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads an answer. Date and Content-Length are not in its header.
func (c *callClient) answer(method string) answer {
	c.t.Helper()
	response, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if a.body, err = io.ReadAll(response.Body); err != nil {
		c.t.Fatal(err)
	}
	if response.Header.Get("Date") == "" || response.ContentLength < 0 {
		c.t.Errorf("no Date or no Content-Length: %v", response.Header)
	}
	response.Header.Del("Date")
	response.Header.Del("Content-Length")
	return a
}

// call calls a tool.
func (c *callClient) call(id, tool, parameters string) answer {
	c.t.Helper()
	c.send(c.request(callBody(id, tool, parameters)))
	return c.answer("POST")
}

func (c *callClient) want(a answer, status int, text string) {
	c.t.Helper()
	if a.status != status || !strings.Contains(string(a.body), text) {
		c.t.Errorf("%d %s, want %d with %q", a.status, a.body, status, text)
	}
}

// wantClosed wants the connection to end without another byte.
func (c *callClient) wantClosed() {
	c.t.Helper()
	rest, err := io.ReadAll(c.in)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() || len(rest) > 0 {
		c.t.Errorf("%q, %v: want the end of the connection", rest, err)
	}
}

// takeOver makes a connection whose first call has succeeded: what follows is not net/http's. p answers
// that call; nil: another runtime does.
func (s *programServer) takeOver(session string, p *peer) *callClient {
	s.t.Helper()
	c, before := s.client(session), s.taken.Load()
	c.send(c.request(callBody("first "+c.conn.LocalAddr().String(), "echo", `{"n":1}`)))
	if p != nil {
		p.succeed(p.nextCall().InvocationID, `"first"`)
	}
	c.want(c.answer("POST"), 200, "first")
	if s.taken.Load() != before+1 {
		s.t.Fatal("the connection still belongs to net/http")
	}
	return c
}

// Calls that follow on a connection are answered as net/http answers them.
func TestFollowingCallsAreAnsweredAlike(t *testing.T) {
	h := newTestHost(t, nil)
	h.echoRuntime()
	s := h.serveAsProgram(limit.ConnectionRule{}, time.Minute)
	fresh, kept := h.session("me-token", `{}`), s.takeOver(h.session("me-token", `{}`), nil)
	for _, body := range []string{
		callBody("a", "echo", `{"n":1}`), callBody("b", "echo", `{"n":1}`), callBody("b", "echo", `{"n":1}`), callBody("b", "echo", `{"n":2}`),
		callBody("large", "echo", `{"text":"`+strings.Repeat("x", 100_000)+`"}`), callBody("long", "echo", `{"text":"`+strings.Repeat("x", 5000)+`"}`),
		callBody("bad", "echo", `{"n":"x"}`), `{`, `{"invocation_id":"i"}`, `{"invocation_id":"i","session_id":"x","tool_name":"echo","parameters":{}}`,
		callBody("unknown", "unknown", `{}`), callBody("secret", "secret", `{}`), callBody("nobody", "nobody", `{}`),
	} {
		c := s.client(fresh)
		c.send(c.request(body))
		want := c.answer("POST")
		kept.send(kept.request(body))
		got := kept.answer("POST")
		if got.status != want.status || !reflect.DeepEqual(got.header, want.header) || string(got.body) != string(want.body) {
			t.Errorf("%.80s: %d %v %.200s, net/http: %d %v %.200s", body, got.status, got.header, got.body, want.status, want.header, want.body)
		}
	}
}

func TestQuotaOfFollowingCalls(t *testing.T) {
	h := newTestHost(t, func(o *toolhost.Options) { o.CallsPerMinute = 2 })
	p := h.connect("rt", "echo", "erase")
	s := h.serveAsProgram(limit.ConnectionRule{}, time.Minute)
	c := s.takeOver(h.session("me-token", `{}`), p)
	c.send(c.request(callBody("a", "echo", `{}`)))
	p.succeed(p.nextCall().InvocationID, `1`)
	c.want(c.answer("POST"), 200, "success")
	if a := c.call("b", "echo", `{}`); a.status != 429 || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	// An irreversible call needs its confirmation and waits for the audit trail.
	a := c.call("e", "erase", `{}`)
	c.want(a, 403, "confirmation")
	_, token, _ := strings.Cut(string(a.body), `"confirmation":"`)
	token, _, _ = strings.Cut(token, `"`)
	c.send(c.request(strings.TrimSuffix(callBody("e", "erase", `{}`), "}") + `,"confirmation":"` + token + `"}`))
	p.succeed(p.nextCall().InvocationID, `"erased"`)
	c.want(c.answer("POST"), 200, "erased")
}

// Every request but a like call goes back to net/http, which keeps the connection.
func TestOtherRequestsAfterACall(t *testing.T) {
	h := newTestHost(t, nil)
	h.echoRuntime()
	s := h.serveAsProgram(limit.ConnectionRule{}, time.Minute)
	session, another := h.session("me-token", `{}`), h.session("me-token", `{}`)
	const me = " HTTP/1.1\r\nHost: host.test\r\nAuthorization: Bearer me-token\r\n"
	tools, body := "/altar/v1/sessions/"+session+"/tools", callBody("i", "echo", `{"n":7}`)
	post := func(path, fields string) string {
		return fmt.Sprintf("POST %s%sContent-Length: %d\r\n%s\r\n%s", path, me, len(body), fields, body)
	}
	for name, test := range map[string]struct {
		request string
		status  int
		text    string
	}{
		"GET":               {"GET " + tools + me + "\r\n", 200, `"tools"`},
		"HEAD":              {"HEAD " + tools + me + "\r\n", 200, ""},
		"OPTIONS":           {"OPTIONS " + tools + me + "\r\n", 405, ""},
		"another session":   {post(callPath(another), ""), 200, `"n":7`},
		"another field":     {post(callPath(session), "Accept: */*\r\n"), 200, `"n":7`},
		"events":            {post(callPath(session), "Accept: text/event-stream\r\n"), 200, "data: "},
		"a page":            {post(callPath(session), "Origin: https://other.test\r\n"), 403, "origins"},
		"another token":     {strings.Replace(post(callPath(session), ""), "me-token", "no-token", 1), 401, ""},
		"a chunked body":    {"POST " + callPath(session) + me + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body), 200, `"n":7`},
		"two lengths":       {post(callPath(session), "Content-Length: 5\r\n"), 400, ""},
		"two hosts":         {post(callPath(session), "Host: host.test\r\n"), 400, ""},
		"a bare line feed":  {strings.Replace(post(callPath(session), ""), "host.test\r\n", "host.test\n", 1), 400, ""},
		"a folded line":     {post(callPath(session), " more\r\n"), 400, ""},
		"HTTP/1.0":          {strings.Replace(post(callPath(session), ""), "HTTP/1.1", "HTTP/1.0", 1), 200, `"n":7`},
		"no HTTP":           {"\x16\x03\x01\r\n\r\n", 400, ""},
		"too long a body":   {"POST " + callPath(session) + me + "Content-Length: 1048577\r\n\r\n", 413, ""},
		"endless digits":    {"POST " + callPath(session) + me + "Content-Length: 99999999999\r\n\r\n", 413, ""},
		"a negative length": {"POST " + callPath(session) + me + "Content-Length: -1\r\n\r\n", 400, ""},
		"an empty body":     {"POST " + callPath(session) + me + "Content-Length: 0\r\n\r\n", 400, ""},
		"too long a header": {"POST " + callPath(session) + me + "X: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", 431, ""},
	} {
		t.Run(name, func(t *testing.T) {
			// As the second request, and as a later one.
			for _, calls := range []int{0, 2} {
				c := s.takeOver(session, nil)
				c.t = t
				for i := range calls {
					c.want(c.call(fmt.Sprint(name, i), "echo", `{"n":2}`), 200, `"n":2`)
				}
				go io.WriteString(c.conn, test.request) // the server may not read all of it
				method, _, _ := strings.Cut(test.request, " ")
				response, err := http.ReadResponse(c.in, &http.Request{Method: method})
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				if response.StatusCode != test.status || !strings.Contains(string(body), test.text) {
					t.Errorf("after %d calls: %d %s, %v", calls, response.StatusCode, body, err)
				}
				if response.Close || method != "GET" && method != "HEAD" {
					continue
				}
				taken := s.taken.Load()
				c.want(c.call(name, "echo", `{"n":3}`), 200, `"n":3`)
				if s.taken.Load() != taken {
					t.Error("the connection left net/http a second time")
				}
			}
		})
	}
}

// A connection that came back to net/http can still become a WebSocket.
func TestWebSocketAfterACall(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	s := h.serveAsProgram(limit.ConnectionRule{}, time.Minute)
	c := s.takeOver(h.session("me-token", `{}`), p)
	c.send("GET /altar/v1/runtimes HTTP/1.1\r\nHost: host.test\r\nAuthorization: Bearer rt2-token\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	response, err := http.ReadResponse(c.in, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", response, err)
	}
	c.conn.Write(frame(0x81, []byte("{\n\"type\":\"AnnounceRuntime\",\"runtime_id\":\"rt2\",\"protocol_version\":\"1.0.0\"}"))) // no header lines
	h.waitFor("the runtime", func() bool { return h.host.Figures().Runtimes == 2 })
}

func TestClientLeavesAFollowingCall(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	s := h.serveAsProgram(limit.ConnectionRule{}, time.Minute)
	c := s.takeOver(h.session("me-token", `{}`), p)
	c.send(c.request(callBody("i", "echo", `{}`)))
	call := p.nextCall()
	c.conn.Close()
	if cancel := p.nextCancel(); cancel.InvocationID != call.InvocationID {
		t.Errorf("%+v", cancel)
	}
	h.waitFor("the end of the connection", func() bool { return s.connections.Stats().Open == 0 })
	// One that leaves in the middle of a body has called nothing.
	c = s.takeOver(h.session("me-token", `{}`), p)
	c.send(c.request(callBody("i", "echo", `{}`))[:200])
	c.conn.Close()
	h.waitFor("the end of the connection", func() bool { return s.connections.Stats().Open == 0 })
	p.barrierWithout("ToolCall")
}

// A request that comes in pieces, and several that come at once, are answered in order.
func TestPiecesAndPipelines(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	s := h.serveAsProgram(limit.ConnectionRule{}, time.Minute)
	session := h.session("me-token", `{}`)
	c := s.takeOver(session, p)
	one, two := c.request(callBody("1", "echo", `{}`)), c.request(callBody("2", "echo", `{}`))
	c.send(one + two + "GET /altar/v1/sessions/" + session + "/tools HTTP/1.1\r\nHost: host.test\r\nAuthorization: Bearer me-token\r\n\r\n")
	p.succeed(p.nextCall().InvocationID, `"one"`)
	c.want(c.answer("POST"), 200, "one")
	p.succeed(p.nextCall().InvocationID, `"two"`)
	c.want(c.answer("POST"), 200, "two")
	c.want(c.answer("GET"), 200, "tools")

	for name, cut := range map[string]int{"in the request line": 10, "in a field": 80, "in the body": len(one) - 5} {
		t.Run(name, func(t *testing.T) {
			for _, calls := range []int{0, 1} {
				c := s.takeOver(session, p)
				c.t = t
				if calls > 0 {
					c.send(c.request(callBody(name, "echo", `{}`)))
					p.succeed(p.nextCall().InvocationID, `"a"`)
					c.want(c.answer("POST"), 200, `"a"`)
				}
				request := c.request(callBody(fmt.Sprint(name, calls), "echo", `{}`))
				c.send(request[:cut])
				p.barrierWithout("ToolCall") // the server has time to read the first piece alone
				c.send(request[cut:])
				p.succeed(p.nextCall().InvocationID, `"b"`)
				c.want(c.answer("POST"), 200, `"b"`)
			}
		})
	}
}

// A header that comes slowly is left to net/http, which gives it its time.
func TestSlowHeaderAfterACall(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	s := h.serveAsProgram(limit.ConnectionRule{}, time.Minute)
	c := s.takeOver(h.session("me-token", `{}`), p)
	c.send("P")
	h.waitFor("the connection at net/http", func() bool { return s.begun.Load() == 2 })
}

func TestIdleConnectionIsClosed(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	s := h.serveAsProgram(limit.ConnectionRule{}, time.Millisecond)
	s.takeOver(h.session("me-token", `{}`), p).wantClosed()
}

// A client that does not read delays nobody, and gets its answers in order when it does.
func TestClientThatReadsLate(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	s := h.serveAsProgram(limit.ConnectionRule{}, time.Minute)
	session := h.session("me-token", `{}`)
	late := s.takeOver(session, p)
	payload := json.RawMessage(`"` + strings.Repeat("x", 900_000) + `"`)
	go func() {
		for {
			m, err := p.tryRead()
			if err != nil {
				return
			}
			if call, ok := m.(altar.ToolCall); ok {
				p.send(altar.ToolResult{InvocationID: call.InvocationID, Status: altar.Success, Payload: payload})
			}
		}
	}()
	const calls = 12 // with more bytes of answers than the system holds
	go func() {
		for i := range calls {
			io.WriteString(late.conn, late.request(callBody(fmt.Sprint(i), "echo", `{}`)))
		}
	}()
	late.in.Peek(1) // the first answer comes
	s.takeOver(session, nil)
	for i := range calls {
		late.want(late.answer("POST"), 200, fmt.Sprintf(`"invocation_id":"%d"`, i))
	}
}

func TestIdentityIsCheckedAtEachCall(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	s := h.serveAsProgram(limit.ConnectionRule{}, time.Minute)
	c := s.takeOver(h.session("me-token", `{}`), p)
	if err := h.host.RemoveIdentity(context.Background(), "me"); err != nil {
		t.Fatal(err)
	}
	c.want(c.call("i", "echo", `{}`), 401, "token")
}

// The limits on connections hold: an idle one goes first, and one that has ended counts no more.
func TestLimitsOfTakenConnections(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	s := h.serveAsProgram(limit.ConnectionRule{All: 2, Idle: 2}, time.Minute)
	session := h.session("me-token", `{}`)
	busy, idle := s.takeOver(session, p), s.takeOver(session, p)
	busy.send(busy.request(callBody("i", "echo", `{}`)))
	call := p.nextCall()
	h.waitFor("one busy and one idle connection", func() bool {
		stats := s.connections.Stats()
		return stats.Open == 2 && stats.Idle == 1
	})
	third := s.takeOver(session, p)
	idle.wantClosed()
	p.succeed(call.InvocationID, `"busy"`)
	busy.want(busy.answer("POST"), 200, "busy")
	third.conn.Close()
	busy.conn.Close()
	h.waitFor("the end of all connections", func() bool { return s.connections.Stats().Open == 0 })
}

// A stop ends idle connections at once, and the others after the answer.
func TestStopOfTakenConnections(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	s := h.serveAsProgram(limit.ConnectionRule{}, time.Minute)
	session := h.session("me-token", `{}`)
	busy, idle := s.takeOver(session, p), s.takeOver(session, p)
	busy.send(busy.request(callBody("i", "echo", `{}`)))
	call := p.nextCall()
	stopped := make(chan bool)
	go func() {
		h.stop()
		close(stopped)
	}()
	idle.wantClosed()
	p.succeed(call.InvocationID, `"busy"`)
	if a := busy.answer("POST"); a.status != 200 && a.status != 410 { // 410: the time of grace was over
		t.Errorf("%d %s", a.status, a.body)
	}
	busy.wantClosed()
	p.ws.CloseNow()
	<-stopped
}

// Calls over TLS stay with net/http.
func TestCallsOverTLS(t *testing.T) {
	h := newTestHost(t, nil)
	h.echoRuntime()
	server := serveTLS(t, h)
	session := h.session("me-token", `{}`)
	for i := range 3 {
		r, _ := http.NewRequest("POST", server.URL+callPath(session), strings.NewReader(callBody(fmt.Sprint(i), "echo", `{"n":5}`)))
		r.Header.Set("Authorization", "Bearer me-token")
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != 200 || !strings.Contains(string(body), `"n":5`) {
			t.Errorf("%d %s, %v", response.StatusCode, body, err)
		}
	}
}
