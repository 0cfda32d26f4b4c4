package hosthttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"gazetteer/altarkit"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// The tests of this file are the binding as clients see it.

// runEcho runs a runtime that returns the parameters of its calls.
func (h *testHost) runEcho(tools ...string) {
	h.t.Helper()
	r := h.newKit("rt")
	for _, name := range tools {
		r.Handle(name, func(_ context.Context, c *altarkit.Call) (any, error) { return c.Parameters, nil })
	}
	h.run(r, len(tools))
}

// TestEveryAddressNeedsAnIdentity checks the refusals without identity and with that of the other kind.
func TestEveryAddressNeedsAnIdentity(t *testing.T) {
	h := newTestHost(t, nil)
	session := h.session("me-token", `{}`)
	for _, at := range []struct{ method, path, other string }{
		{"GET", "/altar/v1/runtimes", "me-token"}, {"POST", "/altar/v1/sessions", "rt-token"}, {"DELETE", "/altar/v1/sessions/" + session, "rt-token"},
		{"GET", "/altar/v1/sessions/" + session + "/tools", "rt-token"}, {"POST", callPath(session), "rt-token"}, {"POST", "/altar/v1/mcp", "rt-token"},
	} {
		for token, status := range map[string]int{"": 401, "wrong": 401, at.other: 403} {
			a := h.ask(at.method, at.path, token, `{}`)
			h.want(a, status, altar.AuthorizationFailed)
			if isCall := at.path == callPath(session); isCall != (a.Status == altar.Failure && a.Error != nil) {
				t.Errorf("%s: %s", at.path, a.body)
			}
			if got := a.header.Get("WWW-Authenticate"); (got != "") != (status == 401) {
				t.Errorf("%s %d: WWW-Authenticate %q", at.path, status, got)
			}
		}
	}
	if names := h.toolNames(session, "me-token"); names != nil { // it was not destroyed
		t.Errorf("%v", names)
	}
}

// TestSessionCreated checks the answer to CreateSession, member by member, and which ids are replaced.
func TestSessionCreated(t *testing.T) {
	h := newTestHost(t, nil)
	begun := time.Now()
	a := h.ask("POST", "/altar/v1/sessions", "me-token", `{"session_id":"A.b_c:d-~1","ttl_seconds":90}`)
	var members map[string]any
	if err := json.Unmarshal(a.body, &members); err != nil {
		t.Fatal(err)
	}
	expires, err := time.Parse(time.RFC3339Nano, fmt.Sprint(members["expires_at"]))
	if left := expires.Sub(begun); err != nil || left < 89*time.Second || left > 90*time.Second+time.Since(begun) {
		t.Errorf("expires_at %v: %v, %v", members["expires_at"], left, err)
	}
	if delete(members, "expires_at"); fmt.Sprint(members) != "map[session_id:A.b_c:d-~1 ttl_seconds:90]" || a.status != 201 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if at := a.header.Get("Location"); at != "/altar/v1/sessions/A.b_c:d-~1" {
		t.Errorf("Location %q", at)
	}
	if b := h.ask("POST", "/altar/v1/sessions", "me-token", ""); b.status != 201 || b.TTL != 3600 {
		t.Errorf("without a body: %d %s", b.status, b.body)
	}
	for _, id := range []string{"a/b", "..", ".", "a b", "ü", "a?b", "a\\n", strings.Repeat("x", 129)} {
		b := h.ask("POST", "/altar/v1/sessions", "me-token", `{"session_id":"`+id+`"}`)
		if b.status != 201 || !strings.HasPrefix(b.SessionID, "s-") {
			t.Errorf("%q: %d %s", id, b.status, b.body)
		}
		if c := h.ask("DELETE", "/altar/v1/sessions/"+b.SessionID, "me-token", `{"type":"DestroySession"}`); c.status != 200 || strings.TrimSpace(string(c.body)) != `{"session_id":"`+b.SessionID+`"}` {
			t.Errorf("%d %s", c.status, c.body)
		}
	}
}

