package hosthttp_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// TestFulfillmentIsReplaced checks that FulfillTools replaces what the runtime said before, for all
// sessions or for one, and that it needs no request.
func TestFulfillmentIsReplaced(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo", "need")
	one, two := h.session("me-token", `{}`), h.session("me-token", `{}`)
	check := func(when string, inOne, inTwo []string) {
		t.Helper()
		p.barrier()
		if a, b := h.toolNames(one, "me-token"), h.toolNames(two, "me-token"); !slices.Equal(a, inOne) || !slices.Equal(b, inTwo) {
			t.Errorf("%s: %v and %v, want %v and %v", when, a, b, inOne, inTwo)
		}
	}
	check("at first", []string{"echo", "need"}, []string{"echo", "need"})
	p.fulfill("", "need", "quick")
	check("for all", []string{"need", "quick"}, []string{"need", "quick"})
	h.want(h.call(one, "i", "echo", `{}`), 404, altar.ToolNotFound)
	p.fulfill(one, "echo")
	check("for one session", []string{"echo"}, []string{"need", "quick"})
	p.sendText(`{"type":"FulfillTools","session_id":"` + one + `","tool_names":[]}`)
	check("nothing for one session", nil, []string{"need", "quick"})
}

// TestRequestsForSessions checks that a runtime is asked about each session, older and newer, until it
// says what it executes in all of them; and that no session waits for its answer.
func TestRequestsForSessions(t *testing.T) {
	h := newTestHost(t, nil)
	older := h.session("me-token", `{}`)
	p := h.connect("rt") // has read the request for all sessions
	ask := func() string {
		t.Helper()
		return p.next("RequestFulfillment").(altar.RequestFulfillment).SessionID
	}
	if id := ask(); id != older {
		t.Errorf("asked about %q, want %q", id, older)
	}
	newer := h.session("me-token", `{}`)
	if id := ask(); id != newer {
		t.Errorf("asked about %q, want %q", id, newer)
	}
	// At most 64 sessions wait for an answer; each answer makes room for a request.
	for range 100 {
		h.session("me-token", `{}`)
	}
	seen := map[string]bool{}
	for range 62 {
		seen[ask()] = true
	}
	p.barrierWithout("RequestFulfillment")
	p.fulfill(older, "echo")
	if id := ask(); len(seen) != 62 || seen[id] {
		t.Errorf("%d sessions, then %q", len(seen), id)
	}
	p.fulfill("", "need")
	h.session("me-token", `{}`)
	p.barrierWithout("RequestFulfillment")
}

