package lint

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"
	"slices"

	"gazetteer/document"
	"gazetteer/protocol"
	"gazetteer/protocol/yaml"
)

// A Guess is the likely format of a text.
type Guess struct {
	// Kind is the kind whose reader checks the text, "" when there is none.
	Kind document.Kind
	// Format is the name of the format in package convert, for example "notation" or "openapi", ""
	// when it has none.
	Format string
	// Other is the name of another published format, "" for the formats of this module.
	Other string
}

// Tell recognizes the format of a text by its members, and otherwise by the name of its file or
// address.
func Tell(name string, text []byte) Guess {
	text, _ = protocol.TrimBOM(text)
	root, _, _ := Tree(text)
	return guessKind(name, text, root)
}

// Tree reads a text as JSON if it begins like JSON, else as YAML, and reports which it was. A text
// that begins like JSON but is not may be YAML in flow style; if it is not that either, the error
// is that of the JSON reader. The error is a [*protocol.SyntaxError].
func Tree(text []byte) (root *protocol.Node, isYAML bool, err error) {
	text, _ = protocol.TrimBOM(text)
	if !looksLikeJSON(text) {
		root, err = yaml.Read(text, protocol.Limits{})
		return root, true, err
	}
	root, err = protocol.ReadJSON(text, protocol.Limits{})
	if syntax, ok := errors.AsType[*protocol.SyntaxError](err); ok && syntax.Problem == protocol.Invalid {
		if root, err := yaml.Read(text, protocol.Limits{}); err == nil {
			return root, true, nil
		}
	}
	return root, false, err
}

func looksLikeJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[' || text[0] == '"')
}

// guessKind recognizes a format from the tree, or for a text that cannot be read from the names in
// it.
func guessKind(name string, text []byte, root *protocol.Node) Guess {
	if kind := document.Recognize(name, text); kind != "" {
		return Guess{Kind: kind, Format: string(kind)}
	}
	if root == nil {
		if notation.Match(searchedPart(text)) {
			return Guess{Kind: document.AGIS, Format: "notation"}
		}
		return orByName(name, byNames(namesIn(searchedPart(text)), nil))
	}
	if isToolList(root) {
		return Guess{Format: "mcp", Other: "a list of MCP tools"}
	}
	names := map[string]bool{}
	if root.Kind == protocol.String { // such as a JSON object behind a comment, which YAML reads as one text
		names = namesIn(searchedPart(text))
	}
	if root.Kind == protocol.Object {
		for _, m := range root.Items {
			names[m.Key] = true
		}
	}
	return orByName(name, byNames(names, root))
}

// searchedPart returns the part of an unreadable text that is searched.
func searchedPart(text []byte) []byte { return text[:min(len(text), protocol.DefaultLimits.Bytes)] }

// notation matches the beginning of an endpoint in the brace notation of the AGIS draft (§10.1):
// BOOK /reservation {
var notation = regexp.MustCompile(`(?m)^\s*[A-Z]+ +/[^\s{]*(?:\{[^}\s]*\}[^\s{]*)* *\{\s*$`)

var memberName = regexp.MustCompile(`(?m)(?:^|[{,])\s*(?:"([A-Za-z_$]{1,40})"|([A-Za-z_$]{1,40}))\s*:`)

// namesIn returns what looks like member names.
func namesIn(text []byte) map[string]bool {
	names := map[string]bool{}
	for _, m := range memberName.FindAllSubmatch(text, 10000) {
		names[string(m[1])+string(m[2])] = true
	}
	return names
}

// others lists published formats that are found at the same addresses, each with the members that
// identify it.
var others = []struct {
	all  []string
	name string
	form string
}{
	{[]string{"openapi"}, "OpenAPI", "openapi"},
	{[]string{"swagger"}, "OpenAPI 2 (Swagger)", "openapi"},
	{[]string{"specVersion", "organization"}, "Rootz AI discovery", ""},
	{[]string{"schema_version", "name_for_model"}, "an AI plugin manifest", ""},
	{[]string{"skills", "protocolVersion"}, "an A2A agent card", ""},
	{[]string{"skills", "capabilities", "url"}, "an A2A agent card", ""},
	{[]string{"serverInfo", "transport"}, "an MCP server card", ""},
	{[]string{"serverInfo", "protocolVersion"}, "an MCP server card", ""},
	{[]string{"mcpServers"}, "a list of MCP servers", ""},
	{[]string{"name", "packages"}, "an MCP server description", ""},
	{[]string{"name", "remotes"}, "an MCP server description", ""},
	{[]string{"jsonrpc"}, "a JSON-RPC message", ""},
	{[]string{"asyncapi"}, "AsyncAPI", ""},
	{[]string{"info", "item"}, "a Postman collection", ""},
}

// byNames recognizes a format by member names. root may be nil.
func byNames(names map[string]bool, root *protocol.Node) Guess {
	has := func(all ...string) bool {
		return !slices.ContainsFunc(all, func(name string) bool { return !names[name] })
	}
	guess := func(kind document.Kind) Guess {
		g := guessOf(kind)
		if endpoints := root.Member("endpoints"); kind == document.AGIS && endpoints != nil && endpoints.Kind == protocol.Object {
			g.Format = "agis-map"
		}
		return g
	}
	if kind := document.RecognizeMembers(names, false); kind != "" {
		return guess(kind)
	}
	for _, o := range others {
		if has(o.all...) {
			return Guess{Other: o.name, Format: o.form}
		}
	}
	if kind := document.RecognizeMembers(names, true); kind != "" {
		return guess(kind)
	}
	return Guess{}
}

// isToolList reports whether root is a list of MCP tools: bare, under "tools", or as
// the result of tools/list.
func isToolList(root *protocol.Node) bool {
	list := root
	if root.Kind == protocol.Object {
		if list = root.Member("tools"); list == nil {
			list = root.Member("result").Member("tools")
		}
	}
	items := list.Elements()
	return len(items) > 0 && items[0].Member("inputSchema") != nil && items[0].Member("name") != nil
}

// guessOf is the guess of one of our formats, which conversions know by its kind.
func guessOf(kind document.Kind) Guess { return Guess{Kind: kind, Format: string(kind)} }

// orByName falls back on the name of the file or address.
func orByName(name string, g Guess) Guess {
	if g != (Guess{}) {
		return g
	}
	if kind := document.RecognizeName(filepath.ToSlash(name)); kind != "" {
		return guessOf(kind)
	}
	return g
}
