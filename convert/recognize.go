package convert

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	"gazetteer/protocol"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
)

// checkFormat adds to a conversion the recognition of texts in another format: the error says what
// the text is and what to do with it.
func checkFormat(from string, do func([]byte, Options) (Output, error)) func([]byte, Options) (Output, error) {
	return func(text []byte, o Options) (Output, error) {
		in := inputs[from]
		if bare, _ := protocol.TrimBOM(text); len(bytes.TrimSpace(bare)) == 0 {
			return Output{}, fmt.Errorf("read %s: %w: the text is empty", in.name, protocol.ErrUnreadable)
		}
		if what := recognizeBytes(text, from); what != "" {
			return Output{}, fmt.Errorf("read %s: %w: %s", in.name, protocol.ErrOtherFormat, what)
		}
		out, err := do(text, o)
		if err == nil {
			return out, nil
		}
		if from == "ai" && errors.Is(err, protocol.ErrUnreadable) && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
			return Output{}, err // as YAML, JSON with a comment may have other members
		}
		root, unreadable := conversion.ReadText(text)
		if in.member == "agis" && root.Member("agis") != nil && root.Member("endpoints") == nil && root.Member("methods") != nil {
			return Output{}, fmt.Errorf("read %s: %w: %s", in.name, protocol.ErrOtherFormat, conversion.IdentifyFormat(root, ""))
		}
		if unreadable != nil || in.member != "" && tree.IsKind(root, protocol.Object) && root.Member(in.member) != nil {
			return Output{}, err
		}
		if from == "mcp" && tree.IsKind(root, protocol.Array) || in.member == "" && !tree.IsKind(root, protocol.Object) && !tree.IsKind(root, protocol.Array) {
			return Output{}, err
		}
		return Output{}, fmt.Errorf("read %s: %w: %s", in.name, protocol.ErrOtherFormat, conversion.IdentifyFormat(root, in.member))
	}
}

// inputs maps the source format of a conversion to its name in messages and the member that
// identifies it.
var inputs = map[string]struct{ name, member string }{
	"openapi":  {"OpenAPI description", "openapi"},
	"agis":     {"AGIS document", "agis"},
	"agis-map": {"AGIS document", "agis"},
	"mcp":      {"MCP tools", "tools"},
	"notation": {"brace notation", ""},
	"ai":       {"AI Discovery document", "aiendpoint"},
}

// signatures are the first bytes of files that are not text.
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
	htmlBegin   = regexp.MustCompile(`(?i)\A(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype html|html|head|body|title|meta|main|section|article|div|form|table|ul|p|a|h1)\b`)
	markdown    = regexp.MustCompile(`(?m)^[-*] \[[^\]\n]+\]\(https?://`)
	graphQL     = regexp.MustCompile(`(?m)^(?:extend +)?(?:(?:type|input|interface|enum) +[A-Z]\w*(?: [^\n{]*)?\{|union +\w+ *=|schema *\{|scalar +\w+ *$)`)
	protobuf    = regexp.MustCompile(`(?m)\A(?:\s|//[^\n]*\n)*syntax *= *"proto[23]"`)
	braceMethod = regexp.MustCompile(`(?m)^[ \t]*[A-Z]{2,} +/\S* *\{`)
	rawHTTP     = regexp.MustCompile(`\A(?:HTTP/[0-9.]+ [0-9]{3}|(?:GET|POST|PUT) \S+ HTTP/)`)
	curlCommand = regexp.MustCompile(`\A(?:\$ *)?curl +-`)
)

// Recognize says what a text is that no conversion takes, and what to do with it; "" if it does not
// recognize the text.
func Recognize(text []byte) string {
	if what := recognizeBytes(text, ""); what != "" {
		return what
	}
	root, err := conversion.ReadText(text)
	if err != nil {
		return ""
	}
	return conversion.RecognizeFormat(root)
}

// recognizeBytes says what a text is that is neither JSON nor YAML; "" if it recognizes nothing.
func recognizeBytes(text []byte, from string) string {
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
		return "this is a web page (HTML), perhaps the answer to a wrong address or a page that shows the description; use the JSON or YAML file itself, or begin with init"
	case begin[0] == '<':
		return "this is XML, such as WSDL or WADL; describe the service in OpenAPI, or begin with init"
	case rawHTTP.Match(begin):
		return "this is an HTTP message; use only the part after the empty line"
	case curlCommand.Match(begin):
		return "this is a command; hand in the file that it would fetch"
	case begin[0] == '{' || begin[0] == '[' || !utf8.Valid(begin[:min(len(begin), 512)]):
		return ""
	case markdown.Match(begin):
		return "this is a text in Markdown, such as an llms.txt file, which names pages, not operations; begin with init"
	case protobuf.Match(begin):
		return "this is a Protocol Buffers schema; make an OpenAPI description of it first (protoc-gen-openapi does)"
	case from != "notation" && braceMethod.Match(begin):
		return "this is the brace notation of the AGIS draft's examples; convert it from notation"
	case graphQL.Match(begin):
		return "this is a GraphQL schema; AGIS and AI Discovery describe single operations, so begin with init, or describe the operations in OpenAPI"
	}
	return ""
}