// TestRequestsAfterSessionsEnd checks that sessions which end unanswered do not keep a runtime from being
// asked about later ones.
func TestRequestsAfterSessionsEnd(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt") // has read the request for all sessions
	ask := func() string {
		t.Helper()
		return p.next("RequestFulfillment").(altar.RequestFulfillment).SessionID
	}
	var open []string
	for range 65 {
		open = append(open, h.session("me-token", `{}`))
	}
	for _, id := range open[:64] {
		if got := ask(); got != id {
			t.Errorf("asked about %q, want %q", got, id)
		}
	}
	h.ask("DELETE", "/altar/v1/sessions/"+open[0], "me-token", "")
	if got := ask(); got != open[64] {
		t.Errorf("asked about %q, want the session that waited, %q", got, open[64])
	}
	for _, id := range open[1:] {
		h.ask("DELETE", "/altar/v1/sessions/"+id, "me-token", "")
	}
	last := h.session("me-token", `{}`)
	if got := ask(); got != last {
		t.Errorf("asked about %q, want %q", got, last)
	}
	p.fulfill(last, "echo")
	p.barrier()
	running := h.callLater(context.Background(), last, "i", "echo", `{}`)
	p.succeed(p.nextCall().InvocationID, `1`)
	if a := <-running; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestContractsChangeInSessions checks that a runtime is asked again about each session that it has
// answered for alone when the contracts change: what it says for all sessions does not count there.
func TestContractsChangeInSessions(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	other, open := h.session("me-token", `{}`), map[string]bool{"": true}
	for range 66 { // more than are asked about at once
		id := h.session("me-token", `{}`)
		p.fulfill(id, "echo")
		open[id] = true
	}
	p.barrier()
	h.addContracts(`[{"name": "fresh"}]`)
	var last string
	for len(open) > 0 {
		last = p.read().(altar.RequestFulfillment).SessionID
		if !open[last] {
			t.Errorf("asked about %q", last)
		}
		delete(open, last)
		p.fulfill(last, "echo", "fresh")
	}
	p.barrierWithout("RequestFulfillment")
	for _, session := range []string{other, last} {
		running := h.callLater(context.Background(), session, "i", "fresh", `{}`)
		p.succeed(p.nextCall().InvocationID, `1`)
		if a := <-running; a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

// TestRuntimeThatComesBack checks that what a runtime said on an earlier connection counts for nothing
// when it has connected again.
func TestRuntimeThatComesBack(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo", "quick")
	session := h.session("me-token", `{}`)
	p.fulfill(session, "echo")
	p.barrier()
	p.ws.CloseNow()
	h.waitFor("the end of the runtime", func() bool { return h.host.Figures().Runtimes == 0 })
	h.want(h.call(session, "1", "echo", `{}`), 503, altar.RuntimeUnavailable)
	p = h.connect("rt", "echo", "need")
	for i, test := range [][2]string{{"echo", `{}`}, {"rt/echo", `{}`}, {"need", `{"text":"x"}`}} {
		running := h.callLater(context.Background(), session, fmt.Sprint("again", i), test[0], test[1])
		select {
		case a := <-running:
			t.Fatalf("%s: %d %s", test[0], a.status, a.body)
		case call := <-p.callLater():
			p.succeed(call.InvocationID, `1`)
		}
		if a := <-running; a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	h.want(h.call(session, "2", "quick", `{}`), 404, altar.ToolNotFound)
}

// callLater returns the next call, read in a goroutine.
func (p *peer) callLater() <-chan altar.ToolCall {
	out := make(chan altar.ToolCall, 1)
	go func() {
		for {
			m, err := p.tryRead()
			if err != nil {
				return
			}
			if call, ok := m.(altar.ToolCall); ok {
				out <- call
				return
			}
		}
	}()
	return out
}

// TestRuntimeThatReportsAnError checks that a ProtocolError in reply to a call ends it: its client does
// not wait for the timeout.
func TestRuntimeThatReportsAnError(t *testing.T) {
	h := newTestHost(t, func(o *toolhost.Options) { o.CallTimeout = 4 * testTime })
	p := h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	for i, test := range []struct {
		members string
		status  int
		code    altar.Code
	}{
		{`"error":{"code":"INVALID_PARAMETERS","message":"no"},`, 422, altar.InvalidParameters},
		{`"error":{"code":"SESSION_INVALID","message":"no"},`, 502, altar.ExecutionFailed}, {``, 500, altar.InternalError},
	} {
		running := h.callLater(context.Background(), session, fmt.Sprint(i), "echo", `{}`)
		id := p.nextCall().InvocationID
		p.sendText(`{"type":"ProtocolError","error":{"code":"INTERNAL_ERROR","message":"x"},"in_reply_to":"` + fmt.Sprint(i) + `"}`) // the client's id is not its own
		p.sendText(`{"type":"ProtocolError",` + test.members + `"in_reply_to":"` + id + `"}`)
		h.want(<-running, test.status, test.code)
		p.barrierWithout("ProtocolError")
	}
}

// TestRuntimeThatReadsNothing checks that the frames that wait for a runtime are bounded: calls that do
// not fit are refused at once, and others still reach the runtimes that read.
func TestRuntimeThatReadsNothing(t *testing.T) {
	h := newTimedHost(t, func(o *toolhost.Options) { o.CallTimeout = 5 * testTime }, 10*testTime)
	conn, _ := h.raw()                                                  // reads nothing more
	if err := conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil { // or the system takes tens of MiB
		t.Fatal(err)
	}
	conn.Write(frame(0x81, []byte(`{"type":"FulfillTools","tool_names":["echo"]}`)))
	h.waitFor("the tool", func() bool { list := h.host.Runtimes(); return len(list) == 1 && len(list[0].Tools) == 1 })
	good := h.connect("rt", "need")
	session := h.session("me-token", `{}`)
	text := `{"text":"` + strings.Repeat("x", 900<<10) + `"}`
	var calls []<-chan answer
	for i := range 60 { // 53 MiB; 16 may wait, and the system takes some
		calls = append(calls, h.callLater(context.Background(), session, fmt.Sprint(i), "echo", text))
	}
	refused := make(chan answer, len(calls))
	for _, call := range calls {
		go func() { refused <- <-call }()
	}
	h.want(<-refused, 503, altar.RuntimeUnavailable)
	fine := h.callLater(context.Background(), session, "fine", "need", `{"text":"x"}`)
	good.succeed(good.nextCall().InvocationID, `1`)
	if a := <-fine; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	conn.Close()
	for range len(calls) - 1 {
		h.want(<-refused, 503, altar.RuntimeUnavailable)
	}
}

// TestDrainWaitsForCalls checks that calls and streams that run when the host stops have their grace:
// the host ends as soon as the last of them has ended.
func TestDrainWaitsForCalls(t *testing.T) {
	h := startHost(t, hostSetup{dir: t.TempDir(), grace: 10 * testTime})
	p := h.connect("rt", "echo", "count")
	session := h.session("me-token", `{}`)
	running := h.callLater(context.Background(), session, "i", "echo", `{}`)
	call := p.nextCall()
	started := make(chan altar.ToolCall, 1)
	go func() {
		stream := p.nextCall()
		p.chunk(stream.InvocationID, 0, `0`, false)
		started <- stream
	}()
	_, next := h.stream(context.Background(), session, "s", "count")
	if e, err := next(); err != nil || e.id != 0 {
		t.Fatalf("%+v, %v", e, err)
	}
	stream := <-started
	ended := make(chan struct{})
	begun := time.Now()
	go func() { h.stop(); close(ended) }()
	h.waitFor("the stop", func() bool { // a session is refused as soon as the host drains
		created, refused := h.host.CreateSession("other", altar.CreateSession{})
		if refused == nil {
			h.host.DestroySession("other", created.SessionID)
		}
		return refused != nil && refused.Code == altar.RuntimeUnavailable
	})
	p.chunk(stream.InvocationID, 1, `1`, true)
	if e, err := next(); err != nil || e.id != 1 || e.Error != nil || !e.IsFinal {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := next(); err != io.EOF {
		t.Errorf("behind the last: %+v, %v", e, err)
	}
	p.succeed(call.InvocationID, `1`)
	if a := <-running; a.status != 200 || string(a.Payload) != `1` {
		t.Errorf("%d %s", a.status, a.body)
	}
	p.wantClosed(websocket.StatusGoingAway)
	<-ended
	if took := time.Since(begun); took > 5*testTime {
		t.Errorf("the stop took %s", took)
	}
}

// TestSessionsOverMCP checks that the calls of an MCP client run in one session of its own.
func TestSessionsOverMCP(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	sessions := map[string][]string{}
	for _, client := range []string{"me", "other", "me"} {
		answered := make(chan answer, 1)
		go func() {
			a, err := h.try(context.Background(), "POST", "/altar/v1/mcp", client+"-token", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":1}}}`,
				"Content-Type", "application/json", "Accept", "application/json, text/event-stream")
			if err != nil {
				a.status = -1
			}
			answered <- a
		}()
		call := p.nextCall()
		p.succeed(call.InvocationID, `"done"`)
		if a := <-answered; a.status != 200 || !strings.Contains(string(a.body), `"text":"done"`) {
			t.Errorf("%s: %d %s", client, a.status, a.body)
		}
		sessions[client] = append(sessions[client], call.SessionID)
	}
	if mine := sessions["me"]; mine[0] == "" || mine[0] != mine[1] || mine[0] == sessions["other"][0] {
		t.Errorf("%v", sessions)
	}
}
