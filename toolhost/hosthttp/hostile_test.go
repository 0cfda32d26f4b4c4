package hosthttp_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"gazetteer/altarkit"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // the search library starts some when it is imported
}

// frame writes a WebSocket frame as a client: any first byte, any payload.
func frame(first byte, payload []byte) []byte {
	mask := [4]byte{1, 2, 3, 4}
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	b = append(b, mask[:]...)
	for i, c := range payload {
		b = append(b, c^mask[i%4])
	}
	return b
}

// raw connects a runtime below the WebSocket library, and announces it.
func (h *testHost) raw() (net.Conn, *bufio.Reader) {
	h.t.Helper()
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(testTime))
	fmt.Fprintf(conn, "GET /altar/v1/runtimes HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer rt2-token\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n", h.addr)
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Sec-WebSocket-Extensions") != "" {
		h.t.Fatalf("%v, %v", response, err)
	}
	conn.Write(frame(0x81, []byte(`{"type":"AnnounceRuntime","runtime_id":"rt2","protocol_version":"1.0.0"}`)))
	return conn, reader
}

// closeCode reads frames until that which closes, and returns its status; 0 when the connection just
// ends.
func closeCode(r *bufio.Reader) int {
	code, _, _ := nextClose(r)
	return code
}

// nextClose reads frames until that which closes, and returns its status and its reason.
func nextClose(r *bufio.Reader) (code int, reason string, err error) {
	for {
		var head [2]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return 0, "", err
		}
		n := int(head[1] & 0x7f)
		if n == 126 {
			var more [2]byte
			if _, err := io.ReadFull(r, more[:]); err != nil {
				return 0, "", err
			}
			n = int(binary.BigEndian.Uint16(more[:]))
		}
		payload := make([]byte, n)
		if _, err := io.ReadFull(r, payload); err != nil {
			return 0, "", err
		}
		if head[0]&0x0f == 8 && n >= 2 {
			return int(binary.BigEndian.Uint16(payload)), string(payload[2:]), nil
		}
	}
}

// TestHostileFrames checks that each hostile connection ends with its status, and that another
// runtime continues.
func TestHostileFrames(t *testing.T) {
	h := newTimedHost(t, nil, 2*time.Second)
	good := h.connect("rt", "echo")
	good.readAhead()
	session := h.session("me-token", `{}`)
	for name, test := range map[string]struct {
		send func(net.Conn)
		want []int
	}{
		"a frame of 17 MiB":  {func(c net.Conn) { c.Write(frame(0x81, make([]byte, 17<<20))) }, []int{1009, 0}},
		"a length of 2^62":   {func(c net.Conn) { c.Write([]byte{0x81, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}) }, []int{1009, 1008, 1002, 0}},
		"a binary frame":     {func(c net.Conn) { c.Write(frame(0x82, []byte(`{}`))) }, []int{1003}},
		"invalid UTF-8":      {func(c net.Conn) { c.Write(frame(0x81, []byte("{\"type\":\"\xff\"}"))) }, []int{1007}},
		"a compressed frame": {func(c net.Conn) { c.Write(frame(0xc1, []byte("x"))) }, []int{1002}},
		"no mask":            {func(c net.Conn) { c.Write([]byte{0x81, 2, '{', '}'}) }, []int{1002}},
		"an unknown opcode":  {func(c net.Conn) { c.Write(frame(0x83, nil)) }, []int{1002}},
		"endless fragments": {func(c net.Conn) {
			c.Write(frame(0x01, make([]byte, 1000)))
			for range 2000 {
				if _, err := c.Write(frame(0x00, make([]byte, 1000))); err != nil {
					return
				}
			}
		}, []int{1009, 0}},
	} {
		conn, reader := h.raw()
		sent := make(chan struct{})
		go func() { test.send(conn); close(sent) }()
		got := closeCode(reader)
		conn.Close()
		<-sent
		fine := false
		for _, code := range test.want {
			fine = fine || got == code
		}
		if !fine {
			t.Errorf("%s: closed with %d, want %v", name, got, test.want)
		}
		h.waitFor("the end of its runtime", func() bool { return h.host.Figures().Runtimes == 1 })
		running := h.callLater(context.Background(), session, name, "echo", `{}`)
		good.succeed(good.nextCall().InvocationID, `1`)
		if a := <-running; a.status != 200 {
			t.Errorf("after %s: %d %s", name, a.status, a.body)
		}
	}
}

