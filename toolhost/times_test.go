package toolhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/protocol/altar"
	"gazetteer/store/boltstore"
)

// frameLog is a connection that collects what the host sends to a runtime.
type frameLog struct {
	frames []string
	closed []CloseKind
}

func (l *frameLog) Send(frame []byte, _ bool) bool {
	l.frames = append(l.frames, string(frame))
	return true
}

func (l *frameLog) Close(kind CloseKind, _ string) { l.closed = append(l.closed, kind) }

// lastCall returns the id of the last call that was sent.
func (l *frameLog) lastCall(t *testing.T) string {
	t.Helper()
	for i := len(l.frames) - 1; i >= 0; i-- {
		if m, err := altar.ReadMessage([]byte(l.frames[i]), false); err == nil {
			if c, ok := m.(altar.ToolCall); ok {
				return c.InvocationID
			}
		}
	}
	t.Fatal("no call was sent")
	return ""
}

// openHost returns a host that runs until the end of the test, with contracts.
func openHost(t *testing.T, contracts string) *Host {
	t.Helper()
	ctx := context.Background()
	db, err := boltstore.Open(ctx, t.TempDir(), boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	h, err := Open(ctx, Options{Store: db, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.Run(running, 0) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, h.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	list, err := ReadContracts([]byte(contracts))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.AddContracts(ctx, list); err != nil {
		t.Fatal(err)
	}
	return h
}

// connectRuntime connects a runtime that executes tools, a JSON list of names.
func connectRuntime(t *testing.T, h *Host, id string, conn Conn, tools string) *Runtime {
	r := h.Attach(Identity{ID: id, Kind: RuntimeIdentity}, conn)
	t.Cleanup(r.Detach)
	r.Receive([]byte(`{"type": "AnnounceRuntime", "runtime_id": "` + id + `", "language": "go", "protocol_version": "1.0", "capabilities": []}`))
	r.Receive([]byte(`{"type": "FulfillTools", "tool_names": ` + tools + `}`))
	return r
}

// TestIdleRuntimesTakeTurns checks that runtimes of the same load get calls in turn.
func TestIdleRuntimesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHost(t, `[{"name": "one", "effect": "informational"}]`)
		var conns [3]*frameLog
		var runtimes [3]*Runtime
		for i := range conns {
			conns[i] = &frameLog{}
			runtimes[i] = connectRuntime(t, h, fmt.Sprint("rt", i), conns[i], `["one"]`)
		}
		session, refused := h.CreateSession("me", altar.CreateSession{})
		if refused != nil {
			t.Fatal(refused)
		}
		var counts [3]int
		for call := range 30 {
			var before [3]int
			for i := range conns {
				before[i] = len(conns[i].frames)
			}
			c, refused := h.Call(t.Context(), "me", session.SessionID, altar.ToolCall{InvocationID: fmt.Sprint(call), ToolName: "one"}, false)
			if refused != nil {
				t.Fatal(refused)
			}
			for i := range conns {
				if len(conns[i].frames) > before[i] {
					counts[i]++
					runtimes[i].Receive([]byte(`{"type":"ToolResult","invocation_id":"` + conns[i].lastCall(t) + `","status":"success","payload":1}`))
				}
			}
			if _, err := c.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.Leave()
		}
		if counts != [3]int{10, 10, 10} {
			t.Errorf("%v", counts)
		}
	})
}

