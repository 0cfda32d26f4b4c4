package conversion

import (
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/tree"
)

// otherFormats lists the formats that people pass by mistake, each with the members that identify
// it.
var otherFormats = []struct {
	members []string
	message string
}{
	{[]string{"openapi"}, "this is an OpenAPI description; convert it from openapi"},
	{[]string{"swagger"}, "this is an OpenAPI 2 description (Swagger); convert it from openapi"},
	{[]string{"asyncapi"}, "this is AsyncAPI, which describes messages, not operations that can be called; describe those in OpenAPI"},
	{[]string{"aiendpoint"}, "this is an AI Discovery document; convert it from ai"},
	{[]string{"agis", "endpoints"}, "this is an AGIS document; convert it from agis"},
	{[]string{"agis"}, "this is the summary of an AGIS service, which has no endpoints; use the document that agis_document names"},
	{[]string{"openrpc"}, "this is OpenRPC, which describes JSON-RPC methods; describe them in OpenAPI"},
	{[]string{"tools"}, "this is a list of MCP tools; convert it from mcp"},
	{[]string{"result", "jsonrpc"}, "this is a JSON-RPC answer; of MCP servers the one to tools/list can be converted, from mcp"},
	{[]string{"info", "item"}, "this is a Postman collection; export it as OpenAPI 3 first"},
	{[]string{"collection"}, "this looks like a Postman collection; export it as OpenAPI 3 first"},
	{[]string{"_type", "resources"}, "this is an Insomnia export; export it as OpenAPI 3 first"},
	{[]string{"log"}, "this looks like recorded traffic (HAR); describe the operations in OpenAPI first"},
	{[]string{"__schema"}, "this is the introspection of a GraphQL schema; describe the operations in OpenAPI, or begin with init"},
	{[]string{"data"}, "this looks like the answer of a service (perhaps a GraphQL introspection), not a description of it"},
	{[]string{"swaggerVersion"}, "this is Swagger 1, which has one file for each resource; convert it to OpenAPI 3 first"},
	{[]string{"discoveryVersion"}, "this is a Google API discovery document; convert it to OpenAPI 3 first"},
	{[]string{"skills", "url"}, "this is an A2A agent card, which names skills, not operations; begin with init"},
	{[]string{"schema_version", "api"}, "this is a plugin manifest; use the OpenAPI description that api.url names"},
	{[]string{"error"}, "this looks like an error answer of a service, not a description of it"},
	{[]string{"$schema"}, "this is a JSON Schema or a document that names one, not a description of operations"},
}

// IdentifyFormat describes, in one phrase, the format of a text without the member wanted, and what
// to do with the text.
func IdentifyFormat(root *protocol.Node, wanted string) string {
	with := ", not endpoints of the form METHOD /path { … }"
	if wanted != "" {
		with = ", not an object with the member " + wanted
	}
	if !tree.IsKind(root, protocol.Object) {
		return "the text is " + KindPhrase(root) + with
	}
	if message := recognizeMembers(root, wanted); message != "" {
		return message
	}
	var names []string
	for _, m := range root.Items[:min(len(root.Items), 5)] {
		names = append(names, protocol.Quote(m.Key))
	}
	switch {
	case names == nil:
		return "the object is empty; it ought to have the member " + wanted
	case wanted == "":
		return "this is an object with the members " + strings.Join(names, ", ")
	default:
		return "the object has the members " + strings.Join(names, ", ") + ", but not " + wanted
	}
}

// RecognizeFormat is IdentifyFormat for a text of which nothing is wanted; "" if its members identify no
// format.
func RecognizeFormat(root *protocol.Node) string {
	if !tree.IsKind(root, protocol.Object) {
		return ""
	}
	return recognizeMembers(root, "")
}

// recognizeMembers returns the message about the first format whose members an object has, except the
// one that wanted identifies.
func recognizeMembers(root *protocol.Node, wanted string) string {
	for _, f := range otherFormats {
		if f.members[0] != wanted && !slices.ContainsFunc(f.members, func(name string) bool { return root.Member(name) == nil }) {
			return f.message
		}
	}
	return ""
}

// KindPhrase returns the kind of a node with its article: "an array".
func KindPhrase(n *protocol.Node) string {
	switch {
	case n == nil, n.Kind == protocol.Null:
		return "null"
	case n.Kind == protocol.Array, n.Kind == protocol.Object:
		return "an " + n.Kind.String()
	default:
		return "a " + n.Kind.String()
	}
}
