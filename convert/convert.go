package convert

import (
	"fmt"
	"slices"
	"strings"

	"gazetteer/convert/openapi"
	"gazetteer/protocol"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/mcp"
	"gazetteer/protocol/notation"
)

// A Conversion is one row of [Conversions].
type Conversion struct {
	// From and To are the names of the formats, for example "openapi" and "agis".
	From, To string
	// Summary describes the conversion in one line.
	Summary string
	// Do converts one text. The error says why the text cannot be converted. It wraps
	// [protocol.ErrUnreadable] for a text that cannot be read and [protocol.ErrOtherFormat] for a
	// text in another format.
	Do func(text []byte, o Options) (Output, error)
}

// Conversions lists all conversions, in the order in which a program may show them.
var Conversions = []Conversion{
	{"openapi", "agis", "an OpenAPI 2 or 3 description to an AGIS document, with everything guessed marked for review", checkFormat("openapi", openapi.ToAGIS)},
	{"openapi", "ai", "an OpenAPI 2 or 3 description to an AI Discovery document, with everything guessed listed in meta.review", checkFormat("openapi", openapi.ToAIDiscovery)},
	{"agis", "openapi", "an AGIS document to an OpenAPI 3.1 description of its HTTP binding (AGIS §10.1)", checkFormat("agis", openapi.FromAGIS)},
	{"agis", "mcp", "an AGIS document to MCP tools, the result of tools/list (AGIS appendix C.2)", checkFormat("agis", mcp.FromAGIS)},
	{"mcp", "agis", "MCP tools to an AGIS document (AGIS appendix C.3)", checkFormat("mcp", mcp.ToAGIS)},
	{"notation", "agis", "the brace notation of the draft's examples (BOOK /x { … }) to an AGIS document", checkFormat("notation", notation.ToAGIS)},
	{"agis-map", "agis", "an AGIS document whose endpoints are a mapping to one that lists them, comments kept", checkFormat("agis-map", notation.ListEndpoints)},
	{"ai", "agis", "an AI Discovery document to the skeleton of an AGIS document, to be gone through", checkFormat("ai", openapi.AIDiscoveryToAGIS)},
	{"ai", "mcp", "an AI Discovery document to MCP tools, the result of tools/list", checkFormat("ai", mcp.FromAIDiscovery)},
	{"ai", "ai", "the parameter descriptions of an AI Discovery document to the form of the draft, the rest untouched", checkFormat("ai", notation.ParamsToDraft)},
}

// Find returns the conversion between two formats. The error lists the formats that from can become,
// and the way over a third one.
func Find(from, to string) (Conversion, error) {
	var targets, sources []string
	via := ""
	for _, c := range Conversions {
		if c.From == from && c.To == to {
			return c, nil
		}
		if !slices.Contains(sources, c.From) {
			sources = append(sources, c.From)
		}
		if c.From != from {
			continue
		}
		targets = append(targets, c.To)
		if exists(c.To, to) && via == "" && c.To != from {
			via = c.To
		}
	}
	message := fmt.Sprintf("no conversion from %s to %s", protocol.Quote(from), protocol.Quote(to))
	switch {
	case targets == nil:
		return Conversion{}, fmt.Errorf("%s; the formats to convert from are %s", message, strings.Join(sources, ", "))
	case via != "":
		return Conversion{}, fmt.Errorf("%s; convert to %s first, and the result to %s", message, via, to)
	}
	return Conversion{}, fmt.Errorf("%s; %s can become %s", message, from, strings.Join(targets, ", "))
}

func exists(from, to string) bool {
	return slices.ContainsFunc(Conversions, func(c Conversion) bool { return c.From == from && c.To == to })
}

// Options tell a conversion what the text alone does not. The zero value is usable.
type Options = conversion.Options

// Output is a converted document, with the places to review.
type Output = conversion.Output

// A Review asks a person to check one place of an output.
type Review = conversion.Review