// TestCallWaitsForAnswers checks that a call that comes right after a contract was added, or right after
// a runtime has connected, waits until the runtime has said what it executes, and that a runtime that
// does not answer delays calls for a second after the question only.
func TestCallWaitsForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHost(t, `[{"name": "one", "effect": "informational"}]`)
		session, refused := h.CreateSession("me", altar.CreateSession{})
		if refused != nil {
			t.Fatal(refused)
		}
		// call calls a tool and returns how long it took until the call was sent or refused.
		count := 0
		call := func(tool string) (time.Duration, *altar.Error) {
			count++
			begun := time.Now()
			c, refused := h.Call(t.Context(), "me", session.SessionID, altar.ToolCall{InvocationID: fmt.Sprint(count), ToolName: tool}, false)
			if c != nil {
				c.Leave()
			}
			return time.Since(begun), refused
		}
		if took, refused := call("one"); took != 0 || refused == nil || refused.Code != altar.ToolNotFound {
			t.Errorf("without a runtime: %v after %v", refused, took)
		}

		r := h.Attach(Identity{ID: "rt", Kind: RuntimeIdentity}, &frameLog{})
		defer r.Detach()
		r.Receive([]byte(`{"type": "AnnounceRuntime", "runtime_id": "rt", "language": "go", "protocol_version": "1.0", "capabilities": []}`))
		answer := func(tools string) {
			time.Sleep(300 * time.Millisecond)
			r.Receive([]byte(`{"type": "FulfillTools", "tool_names": ` + tools + `}`))
		}
		go answer(`["one"]`)
		if took, refused := call("one"); refused != nil || took != 300*time.Millisecond {
			t.Errorf("right after a runtime has connected: %v after %v", refused, took)
		}

		list, err := ReadContracts([]byte(`[{"name": "two", "effect": "informational"}]`))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.AddContracts(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		go answer(`["one", "two"]`)
		if took, refused := call("two"); refused != nil || took != 300*time.Millisecond {
			t.Errorf("right after a contract was added: %v after %v", refused, took)
		}

		if list, err = ReadContracts([]byte(`[{"name": "three", "effect": "informational"}]`)); err != nil {
			t.Fatal(err)
		}
		if err := h.AddContracts(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, want := range []time.Duration{time.Second, 0} {
			if took, refused := call("three"); took != want || refused == nil || refused.Code != altar.ToolNotFound {
				t.Errorf("a runtime that does not answer: %v after %v, want %v", refused, took, want)
			}
		}

		if err := h.AddContracts(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(300 * time.Millisecond)
			if refused := h.DestroySession("me", session.SessionID); refused != nil {
				t.Error(refused)
			}
		}()
		if took, refused := call("three"); took != 300*time.Millisecond || refused == nil || refused.Code != altar.SessionInvalid {
			t.Errorf("in a session that ends: %v after %v", refused, took)
		}
	})
}

// TestListOfToolsWaitsForAnswers checks that a list of tools contains those of a runtime that answers for
// each session, although the session is new.
func TestListOfToolsWaitsForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHost(t, `[{"name": "one", "effect": "informational"}]`)
		conn := &frameLog{}
		r := h.Attach(Identity{ID: "rt", Kind: RuntimeIdentity}, conn)
		defer r.Detach()
		r.Receive([]byte(`{"type": "AnnounceRuntime", "runtime_id": "rt", "language": "go", "protocol_version": "1.0", "capabilities": []}`))
		time.Sleep(time.Minute)
		for _, answers := range []bool{true, false} {
			session, refused := h.CreateSession("me", altar.CreateSession{})
			if refused != nil {
				t.Fatal(refused)
			}
			begun, want, count := time.Now(), time.Second, 0
			if answers {
				want, count = 300*time.Millisecond, 1
				go func() {
					time.Sleep(want)
					r.Receive([]byte(`{"type": "FulfillTools", "session_id": "` + session.SessionID + `", "tool_names": ["rt/one"]}`))
				}()
			}
			tools, refused := h.Tools(t.Context(), "me", session.SessionID)
			if took := time.Since(begun); refused != nil || len(tools) != count || took != want {
				t.Errorf("%v, %v after %v; want %d tools after %v", tools, refused, took, count, want)
			}
			begun = time.Now()
			if tools, refused = h.Tools(t.Context(), "me", session.SessionID); refused != nil || len(tools) != count || time.Since(begun) != 0 {
				t.Errorf("a second time: %v, %v after %v", tools, refused, time.Since(begun))
			}
		}
	})
}