// A runtime that pings without end is cut off long before a ping of the Host could end the connection.
func TestFloodOfPings(t *testing.T) {
	h := newTimedHost(t, nil, 10*testTime)
	conn, reader := h.raw()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range 5000 {
			if _, err := conn.Write(frame(0x89, nil)); err != nil {
				return
			}
		}
	}()
	if got := closeCode(reader); got != 1008 && got != 0 {
		t.Errorf("closed with %d", got)
	}
	h.waitFor("the end of its runtime", func() bool { return h.host.Figures().Runtimes == 0 })
	<-sent
}

// TestEndlessEmptyContinuationFrames checks that a time limit ends a stream of empty continuation
// frames, in which no limit of bytes applies.
func TestEndlessEmptyContinuationFrames(t *testing.T) {
	h := newTimedHost(t, nil, time.Second)
	conn, reader := h.raw()
	conn.SetDeadline(time.Now().Add(2 * testTime))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		conn.Write(frame(0x01, []byte("{")))
		many := []byte(strings.Repeat(string(frame(0x00, nil)), 1000))
		for {
			if _, err := conn.Write(many); err != nil {
				return
			}
		}
	}()
	if got := closeCode(reader); got != 1008 && got != 0 {
		t.Errorf("closed with %d", got)
	}
	conn.Close()
	<-sent
	h.waitFor("the end of its runtime", func() bool { return h.host.Figures().Runtimes == 0 })
}

// TestSlowFrame checks that a frame has its time, and not also that of the ping which its runtime does
// not answer.
func TestSlowFrame(t *testing.T) {
	h := newTimedHost(t, nil, 3*time.Second)
	conn, reader := h.raw()
	conn.Write(frame(0x81, make([]byte, 100))[:50]) // and then nothing
	if code, reason, err := nextClose(reader); err != nil || code != 1008 || reason != "a frame takes too long" {
		t.Errorf("closed with %d %q, %v", code, reason, err)
	}
}

// TestHandshakeRefusals checks that a refused handshake is answered as every other request is.
func TestHandshakeRefusals(t *testing.T) {
	h := newTestHost(t, nil)
	const key, version = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "Sec-WebSocket-Version: 13\r\n"
	const rt, upgrade = "Authorization: Bearer rt-token\r\n", "Connection: Upgrade\r\nUpgrade: websocket\r\n"
	for header, want := range map[string]struct {
		status int
		code   altar.Code
	}{
		upgrade + version + key: {401, altar.AuthorizationFailed},
		"Authorization: Bearer me-token\r\n" + upgrade + version + key:    {403, altar.AuthorizationFailed},
		rt + "Origin: https://evil.example\r\n" + upgrade + version + key: {403, altar.AuthorizationFailed},
		rt: {426, altar.InvalidParameters},
		rt + "Connection: Upgrade\r\nUpgrade: h2c\r\n" + version + key: {426, altar.InvalidParameters},
		rt + "Upgrade: websocket\r\n" + version + key:                  {426, altar.InvalidParameters},
		rt + upgrade + "Sec-WebSocket-Version: 8\r\n" + key:            {400, altar.InvalidParameters},
		rt + upgrade + version:                                         {400, altar.InvalidParameters},
		rt + upgrade + version + "Sec-WebSocket-Key: short\r\n":        {400, altar.InvalidParameters},
	} {
		conn, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(testTime))
		fmt.Fprintf(conn, "GET /altar/v1/runtimes HTTP/1.1\r\nHost: %s\r\n%s\r\n", h.addr, header)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		var refusal altar.Error
		err = json.NewDecoder(response.Body).Decode(&refusal)
		conn.Close()
		if err != nil || response.StatusCode != want.status || refusal.Code != want.code || refusal.Message == "" || response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%q: %s %v, %+v, %v", header, response.Status, response.Header, refusal, err)
		}
	}
}

