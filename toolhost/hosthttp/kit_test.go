package hosthttp_test

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"gazetteer/altarkit"
	"gazetteer/protocol/altar"
)

// newKit returns a runtime that is written with the kit.
func (h *testHost) newKit(id string) *altarkit.Runtime {
	return &altarkit.Runtime{URL: "ws://" + h.addr + "/altar/v1/runtimes", Token: strings.SplitN(id, "-", 2)[0] + "-token", ID: id}
}

// run runs a runtime until the end of the test, and waits until the host knows its tools.
func (h *testHost) run(r *altarkit.Runtime, tools int) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Error(err)
		}
	})
	h.waitFor("the tools", func() bool { list := h.host.Runtimes(); return len(list) == 1 && len(list[0].Tools) == tools })
}

// TestKitOutcomes checks what callers get of each way in which a tool can end, and that none of them
// costs the runtime its connection.
func TestKitOutcomes(t *testing.T) {
	h := newTestHost(t, nil)
	h.addContracts(`[{"name": "flow", "streaming": true, "parameters": [{"name": "text", "type": "string"}]}]`)
	r := h.newKit("rt")
	large := strings.Repeat("x", 2<<20)
	end := func(how string) (any, error) {
		switch how {
		case "fails":
			return nil, errors.New("no luck")
		case "fails with a long message":
			return nil, errors.New(large)
		case "has a code":
			return nil, altar.Errorf(altar.RuntimeUnavailable, "later").With("retry", true)
		case "panics":
			panic("oh")
		case "returns too much":
			return large, nil
		case "returns no data":
			return make(chan int), nil
		}
		return how, nil
	}
	text := func(c *altarkit.Call) string {
		if !strings.HasPrefix(c.ClientInvocationID, c.ToolName) {
			t.Errorf("a call of %s has the client's id %q", c.ToolName, c.ClientInvocationID)
		}
		var in struct{ Text string }
		if err := c.Decode(&in); err != nil {
			t.Error(err)
		}
		return in.Text
	}
	r.Handle("need", func(_ context.Context, c *altarkit.Call) (any, error) { return end(text(c)) })
	r.HandleStream("flow", func(_ context.Context, c *altarkit.Call, send func(any) error) error {
		if err := send(1); err != nil {
			return err
		}
		payload, err := end(text(c))
		if err != nil {
			return err
		}
		return send(payload)
	})
	h.run(r, 2)
	connected := h.host.Runtimes()[0].Connected
	session := h.session("me-token", `{}`)
	for i, test := range []struct {
		how     string
		status  int
		code    altar.Code
		message string
	}{
		{"works", 200, "", ""},
		{"fails", 502, altar.ExecutionFailed, "no luck"},
		{"fails with a long message", 502, altar.ExecutionFailed, "xxx"},
		{"has a code", 503, altar.RuntimeUnavailable, "later"},
		{"panics", 502, altar.ExecutionFailed, "the tool panicked: oh"},
		{"returns too much", 502, altar.ExecutionFailed, "2097154 bytes"},
		{"returns no data", 502, altar.ExecutionFailed, "chan int"},
	} {
		for tool, payload := range map[string]string{"need": `"works"`, "flow": `[1,"works"]`} {
			a := h.call(session, fmt.Sprint(tool, i), tool, `{"text":"`+test.how+`"}`)
			h.want(a, test.status, test.code)
			if test.code == "" && string(a.Payload) != payload || test.code != "" && (a.Error == nil || !strings.Contains(a.Error.Message, test.message) || len(a.Error.Message) > 3000) {
				t.Errorf("%s %s: %.300s", tool, test.how, a.body)
			}
			if test.how == "has a code" && (a.Error == nil || a.Error.Details["retry"] != true) {
				t.Errorf("%s: %s", tool, a.body)
			}
		}
	}
	if list := h.host.Runtimes(); len(list) != 1 || !list[0].Connected.Equal(connected) {
		t.Errorf("the connection was lost: %+v", list)
	}
}