// TestCallWaitsForAnotherRuntime checks that a call whose runtime is gone waits for one that has just
// connected, as a pod that replaces another has.
func TestCallWaitsForAnotherRuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHost(t, `[{"name": "one", "effect": "informational"}]`)
		session, refused := h.CreateSession("me", altar.CreateSession{})
		if refused != nil {
			t.Fatal(refused)
		}
		r := connectRuntime(t, h, "rt-1", &frameLog{}, `["one"]`)
		r.Detach()
		call := func(id string) *Caller {
			c, refused := h.Call(t.Context(), "me", session.SessionID, altar.ToolCall{InvocationID: id, ToolName: "one"}, false)
			if refused != nil {
				t.Fatal(refused)
			}
			t.Cleanup(c.Leave)
			return c
		}
		begun := time.Now()
		if result, err := call("gone").Wait(t.Context()); err != nil || result.Error == nil || result.Error.Code != altar.RuntimeUnavailable || time.Since(begun) != 0 {
			t.Errorf("without a runtime: %+v, %v", result, err)
		}
		next := h.Attach(Identity{ID: "rt-2", Kind: RuntimeIdentity}, &frameLog{})
		defer next.Detach()
		next.Receive([]byte(`{"type": "AnnounceRuntime", "runtime_id": "rt-2", "language": "go", "protocol_version": "1.0", "capabilities": []}`))
		go func() {
			time.Sleep(300 * time.Millisecond)
			next.Receive([]byte(`{"type": "FulfillTools", "tool_names": ["one"]}`))
		}()
		call("waits")
		if running, _ := next.countCalls(); running != 1 {
			t.Errorf("%d calls run at the runtime", running)
		}
	})
}

// TestTimesOfCalls checks the times of the draft with a clock that the test sets: a result is
// replayed for five minutes, a confirmation holds for 60 s, and a session ends after its ttl.
func TestTimesOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		h := openHost(t, `[{"name": "one", "effect": "informational"}, {"name": "erase", "effect": "irreversible"}]`)
		conn := &frameLog{}
		r := connectRuntime(t, h, "rt", conn, `["one", "erase"]`)
		created, refused := h.CreateSession("me", altar.CreateSession{})
		if refused != nil {
			t.Fatal(refused)
		}

		// call calls a tool, and lets the runtime answer it if it gets it.
		call := func(id, tool, confirmation string) (altar.ToolResult, bool) {
			t.Helper()
			before := len(conn.frames)
			c, refused := h.Call(ctx, "me", created.SessionID, altar.ToolCall{InvocationID: id, ToolName: tool, Parameters: json.RawMessage(`{}`), Confirmation: confirmation}, false)
			if refused != nil {
				return altar.ToolResult{Error: refused}, false
			}
			defer c.Leave()
			sent := len(conn.frames) > before
			if sent {
				r.Receive([]byte(`{"type":"ToolResult","invocation_id":"` + conn.lastCall(t) + `","status":"success","payload":1}`))
			}
			result, err := c.Wait(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return result, sent
		}
		if result, sent := call("i", "one", ""); result.Error != nil || !sent {
			t.Fatalf("%+v, sent %v", result, sent)
		}
		time.Sleep(5*time.Minute - time.Second)
		if result, sent := call("i", "one", ""); result.Error != nil || string(result.Payload) != "1" || sent {
			t.Errorf("before five minutes: %+v, sent %v", result, sent)
		}
		if result, _ := call("i", "erase", ""); result.Error == nil || result.Error.Code != altar.InvalidParameters {
			t.Errorf("another call of the same id before five minutes: %+v", result)
		}
		time.Sleep(2 * time.Second)
		if result, sent := call("i", "one", ""); result.Error != nil || !sent {
			t.Errorf("after five minutes: %+v, sent %v", result, sent)
		}

		for _, each := range []struct {
			id   string
			wait time.Duration
			sent bool
		}{{"soon", 59 * time.Second, true}, {"late", 61 * time.Second, false}} {
			result, _ := call(each.id, "erase", "")
			if result.Error == nil || result.Error.Code != altar.AuthorizationFailed {
				t.Fatalf("without a confirmation: %+v", result)
			}
			token, _ := result.Error.Details["confirmation"].(string)
			time.Sleep(each.wait)
			if result, sent := call(each.id, "erase", token); sent != each.sent || (result.Error == nil) != each.sent {
				t.Errorf("confirmed after %s: %+v, sent %v", each.wait, result, sent)
			}
		}

		time.Sleep(time.Until(created.ExpiresAt) - time.Second)
		if result, _ := call("j", "one", ""); result.Error != nil {
			t.Errorf("before the session expires: %+v", result)
		}
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		if result, _ := call("j", "one", ""); result.Error == nil || result.Error.Code != altar.SessionInvalid {
			t.Errorf("after the session expired: %+v", result)
		}
		if figures := h.Figures(); figures.Sessions != 0 || figures.Running != 0 || figures.Callers != 0 {
			t.Errorf("%+v", figures)
		}
		for _, frame := range conn.frames {
			if strings.Contains(frame, "CancelCall") {
				t.Errorf("an answered call was canceled: %s", frame)
			}
		}
	})
}