// TestBodiesThatAreRefused checks that each body that cannot be taken has its status, with an Error or
// a ToolResult, and changes nothing.
func TestBodiesThatAreRefused(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	session := h.session("me-token", `{"session_id":"mine"}`)
	big := strings.Repeat(" ", 65<<10)
	for _, test := range []struct {
		method, path, body string
		headers            []string
		status             int
	}{
		{"POST", "/altar/v1/sessions", `{`, nil, 400}, {"POST", "/altar/v1/sessions", `{} {}`, nil, 400}, {"POST", "/altar/v1/sessions", `{"ttl_seconds":1,"ttl_seconds":2}`, nil, 400},
		{"POST", "/altar/v1/sessions", `{"type":"DestroySession"}`, nil, 422}, {"POST", "/altar/v1/sessions", `{"more":1}`, nil, 422}, {"POST", "/altar/v1/sessions", `{}` + big, nil, 413},
		{"POST", "/altar/v1/sessions", `{}`, []string{"Content-Encoding", "gzip"}, 415},
		{"DELETE", "/altar/v1/sessions/mine", `{`, nil, 400}, {"DELETE", "/altar/v1/sessions/mine", `{"session_id":"other"}`, nil, 422}, {"DELETE", "/altar/v1/sessions/mine", `{"type":"CreateSession"}`, nil, 422},
		{"DELETE", "/altar/v1/sessions/mine", `{}` + big, nil, 413},
		{"POST", callPath(session), `{`, nil, 400}, {"POST", callPath(session), "", nil, 400}, {"POST", callPath(session), callBody("i", "echo", `{"n":1}`) + "x", nil, 400}, {"POST", callPath(session), callBody("i", "echo", `{"n":1,"n":2}`), nil, 400},
		{"POST", callPath(session), `"text"`, nil, 422}, {"POST", callPath(session), callBody("", "echo", `{}`), nil, 422}, {"POST", callPath(session), callBody(strings.Repeat("x", 129), "echo", `{}`), nil, 422},
		{"POST", callPath(session), `{"invocation_id":"i","tool_name":"echo","parameters":{},"timeout_ms":5}`, nil, 422},
		{"POST", callPath(session), callBody("i", "echo", `{}`), []string{"Content-Encoding", "deflate"}, 415},
	} {
		a := h.ask(test.method, test.path, "me-token", test.body, test.headers...)
		h.want(a, test.status, altar.InvalidParameters)
		if isCall := test.path == callPath(session); isCall != (a.Status == altar.Failure && a.Error != nil) {
			t.Errorf("%s %.60s: %s", test.path, test.body, a.body)
		}
	}
	// One without a length is counted as it comes.
	r, err := http.NewRequest("POST", "http://"+h.addr+callPath(session), io.MultiReader(strings.NewReader(callBody("i", "echo", `{}`)), bytes.NewReader(make([]byte, 1<<20))))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer me-token")
	response, err := h.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 413 {
		t.Errorf("without a length: %s", response.Status)
	}
	p.barrierWithout("ToolCall")
	if names := h.toolNames(session, "me-token"); !slices.Equal(names, []string{"echo"}) {
		t.Errorf("%v", names)
	}
}

// TestAcceptHeader checks when a client gets events and when JSON.
func TestAcceptHeader(t *testing.T) {
	h := newTestHost(t, nil)
	h.runEcho("echo")
	session := h.session("me-token", `{}`)
	for i, test := range []struct {
		accept string
		events bool
	}{
		{"*/*", false}, {"application/json", false}, {"text/event-stream", true}, {"TEXT/Event-Stream; charset=utf-8", true}, {"image/png", false},
		{"application/json, text/event-stream", false}, {"text/event-stream, application/json", true},
		{"application/json;q=0.5, text/event-stream;q=0.9", true}, {"text/event-stream;q=0.1, */*;q=0.2", false}, {"text/event-stream;q=0", false}, {"application/json;q=0, text/event-stream;q=0.1", true},
	} {
		a := h.ask("POST", callPath(session), "me-token", callBody(fmt.Sprint(i), "echo", `{"n":1}`), "Accept", test.accept)
		want := "application/json"
		if test.events {
			want = "text/event-stream"
		}
		if got := a.header.Get("Content-Type"); a.status != 200 || got != want || test.events != strings.HasPrefix(string(a.body), "id: 0\ndata: ") {
			t.Errorf("%s: %d %s %s", test.accept, a.status, got, a.body)
		}
	}
}

