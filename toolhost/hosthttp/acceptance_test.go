package hosthttp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// The tests of this file are the thirty points that a Host of Level 1 and 2 has to meet, each over real
// sockets.

func TestAcceptance01AnnounceAndAcknowledge(t *testing.T) {
	h := newTestHost(t, func(o *toolhost.Options) { o.ID = "host-1" })
	p := h.dial("rt-token")
	p.sendText(`{"type":"AnnounceRuntime","runtime_id":"rt","language":"go","protocol_version":"1.0","capabilities":[],"more":{}}`)
	if m := p.next("AcknowledgeRuntime").(altar.AcknowledgeRuntime); m != (altar.AcknowledgeRuntime{HostID: "host-1", ProtocolVersion: "1.0.0"}) {
		t.Errorf("%+v", m)
	}
	p.next("RequestFulfillment")
	if list := h.host.Runtimes(); len(list) != 1 || list[0].Identity != "rt" {
		t.Errorf("%+v", list)
	}
}

func TestAcceptance02UnauthenticatedRuntimeIsRefused(t *testing.T) {
	h := newTestHost(t, nil)
	for token, status := range map[string]int{"": 401, "wrong": 401, "me-token": 403} {
		header := http.Header{}
		if token != "" {
			header.Set("Authorization", "Bearer "+token)
		}
		_, response, err := websocket.Dial(context.Background(), "ws://"+h.addr+"/altar/v1/runtimes", &websocket.DialOptions{HTTPHeader: header})
		if err == nil || response == nil || response.StatusCode != status {
			t.Errorf("token %q: %v", token, err)
		}
	}
	p := h.dial("rt-token")
	p.sendText(`{"type":"AnnounceRuntime","runtime_id":"rt2","protocol_version":"1.0.0"}`)
	p.nextError(altar.AuthorizationFailed)
	p.wantClosed(websocket.StatusPolicyViolation)
	h.connect("rt")
	again := h.dial("rt-token")
	again.sendText(`{"type":"AnnounceRuntime","runtime_id":"rt","protocol_version":"1.0.0"}`)
	again.nextError(altar.AuthorizationFailed)
	again.wantClosed(websocket.StatusPolicyViolation)
	h.connect("rt-pod-2") // another process of the same service
}

func TestAcceptance03VersionMismatchIsRefused(t *testing.T) {
	h := newTestHost(t, nil)
	for version, code := range map[string]altar.Code{"2.0.0": altar.InternalError, "0.9": altar.InternalError, "new": altar.InvalidParameters} {
		p := h.dial("rt-token")
		p.sendText(`{"type":"AnnounceRuntime","runtime_id":"rt","protocol_version":"` + version + `"}`)
		e := p.nextError(code)
		if code == altar.InternalError && (e.Error.Details["host_version"] != "1.0.0" || e.Error.Details["runtime_version"] != version) {
			t.Errorf("%+v", e.Error)
		}
		p.wantClosed(websocket.StatusPolicyViolation)
	}
	p := h.dial("rt-token")
	p.sendText(`{"type":"AnnounceRuntime","runtime_id":"rt","protocol_version":"1.9.2"}`)
	if m := p.next("AcknowledgeRuntime").(altar.AcknowledgeRuntime); m.ProtocolVersion != "1.0.0" {
		t.Errorf("the higher minor is acknowledged as %s", m.ProtocolVersion)
	}
}

func TestAcceptance04UnknownContractsAreRefusedOneByOne(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt")
	p.fulfill("", "rt/echo", "unknown", "rt2/echo", "rt/rt/echo", "count") // its own id may stand before a name
	for _, name := range []string{"unknown", "rt2/echo", "rt/rt/echo"} {
		if e := p.nextError(altar.ToolNotFound); e.Error.Details["tool_name"] != name || e.InReplyTo != "FulfillTools" {
			t.Errorf("%s: %+v", name, e)
		}
	}
	p.barrier()
	if list := h.host.Runtimes(); !slices.Equal(list[0].Tools, []string{"count", "echo"}) {
		t.Errorf("%+v", list)
	}
	plain := h.dial("rt2-token")
	plain.sendText(`{"type":"AnnounceRuntime","runtime_id":"rt2","protocol_version":"1.0.0"}`)
	plain.next("AcknowledgeRuntime")
	plain.next("RequestFulfillment")
	plain.fulfill("", "count") // a streaming contract, and the runtime does not stream
	if e := plain.nextError(altar.InvalidParameters); e.Error.Details["tool_name"] != "count" {
		t.Errorf("%+v", e)
	}
}

