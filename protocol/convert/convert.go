package convert

import (
	"fmt"
	"strings"
	"time"

	"gazetteer/protocol"
)

// A Conversion is one row of [Conversions].
type Conversion struct {
	// From and To name the formats, for example "openapi" and "agis".
	From, To string
	// Summary says in one line what the conversion does.
	Summary string
	// Do converts one text. The error says in plain words why a text cannot be
	// converted; for a text that cannot be read it wraps
	// [protocol.ErrUnreadable], for one of another format
	// [protocol.ErrOtherFormat].
	Do func(text []byte, o Options) (Output, error)
}

// Conversions lists every conversion, in the order in which a program may list
// them for a person.
var Conversions = []Conversion{
	{"openapi", "agis", "an OpenAPI 2 or 3 description to an AGIS document, with everything guessed marked for review", reading("openapi", openAPIToAGIS)},
	{"openapi", "ai", "an OpenAPI 2 or 3 description to an AI Discovery document, with everything guessed listed in meta.review", reading("openapi", openAPIToAI)},
	{"agis", "mcp", "an AGIS document to MCP tools, the result of tools/list (AGIS appendix C.2)", reading("agis", agisToMCP)},
	{"mcp", "agis", "MCP tools to an AGIS document (AGIS appendix C.3)", reading("mcp", mcpToAGIS)},
	{"notation", "agis", "the brace notation of the draft's examples (BOOK /x { … }) to an AGIS document", reading("notation", notationToAGIS)},
	{"agis-map", "agis", "an AGIS document whose endpoints are a mapping to one that lists them, comments kept", reading("agis-map", mapToArray)},
	{"ai", "agis", "an AI Discovery document to the skeleton of an AGIS document, to be gone through", reading("ai", aiToAGIS)},
	{"ai", "ai", "the parameter descriptions of an AI Discovery document to the form of the draft, the rest untouched", reading("ai", paramsToDraft)},
}

// Find returns the conversion between two formats. The error names the formats
// that there are.
func Find(from, to string) (Conversion, error) {
	var pairs []string
	for _, c := range Conversions {
		if c.From == from && c.To == to {
			return c, nil
		}
		pairs = append(pairs, c.From+" to "+c.To)
	}
	return Conversion{}, fmt.Errorf("there is no conversion from %s to %s; there are: %s",
		protocol.Quote(from), protocol.Quote(to), strings.Join(pairs, ", "))
}

// Options tell a conversion what the text alone does not. The zero value is
// fine.
type Options struct {
	// URL is where the service is, or where the text comes from. It gives the
	// host of an agtp address and the base of relative addresses.
	URL string
	// Name is the name of the service, for texts that have none or a bad one.
	Name string
	// Today is written where a document says when it was last changed; nothing
	// is written when it is zero.
	Today time.Time
	// Format is "yaml" or "json" where an output may be either; "" is YAML.
	Format string
	// Extended adds to MCP tools what MCP has and appendix C.2 of AGIS does not
	// map: outputSchema and annotations.
	Extended bool
}

// Output is a converted document.
type Output struct {
	Text []byte
	// Reviews lists what was guessed or left out, in the order of the output.
	Reviews []Review
}

// A Review asks a person to look at one thing in an output.
type Review struct {
	// Pointer is the RFC 6901 JSON Pointer of the value in the output; "" is
	// the document as a whole.
	Pointer string `json:"pointer"`
	// Message says what was guessed or left out and why. It may quote the
	// input: escape it on output.
	Message string `json:"message"`
}