// TestIDOfAFailedCall checks that the id of a call that timed out, lost its runtime or was left by its
// caller starts the same call anew, and stays refused for another one for five minutes.
func TestIDOfAFailedCall(t *testing.T) {
	for name, fail := range map[string]func(r *Runtime, c *Caller){
		"timeout": func(*Runtime, *Caller) { time.Sleep(6 * time.Second) },
		"lost":    func(r *Runtime, _ *Caller) { r.Detach() },
		"left":    func(_ *Runtime, c *Caller) { c.Leave() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := openHost(t, `[{"name": "one", "effect": "informational", "timeout_ms": 5000, "parameters": [{"name": "n", "type": "integer"}]}]`)
				r := connectRuntime(t, h, "rt", &frameLog{}, `["one"]`)
				session, refused := h.CreateSession("me", altar.CreateSession{})
				if refused != nil {
					t.Fatal(refused)
				}
				call := func(parameters string) (*Caller, *altar.Error) {
					return h.Call(t.Context(), "me", session.SessionID, altar.ToolCall{InvocationID: "i", ToolName: "one", Parameters: json.RawMessage(parameters)}, false)
				}
				wantOther := func() {
					t.Helper()
					if _, refused := call(`{"n":2}`); refused == nil || refused.Code != altar.InvalidParameters || refused.Details["path"] != "/invocation_id" {
						t.Errorf("other values: %v", refused)
					}
				}
				failed, refused := call(`{"n":1}`)
				if refused != nil {
					t.Fatal(refused)
				}
				fail(r, failed)
				failed.Leave()
				wantOther()
				if name == "lost" {
					connectRuntime(t, h, "rt", &frameLog{}, `["one"]`)
				}
				again, refused := call(`{"n":1}`)
				if refused != nil {
					t.Fatal(refused)
				}
				if result, err := again.Wait(t.Context()); err != nil || result.Error == nil || result.Error.Code != altar.ExecutionTimeout {
					t.Errorf("the same call is not tried anew: %+v, %v", result, err)
				}
				again.Leave()
				time.Sleep(5*time.Minute - time.Second)
				wantOther()
				time.Sleep(2 * time.Second)
				other, refused := call(`{"n":2}`)
				if refused != nil {
					t.Fatalf("after five minutes: %v", refused)
				}
				other.Leave()
				if figures := h.Figures(); figures.Running != 0 || figures.Callers != 0 {
					t.Errorf("%+v", figures)
				}
			})
		})
	}
}

