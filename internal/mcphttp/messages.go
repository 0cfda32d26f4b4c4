package mcphttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxBatch is the number of messages that one batch may have. Version 2025-03-26 of the protocol
// requires batches, and no other one has them; each message can be a call with a large answer.
const maxBatch = 20

// A Refusal is the reason why messages are not handled.
type Refusal struct {
	id      any // of the request; nil if the messages are refused as a whole
	code    int64
	message string
}

// JSON returns the refusal as an answer of JSON-RPC.
func (r *Refusal) JSON() []byte {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.id, "error": map[string]any{"code": r.code, "message": r.message}})
	if err != nil {
		panic("an error cannot be encoded: " + err.Error()) // it holds only numbers and strings
	}
	return text
}

// notMessage is the message for what cannot be read.
const notMessage = "this is no JSON-RPC 2.0 message"

// A message has the members of a JSON-RPC message that are checked.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// CheckMessages returns why a message or batch of messages cannot be handled, nil if it can. The
// library would refuse most of these, too, but with words about its own types. It would answer some
// ids as other numbers, because it reads numbers as floats, and of two requests with the same id only
// one.
func CheckMessages(text []byte) *Refusal {
	refuse := func(format string, values ...any) *Refusal {
		return &Refusal{code: jsonrpc.CodeInvalidRequest, message: fmt.Sprintf(format, values...)}
	}
	text = bytes.TrimSpace(text)
	if !json.Valid(text) {
		return &Refusal{code: jsonrpc.CodeParseError, message: "this is not JSON"}
	}
	if text[0] != '[' {
		return checkMessage(text)
	}
	var batch []json.RawMessage
	switch err := json.Unmarshal(text, &batch); {
	case err != nil:
		return refuse(notMessage)
	case len(batch) == 0:
		return refuse("the batch is empty")
	case len(batch) > maxBatch:
		return refuse("the batch has %d messages: send at most %d", len(batch), maxBatch)
	}
	seen := map[string]bool{}
	for _, m := range batch {
		if refusal := checkMessage(m); refusal != nil {
			refusal.id = nil
			return refusal
		}
		var read message
		if json.Unmarshal(m, &read) != nil || read.Method == nil || len(read.ID) == 0 || string(read.ID) == "null" {
			continue // no request, and checkMessage has accepted it
		}
		id := string(read.ID)
		if seen[id] {
			return refuse("two requests of the batch have the id %.40s", id)
		}
		seen[id] = true
	}
	return nil
}

// checkMessage is CheckMessages for one message, which is JSON.
func checkMessage(text []byte) *Refusal {
	var m message
	if json.Unmarshal(text, &m) != nil || m.Version != "2.0" {
		return &Refusal{code: jsonrpc.CodeInvalidRequest, message: notMessage}
	}
	id, err := readID(m.ID)
	if err != nil {
		return &Refusal{code: jsonrpc.CodeInvalidRequest, message: err.Error()}
	}
	if m.Method == nil {
		return nil
	}
	if err := checkParams(*m.Method, m.Params); err != nil {
		return &Refusal{id: id, code: jsonrpc.CodeInvalidParams, message: err.Error()}
	}
	return nil
}

// readID returns the id of a message, nil if it has none.
func readID(text json.RawMessage) (any, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	if text[0] == '"' {
		var id string
		err := json.Unmarshal(text, &id)
		return id, err
	}
	if text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return nil, errors.New("the id must be a text or an integer")
	}
	const most = 1 << 53
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n > most-1 || n < 1-most {
		return nil, fmt.Errorf("the id %.40s is no integer of at most 53 bits, and could not be repeated exactly: send another one, or a text", text)
	}
	return n, nil
}

// checkParams checks the types of the params of a request or notification. Params that are missing
// are left to the library, which knows where they are optional.
func checkParams(method string, params json.RawMessage) error {
	if len(params) == 0 || string(params) == "null" {
		return nil
	}
	if params[0] != '{' {
		return fmt.Errorf("the params of %.60s must be an object", method)
	}
	var into any
	switch method {
	case "initialize":
		into = new(mcp.InitializeParams)
	case "ping":
		into = new(mcp.PingParams)
	case "tools/list":
		into = new(mcp.ListToolsParams)
	case "tools/call":
		into = new(mcp.CallToolParamsRaw)
	case "prompts/list":
		into = new(mcp.ListPromptsParams)
	case "prompts/get":
		into = new(mcp.GetPromptParams)
	case "resources/list":
		into = new(mcp.ListResourcesParams)
	case "resources/templates/list":
		into = new(mcp.ListResourceTemplatesParams)
	case "resources/read":
		into = new(mcp.ReadResourceParams)
	case "resources/subscribe":
		into = new(mcp.SubscribeParams)
	case "resources/unsubscribe":
		into = new(mcp.UnsubscribeParams)
	case "completion/complete":
		into = new(mcp.CompleteParams)
	case "logging/setLevel":
		into = new(struct { // the library deprecates the type, since the protocol will drop the method
			Level string `json:"level"`
		})
	default:
		return nil
	}
	err := json.Unmarshal(params, into)
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("the member %.60s of the params of %s has the wrong type: %s", wrong.Field, method, wrong.Value)
	}
	return fmt.Errorf("the params of %s have not the form that the protocol prescribes", method)
}
