package mcphttp

import (
	"cmp"
	"fmt"
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
	methods := serverMethods[sessionless]
	advice := cmp.Or(nearest.Question(request.Method, methods), "its methods are "+strings.Join(methods, ", "))
	refusal.message = fmt.Sprintf("this server has no method %.60q: %s", request.Method, advice)
	return refusal
}