func TestAcceptance05SessionIDs(t *testing.T) {
	h := newTestHost(t, nil)
	a := h.ask("POST", "/altar/v1/sessions", "me-token", `{"session_id":"mine","ttl_seconds":60}`)
	if a.status != 201 || a.SessionID != "mine" || a.TTL != 60 {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, token := range []string{"me-token", "other-token"} {
		if b := h.ask("POST", "/altar/v1/sessions", token, `{"session_id":"mine"}`); b.status != 201 || b.SessionID == "mine" || b.SessionID == "" {
			t.Errorf("%d %s", b.status, b.body)
		}
	}
	if b := h.ask("POST", "/altar/v1/sessions", "me-token", `{"type":"CreateSession"}`); b.status != 201 {
		t.Errorf("%d %s", b.status, b.body)
	}
	h.want(h.ask("POST", "/altar/v1/sessions", "", `{}`), 401, altar.AuthorizationFailed)
	h.want(h.ask("POST", "/altar/v1/sessions", "rt-token", `{}`), 403, altar.AuthorizationFailed)
	h.want(h.ask("DELETE", "/altar/v1/sessions/mine", "other-token", ""), 410, altar.SessionInvalid)
	if b := h.ask("DELETE", "/altar/v1/sessions/mine", "me-token", `{"session_id":"mine"}`); b.status != 200 || b.SessionID != "mine" {
		t.Errorf("%d %s", b.status, b.body)
	}
	h.want(h.ask("DELETE", "/altar/v1/sessions/mine", "me-token", ""), 410, altar.SessionInvalid)
}

func TestAcceptance06SessionsExpire(t *testing.T) {
	h := newTestHost(t, func(o *toolhost.Options) { o.MaxSessionTTL = 100 * time.Second })
	for body, ttl := range map[string]int64{`{"ttl_seconds":1000000000000000000}`: 100, `{"ttl_seconds":101}`: 100, `{"ttl_seconds":99}`: 99} {
		if a := h.ask("POST", "/altar/v1/sessions", "me-token", body); a.status != 201 || a.TTL != ttl {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	for _, ttl := range []string{"0", "-1", "1.0", "1e2", `"5"`, "9223372036854775808", "null"} {
		h.want(h.ask("POST", "/altar/v1/sessions", "me-token", `{"ttl_seconds":`+ttl+`}`), 422, altar.InvalidParameters)
	}
	p := h.connect("rt", "echo")
	var session string
	for ttl, ran := 1, 0; ran == 0; ttl *= 2 { // on a busy machine the session may expire before the call begins
		session = h.session("me-token", fmt.Sprintf(`{"ttl_seconds":%d}`, ttl))
		a := <-h.callLater(context.Background(), session, "i", "echo", `{}`) // runs until the session expires
		h.want(a, 410, altar.SessionInvalid)
		ran = p.endCanceled()
	}
	h.want(h.call(session, "j", "echo", `{}`), 410, altar.SessionInvalid)
}

func TestAcceptance07DestroyEndsRunningCalls(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	running := h.callLater(context.Background(), session, "i", "echo", `{}`)
	call := p.nextCall()
	if a := h.ask("DELETE", "/altar/v1/sessions/"+session, "me-token", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	h.want(<-running, 410, altar.SessionInvalid)
	if cancel := p.nextCancel(); cancel.InvocationID != call.InvocationID || cancel.Reason == "" {
		t.Errorf("%+v", cancel)
	}
}

func (h *testHost) toolNames(session, token string) []string {
	h.t.Helper()
	a := h.ask("GET", "/altar/v1/sessions/"+session+"/tools", token, "")
	if a.status != 200 {
		h.t.Fatalf("%d %s", a.status, a.body)
	}
	var list struct{ Tools []toolhost.Tool }
	if err := json.Unmarshal(a.body, &list); err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestAcceptance08ToolsOfOneSession(t *testing.T) {
	h := newTestHost(t, nil)
	one, two := h.session("me-token", `{}`), h.session("me-token", `{}`)
	p := h.connect("rt")
	p.fulfill(one, "quick")
	p.barrier()
	if a, b := h.toolNames(one, "me-token"), h.toolNames(two, "me-token"); !slices.Equal(a, []string{"quick"}) || b != nil {
		t.Errorf("%v, %v", a, b)
	}
	h.want(h.call(two, "i", "quick", `{}`), 404, altar.ToolNotFound)
	p.fulfill("", "nobody") // of every session, but what was said for one session stays there
	p.barrier()
	if a, b := h.toolNames(one, "me-token"), h.toolNames(two, "me-token"); !slices.Equal(a, []string{"quick"}) || !slices.Equal(b, []string{"nobody"}) {
		t.Errorf("%v, %v", a, b)
	}
	p.fulfill("gone", "quick")
	if e := p.nextError(altar.SessionInvalid); e.InReplyTo != "gone" {
		t.Errorf("%+v", e)
	}
	h.want(h.ask("GET", "/altar/v1/sessions/"+one+"/tools", "other-token", ""), 410, altar.SessionInvalid)
}

func TestAcceptance09UnknownTools(t *testing.T) {
	h := newTestHost(t, nil)
	h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	for _, tool := range []string{"missing", "nobody", "rt2/echo", "other/echo", "rt/need", ""} {
		a := h.call(session, "i", tool, `{}`)
		h.want(a, 404, altar.ToolNotFound)
		if a.InvocationID != "i" || a.Status != "error" {
			t.Errorf("%s", a.body)
		}
	}
}

// TestSimilarNamesAreSuggested checks that a call of an unknown tool, or with an unknown parameter, names
// a similar one that the client may use.
func TestSimilarNamesAreSuggested(t *testing.T) {
	h := newTestHost(t, nil)
	h.connect("rt", "echo", "need")
	session := h.session("me-token", `{}`)
	for _, test := range []struct{ tool, parameters, want string }{
		{"ehco", `{}`, "there is no tool \"ehco\"; did you mean echo?"},
		{"secre", `{}`, "there is no tool \"secre\""}, // secret is not for this client
		{"need", `{"txt":"a"}`, "/txt: is not a parameter of the contract; did you mean text?"},
		{"need", `{"text":"a","other":"b"}`, "/other: is not a parameter of the contract"},
		{"echo", `{"who":{"name":"a","nam":"b"}}`, "/who/nam: is not a parameter of the contract; did you mean name?"},
		{"need", `{"text":5}`, `/text: is a number, want string; write "5", in quotation marks`},
		{"echo", `{"list":[1,"2"]}`, "/list/1: is a string, want integer; write 2, without quotation marks"},
		{"echo", `{"list":[1,"02"]}`, "/list/1: is a string, want integer"},
	} {
		a := h.call(session, "i", test.tool, test.parameters)
		if a.Error == nil || !strings.Contains(a.Error.Message, test.want) || strings.Contains(a.Error.Message, "did you mean") != strings.Contains(test.want, "did you mean") {
			t.Errorf("%s %s: %s", test.tool, test.parameters, a.body)
		}
	}
}

func TestAcceptance10ParametersAreChecked(t *testing.T) {
	h := newTestHost(t, nil)
	h.connect("rt", "echo", "need")
	session := h.session("me-token", `{}`)
	for _, test := range []struct{ tool, parameters, path string }{
		{"need", `{}`, "/text"}, {"need", `{"text":"a","more":1}`, "/more"}, {"need", `{"text":5}`, "/text"}, {"need", `{"text":null}`, "/text"},
		{"echo", `{"who":{}}`, "/who/name"}, {"echo", `{"who":{"name":"a","age":1}}`, "/who/age"}, {"echo", `{"list":[1,"2"]}`, "/list/1"}, {"echo", `[]`, ""}, {"echo", `null`, ""},
	} {
		a := h.call(session, "i", test.tool, test.parameters)
		h.want(a, 422, altar.InvalidParameters)
		if a.Error != nil && a.Error.Details["path"] != test.path {
			t.Errorf("%s: %v, want the path %s", test.parameters, a.Error, test.path)
		}
	}
	h.want(h.ask("POST", callPath(session), "me-token", `{"invocation_id":"i"`), 400, altar.InvalidParameters)
	h.want(h.ask("POST", callPath(session), "me-token", `[]`), 422, altar.InvalidParameters)
	h.want(h.ask("POST", "/altar/v1/sessions", "me-token", `null`), 422, altar.InvalidParameters)
	h.want(h.ask("POST", callPath(session), "me-token", `{"invocation_id":"i","tool_name":"echo","parameters":{},"more":1}`), 422, altar.InvalidParameters)
	h.want(h.ask("POST", callPath(session), "me-token", `{"invocation_id":"i","tool_name":"echo","parameters":{},"type":"ToolResult"}`), 422, altar.InvalidParameters)
	h.want(h.ask("POST", callPath(session), "me-token", `{"invocation_id":"i","tool_name":"echo","parameters":{},"session_id":"x"}`), 422, altar.InvalidParameters)
	h.want(h.ask("POST", callPath(session), "me-token", `{"tool_name":"echo","parameters":{}}`), 422, altar.InvalidParameters)
	h.want(h.ask("POST", callPath(session), "me-token", callBody("i", "echo", `{"text":"`+strings.Repeat("x", 2<<20)+`"}`)), 413, altar.InvalidParameters)
}

func TestAcceptance11IntegersOf64Bits(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	for i, number := range []string{"9223372036854775807", "-9223372036854775808", "9007199254740993"} {
		running := h.callLater(context.Background(), session, fmt.Sprint(i), "echo", `{"n":`+number+`}`)
		call := p.nextCall()
		if string(call.Parameters) != `{"n":`+number+`}` {
			t.Errorf("the runtime got %s", call.Parameters)
		}
		p.succeed(call.InvocationID, number)
		if a := <-running; string(a.Payload) != number {
			t.Errorf("the client got %s", a.body)
		}
	}
	running := h.callLater(context.Background(), session, "zero", "echo", `{"n":-0}`)
	call := p.nextCall()
	p.succeed(call.InvocationID, "0")
	if <-running; string(call.Parameters) != `{"n":0}` {
		t.Errorf("−0 came as %s", call.Parameters)
	}
	for _, number := range []string{"9223372036854775808", "-9223372036854775809", "1.0", "1e2", "NaN"} {
		status := 422
		if number == "NaN" {
			status = 400
		}
		h.want(h.call(session, "bad", "echo", `{"n":`+number+`}`), status, altar.InvalidParameters)
	}
}

func TestAcceptance12BinaryRoundTrip(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	text := `"` + base64.StdEncoding.EncodeToString(all) + `"`
	running := h.callLater(context.Background(), session, "i", "echo", `{"bin":`+text+`}`)
	call := p.nextCall()
	if string(call.Parameters) != `{"bin":`+text+`}` {
		t.Errorf("the runtime got %s", call.Parameters)
	}
	p.succeed(call.InvocationID, text)
	if a := <-running; string(a.Payload) != text {
		t.Errorf("the client got %s", a.body)
	}
	for _, bad := range []string{"AA EC", "AAE", "AAF=", "-_8="} {
		h.want(h.call(session, "bad", "echo", `{"bin":"`+bad+`"}`), 422, altar.InvalidParameters)
	}
}

func TestAcceptance13CallerWithoutPermission(t *testing.T) {
	h := newTestHost(t, nil)
	h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	h.want(h.call(session, "i", "secret", `{}`), 403, altar.AuthorizationFailed) // although nobody fulfills it
	h.connect("rt2", "secret")
	h.want(h.call(session, "i", "secret", `{}`), 403, altar.AuthorizationFailed)
	if names := h.toolNames(session, "me-token"); !slices.Equal(names, []string{"echo"}) {
		t.Errorf("%v", names)
	}
	theirs := h.session("other-token", `{}`)
	if names := h.toolNames(theirs, "other-token"); !slices.Equal(names, []string{"echo", "secret"}) {
		t.Errorf("%v", names)
	}
}

func TestAcceptance14PermissionIsOfTheSession(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "tenant")
	inside := h.session("me-token", `{"security_context":{"principal_id":"p","tenant_id":"t1","claims":{"a":[1]}}}`)
	outside := h.session("me-token", `{"security_context":{"tenant_id":"t2"}}`)
	h.want(h.call(outside, "i", "tenant", `{}`), 403, altar.AuthorizationFailed)
	running := h.callLater(context.Background(), inside, "i", "tenant", `{}`)
	p.succeed(p.nextCall().InvocationID, `1`)
	if a := <-running; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	h.want(h.ask("POST", "/altar/v1/sessions", "me-token", `{"security_context":{"tenant":"t1"}}`), 422, altar.InvalidParameters)

	// The tenant is one of those of the identity, and the only one of them by default.
	for _, body := range []string{`{"security_context":{"tenant_id":"t3"}}`, `{"security_context":{"tenant_id":"*"}}`} {
		h.want(h.ask("POST", "/altar/v1/sessions", "me-token", body), 403, altar.AuthorizationFailed)
	}
	claimed := h.session("other-token", `{"security_context":{"tenant_id":"t1"}}`)
	h.want(h.ask("POST", callPath(claimed), "other-token", callBody("i", "tenant", `{}`)), 403, altar.AuthorizationFailed)
	h.want(h.call(h.session("me-token", `{}`), "i", "tenant", `{}`), 403, altar.AuthorizationFailed)
	setTenants := func(tenants ...string) {
		t.Helper()
		if err := h.host.AddIdentity(context.Background(), toolhost.Identity{ID: "me", Kind: toolhost.ClientIdentity, Token: toolhost.HashToken("me-token"), Tenants: tenants}); err != nil {
			t.Fatal(err)
		}
	}
	setTenants("t1")
	h.want(h.call(outside, "j", "tenant", `{}`), 410, altar.SessionInvalid)
	setTenants() // another credential: the tenants stay
	for session, want := range map[string]string{inside: `2`, h.session("me-token", `{}`): `3`} {
		running := h.callLater(context.Background(), session, "j", "tenant", `{}`)
		p.succeed(p.nextCall().InvocationID, want)
		if a := <-running; string(a.Payload) != want {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	setTenants("*")
	h.session("me-token", `{"security_context":{"tenant_id":"t3"}}`)
	for _, bad := range []toolhost.Identity{
		{ID: "x", Kind: toolhost.ClientIdentity, Token: "t", Tenants: []string{""}}, {ID: "x", Kind: toolhost.ClientIdentity, Token: "t", Tenants: []string{strings.Repeat("x", 129)}},
		{ID: "x", Kind: toolhost.RuntimeIdentity, Token: "t", Tenants: []string{"t1"}},
	} {
		if err := h.host.AddIdentity(context.Background(), bad); !errors.Is(err, toolhost.ErrBadIdentity) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestAcceptance15ResultsCorrelate(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	a, b := h.callLater(context.Background(), session, "a", "echo", `{"text":"a"}`), h.callLater(context.Background(), session, "b", "echo", `{"text":"b"}`)
	first, second := p.nextCall(), p.nextCall()
	if first.InvocationID == second.InvocationID || first.SessionID != session || first.ToolName != "echo" || first.TimeoutMS < 1 || first.TimeoutMS > 30_000 {
		t.Errorf("%+v", first)
	}
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	for _, call := range []altar.ToolCall{second, first} {
		if !uuid.MatchString(call.InvocationID) {
			t.Errorf("the runtime got the id %s", call.InvocationID)
		}
		if want := `{"text":"` + call.ClientInvocationID + `"}`; string(call.Parameters) != want {
			t.Errorf("the call of the client's id %s has the parameters %s", call.ClientInvocationID, call.Parameters)
		}
		p.succeed(call.InvocationID, string(call.Parameters))
	}
	for id, later := range map[string]<-chan answer{"a": a, "b": b} {
		if r := <-later; r.status != 200 || r.InvocationID != id || r.Status != "success" || string(r.Payload) != `{"text":"`+id+`"}` {
			t.Errorf("%s: %s", id, r.body)
		}
	}
}

func TestAcceptance16ResultsOfForeignInvocationsAreIgnored(t *testing.T) {
	h := newTestHost(t, nil)
	p, thief := h.connect("rt", "echo"), h.connect("rt2")
	session := h.session("me-token", `{}`)
	running := h.callLater(context.Background(), session, "i", "echo", `{}`)
	call := p.nextCall()
	thief.succeed(call.InvocationID, `"stolen"`)
	thief.succeed("i", `"stolen"`)
	thief.chunk(call.InvocationID, 0, `"stolen"`, true)
	thief.barrier()
	p.succeed("i", `"by the client's id"`)
	p.succeed(call.InvocationID, `"right"`)
	if a := <-running; string(a.Payload) != `"right"` {
		t.Errorf("%s", a.body)
	}
	p.succeed(call.InvocationID, `"late"`)
	p.barrier()
	if n := h.host.Figures().Dropped; n != 5 {
		t.Errorf("%d frames were dropped, want 5", n)
	}
}

func TestAcceptance17Idempotency(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo", "need")
	session, second := h.session("me-token", `{}`), h.session("me-token", `{}`)
	ctx, leave := context.WithCancel(context.Background())
	first := h.callLater(ctx, session, "i", "echo", `{"text":"x","n":1}`)
	call := p.nextCall()
	attached := h.callLater(context.Background(), session, "i", "echo", ` { "n" : 1, "text" : "\u0078" } `)
	h.want(h.call(session, "i", "echo", `{"text":"y","n":1}`), 422, altar.InvalidParameters)
	h.want(h.call(session, "i", "need", `{"text":"x"}`), 422, altar.InvalidParameters)
	h.waitFor("two callers", func() bool { return h.host.Figures().Callers == 2 })
	leave() // one of two attached callers may leave
	<-first
	p.barrierWithout("CancelCall")
	p.succeed(call.InvocationID, `7`)
	if a := <-attached; string(a.Payload) != `7` {
		t.Errorf("%s", a.body)
	}
	if a := h.call(session, "i", "echo", `{"text":"x","n":1}`); string(a.Payload) != `7` {
		t.Errorf("replayed: %s", a.body)
	}
	// The same id in another session, and of another client, is another call.
	other := h.callLater(context.Background(), second, "i", "echo", `{"text":"x","n":1}`)
	p.succeed(p.nextCall().InvocationID, `8`)
	if a := <-other; string(a.Payload) != `8` {
		t.Errorf("%s", a.body)
	}
	// A failure of the tool is replayed, too.
	failing := h.callLater(context.Background(), session, "f", "echo", `{}`)
	p.send(altar.ToolResult{InvocationID: p.nextCall().InvocationID, Status: "error", Error: altar.Errorf(altar.ExecutionFailed, "no")})
	h.want(<-failing, 502, altar.ExecutionFailed)
	h.want(h.call(session, "f", "echo", `{}`), 502, altar.ExecutionFailed)
}

func TestAcceptance18Timeout(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "quick")
	session := h.session("me-token", `{}`)
	// A call of the same id is tried anew after a timeout. On a busy machine the time may end
	// before the runtime has the call.
	ran := 0
	for ran < 2 {
		h.want(<-h.callLater(context.Background(), session, "i", "quick", `{}`), 504, altar.ExecutionTimeout)
		ran += p.endCanceled()
	}
	if n := h.host.Figures().Dropped; n != uint64(ran) {
		t.Errorf("%d frames were dropped, want the %d late answers", n, ran)
	}
}

// endCanceled reads the calls that the runtime has got, waits until each is canceled, answers it too
// late, and returns their number.
func (p *peer) endCanceled() int {
	p.t.Helper()
	p.sendText(`{"type":"barrier"}`)
	calls, late, open := map[string]bool{}, 0, true
	for open || len(calls) > 0 {
		switch m := p.read().(type) {
		case altar.ToolCall:
			if m.TimeoutMS < 1 {
				p.t.Errorf("%d ms are left", m.TimeoutMS)
			}
			calls[m.InvocationID] = true
		case altar.CancelCall:
			if !calls[m.InvocationID] || m.Reason == "" {
				p.t.Errorf("canceled without a call or a reason: %+v", m)
			}
			delete(calls, m.InvocationID)
			p.succeed(m.InvocationID, `"late"`)
			late++
		case altar.ProtocolError:
			open = false
		}
	}
	p.barrier()
	return late
}

func TestAcceptance19RuntimeLostMidCall(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	running := h.callLater(context.Background(), session, "i", "echo", `{}`)
	first := p.nextCall()
	p.ws.CloseNow()
	h.want(<-running, 503, altar.RuntimeUnavailable)
	h.want(h.call(session, "j", "echo", `{}`), 503, altar.RuntimeUnavailable) // its last runtime was lost
	h.want(h.call(session, "k", "rt/echo", `{}`), 503, altar.RuntimeUnavailable)
	h.want(h.call(session, "l", "nobody", `{}`), 404, altar.ToolNotFound)
	p = h.connect("rt", "echo", "count")
	again := h.callLater(context.Background(), session, "i", "echo", `{}`)
	call := p.nextCall()
	if call.InvocationID == first.InvocationID || call.ClientInvocationID != "i" || first.ClientInvocationID != "i" {
		t.Errorf("%+v is tried again as %+v", first, call)
	}
	p.succeed(call.InvocationID, `1`)
	if a := <-again; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	// In mid stream the error is the last chunk.
	go func() {
		p.chunk(p.nextCall().InvocationID, 0, `0`, false)
	}()
	_, next := h.stream(context.Background(), session, "s", "count")
	if e, err := next(); err != nil || e.id != 0 {
		t.Fatalf("%+v, %v", e, err)
	}
	p.ws.CloseNow()
	if e, err := next(); err != nil || e.id != 1 || !e.IsFinal || e.Error == nil || e.Error.Code != altar.RuntimeUnavailable {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestAcceptance20SecondRuntimeTakesOver(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	second := h.connect("rt2", "echo")
	session := h.session("me-token", `{}`)
	p.ws.CloseNow()
	h.waitFor("one runtime", func() bool { return h.host.Figures().Runtimes == 1 })
	running := h.callLater(context.Background(), session, "i", "echo", `{}`)
	second.succeed(second.nextCall().InvocationID, `2`)
	if a := <-running; string(a.Payload) != `2` {
		t.Errorf("%s", a.body)
	}
}

func TestAcceptance21PinnedNames(t *testing.T) {
	h := newTestHost(t, nil)
	h.connect("rt", "echo")
	second := h.connect("rt2", "echo")
	session := h.session("me-token", `{}`)
	for i := range 5 {
		running := h.callLater(context.Background(), session, fmt.Sprint(i), "rt2/echo", `{}`)
		call := second.nextCall()
		if call.ToolName != "echo" {
			t.Errorf("the runtime got the name %s", call.ToolName)
		}
		second.succeed(call.InvocationID, `2`)
		if a := <-running; a.status != 200 {
			t.Errorf("%s", a.body)
		}
	}
	second.ws.CloseNow()
	h.waitFor("one runtime", func() bool { return h.host.Figures().Runtimes == 1 })
	h.want(h.call(session, "x", "rt2/echo", `{}`), 503, altar.RuntimeUnavailable)
}

func TestAcceptance22StreamInOrder(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "count", "echo")
	session := h.session("me-token", `{}`)
	go func() {
		call := p.nextCall()
		for i := range int64(100) {
			p.chunk(call.InvocationID, i, fmt.Sprintf("{\"n\":\n%d}", i), i == 99)
		}
	}()
	response, next := h.stream(context.Background(), session, "i", "count")
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %v", response.Status, response.Header)
	}
	for i := range int64(100) {
		e, err := next()
		if err != nil || e.id != i || e.ChunkID != i || e.InvocationID != "i" || string(e.Payload) != fmt.Sprintf(`{"n":%d}`, i) || e.IsFinal != (i == 99) {
			t.Fatalf("event %d: %+v, %v", i, e, err)
		}
	}
	if e, err := next(); err != io.EOF {
		t.Errorf("behind the last: %+v, %v", e, err)
	}
	// The same call again replays the stream; a tool that does not stream is one chunk.
	_, next = h.stream(context.Background(), session, "i", "count")
	for i := range int64(100) {
		if e, err := next(); err != nil || e.id != i {
			t.Fatalf("replayed event %d: %+v, %v", i, e, err)
		}
	}
	go func() { p.succeed(p.nextCall().InvocationID, `"once"`) }()
	_, next = h.stream(context.Background(), session, "one", "echo")
	if e, err := next(); err != nil || e.id != 0 || !e.IsFinal || string(e.Payload) != `"once"` {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestAcceptance23ErrorChunkEndsTheStream(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "count")
	session := h.session("me-token", `{}`)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		call := p.nextCall()
		p.chunk(call.InvocationID, 0, `0`, false)
		p.send(altar.StreamChunk{InvocationID: call.InvocationID, ChunkID: 1, Error: altar.Errorf(altar.ExecutionFailed, "half way")}) // no is_final
		p.chunk(call.InvocationID, 2, `2`, true)
	}()
	_, next := h.stream(context.Background(), session, "i", "count")
	next()
	if e, err := next(); err != nil || e.id != 1 || !e.IsFinal || e.Error == nil || e.Error.Code != altar.ExecutionFailed || e.Payload != nil {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := next(); err != io.EOF {
		t.Errorf("behind the error: %+v, %v", e, err)
	}
	<-sent
	// Before the first payload the error is the status, also when the runtime sends it in a chunk.
	for code, want := range map[altar.Code]altar.Code{altar.ExecutionFailed: altar.ExecutionFailed, altar.ExecutionTimeout: altar.ExecutionTimeout, "OF_ITS_OWN": altar.ExecutionFailed} {
		status := 502
		if want == altar.ExecutionTimeout {
			status = 504
		}
		for _, accept := range []string{"text/event-stream", "application/json"} {
			failing := h.callLater(context.Background(), session, string(code)+accept, "count", `{}`, "Accept", accept)
			p.send(altar.StreamChunk{InvocationID: p.nextCall().InvocationID, Error: altar.Errorf(code, "at once")})
			h.want(<-failing, status, want)
		}
	}
}

func TestAcceptance24GapsInChunkIDs(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "count", "echo")
	session := h.session("me-token", `{}`)
	for i, id := range []string{"2", "0", "-1", "9223372036854775807", "9223372036854775808", `"1"`, "1.0"} {
		go func() {
			call := p.nextCall()
			p.chunk(call.InvocationID, 0, `0`, false)
			p.sendText(`{"type":"StreamChunk","invocation_id":"` + call.InvocationID + `","chunk_id":` + id + `,"payload":1}`)
		}()
		_, next := h.stream(context.Background(), session, fmt.Sprint(i), "count")
		if e, err := next(); err != nil || e.id != 0 {
			t.Fatalf("%s: %+v, %v", id, e, err)
		}
		if e, err := next(); err != nil || e.id != 1 || !e.IsFinal || e.Error == nil || e.Error.Code != altar.InternalError {
			t.Errorf("chunk %s after 0: %+v, %v", id, e, err)
		}
		p.nextCancel()
		p.barrier()
	}
	// Before the first chunk the error is the status.
	for _, id := range []string{"1", "null"} {
		running := h.callLater(context.Background(), session, "first "+id, "count", `{}`, "Accept", "text/event-stream")
		p.sendText(`{"type":"StreamChunk","invocation_id":"` + p.nextCall().InvocationID + `","chunk_id":` + id + `,"payload":1}`)
		h.want(<-running, 500, altar.InternalError)
		p.nextCancel()
		p.barrier()
	}
	plain := h.callLater(context.Background(), session, "plain", "echo", `{}`)
	p.chunk(p.nextCall().InvocationID, 0, `1`, true)
	h.want(<-plain, 500, altar.InternalError)
}

func TestAcceptance25ClientLeaves(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo", "count")
	session := h.session("me-token", `{}`)
	ctx, leave := context.WithCancel(context.Background())
	running := h.callLater(ctx, session, "i", "echo", `{}`)
	call := p.nextCall()
	leave()
	<-running
	if cancel := p.nextCancel(); cancel.InvocationID != call.InvocationID {
		t.Errorf("%+v", cancel)
	}
	ctx, leave = context.WithCancel(context.Background())
	go func() {
		call = p.nextCall()
		p.chunk(call.InvocationID, 0, `0`, false)
	}()
	_, next := h.stream(ctx, session, "s", "count")
	next()
	leave()
	if cancel := p.nextCancel(); cancel.InvocationID != call.InvocationID {
		t.Errorf("%+v", cancel)
	}
}

func TestAcceptance26SlowClientDoesNotBlockOthers(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo", "count")
	session := h.session("me-token", `{}`)
	calls := make(chan altar.ToolCall)
	canceled := make(chan struct{})
	go func() {
		defer close(calls)
		for {
			m, err := p.tryRead()
			if err != nil {
				return
			}
			switch m := m.(type) {
			case altar.ToolCall:
				calls <- m
			case altar.CancelCall:
				close(canceled)
			}
		}
	}()
	response := make(chan *http.Response, 1)
	go func() { // reads the header and no more
		r, _ := h.stream(context.Background(), session, "slow", "count")
		response <- r
	}()
	stream := <-calls
	payload := `"` + strings.Repeat("x", 64<<10) + `"`
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range int64(600) { // 38 MiB
			select {
			case <-canceled:
				return
			default:
				p.chunk(stream.InvocationID, i, payload, false)
			}
		}
	}()
	<-response
	begun := time.Now()
	running := h.callLater(context.Background(), session, "fast", "echo", `{}`)
	p.succeed((<-calls).InvocationID, `1`)
	if a := <-running; a.status != 200 || time.Since(begun) > testTime {
		t.Errorf("%d after %s", a.status, time.Since(begun))
	}
	<-canceled // the slow one is cut off
	<-sent
}

func TestAcceptance27SyncClientOfAStream(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "count")
	session := h.session("me-token", `{}`)
	running := h.callLater(context.Background(), session, "i", "count", `{}`)
	call := p.nextCall()
	p.chunk(call.InvocationID, 0, `{"a":1}`, false)
	p.chunk(call.InvocationID, 1, `null`, false)
	p.chunk(call.InvocationID, 2, `2`, false)
	p.chunk(call.InvocationID, 3, `null`, true) // no payload
	if a := <-running; a.status != 200 || string(a.Payload) != `[{"a":1},null,2]` {
		t.Errorf("%d %s", a.status, a.body)
	}
	failing := h.callLater(context.Background(), session, "f", "count", `{}`)
	call = p.nextCall()
	p.chunk(call.InvocationID, 0, `1`, false)
	p.send(altar.StreamChunk{InvocationID: call.InvocationID, ChunkID: 1, Error: altar.Errorf(altar.ExecutionFailed, "no")})
	h.want(<-failing, 502, altar.ExecutionFailed)
	large := h.callLater(context.Background(), session, "l", "count", `{}`)
	call = p.nextCall()
	for i := range int64(5) {
		p.chunk(call.InvocationID, i, `"`+strings.Repeat("x", 300<<10)+`"`, false)
	}
	h.want(<-large, 500, altar.InternalError)
	p.nextCancel()
}

func TestAcceptance28OversizedFrame(t *testing.T) {
	h := newTestHost(t, nil)
	other := h.connect("rt2", "echo")
	p := h.connect("rt", "need")
	session := h.session("me-token", `{}`)
	running := h.callLater(context.Background(), session, "i", "need", `{"text":"x"}`)
	call := p.nextCall()
	go func() {
		defer func() { recover() }()
		p.ws.Write(context.Background(), websocket.MessageText, []byte(`{"type":"ToolResult","invocation_id":"`+call.InvocationID+`","status":"success","payload":"`+strings.Repeat("x", 10<<20)+`"}`))
	}()
	h.want(<-running, 503, altar.RuntimeUnavailable)
	p.wantClosed(websocket.StatusMessageTooBig)
	fine := h.callLater(context.Background(), session, "j", "echo", `{}`)
	other.succeed(other.nextCall().InvocationID, `1`)
	if a := <-fine; a.status != 200 {
		t.Errorf("%s", a.body)
	}
}

func TestAcceptance29UnknownMessageTypes(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	for text, inReplyTo := range map[string]string{
		`{"type":"Dance"}`: "Dance", `{"type":"Dance","invocation_id":"i9"}`: "i9", `{"type":"ToolCall","invocation_id":"i","tool_name":"x","parameters":{}}`: "i", `{"type":"FulfillTools"}`: "FulfillTools", `{"type":"StreamChunk","invocation_id":"i8"}`: "i8",
		`{"nothing":1}`: "", `{broken`: "", `[1]`: "", `{"type":"FulfillTools","tool_names":7,"session_id":"s9"}`: "s9",
		`{"type":"AnnounceRuntime","runtime_id":"rt","protocol_version":"1.0.0"}`: "AnnounceRuntime", `{"type":"FulfillTools","tool_names":[],"tool_names":[]}`: "",
	} {
		p.sendText(text)
		if e := p.nextError(altar.InvalidParameters); e.InReplyTo != inReplyTo {
			t.Errorf("%s: in_reply_to %q, want %q", text, e.InReplyTo, inReplyTo)
		}
	}
	session := h.session("me-token", `{}`)
	running := h.callLater(context.Background(), session, "i", "echo", `{}`)
	p.succeed(p.nextCall().InvocationID, `1`)
	if a := <-running; a.status != 200 {
		t.Errorf("%s", a.body)
	}
}

func TestAcceptance30RestartLeavesNothingHalfOpen(t *testing.T) {
	setup := hostSetup{dir: t.TempDir(), grace: time.Second}
	h := startHost(t, setup)
	p := h.connect("rt", "echo", "count")
	session := h.session("me-token", `{}`)
	running := h.callLater(context.Background(), session, "i", "echo", `{}`)
	p.nextCall()
	go func() { p.chunk(p.nextCall().InvocationID, 0, `0`, false) }()
	_, next := h.stream(context.Background(), session, "s", "count")
	if e, err := next(); err != nil || e.id != 0 {
		t.Fatalf("%+v, %v", e, err)
	}
	ended := make(chan struct{})
	go func() { h.stop(); close(ended) }()
	p.wantClosed(websocket.StatusGoingAway)
	if a := <-running; a.status != 410 && a.status != 503 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if e, err := next(); err != nil || e.id != 1 || !e.IsFinal || e.Error == nil || e.Error.Code != altar.SessionInvalid {
		t.Errorf("the open stream ends with %+v, %v", e, err)
	}
	<-ended
	if f := h.host.Figures(); f.Sessions != 0 || f.Runtimes != 0 || f.Running != 0 {
		t.Errorf("%+v", f)
	}
	again := startHost(t, setup) // with the same store
	again.connect("rt", "echo")
	again.want(again.call(session, "i", "echo", `{}`), 410, altar.SessionInvalid)
}

// waitFor waits until something holds.
func (h *testHost) waitFor(what string, holds func() bool) {
	h.t.Helper()
	end := time.Now().Add(testTime)
	for !holds() {
		if time.Now().After(end) {
			h.t.Fatalf("%s: it does not come", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// barrierWithout is barrier, and wants no message of a type before it.
func (p *peer) barrierWithout(kind string) {
	p.t.Helper()
	p.sendText(`{"type":"barrier"}`)
	for {
		m := p.read()
		if e, ok := m.(altar.ProtocolError); ok && e.InReplyTo == "barrier" {
			return
		}
		if m.MessageType() == kind {
			p.t.Errorf("a %s came: %s", kind, altar.Encode(m))
		}
	}
}
