package mcphttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Nearly every request is one plain call of a tool. The library opens a session for it, decodes it
// nine times, each time with a buffer of 32 kB, and encodes the result twice. So the handler answers
// such a call itself, in the same form, and leaves all other requests to the library.

// plainVersions are the versions of the protocol in which a plain call needs nothing but its name and
// its arguments; a request without a version counts as one of 2025-03-26.
var plainVersions = []string{"", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// sessionlessVersion is the version in which each call describes its client, in _meta and in headers,
// and each result its server.
const sessionlessVersion = "2026-07-28"

// A plainCall is a request that calls a tool.
type plainCall struct {
	id          json.RawMessage
	name        string
	args        json.RawMessage
	sessionless bool // the call is one of sessionlessVersion
}

// readPlainCall returns the call in a message that [CheckMessages] accepts; false if it is anything
// else, or has members that only the library knows.
func readPlainCall(r *http.Request, body []byte) (plainCall, bool) {
	version := r.Header.Get("Mcp-Protocol-Version")
	sessionless := version == sessionlessVersion
	if r.Method != http.MethodPost || !sessionless && !slices.Contains(plainVersions, version) || r.Header.Get("Last-Event-ID") != "" {
		return plainCall{}, false
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return plainCall{}, false
	}
	accepted := strings.Join(r.Header.Values("Accept"), ",")
	if !strings.Contains(accepted, "application/json") || !strings.Contains(accepted, "text/event-stream") {
		return plainCall{}, false
	}
	message, ok := readMembers(body, "jsonrpc", "id", "method", "params")
	if !ok || string(message["method"]) != `"tools/call"` || len(message["id"]) == 0 || string(message["id"]) == "null" {
		return plainCall{}, false
	}
	params, ok := readMembers(message["params"], "name", "arguments", "_meta")
	call := plainCall{id: message["id"], args: params["arguments"], sessionless: sessionless}
	if !ok || json.Unmarshal(params["name"], &call.name) != nil {
		return plainCall{}, false
	}
	if sessionless {
		named := r.Header.Get("Mcp-Method") == "tools/call" && r.Header.Get("Mcp-Name") == call.name
		return call, named && isSessionlessMeta(params["_meta"])
	}
	if len(params["_meta"]) > 0 {
		_, ok = readMembers(params["_meta"], "progressToken") // nothing reports progress
	}
	return call, ok
}

// isSessionlessMeta reports whether _meta describes a client as sessionlessVersion prescribes, with no
// other members. The tools ask nothing of a client, so that its capabilities change no answer. A log
// level goes to the library: it is deprecated as of that version, and so is the library's name for it.
func isSessionlessMeta(text json.RawMessage) bool {
	meta, ok := readMembers(text, "progressToken", mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities)
	if !ok || string(meta[mcp.MetaKeyProtocolVersion]) != `"`+sessionlessVersion+`"` {
		return false
	}
	if client, given := meta[mcp.MetaKeyClientInfo]; given && !isObjectFor(client, new(mcp.Implementation)) {
		return false
	}
	return isObjectFor(meta[mcp.MetaKeyClientCapabilities], new(mcp.ClientCapabilities))
}

// isObjectFor reports whether a text is an object that can be read into a value.
func isObjectFor(text json.RawMessage, into any) bool {
	return len(text) > 0 && text[0] == '{' && json.Unmarshal(text, into) == nil
}

// readMembers returns the members of an object; false if it is none, or has others than the named ones.
func readMembers(text []byte, names ...string) (members map[string]json.RawMessage, ok bool) {
	if json.Unmarshal(text, &members) != nil {
		return nil, false
	}
	for name := range members {
		if !slices.Contains(names, name) {
			return nil, false
		}
	}
	return members, true
}

// answer calls the tool and writes its result. server describes the server in results of
// sessionlessVersion.
func (c plainCall) answer(w http.ResponseWriter, r *http.Request, tool mcp.ToolHandler, server *mcp.Implementation) {
	result, err := tool(r.Context(), &mcp.CallToolRequest{
		Params: &mcp.CallToolParamsRaw{Name: c.name, Arguments: c.args}, Extra: &mcp.RequestExtra{Header: r.Header},
	})
	if err == nil && result == nil {
		err = errors.New("the tool has no result")
	}
	var text []byte
	if err == nil {
		text, err = c.encodeAnswer(result, server)
	}
	if err != nil {
		writeRefusal(w, http.StatusOK, &Refusal{id: c.id, code: jsonrpc.CodeInternalError, message: err.Error()})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Write(text) // a client that left needs no answer
}

// A textResult is a result of a tool that has one text. The library encodes the text and the structured
// content four times, once for each type around them.
type textResult struct {
	Type       string     `json:"resultType,omitempty"`
	Meta       mcp.Meta   `json:"_meta,omitempty"`
	Content    [1]oneText `json:"content"`
	Structured any        `json:"structuredContent,omitempty"`
	IsError    bool       `json:"isError,omitempty"`
}

type oneText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// encodeAnswer returns the answer to the call in the form of the library.
func (c plainCall) encodeAnswer(result *mcp.CallToolResult, server *mcp.Implementation) ([]byte, error) {
	resultType := ""
	if c.sessionless {
		resultType = "complete"
		if server != nil {
			result.Meta = mcp.Meta{mcp.MetaKeyServerInfo: server}
		}
	}
	if len(result.Content) != 1 {
		return nil, fmt.Errorf("the tool has %d contents instead of one text", len(result.Content))
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok || text.Meta != nil || text.Annotations != nil {
		return nil, errors.New("the tool has another content than a text")
	}
	return json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  textResult      `json:"result"`
	}{"2.0", c.id, textResult{resultType, result.Meta, [1]oneText{{"text", text.Text}}, result.StructuredContent, result.IsError}})
}
