package mcphttp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"gazetteer/internal/nearest"
)

// serverMethods are the methods of a server that has only tools, in the versions with sessions and in
// [sessionlessVersion].
var serverMethods = map[bool][]string{
	false: {"initialize", "ping", "tools/list", "tools/call"},
	true:  {"server/discover", "tools/list", "tools/call"},
}

// refuseMethod returns the refusal of a message whose method is unknown. It has the id of the message
// unless that is a notification or a batch.
func refuseMethod(body []byte, sessionless bool) *Refusal {
	refusal := &Refusal{code: jsonrpc.CodeMethodNotFound, message: "this server has no such method"}
	m, err := jsonrpc.DecodeMessage(body)
	request, ok := m.(*jsonrpc.Request)
	if err != nil || !ok {
		return refusal
	}
	if request.IsCall() {
		refusal.id = request.ID.Raw()
	}
	refusal.message = unknownMethod(request.Method, serverMethods[sessionless])
	return refusal
}

// unknownMethod returns the message for a method that is none of the methods.
func unknownMethod(method string, methods []string) string {
	advice := cmp.Or(nearest.Question(method, methods), "its methods are "+strings.Join(methods, ", "))
	return fmt.Sprintf("this server has no method %.60q: %s", method, advice)
}

// RewordError returns an answer of the library in our words if it is the error for an unknown method in
// a session; otherwise the answer as it is.
func RewordError(answer []byte) []byte {
	var m struct {
		ID    json.RawMessage `json:"id"`
		Error struct {
			Code    int64  `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(answer, &m) != nil || m.Error.Code != jsonrpc.CodeMethodNotFound {
		return answer
	}
	_, quoted, _ := strings.Cut(m.Error.Message, ": ")
	method, err := strconv.Unquote(quoted)
	if err != nil {
		return answer
	}
	refusal := Refusal{id: m.ID, code: m.Error.Code, message: unknownMethod(method, serverMethods[false])}
	return append(refusal.JSON(), '\n')
}