// TestUnreadableResultEndsItsCall checks that a caller does not wait for the timeout when the runtime's
// answer cannot be read, and that the connection stays.
func TestUnreadableResultEndsItsCall(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	for i, payload := range []string{`{"a":1,"a":2}`, `"\ud800"`, `1,"status":7`} {
		running := h.callLater(context.Background(), session, fmt.Sprint(i), "echo", `{}`)
		call := p.nextCall()
		p.sendText(`{"type":"ToolResult","invocation_id":"` + call.InvocationID + `","payload":` + payload + `}`)
		h.want(<-running, 500, altar.InternalError)
		p.nextCancel()
		if e := p.nextError(altar.InvalidParameters); e.InReplyTo != call.InvocationID {
			t.Errorf("%s: %+v", payload, e)
		}
	}
	fine := h.callLater(context.Background(), session, "fine", "echo", `{}`)
	p.succeed(p.nextCall().InvocationID, `1`)
	if a := <-fine; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestErrorsThatOnlyTheHostGives checks that no runtime can tell a client that its session has ended,
// or give it a token for a confirmation.
func TestErrorsThatOnlyTheHostGives(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	for i, c := range []struct {
		code   altar.Code
		status int
		want   altar.Code
	}{{altar.SessionInvalid, 502, altar.ExecutionFailed}, {"MADE_UP", 502, altar.ExecutionFailed}, {altar.AuthorizationFailed, 403, altar.AuthorizationFailed}} {
		running := h.callLater(context.Background(), session, fmt.Sprint(i), "echo", `{}`)
		p.sendText(fmt.Sprintf(`{"type":"ToolResult","invocation_id":%q,"status":"error","error":{"code":%q,"message":"no","details":{"confirmation":"token"}}}`, p.nextCall().InvocationID, c.code))
		a := <-running
		h.want(a, c.status, c.want)
		if bytes.Contains(a.body, []byte("token")) {
			t.Errorf("%s: %s", c.code, a.body)
		}
	}
	running := h.callLater(context.Background(), session, "plain", "echo", `{}`)
	p.sendText(`{"type":"ToolResult","invocation_id":"` + p.nextCall().InvocationID + `","status":"error","error":{"code":"MADE_UP","message":"no"}}`)
	if a := <-running; !bytes.Contains(a.body, []byte(`"details":{"code":"MADE_UP"}`)) {
		t.Errorf("%s", a.body)
	}
}

// TestHalfOpenRuntimeFreesItsID checks that the id of a live runtime is refused a second time; that
// of a runtime which answers no ping is free within three times the timeout, which is 30 s by
// default.
func TestHalfOpenRuntimeFreesItsID(t *testing.T) {
	const timeout = time.Second
	h := newTimedHost(t, nil, timeout)
	begun := time.Now()
	h.raw() // reads nothing, answers nothing, and stays connected
	h.waitFor("the runtime", func() bool { return h.host.Figures().Runtimes == 1 })
	again := h.dial("rt2-token")
	again.sendText(`{"type":"AnnounceRuntime","runtime_id":"rt2","protocol_version":"1.0.0"}`)
	again.nextError(altar.AuthorizationFailed)
	again.wantClosed(websocket.StatusPolicyViolation)
	h.waitFor("the end of the half-open runtime", func() bool { return h.host.Figures().Runtimes == 0 })
	if took := time.Since(begun); took < timeout || took > testTime/2 {
		t.Errorf("the id was free after %v", took)
	}
	h.connect("rt2")
}

func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	h := newTestHost(t, nil)
	for _, header := range [][2]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Origin", "null"}} {
		_, response, err := websocket.Dial(context.Background(), "ws://"+h.addr+"/altar/v1/runtimes", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer rt-token"}, header[0]: {header[1]}}})
		if err == nil || response == nil || response.StatusCode != http.StatusForbidden {
			t.Errorf("%v: %v", header, err)
		}
		h.want(h.ask("POST", "/altar/v1/sessions", "me-token", `{}`, header[0], header[1]), 403, altar.AuthorizationFailed)
	}
}

