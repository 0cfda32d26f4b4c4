package hosthttp_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gazetteer/altarkit"
	"gazetteer/internal/mcpconformance"
	"gazetteer/internal/need"
	"gazetteer/toolhost/hosthttp"
	"gazetteer/toolhost/hostmcp"
)

// suiteContracts are the tools with the fixed names that the conformance suite of MCP calls.
const suiteContracts = `[
	{"name": "test_simple_text", "description": "Returns a text", "effect": "informational"},
	{"name": "test_error_handling", "description": "Fails"},
	{"name": "json_schema_2020_12_tool", "description": "Returns its parameters", "input_schema": {
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type": "object",
		"$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
		"additionalProperties": false
	}}
]`

// TestMCPConformance has the endpoint of the contracts judged by the conformance suite of MCP. The
// suite has no token, so it asks as the operator does.
func TestMCPConformance(t *testing.T) {
	need.Node(t)
	h := newTestHost(t, nil)
	h.addContracts(suiteContracts)
	r := altarkit.Runtime{URL: "ws://" + h.addr + "/altar/v1/runtimes", Token: "rt-token", ID: "rt"}
	r.Handle("test_simple_text", func(context.Context, *altarkit.Call) (any, error) {
		return "This is a simple text response for testing.", nil
	})
	r.Handle("test_error_handling", func(context.Context, *altarkit.Call) (any, error) {
		return nil, errors.New("this tool intentionally returns an error for testing")
	})
	r.Handle("json_schema_2020_12_tool", func(_ context.Context, c *altarkit.Call) (any, error) { return c.Parameters, nil })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	h.waitFor("the tools", func() bool { list := h.host.Runtimes(); return len(list) == 1 && len(list[0].Tools) == 3 })
	server := httptest.NewServer(hosthttp.AsOperator(hosthttp.New(hosthttp.Options{Host: h.host, MCP: hostmcp.New(hostmcp.Options{Host: h.host})})))
	defer server.Close()
	mcpconformance.Run(t, server.URL+hosthttp.Prefix+"mcp",
		append([]string{"tools-call-simple-text", "tools-call-error", "json-schema-2020-12"}, mcpconformance.Basic...))
}

// startJavaScript starts the example in JavaScript as the runtime rt.
func startJavaScript(ctx context.Context, t *testing.T, node, address string) *exec.Cmd {
	t.Helper()
	program := exec.CommandContext(ctx, node, filepath.FromSlash("../../altarkit/examples/node/runtime.mjs"), address, "rt")
	program.Env = append(os.Environ(), "ALTAR_TOKEN=rt-token")
	program.Stderr = os.Stderr
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	return program
}

// TestJavaScriptUnderAnotherHost checks that the example in JavaScript serves a Host that knows only the
// draft.
func TestJavaScriptUnderAnotherHost(t *testing.T) {
	node, _ := need.Node(t)
	address, runtimes := newDraftHost(t)
	ctx, cancel := context.WithCancel(context.Background())
	program := startJavaScript(ctx, t, node, address)
	testDraftFlows(t, <-runtimes)
	cancel()
	if err := program.Wait(); err == nil {
		t.Error("the example ended before it was killed")
	}
}

// TestRuntimeInJavaScript connects the example in JavaScript, a separate process, and calls its
// tools.
func TestRuntimeInJavaScript(t *testing.T) {
	node, _ := need.Node(t)
	h := newTestHost(t, nil)
	list, err := os.ReadFile(filepath.FromSlash("../../altarkit/examples/contracts.json"))
	if err != nil {
		t.Fatal(err)
	}
	h.addContracts(string(list))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	program := startJavaScript(ctx, t, node, "ws://"+h.addr+"/altar/v1/runtimes")
	h.waitFor("the runtime in JavaScript", func() bool { list := h.host.Runtimes(); return len(list) == 1 && len(list[0].Tools) == 2 })
	session := h.session("me-token", `{}`)
	if a := h.call(session, "1", "add", `{"a": 40, "b": 2}`); a.status != 200 || string(a.Payload) != `{"sum":42}` {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := h.call(session, "2", "count", `{"to": 3}`); a.status != 200 || string(a.Payload) != "[1,2,3]" {
		t.Errorf("%d %s", a.status, a.body)
	}
	// A client disconnects from an endless stream: the runtime stops it and continues with other
	// calls.
	leaving, leave := context.WithCancel(ctx)
	left := h.callLater(leaving, session, "3", "count", `{"to": 1000000000}`, "Accept", "text/event-stream")
	h.waitFor("the stream", func() bool { return h.host.Figures().Running == 1 })
	leave()
	<-left
	if a := h.call(session, "4", "add", `{"a": 1, "b": 2}`); a.status != 200 || string(a.Payload) != `{"sum":3}` {
		t.Errorf("after the stream: %d %s", a.status, a.body)
	}
	h.stop()
	if err := program.Wait(); err != nil {
		t.Errorf("the host went away, and the example ends with %v", err)
	}
}
