package convert

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gazetteer/protocol"
)

// reading adds to a conversion that a text of another format is named, with what
// to do about it. People hand in what they have.
func reading(from string, do func([]byte, Options) (Output, error)) func([]byte, Options) (Output, error) {
	return func(text []byte, o Options) (Output, error) {
		in := inputs[from]
		if bare, _ := protocol.TrimBOM(text); len(bytes.TrimSpace(bare)) == 0 {
			return Output{}, fmt.Errorf("read %s: %w: the text is empty", in.name, protocol.ErrUnreadable)
		}
		if what := notEvenATree(text, from); what != "" {
			return Output{}, fmt.Errorf("read %s: %w: %s", in.name, protocol.ErrOtherFormat, what)
		}
		out, err := do(text, o)
		if err == nil {
			return out, nil
		}
		root, unreadable := readStranger(text)
		if in.member == "agis" && root.Member("agis") != nil && root.Member("endpoints") == nil && root.Member("methods") != nil {
			return Output{}, fmt.Errorf("read %s: %w: %s", in.name, protocol.ErrOtherFormat, whatItIs(root, ""))
		}
		if unreadable != nil || in.member != "" && isKind(root, protocol.Object) && root.Member(in.member) != nil {
			return Output{}, err
		}
		if from == "mcp" && isKind(root, protocol.Array) || in.member == "" && !isKind(root, protocol.Object) && !isKind(root, protocol.Array) {
			return Output{}, err
		}
		return Output{}, fmt.Errorf("read %s: %w: %s", in.name, protocol.ErrOtherFormat, whatItIs(root, in.member))
	}
}

// inputs names what the conversions read, and the member that shows it.
var inputs = map[string]struct{ name, member string }{
	"openapi":  {"OpenAPI description", "openapi"},
	"agis":     {"AGIS document", "agis"},
	"agis-map": {"AGIS document", "agis"},
	"mcp":      {"MCP tools", "tools"},
	"notation": {"brace notation", ""},
	"ai":       {"AI Discovery document", "aiendpoint"},
}

// signatures are the first bytes of files that hold no text of ours.
var signatures = []struct{ begin, what string }{
	{"%PDF-", "this is a PDF file; the description itself is a JSON or YAML file"},
	{"PK\x03\x04", "this is a zip archive or an office document; unpack it, or save the description as text"},
	{"\x1f\x8b", "this is compressed with gzip; unpack it first"},
	{"\x28\xb5\x2f\xfd", "this is compressed with zstd; unpack it first"},
	{"\x7fELF", "this is a program, not a description"},
	{"MZ\x90", "this is a program, not a description"},
	{"\x89PNG", "this is a picture; the description itself is a JSON or YAML file"},
	{"\xff\xd8\xff", "this is a picture; the description itself is a JSON or YAML file"},
}

var (
	htmlBegin   = regexp.MustCompile(`(?i)\A(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype html|html|head|body)\b`)
	graphQL     = regexp.MustCompile(`(?m)^(?:extend +)?(?:(?:type|input|interface|enum) +[A-Z]\w*(?: [^\n{]*)?\{|union +\w+ *=|schema *\{|scalar +\w+ *$)`)
	protobuf    = regexp.MustCompile(`(?m)\A(?:\s|//[^\n]*\n)*syntax *= *"proto[23]"`)
	braceMethod = regexp.MustCompile(`(?m)^[ \t]*[A-Z]{2,} +/\S* *\{`)
	rawHTTP     = regexp.MustCompile(`\A(?:HTTP/[0-9.]+ [0-9]{3}|(?:GET|POST|PUT) \S+ HTTP/)`)
	curlCommand = regexp.MustCompile(`\A(?:\$ *)?curl +-`)
)

// notEvenATree recognises by its bytes what is neither JSON nor YAML; "" where
// nothing is recognised.
func notEvenATree(text []byte, from string) string {
	text, _ = protocol.TrimBOM(text)
	for _, s := range signatures {
		if bytes.HasPrefix(text, []byte(s.begin)) {
			return s.what
		}
	}
	const most = 64 << 10 // a schema begins early
	begin := bytes.TrimSpace(text[:min(len(text), most)])
	switch {
	case len(begin) == 0:
		return ""
	case htmlBegin.Match(begin):
		return "this is a web page (HTML), perhaps the answer to a wrong address or a page that shows the description; take the JSON or YAML file itself"
	case begin[0] == '<':
		return "this is XML, such as WSDL or WADL; describe the service in OpenAPI, or begin with init"
	case rawHTTP.Match(begin):
		return "this is an HTTP message; take only what stands behind the empty line"
	case curlCommand.Match(begin):
		return "this is a command; hand in the file that it would fetch"
	case begin[0] == '{' || begin[0] == '[' || !utf8.Valid(begin[:min(len(begin), 512)]):
		return ""
	case protobuf.Match(begin):
		return "this is a Protocol Buffers schema; make an OpenAPI description of it first (protoc-gen-openapi does)"
	case from != "notation" && braceMethod.Match(begin):
		return "this is the brace notation of the AGIS draft's examples; convert it from notation"
	case graphQL.Match(begin):
		return "this is a GraphQL schema; AGIS and AI Discovery describe single operations, so begin with init, or describe the operations in OpenAPI"
	}
	return ""
}

// otherFormats are what people hand in when another format is asked for, each
// with the members that make it recognisable.
var otherFormats = []struct {
	members []string
	message string
}{
	{[]string{"openapi"}, "this is an OpenAPI description; convert it from openapi"},
	{[]string{"swagger"}, "this is an OpenAPI 2 description (Swagger); convert it from openapi"},
	{[]string{"asyncapi"}, "this is AsyncAPI, which describes messages, not operations that can be called; describe those in OpenAPI"},
	{[]string{"aiendpoint"}, "this is an AI Discovery document; convert it from ai"},
	{[]string{"agis", "endpoints"}, "this is an AGIS document; convert it from agis"},
	{[]string{"agis"}, "this is the summary of an AGIS service, which has no endpoints; take the document that agis_document names"},
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
	{[]string{"schema_version", "api"}, "this is a plugin manifest; take the OpenAPI description that api.url names"},
	{[]string{"error"}, "this looks like an error answer of a service, not a description of it"},
	{[]string{"$schema"}, "this is a JSON Schema or a document that names one, not a description of operations"},
}

// whatItIs names what was found in place of a text with the member wanted.
func whatItIs(root *protocol.Node, wanted string) string {
	with := ", not endpoints of the form METHOD /path { … }"
	if wanted != "" {
		with = ", not an object with the member " + wanted
	}
	if !isKind(root, protocol.Object) {
		return "the text is " + kindPhrase(root) + with
	}
	for _, f := range otherFormats {
		if f.members[0] != wanted && !slices.ContainsFunc(f.members, func(name string) bool { return root.Member(name) == nil }) {
			return f.message
		}
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

// kindPhrase names a kind with its article.
func kindPhrase(n *protocol.Node) string {
	switch {
	case n == nil, n.Kind == protocol.Null:
		return "null"
	case n.Kind == protocol.Array, n.Kind == protocol.Object:
		return "an " + n.Kind.String()
	default:
		return "a " + n.Kind.String()
	}
}