// TestSlowCallerIsCut checks that a caller who does not take the chunks gets an error in their place:
// its chunk_id follows those that it has taken.
func TestSlowCallerIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHost(t, `[{"name": "count", "streaming": true, "effect": "informational"}]`)
		conn := &frameLog{}
		r := h.Attach(Identity{ID: "rt", Kind: RuntimeIdentity}, conn)
		t.Cleanup(r.Detach)
		r.Receive([]byte(`{"type": "AnnounceRuntime", "runtime_id": "rt", "language": "go", "protocol_version": "1.0", "capabilities": ["streaming"]}`))
		r.Receive([]byte(`{"type": "FulfillTools", "tool_names": ["count"]}`))
		session, refused := h.CreateSession("me", altar.CreateSession{})
		if refused != nil {
			t.Fatal(refused)
		}
		c, refused := h.Call(t.Context(), "me", session.SessionID, altar.ToolCall{InvocationID: "i", ToolName: "count"}, true)
		if refused != nil {
			t.Fatal(refused)
		}
		defer c.Leave()
		id, payload := conn.lastCall(t), strings.Repeat("x", 256<<10)
		send := func(n int) {
			r.Receive(fmt.Appendf(nil, `{"type":"StreamChunk","invocation_id":"%s","chunk_id":%d,"payload":"%s"}`, id, n, payload))
		}
		send(0)
		if chunks, ended, err := c.Next(t.Context(), nil); len(chunks) != 1 || ended || err != nil {
			t.Fatalf("%d chunks, %v, %v", len(chunks), ended, err)
		}
		for n := 1; n < 30; n++ { // 7 MiB, and 4 may wait
			send(n)
		}
		chunks, ended, err := c.Next(t.Context(), nil)
		if len(chunks) != 1 || !ended || err != nil {
			t.Fatalf("%d chunks, %v, %v", len(chunks), ended, err)
		}
		if last := chunks[0]; last.ChunkID != 1 || !last.IsFinal || last.Error == nil || last.Error.Details["reason"] != "slow_client" {
			t.Errorf("%+v", last)
		}
	})
}

// fullQueue is a connection that takes no calls.
type fullQueue struct{ frameLog }

// Send implements [Conn].
func (l *fullQueue) Send(frame []byte, lone bool) bool {
	return !strings.Contains(string(frame), `"type":"ToolCall"`) && l.frameLog.Send(frame, lone)
}

// TestRuntimeWithAFullQueue checks that a call goes to another runtime when the chosen one cannot take
// it, and is refused when there is no other or it is pinned.
func TestRuntimeWithAFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHost(t, `[{"name": "one", "effect": "informational"}]`)
		connectRuntime(t, h, "full", &fullQueue{}, `["one"]`)
		session, refused := h.CreateSession("me", altar.CreateSession{})
		if refused != nil {
			t.Fatal(refused)
		}
		call := func(id, tool string) *Caller {
			t.Helper()
			c, refused := h.Call(t.Context(), "me", session.SessionID, altar.ToolCall{InvocationID: id, ToolName: tool}, false)
			if refused != nil {
				t.Fatal(refused)
			}
			return c
		}
		wantUnavailable := func(c *Caller) {
			t.Helper()
			defer c.Leave()
			if result, err := c.Wait(t.Context()); err != nil || result.Error == nil || result.Error.Code != altar.RuntimeUnavailable {
				t.Errorf("%+v, %v", result, err)
			}
		}
		wantUnavailable(call("alone", "one"))
		conn := &frameLog{}
		free := connectRuntime(t, h, "free", conn, `["one"]`)
		for i := range 10 { // each of them is chosen first at times
			c := call(fmt.Sprint(i), "one")
			free.Receive([]byte(`{"type":"ToolResult","invocation_id":"` + conn.lastCall(t) + `","status":"success","payload":1}`))
			if result, err := c.Wait(t.Context()); err != nil || string(result.Payload) != "1" {
				t.Errorf("%+v, %v", result, err)
			}
			c.Leave()
		}
		wantUnavailable(call("pinned", "full/one"))
	})
}
