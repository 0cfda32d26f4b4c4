// Package hostmcp serves the contracts of a tool host over the Model Context Protocol: tools/list
// shows the tools that a client may call now, tools/call calls one. Make the handler with [New].
//
// Each client has its own session, which is created when it is first needed. Two members of _meta
// carry what MCP does not define: "altar/invocation_id" makes a call idempotent, and
// "altar/confirmation" confirms an irreversible one.
package hostmcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gazetteer/internal/mcphttp"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// Members of _meta of a call.
const (
	invocationMember   = "altar/invocation_id"
	confirmationMember = "altar/confirmation"
)

// maxBody is the size of the largest request.
const maxBody = 1 << 20

// Options are what [New] needs. Host is required.
type Options struct {
	Host *toolhost.Host
	// PublicURL is where clients reach the server. Requests to other host names are refused, so that a
	// page whose name resolves to this machine (DNS rebinding) reaches nothing.
	PublicURL string
	Version   string
	Log       *slog.Logger
}

type clientKey struct{}

// New returns a function that returns the handler for an identified client; see [mcphttp.Handler].
func New(o Options) func(client string) http.Handler {
	inner := mcphttp.Handler(func(r *http.Request) *mcp.Server {
		client, _ := r.Context().Value(clientKey{}).(string)
		return o.newServer(r.Context(), client)
	}, mcphttp.Options{PublicURL: o.PublicURL, MaxBody: maxBody, Log: o.Log})
	return func(client string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), clientKey{}, client)))
		})
	}
}

// newServer returns a server with the tools that a client may call now.
func (o Options) newServer(ctx context.Context, client string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "gazetteer-altar", Title: "Gazetteer tool host", Version: o.Version}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	session, refused := o.Host.SessionForMCP(client)
	if refused != nil {
		return s
	}
	tools, refused := o.Host.Tools(ctx, client, session)
	if refused != nil {
		return s
	}
	for _, t := range tools {
		described := t.MCP()
		tool := &mcp.Tool{Name: described.Name, Description: described.Description, InputSchema: described.InputSchema}
		if a := described.Annotations; a != nil {
			tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: a.ReadOnly != nil && *a.ReadOnly, DestructiveHint: a.Destructive}
		}
		s.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return o.callTool(ctx, client, session, r)
		})
	}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			r, ok := request.(*mcp.CallToolRequest)
			if ok && r.Params != nil && !slices.ContainsFunc(tools, func(t toolhost.Tool) bool { return t.Name == r.Params.Name }) {
				if reason := o.Host.SuspensionOf(ctx, client, session, r.Params.Name); reason != nil {
					return errorResult("", reason), nil
				}
			}
			result, err := next(ctx, method, request)
			if unknown, refused := errors.AsType[*jsonrpc.Error](err); ok && refused && r.Params != nil && unknown.Code == jsonrpc.CodeInvalidParams {
				if question := o.Host.SuggestTool(client, session, r.Params.Name); question != "" {
					return nil, &jsonrpc.Error{Code: unknown.Code, Message: unknown.Message + ": " + question, Data: unknown.Data}
				}
			}
			return result, err
		}
	})
	return s
}

// callTool calls a tool. What the host refuses is a result with isError, so that a model can read it.
func (o Options) callTool(ctx context.Context, client, session string, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	call := altar.ToolCall{ToolName: r.Params.Name, Parameters: r.Params.Arguments}
	if string(call.Parameters) == "null" {
		call.Parameters = nil
	}
	call.InvocationID, _ = r.Params.Meta[invocationMember].(string)
	call.Confirmation, _ = r.Params.Meta[confirmationMember].(string)
	if call.InvocationID == "" {
		call.InvocationID = a2a.NewID()
	}
	caller, refused := o.Host.Call(ctx, client, session, call, false)
	if refused != nil {
		return errorResult(call.InvocationID, refused), nil
	}
	defer caller.Leave()
	result, err := caller.Wait(ctx)
	if err != nil {
		return nil, err
	}
	if result.Error != nil {
		return errorResult(call.InvocationID, result.Error), nil
	}
	return successResult(result.Payload), nil
}

// successResult returns a payload as text, and an object as structured content beside.
func successResult(payload json.RawMessage) *mcp.CallToolResult {
	text := string(payload)
	var plain string
	if json.Unmarshal(payload, &plain) == nil {
		text = plain
	}
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	if strings.HasPrefix(strings.TrimSpace(string(payload)), "{") {
		result.StructuredContent = payload
	}
	return result
}

// errorResult returns an error with what a client needs to call again.
func errorResult(invocation string, err *altar.Error) *mcp.CallToolResult {
	text := err.Error()
	var meta mcp.Meta // for programs; models read the text
	if err.Details["confirmation"] != nil {
		meta = mcp.Meta{invocationMember: invocation, confirmationMember: err.Details["confirmation"]}
		text += fmt.Sprintf("\nTo confirm, call again with _meta {%q: %q, %q: %q}.", invocationMember, invocation, confirmationMember, err.Details["confirmation"])
	} else if detail, failed := json.Marshal(err.Details); failed == nil && len(err.Details) > 0 {
		text += "\n" + string(detail)
	}
	return &mcp.CallToolResult{Meta: meta, Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: true}
}