// A contract names the runtimes that may fulfill it: the announcement of another is refused for that
// name alone, and if the list is narrowed later, earlier announcements lose their effect.
func TestForeignRuntimeContract(t *testing.T) {
	h := newTestHost(t, nil)
	h.addContracts(`[{"name": "pay", "runtimes": ["rt2"]}, {"name": "none", "runtimes": []}, {"name": "any", "runtimes": ["*"]}]`)
	p := h.connect("rt")
	p.fulfill("", "pay", "none", "any", "echo")
	for _, name := range []string{"pay", "none"} {
		if e := p.nextError(altar.AuthorizationFailed); e.Error.Details["tool_name"] != name {
			t.Errorf("%s: %+v", name, e)
		}
	}
	p.barrier()
	session := h.session("me-token", `{}`)
	h.want(h.call(session, "1", "pay", `{}`), 404, altar.ToolNotFound)
	h.want(h.call(session, "2", "rt/pay", `{}`), 404, altar.ToolNotFound)
	own := h.connect("rt2-a", "pay")
	running := h.callLater(context.Background(), session, "3", "pay", `{}`)
	own.succeed(own.nextCall().InvocationID, `1`)
	if a := <-running; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	h.addContracts(`[{"name": "any", "runtimes": ["rt2"]}]`)
	h.want(h.call(session, "4", "any", `{}`), 404, altar.ToolNotFound)
}

func TestTenThousandTools(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt")
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("tool-%d", i)
	}
	names[5000] = "echo"
	p.fulfill("", names...)
	for range 100 {
		p.nextError(altar.ToolNotFound)
	}
	if sum := p.nextError(altar.ToolNotFound); sum.Error.Details["refused"] != 9899.0 {
		t.Errorf("%+v", sum.Error)
	}
	p.barrier()
	if list := h.host.Runtimes(); len(list[0].Tools) != 1 {
		t.Errorf("%v", list[0].Tools)
	}
}

func TestConfirmation(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "erase")
	session := h.session("me-token", `{}`)
	a := h.call(session, "i", "erase", `{}`)
	h.want(a, 403, altar.AuthorizationFailed)
	token, _ := a.Error.Details["confirmation"].(string)
	confirm := func(id, token string) string {
		return `{"invocation_id":"` + id + `","tool_name":"erase","parameters":{},"confirmation":"` + token + `"}`
	}
	h.want(h.ask("POST", callPath(session), "me-token", confirm("other", token)), 403, altar.AuthorizationFailed)
	h.want(h.ask("POST", callPath(session), "me-token", confirm("i", "wrong")), 403, altar.AuthorizationFailed)
	go func() { p.succeed(p.nextCall().InvocationID, `1`) }()
	if a := h.ask("POST", callPath(session), "me-token", confirm("i", token)); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	// It confirms these parameters, in this session.
	h.addContracts(`[{"name": "wipe", "effect": "irreversible", "parameters": [{"name": "n", "type": "integer"}]}]`)
	p.fulfill("", "wipe")
	p.barrier()
	body := func(n, token string) string {
		return `{"invocation_id":"w","tool_name":"wipe","parameters":{"n":` + n + `},"confirmation":"` + token + `"}`
	}
	token, _ = h.ask("POST", callPath(session), "me-token", body("1", "")).Error.Details["confirmation"].(string)
	second := h.session("me-token", `{}`)
	h.want(h.ask("POST", callPath(session), "me-token", body("2", token)), 403, altar.AuthorizationFailed)
	h.want(h.ask("POST", callPath(second), "me-token", body("1", token)), 403, altar.AuthorizationFailed)
	go func() { p.succeed(p.nextCall().InvocationID, `2`) }()
	if a := h.ask("POST", callPath(session), "me-token", body("1", token)); string(a.Payload) != "2" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestConfirmationOfChangedContract checks that a confirmation holds for the contract that the user has