// TestKitStopsTools checks that the context of a tool ends at the deadline of its call, and when no
// client waits for it any more.
func TestKitStopsTools(t *testing.T) {
	h := newTestHost(t, nil)
	h.addContracts(`[{"name": "short", "timeout_ms": 2000}]`)
	r := h.newKit("rt")
	begun, stopped := make(chan string), make(chan string)
	wait := func(ctx context.Context, c *altarkit.Call) (any, error) {
		begun <- c.ToolName
		<-ctx.Done()
		stopped <- c.ToolName
		return nil, ctx.Err()
	}
	r.Handle("short", wait)
	r.Handle("echo", wait)
	h.run(r, 2)
	session := h.session("me-token", `{}`)
	timed := h.callLater(context.Background(), session, "1", "short", `{}`)
	<-begun
	if name := <-stopped; name != "short" {
		t.Errorf("%s was stopped", name)
	}
	h.want(<-timed, 504, altar.ExecutionTimeout)
	ctx, leave := context.WithCancel(context.Background())
	left := h.callLater(ctx, session, "2", "echo", `{}`)
	<-begun
	leave()
	if name := <-stopped; name != "echo" {
		t.Errorf("%s was stopped", name)
	}
	<-left
}

// newDraftHost returns the address of a Host that knows only the draft, and the runtimes that connect to
// it, which a test answers frame by frame.
func newDraftHost(t *testing.T) (address string, runtimes <-chan *peer) {
	connected, ended := make(chan *peer), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.CloseNow()
		select {
		case connected <- &peer{t: t, ws: ws}:
			<-ended
		case <-ended:
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	return "ws" + strings.TrimPrefix(server.URL, "http"), connected
}

// testDraftFlows checks the flows of section 6 with a runtime that has the tools add and count: the Host
// asks for one session, and the names of tools have the runtime's id before them.
func testDraftFlows(t *testing.T, p *peer) {
	t.Helper()
	if m := p.next("AnnounceRuntime").(altar.AnnounceRuntime); m.RuntimeID != "rt" || !slices.Contains(m.Capabilities, altar.Streaming) {
		t.Errorf("%+v", m)
	}
	p.send(altar.AcknowledgeRuntime{HostID: "another", ProtocolVersion: "1.0.0"})
	wantTools := func(session string) {
		t.Helper()
		m := p.next("FulfillTools").(altar.FulfillTools)
		if slices.Sort(m.ToolNames); m.SessionID != session || !slices.Equal(m.ToolNames, []string{"rt/add", "rt/count"}) {
			t.Errorf("%+v", m)
		}
	}
	p.send(altar.RequestFulfillment{SessionID: "s"})
	wantTools("s")
	call := func(tool, parameters string) {
		p.send(altar.ToolCall{InvocationID: "i", SessionID: "s", ToolName: tool, Parameters: json.RawMessage(parameters)})
	}
	for _, tool := range []string{"add", "rt/add"} {
		call(tool, `{"a":40,"b":2}`)
		if m := p.next("ToolResult").(altar.ToolResult); m.InvocationID != "i" || m.Status != altar.Success || string(m.Payload) != `{"sum":42}` {
			t.Errorf("%s: %s", tool, altar.Encode(m))
		}
	}
	for _, tool := range []string{"rt2/add", "rt/rt/add", "rt/toString", "none"} {
		call(tool, `{}`)
		if m := p.next("ToolResult").(altar.ToolResult); m.Status != altar.Failure || m.Error == nil || m.Error.Code != altar.ToolNotFound {
			t.Errorf("%s: %s", tool, altar.Encode(m))
		}
	}
	call("rt/count", `{"to":2}`)
	for i, payload := range []string{"1", "2", ""} {
		if m := p.next("StreamChunk").(altar.StreamChunk); m.ChunkID != int64(i) || string(m.Payload) != payload || m.IsFinal != (i == 2) {
			t.Errorf("chunk %d: %s", i, altar.Encode(m))
		}
	}
	call("rt/count", `{"to":{"toString":1}}`) // the tool fails
	if m := p.next("StreamChunk").(altar.StreamChunk); m.ChunkID != 0 || !m.IsFinal || m.Error == nil || m.Error.Code != altar.ExecutionFailed {
		t.Errorf("a stream that fails: %s", altar.Encode(m))
	}
	p.send(altar.RequestFulfillment{})
	wantTools("")
	p.send(altar.RequestFulfillment{SessionID: "t"}) // covered by the list for every session
	call("add", `{"a":1,"b":2}`)
	p.next("ToolResult")
}

// TestKitUnderAnotherHost checks that a runtime written with the kit serves a Host that knows only the
// draft.
func TestKitUnderAnotherHost(t *testing.T) {
	address, runtimes := newDraftHost(t)
	r := altarkit.Runtime{URL: address, ID: "rt"}
	r.Handle("add", func(_ context.Context, c *altarkit.Call) (any, error) {
		var in struct{ A, B int64 }
		err := c.Decode(&in)
		return map[string]int64{"sum": in.A + in.B}, err
	})
	r.HandleStream("count", func(_ context.Context, c *altarkit.Call, send func(any) error) error {
		var in struct{ To int64 }
		if err := c.Decode(&in); err != nil {
			return err
		}
		for i := range in.To {
			if err := send(i + 1); err != nil {
				return err
			}
		}
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	testDraftFlows(t, <-runtimes)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestKitIsStrictAboutTheHandshake checks that the kit announces every member that the draft has, and ends
// under a Host of another major version.
func TestKitIsStrictAboutTheHandshake(t *testing.T) {
	for version, refused := range map[string]bool{"2.0.0": true, "0.9.0": true, "": true, "1.4.0": false} {
		address, runtimes := newDraftHost(t)
		r := altarkit.Runtime{URL: address, ID: "rt"}
		r.Handle("add", func(context.Context, *altarkit.Call) (any, error) { return 1, nil })
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		p := <-runtimes
		_, text, err := p.ws.Read(ctx)
		if want := `{"type":"AnnounceRuntime","runtime_id":"rt","language":"go","protocol_version":"1.0.0","capabilities":[]}`; err != nil || string(text) != want {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
		p.send(altar.AcknowledgeRuntime{HostID: "h", ProtocolVersion: version})
		if !refused {
			p.send(altar.RequestFulfillment{SessionID: "s"})
			p.next("FulfillTools")
			cancel()
		}
		select {
		case err = <-ended:
		case <-time.After(testTime):
			t.Errorf("version %q: it goes on", version)
			cancel()
			err = <-ended
		}
		cancel()
		if _, ok := errors.AsType[*altarkit.RefusedError](err); ok != refused {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

// keptConn is a connection that stays open for the Host when the runtime closes it.
type keptConn struct{ net.Conn }

// Close implements net.Conn.
func (c keptConn) Close() error { return c.SetDeadline(time.Unix(1, 0)) }

// TestKitConnectsAgain checks that a runtime comes back after the loss of its connection, also when the
// Host does not know yet that it is lost.
func TestKitConnectsAgain(t *testing.T) {
	for name, halfOpen := range map[string]bool{"closed": false, "half-open": true} {
		t.Run(name, func(t *testing.T) {
			h := newTimedHost(t, nil, time.Second)
			conns := make(chan net.Conn, 100)
			dialer := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				t.Cleanup(func() { conn.Close() })
				if halfOpen {
					conn = keptConn{conn}
				}
				conns <- conn
				return conn, nil
			}}
			r := h.newKit("rt")
			r.HTTP = &http.Client{Transport: dialer}
			r.Handle("echo", func(_ context.Context, c *altarkit.Call) (any, error) { return c.Parameters, nil })
			h.run(r, 1)
			session, calls := h.session("me-token", `{}`), 0
			(<-conns).Close()
			<-conns
			h.waitFor("a call over another connection", func() bool {
				calls++
				a := h.call(session, fmt.Sprint(calls), "echo", `{"n":1}`)
				if a.status != 200 && a.status != 503 { // 503: the lost connection
					t.Errorf("%d %s", a.status, a.body)
				}
				return a.status == 200
			})
		})
	}
}

// TestKitIsRefused checks that a runtime that the Host does not take ends with an error.
func TestKitIsRefused(t *testing.T) {
	h := newTestHost(t, nil)
	h.connect("rt2")
	stranger := h.newKit("rt")
	stranger.Token = "wrong"
	for name, r := range map[string]*altarkit.Runtime{"known bearer token": stranger, "may not announce": {URL: stranger.URL, Token: "rt-token", ID: "rt2"}, "connected already": h.newKit("rt2")} {
		err := r.Run(context.Background())
		if _, ok := errors.AsType[*altarkit.RefusedError](err); !ok || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKitNoticesSilentHost checks that a runtime connects again when its Host answers nothing any more,
// although the connection is open.
func TestKitNoticesSilentHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int64
		dialer := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				in := bufio.NewReader(theirs)
				request, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				key := sha1.Sum([]byte(request.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
				fmt.Fprintf(theirs, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(key[:]))
				io.Copy(io.Discard, in)
			}()
			return ours, nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		r := &altarkit.Runtime{URL: "ws://host.test/altar/v1/runtimes", ID: "rt", HTTP: &http.Client{Transport: dialer}}
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(39 * time.Second) // the clock of the test
		synctest.Wait()
		if n := dials.Load(); n != 1 {
			t.Errorf("connected %d times while the ping may still be answered", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := dials.Load(); n != 2 {
			t.Errorf("connected %d times, want a second time", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
