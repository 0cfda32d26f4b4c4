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