// TestErrorsOfRuntimes checks the status of each code that a runtime may give, and that its metadata
// reaches the client.
func TestErrorsOfRuntimes(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	for code, status := range map[altar.Code]int{
		altar.ToolNotFound: 404, altar.InvalidParameters: 422, altar.RuntimeUnavailable: 503, altar.AuthorizationFailed: 403, altar.ExecutionTimeout: 504, altar.ExecutionFailed: 502, altar.InternalError: 500,
	} {
		running := h.callLater(context.Background(), session, string(code), "echo", `{}`)
		p.send(altar.ToolResult{
			InvocationID: p.nextCall().InvocationID, Status: altar.Failure, Error: altar.Errorf(code, "why").With("n", 1), Payload: json.RawMessage(`"dropped"`), RuntimeMetadata: json.RawMessage(`{"took_ms":7}`),
		})
		a := <-running
		h.want(a, status, code)
		if want := fmt.Sprintf(`{"invocation_id":%q,"status":"error","error":{"code":%q,"message":"why","details":{"n":1}},"runtime_metadata":{"took_ms":7}}`, code, code); strings.TrimSpace(string(a.body)) != want {
			t.Errorf("%s, want %s", a.body, want)
		}
	}
	for name, test := range map[string][2]string{
		"nothing":   {`"status":"success"`, `"status":"success"}`},
		"null":      {`"status":"success","payload":null,"runtime_metadata":null`, `"status":"success","payload":null}`},
		"false":     {`"status":"success","payload":false,"runtime_metadata":{"memory":1}`, `"status":"success","payload":false,"runtime_metadata":{"memory":1}}`},
		"no reason": {`"status":"error"`, `"status":"error","error":{"code":"EXECUTION_FAILED","message":"the runtime gives no reason"}}`},
		"metadata":  {`"status":"success","payload":1,"runtime_metadata":5`, `"status":"success","payload":1}`},
		"an error":  {`"status":"success","payload":1,"error":{"code":"EXECUTION_FAILED","message":"m"}`, `"status":"error","error":{"code":"INTERNAL_ERROR","message":"the runtime sent a result with the status success and an error"}}`},
		"no status": {`"payload":1`, `"status":"error","error":{"code":"INTERNAL_ERROR","message":"the runtime sent a result with the status \"\""}}`},
	} {
		running := h.callLater(context.Background(), session, name, "echo", `{}`)
		p.sendText(`{"type":"ToolResult","invocation_id":"` + p.nextCall().InvocationID + `",` + test[0] + `}`)
		if a := <-running; strings.TrimSpace(string(a.body)) != `{"invocation_id":"`+name+`",`+test[1] {
			t.Errorf("%s: %s", name, a.body)
		}
		if path := map[string]string{"no status": "/status", "an error": "/error", "metadata": "/runtime_metadata"}[name]; path != "" {
			if e := p.nextError(altar.InvalidParameters); e.Error.Details["path"] != path {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
}

// TestEndOfAStream checks that a chunk with an error has no payload, and that what follows the last
// chunk is counted and dropped.
func TestEndOfAStream(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "count")
	session := h.session("me-token", `{}`)
	for i, last := range []string{`"payload":1,"is_final":true`, `"payload":1,"error":{"code":"EXECUTION_FAILED","message":"half way"}`} {
		running := h.callLater(context.Background(), session, fmt.Sprint(i), "count", `{}`, "Accept", "text/event-stream")
		id := p.nextCall().InvocationID
		p.chunk(id, 0, `0`, false)
		p.sendText(`{"type":"StreamChunk","invocation_id":"` + id + `","chunk_id":1,` + last + `}`)
		p.chunk(id, 2, `2`, false)
		p.succeed(id, `3`)
		p.barrier()
		a := <-running
		want := fmt.Sprintf("id: 0\ndata: {\"invocation_id\":\"%d\",\"chunk_id\":0,\"payload\":0,\"is_final\":false}\n\nid: 1\ndata: {\"invocation_id\":\"%d\",\"chunk_id\":1,%s}\n\n", i, i,
			[]string{`"payload":1,"is_final":true`, `"error":{"code":"EXECUTION_FAILED","message":"half way"},"is_final":true`}[i])
		if string(a.body) != want {
			t.Errorf("%s, want %s", a.body, want)
		}
		if n := h.host.Figures().Dropped; n != uint64(2*(i+1)) {
			t.Errorf("%d frames were dropped, want %d", n, 2*(i+1))
		}
	}
}

// TestIDsOfOtherClients checks that no client sees the result of another by its invocation id.
func TestIDsOfOtherClients(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	mine, theirs := h.session("me-token", `{}`), h.session("other-token", `{}`)
	running := h.callLater(context.Background(), mine, "i", "echo", `{}`)
	p.succeed(p.nextCall().InvocationID, `"mine"`)
	<-running
	h.want(h.ask("POST", callPath(mine), "other-token", callBody("i", "echo", `{}`)), 410, altar.SessionInvalid)
	answered := make(chan answer, 1)
	go func() {
		a, err := h.try(context.Background(), "POST", callPath(theirs), "other-token", callBody("i", "echo", `{}`))
		if err != nil {
			a.status = -1
		}
		answered <- a
	}()
	p.succeed(p.nextCall().InvocationID, `"theirs"`)
	if a := <-answered; string(a.Payload) != `"theirs"` {
		t.Errorf("%s", a.body)
	}
}

// TestQuotaIsOfCallerAndTool checks that the limit of one client at one tool limits nothing else.
func TestQuotaIsOfCallerAndTool(t *testing.T) {
	h := newTestHost(t, func(o *toolhost.Options) { o.CallsPerMinute = 1 })
	h.runEcho("echo", "need")
	mine, theirs := h.session("me-token", `{}`), h.session("other-token", `{}`)
	if a := h.call(mine, "1", "echo", `{}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	h.want(h.call(mine, "2", "echo", `{}`), 429, altar.AuthorizationFailed)
	h.want(h.call(mine, "3", "rt/echo", `{}`), 429, altar.AuthorizationFailed)
	if a := h.call(mine, "1", "echo", `{}`); a.status != 200 { // a result that is replayed is no call
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := h.call(mine, "4", "need", `{"text":"x"}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := h.ask("POST", callPath(theirs), "other-token", callBody("5", "echo", `{}`)); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestTimeoutOfAContract checks that the time of a contract is cut to the ceiling, and that one
// without has that of the host.
func TestTimeoutOfAContract(t *testing.T) {
	h := newTestHost(t, func(o *toolhost.Options) { o.CallTimeout = 20 * time.Minute; o.MaxTimeout = 40 * time.Minute })
	h.addContracts(`[{"name": "none"}, {"name": "short", "timeout_ms": 1800000}, {"name": "long", "timeout_ms": 9000000000000000000}]`)
	p := h.connect("rt", "none", "short", "long")
	session := h.session("me-token", `{}`)
	for tool, minutes := range map[string]int64{"none": 20, "short": 30, "long": 40} {
		running := h.callLater(context.Background(), session, tool, tool, `{}`)
		call := p.nextCall()
		if most := minutes * 60_000; call.TimeoutMS > most || call.TimeoutMS < most-testTime.Milliseconds() {
			t.Errorf("%s: %d ms are left, want %d", tool, call.TimeoutMS, most)
		}
		p.succeed(call.InvocationID, `1`)
		<-running
	}
}

// TestEffectThatIsFound checks that a contract without a declared effect needs a confirmation if its
// words say that it ends something, and that the list of tools says so.
func TestEffectThatIsFound(t *testing.T) {
	h := newTestHost(t, nil)
	h.addContracts(`[{"name": "deleteAccount"}, {"name": "delete_draft", "effect": "reversible"}, {"name": "close", "description": "Permanently deletes the account of a customer."}]`)
	h.runEcho("deleteAccount", "delete_draft", "close")
	session := h.session("me-token", `{}`)
	var list struct{ Tools []toolhost.Tool }
	if err := json.Unmarshal(h.ask("GET", "/altar/v1/sessions/"+session+"/tools", "me-token", "").body, &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		a := h.call(session, tool.Name, tool.Name, `{}`)
		confirm := tool.Name != "delete_draft"
		if confirm != tool.Confirm || confirm != (a.status == 403 && a.Error.Details["confirmation"] != "") {
			t.Errorf("%s: confirm %t, %d %s", tool.Name, tool.Confirm, a.status, a.body)
		}
	}
	if len(list.Tools) != 3 {
		t.Errorf("%+v", list)
	}
}

// TestLeastLoadedRuntime checks that a call goes to the runtime that runs fewer calls.
func TestLeastLoadedRuntime(t *testing.T) {
	h := newTestHost(t, nil)
	one, two := h.connect("rt", "echo"), h.connect("rt2", "echo")
	session := h.session("me-token", `{}`)
	pinned := h.callLater(context.Background(), session, "pinned", "rt/echo", `{}`)
	first := one.nextCall()
	for i := range 3 {
		running := h.callLater(context.Background(), session, fmt.Sprint(i), "echo", `{}`)
		two.succeed(two.nextCall().InvocationID, `2`)
		if a := <-running; string(a.Payload) != `2` {
			t.Errorf("%s", a.body)
		}
		h.waitFor("the end of the call", func() bool { // the client may have its answer before
			return slices.ContainsFunc(h.host.Runtimes(), func(r toolhost.RuntimeStatus) bool { return r.ID == "rt2" && r.Running == 0 })
		})
	}
	one.succeed(first.InvocationID, `1`)
	<-pinned
}

// TestContractsSurviveARestart checks that the store keeps what the operator has approved and revoked.
func TestContractsSurviveARestart(t *testing.T) {
	setup := hostSetup{dir: t.TempDir(), grace: time.Second}
	h := startHost(t, setup)
	h.addContracts(`[{"name": "stays", "allow": ["me"], "parameters": [{"name": "n", "type": "integer", "required": true}]}, {"name": "ended"}]`)
	if _, err := h.host.Revoke(context.Background(), "ended"); err != nil {
		t.Fatal(err)
	}
	h.stop()
	h = startHost(t, setup)
	h.runEcho("stays")
	session, theirs := h.session("me-token", `{}`), h.session("other-token", `{}`)
	if a := h.call(session, "1", "stays", `{"n":1}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	h.want(h.call(session, "2", "stays", `{}`), 422, altar.InvalidParameters)
	h.want(h.call(session, "3", "ended", `{}`), 404, altar.ToolNotFound)
	h.want(h.ask("POST", callPath(theirs), "other-token", callBody("4", "stays", `{"n":1}`)), 403, altar.AuthorizationFailed)
}

// TestSchemaOfAContract checks that clients get the JSON Schema of a contract as it was written, over
// HTTP and MCP, and that their calls are checked against it and the type system.
func TestSchemaOfAContract(t *testing.T) {
	h := newTestHost(t, nil)
	const schema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"size":{"type":"integer","minimum":1,"x-note":"kept"}},"properties":{"size":{"$ref":"#/$defs/size"},"any":{}},"required":["size"],"additionalProperties":false}`
	h.addContracts(`[{"name": "order", "description": "Orders", "effect": "reversible", "timeout_ms": 5000, "input_schema": ` + schema + `}]`)
	h.runEcho("order")
	session := h.session("me-token", `{}`)
	list := h.ask("GET", "/altar/v1/sessions/"+session+"/tools", "me-token", "")
	want := `{"tools":[{"name":"order","description":"Orders","parameters":[{"name":"size","type":"integer","required":true}],"timeout_ms":5000,"effect":"reversible","input_schema":` + schema + `}]}`
	if list.status != 200 || strings.TrimSpace(string(list.body)) != want {
		t.Errorf("%s, want %s", list.body, want)
	}
	overMCP := h.ask("POST", "/altar/v1/mcp", "me-token", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
	if !strings.Contains(string(overMCP.body), `"inputSchema":`+schema) {
		t.Errorf("%s", overMCP.body)
	}
	for parameters, path := range map[string]string{`{"size":0}`: "/size", `{"size":1.0}`: "/size", `{}`: "/size", `{"size":1,"more":2}`: "/more", `{"size":1,"any":null}`: "/any"} {
		a := h.call(session, "bad", "order", parameters)
		h.want(a, 422, altar.InvalidParameters)
		if a.Error == nil || a.Error.Details["path"] != path {
			t.Errorf("%s: %s, want the path %s", parameters, a.body, path)
		}
	}
	if a := h.call(session, "good", "order", `{"any":[1],"size":9223372036854775807}`); a.status != 200 || string(a.Payload) != `{"any":[1],"size":9223372036854775807}` {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestMCPSessionThatEnds checks that an MCP client whose session was destroyed gets another one.
func TestMCPSessionThatEnds(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	var last string
	for range 2 {
		answered := make(chan answer, 1)
		go func() {
			a, err := h.try(context.Background(), "POST", "/altar/v1/mcp", "me-token", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
			if err != nil {
				a.status = -1
			}
			answered <- a
		}()
		call := p.nextCall()
		p.succeed(call.InvocationID, `"done"`)
		if a := <-answered; a.status != 200 || !strings.Contains(string(a.body), `"text":"done"`) || call.SessionID == last {
			t.Errorf("session %s after %s: %d %s", call.SessionID, last, a.status, a.body)
		}
		last = call.SessionID
		if a := h.ask("DELETE", "/altar/v1/sessions/"+last, "me-token", ""); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

// TestNoSubprotocol checks that the WebSocket of a runtime has no subprotocol, and that an error which
// a runtime reports is not answered by another.
func TestNoSubprotocol(t *testing.T) {
	h := newTestHost(t, nil)
	ws, response, err := websocket.Dial(context.Background(), "ws://"+h.addr+"/altar/v1/runtimes", &websocket.DialOptions{
		Subprotocols: []string{"altar", "mcp"}, HTTPHeader: http.Header{"Authorization": {"bearer rt-token"}}, CompressionMode: websocket.CompressionContextTakeover,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	if ws.Subprotocol() != "" || response.Header.Get("Sec-WebSocket-Extensions") != "" {
		t.Errorf("%v", response.Header)
	}
	p := &peer{t: t, ws: ws}
	p.sendText(`{"type":"AnnounceRuntime","runtime_id":"rt","protocol_version":"1.0.0"}`)
	p.next("AcknowledgeRuntime")
	p.sendText(`{"type":"ProtocolError","error":{"code":"INTERNAL_ERROR","message":"x"},"in_reply_to":"y"}`)
	p.barrierWithout("ToolCall")
	p.sendText(`{"type":"ProtocolError","error":{"code":"INTERNAL_ERROR","message":"x"},"in_reply_to":"barrier"}`)
	p.fulfill("", "echo")
	p.barrier()
	if list := h.host.Runtimes(); len(list) != 1 || len(list[0].Tools) != 1 {
		t.Errorf("%+v", list)
	}
}