// seen, and not for one that the operator has put in its place since.
func TestConfirmationOfChangedContract(t *testing.T) {
	h := newTestHost(t, nil)
	contract := func(description string) {
		h.addContracts(`[{"name": "wipe", "effect": "irreversible", "description": "` + description + `"}]`)
	}
	contract("Delete the draft")
	p := h.connect("rt", "wipe")
	session := h.session("me-token", `{}`)
	token, _ := h.call(session, "w", "wipe", `{}`).Error.Details["confirmation"].(string)
	contract("Delete the account")
	p.fulfill("", "wipe")
	p.barrier()
	confirmed := func(token string) answer {
		return h.ask("POST", callPath(session), "me-token", `{"invocation_id":"w","tool_name":"wipe","parameters":{},"confirmation":"`+token+`"}`)
	}
	go func() { p.succeed(p.nextCall().InvocationID, `1`) }()
	a := confirmed(token)
	h.want(a, 403, altar.AuthorizationFailed)
	if a.Error == nil {
		t.Fatal("the confirmation of the earlier contract was accepted")
	}
	token, _ = a.Error.Details["confirmation"].(string)
	if a := confirmed(token); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// The outcome of an irreversible call is on the disk before its answer; others are written behind.
func TestAuditTrail(t *testing.T) {
	var dir string
	h := newTestHost(t, func(o *toolhost.Options) { dir = o.Dir; o.AuditParameters = true })
	p := h.connect("rt", "erase", "echo")
	session := h.session("me-token", `{"security_context":{"principal_id":"ann"}}`)
	token, _ := h.call(session, "i", "erase", `{}`).Error.Details["confirmation"].(string)
	go func() { p.succeed(p.nextCall().InvocationID, `1`) }()
	h.ask("POST", callPath(session), "me-token", `{"invocation_id":"i","tool_name":"erase","parameters":{},"confirmation":"`+token+`"}`)
	text := readFile(t, dir+"/calls.log")
	for _, want := range []string{`"event":"begin"`, `"event":"end"`, `"client":"me"`, `"principal_id":"ann"`, `"tool":"erase"`, `"outcome":"success"`, `"parameters":{}`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	go func() { p.succeed(p.nextCall().InvocationID, `1`) }()
	h.call(session, "j", "echo", `{"text":"x"}`)
	h.waitFor("the entry of an ordinary call", func() bool { return strings.Contains(readFile(t, dir+"/calls.log"), `"tool":"echo"`) })
	if info, err := os.Stat(dir + "/calls.log"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAuditTrailIsBounded(t *testing.T) {
	var dir string
	h := newTestHost(t, func(o *toolhost.Options) { dir = o.Dir; o.AuditBytes = 2 << 10 })
	p := h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	go func() {
		for range 100 {
			m, err := p.tryRead()
			if err != nil {
				return
			}
			if call, ok := m.(altar.ToolCall); ok {
				p.succeed(call.InvocationID, `1`)
			}
		}
	}()
	for i := range 100 {
		h.call(session, fmt.Sprint(i), "echo", `{}`)
		if i%10 == 9 {
			h.waitFor("the entry", func() bool {
				text, _ := os.ReadFile(dir + "/calls.log") // it is absent for a moment when the next one begins
				return strings.Contains(string(text), fmt.Sprintf(`"invocation_id":"%d"`, i))
			})
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	logs := 0
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "calls.log") {
			logs++
		}
	}
	if logs != 4 {
		t.Errorf("%d files, want 4", logs)
	}
}

// The policy of the server is asked before each call, and before the tool is looked for.
func TestAdmitClient(t *testing.T) {
	h := newTestHost(t, func(o *toolhost.Options) {
		o.AdmitClient = func(_ context.Context, client string) error {
			if client != "me" {
				return errors.New("tools are for agents with evidence")
			}
			return nil
		}
	})
	p := h.connect("rt", "echo")
	foreign := h.session("other-token", `{}`)
	for _, tool := range []string{"echo", "missing"} {
		a := h.ask("POST", callPath(foreign), "other-token", callBody("1", tool, `{}`))
		h.want(a, 403, altar.AuthorizationFailed)
		if a.Error == nil || a.Error.Message != "tools are for agents with evidence" {
			t.Errorf("%s: %s", tool, a.body)
		}
	}
	if a := h.ask("GET", "/altar/v1/sessions/"+foreign+"/tools", "other-token", ""); a.status != 200 || strings.TrimSpace(string(a.body)) != `{"tools":[]}` {
		t.Errorf("tools of a client that is not admitted: %d %s", a.status, a.body)
	}
	running := h.callLater(context.Background(), h.session("me-token", `{}`), "1", "echo", `{}`)
	p.succeed(p.nextCall().InvocationID, `1`)
	if a := <-running; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestQuotas(t *testing.T) {
	h := newTestHost(t, func(o *toolhost.Options) { o.CallsPerMinute = 2; o.CallsPerClient = 1; o.SessionsPerClient = 1 })
	p := h.connect("rt", "echo", "nobody")
	session := h.session("me-token", `{}`)
	if a := h.ask("POST", "/altar/v1/sessions", "me-token", `{}`); a.status != 429 || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	h.session("other-token", `{}`)
	running := h.callLater(context.Background(), session, "a", "echo", `{}`)
	call := p.nextCall()
	h.want(h.call(session, "b", "nobody", `{}`), 429, altar.AuthorizationFailed)
	p.succeed(call.InvocationID, `1`)
	<-running
	second := h.callLater(context.Background(), session, "c", "echo", `{}`)
	p.succeed(p.nextCall().InvocationID, `1`)
	<-second
	h.want(h.call(session, "d", "echo", `{}`), 429, altar.AuthorizationFailed)
}

// TestRuntimesDieUnderLoad kills runtimes at random under 64 callers: every call ends in a result
// or in the right error.
func TestRuntimesDieUnderLoad(t *testing.T) {
	h := newTestHost(t, nil)
	h.addContracts(`[{"name": "work", "timeout_ms": 2000, "parameters": [{"name": "n", "type": "integer"}]}]`)
	length := 3 * time.Second
	if text := os.Getenv("ALTAR_KILL_TIME"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var work sync.WaitGroup
	var results, unavailable, wrong atomic.Int64
	session := h.session("me-token", `{}`)
	for _, id := range []string{"rt", "rt2", "rt-a", "rt2-a"} {
		work.Go(func() { h.dieAgainAndAgain(ctx, id, &results) })
	}
	for caller := range 64 {
		work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				begun := time.Now()
				a, err := h.try(context.Background(), "POST", callPath(session), "me-token", callBody(fmt.Sprintf("%d-%d", caller, i), "work", fmt.Sprintf(`{"n":%d}`, i)))
				switch {
				case err == nil && a.status == 200 && string(a.Payload) == fmt.Sprint(i):
					results.Add(1)
				case err == nil && (a.status == 503 && a.Error.Code == altar.RuntimeUnavailable || a.status == 404 || a.status == 504):
					unavailable.Add(1)
				default:
					wrong.Add(1)
					t.Errorf("call %d-%d: %d %s, %v", caller, i, a.status, a.body, err)
				}
				if took := time.Since(begun); took > testTime { // 2 s, and the machine may be busy
					t.Errorf("call %d-%d took %s", caller, i, took)
				}
			}
		})
	}
	time.Sleep(length)
	for end := time.Now().Add(testTime); results.Load() == 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond) // a busy machine
	}
	cancel()
	work.Wait()
	h.waitFor("no call running", func() bool { return h.host.Figures().Running == 0 })
	if results.Load() == 0 {
		t.Error("no call succeeded")
	}
	t.Logf("%d results, %d refused", results.Load(), unavailable.Load())
}

// dieAgainAndAgain runs a runtime that is cut off after a random time of at most 255 ms, and begins
// again. Until there is a result it lives longer each time: a busy machine may need seconds for one.
func (h *testHost) dieAgainAndAgain(ctx context.Context, id string, results *atomic.Int64) {
	for unit := time.Millisecond; ctx.Err() == nil; {
		if results.Load() > 0 {
			unit = time.Millisecond
		}
		var b [1]byte
		rand.Read(b[:])
		life, end := context.WithTimeout(ctx, time.Duration(b[0])*unit)
		unit = min(2*unit, 100*time.Millisecond)
		r := altarkit.Runtime{URL: "ws://" + h.addr + "/altar/v1/runtimes", Token: strings.SplitN(id, "-", 2)[0] + "-token", ID: id}
		r.Handle("work", func(_ context.Context, c *altarkit.Call) (any, error) {
			var in struct{ N int64 }
			return &in.N, c.Decode(&in)
		})
		r.Run(life) // a refusal because the old connection is still there is tried again
		end()
	}
}

// TestContractsOverMCP checks that MCP clients see and call the same contracts.
func TestContractsOverMCP(t *testing.T) {
	h := newTestHost(t, nil)
	r := altarkit.Runtime{URL: "ws://" + h.addr + "/altar/v1/runtimes", Token: "rt-token", ID: "rt"}
	r.Handle("echo", func(_ context.Context, c *altarkit.Call) (any, error) { return c.Parameters, nil })
	r.Handle("need", func(context.Context, *altarkit.Call) (any, error) { return "plain", nil })
	r.Handle("secret", func(context.Context, *altarkit.Call) (any, error) { return 1, nil })
	r.Handle("erase", func(context.Context, *altarkit.Call) (any, error) { return "erased", nil })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	h.waitFor("the tools", func() bool { list := h.host.Runtimes(); return len(list) == 1 && len(list[0].Tools) == 4 })
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: "http://" + h.addr + "/altar/v1/mcp", HTTPClient: &http.Client{Transport: bearer{"me-token", h.http.Transport}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if fmt.Sprint(names) != "[echo erase need]" {
		t.Errorf("%v", names)
	}
	call := func(name string, meta mcp.Meta, arguments map[string]any) (string, bool) {
		t.Helper()
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Meta: meta, Name: name, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return result.Content[0].(*mcp.TextContent).Text, result.IsError
	}
	if text, failed := call("echo", nil, map[string]any{"n": 7}); failed || text != `{"n":7}` {
		t.Errorf("%s, %v", text, failed)
	}
	if text, failed := call("need", nil, map[string]any{"text": "x"}); failed || text != "plain" {
		t.Errorf("%s, %v", text, failed)
	}
	if text, failed := call("need", nil, map[string]any{"text": 5}); !failed || !strings.Contains(text, "/text") {
		t.Errorf("%s, %v", text, failed)
	}
	refused, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "erase"})
	if err != nil || !refused.IsError {
		t.Fatalf("%+v, %v", refused, err)
	}
	token, _ := refused.Meta["altar/confirmation"].(string)
	if text := refused.Content[0].(*mcp.TextContent).Text; token == "" || !strings.Contains(text, `"altar/confirmation": "`+token+`"`) {
		t.Fatalf("%s, %v", text, refused.Meta)
	}
	if text, failed := call("erase", refused.Meta, nil); failed || text != "erased" {
		t.Errorf("%s, %v", text, failed)
	}
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "secret"}); err == nil {
		t.Error("a tool that the client may not see was called")
	}
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "ehco"}); err == nil || !strings.Contains(err.Error(), "did you mean echo?") {
		t.Errorf("a misspelled tool: %v", err)
	}
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"x","method":"tools/explode"}`: `200 "id":"x" "code":-32601`,
		`{"jsonrpc":"2.0","method":"notifications/unknown"}`:  `400 "id":null "code":-32601`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`:      `400 "id":null "code":-32600`,
		`{"jsonrpc":`: `400 "id":null "code":-32700`,
		`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 2<<20) + `"}`: `413 "id":null "code":-32600`,
	} {
		request, err := http.NewRequest("POST", "http://"+h.addr+"/altar/v1/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		response, err := bearer{"me-token", h.http.Transport}.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		for part := range strings.FieldsSeq(want) {
			if err != nil || !strings.Contains(fmt.Sprintf("%d %s", response.StatusCode, text), part) {
				t.Errorf("%.80s: %s %s, %v; want %s", body, response.Status, text, err, want)
			}
		}
	}
	if a := h.ask("POST", "/altar/v1/mcp", "", `{}`); a.status != 401 {
		t.Errorf("without identity: %d", a.status)
	}
}

// bearer adds a token to requests.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// TestSessionIDsOfRuntimesBelongToOneClient checks that clients that suggest the same session ids, or the
// ids that runtimes and the host gave to the sessions of others, never share one at a runtime, which
// recognizes a repeated call by the ids of its session and of the client. One client that suggests an id
// again has the same one there, also after a restart of the host.
func TestSessionIDsOfRuntimesBelongToOneClient(t *testing.T) {
	setup := hostSetup{dir: t.TempDir(), grace: time.Second}
	h := startHost(t, setup)
	p := h.connect("rt") // asked about each session alone
	runCall := func(client, body string) (session, atRuntime string) {
		t.Helper()
		session = h.session(client+"-token", body)
		asked := p.next("RequestFulfillment").(altar.RequestFulfillment).SessionID
		p.fulfill(asked, "echo")
		ended := make(chan answer, 1)
		go func() {
			a, err := h.try(t.Context(), "POST", callPath(session), client+"-token", callBody("i", "echo", `{}`))
			if err != nil {
				a.status = -1
			}
			ended <- a
		}()
		call := p.nextCall()
		p.succeed(call.InvocationID, `1`)
		if a := <-ended; a.status != 200 || call.SessionID != asked {
			t.Errorf("%s: %d %s, asked about the session %q and called in %q", body, a.status, a.body, asked, call.SessionID)
		}
		if a := h.ask("DELETE", "/altar/v1/sessions/"+session, client+"-token", ""); a.status != 200 {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
		return session, asked
	}
	chosen, _ := runCall("me", `{}`)
	suggested := []string{"mine", chosen}
	_, mine := runCall("me", `{"session_id":"mine"}`)
	suggested = append(suggested, mine)
	clientOf := map[string]string{chosen: "me", mine: "me"} // by the id that the runtime got
	idOf := map[string]string{"me mine": mine}              // by client and suggested id
	for range 2 {
		for _, client := range []string{"other", "me"} {
			for _, id := range suggested {
				session, atRuntime := runCall(client, `{"session_id":"`+id+`"}`)
				if known := clientOf[atRuntime]; session != id || known != "" && known != client {
					t.Errorf("%s suggests %q and has %q; for the runtime it is %q, as for %q", client, id, session, atRuntime, known)
				}
				if known := idOf[client+" "+id]; known != "" && known != atRuntime {
					t.Errorf("%s suggests %q again: %q, then %q", client, id, known, atRuntime)
				}
				clientOf[atRuntime], idOf[client+" "+id] = client, atRuntime
			}
		}
		p.ws.CloseNow()
		h.stop()
		h = startHost(t, setup)
		p = h.connect("rt")
	}
}
