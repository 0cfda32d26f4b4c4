package agis

import (
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/tree"
)

// A Document is a full AGIS document (§8.1). Members that are missing or have a wrong type keep
// their zero value.
type Document struct {
	Version        string // agis, the version of the draft
	Service        string
	AGTP           string
	Description    string
	ServiceVersion string // version, or else vocabulary.version
	Endpoints      []Endpoint
	Vocabulary     Vocabulary
	DataManifest   *DataManifest // nil when absent
	// Links are the members of a summary (§11.1) that some full documents also have.
	Links Links
	// PreAuthDiscovery says that document and manifest can be read without credentials. The draft
	// defines it in the manifest (§8.3); one at the top level, where a summary has it, also counts.
	PreAuthDiscovery bool
	// Root is the whole tree, including the values that no field above holds.
	Root *protocol.Node

	refs references
}

// Limits on the content of a document. AGIS defines none, and a short text with references can
// stand for a long one.
const (
	// MaxEndpoints is the number of endpoints, or methods of a summary, that are indexed.
	MaxEndpoints = 1000
	// MaxParameters is the number of parameters of one endpoint that are indexed.
	MaxParameters = 200
)

// An Endpoint is a method on a path with its declarations (§8.1).
type Endpoint struct {
	Method   string // as written; compare without letter case (§4.1)
	Path     string
	Semantic Semantic
	// Input and Output are JSON Schemas (§7), nil when absent.
	Input, Output *protocol.Node
	Errors        []ErrorCondition
	Proposed      bool
	// Pointer is the RFC 6901 pointer of the endpoint in the document.
	Pointer string
}

// A Semantic is the semantic declaration of an endpoint (§6).
type Semantic struct {
	Intent      string
	Actor       string
	Outcome     string
	Capability  string
	Confidence  *float64 // confidence_guidance, nil when absent
	ImpactTier  string   // lower case
	Idempotent  *bool    // is_idempotent, nil when absent
	Hints       []Hint   // parameter_hints
	Transition  bool     // state_transition is declared
	MCPToolName string
}

// A Hint lists phrases that people use for the value of a parameter.
type Hint struct {
	Parameter string
	Texts     []string
}

// An ErrorCondition is one way an endpoint may fail (§7).
type ErrorCondition struct{ Name, Description string }

// A Vocabulary declares the verbs of a document (§8.2).
type Vocabulary struct {
	DeclaredVerbs []string
	Domain        string
	Namespace     string
	Version       string
	Negotiable    bool
}

// A DataManifest lists the kinds of data a service holds (§8.3).
type DataManifest struct {
	Available        []DataClass
	PreAuthDiscovery bool
}

// A DataClass is one kind of data (§8.3).
type DataClass struct {
	Class                 string
	Description           string
	Formats               []string
	Sensitivity           string
	RequiresAuthorization bool
}

// Links are the addresses and protocols of §11.1.
type Links struct {
	AGISDocument         string
	InteractionProtocols []string
	RelatedServices      []string
	MCPToolsList         string
}

// A Summary is the document at /.well-known/agis.json (§11.1).
type Summary struct {
	Version           string // agis, the version of the draft
	Service           string
	AGTP              string
	Methods           []SummaryMethod
	Domain            string
	Namespace         string
	Negotiable        bool
	CapabilitySummary []string
	DataClasses       []string
	PreAuthDiscovery  bool
	ServiceVersion    string // version
	Links             Links
	// Root is the whole tree, including the values that no field above holds.
	Root *protocol.Node
}

// A SummaryMethod is one verb of a summary.
type SummaryMethod struct {
	Name string // as written
	// Pointer is the RFC 6901 pointer of the verb in the summary.
	Pointer string
}

// A Parameter is one property of an endpoint's input.
type Parameter struct {
	Name        string
	Type        string // "string", "integer or null"; "" when open
	Required    bool
	Description string
	Hints       []string
	// Sample is a value that the schema allows, in JSON: see [sampleOf]. "" if it names none.
	Sample string
}

// Parameters returns the parameters in the input schema of an endpoint of this document, at most
// [MaxParameters]. It follows references within the document.
func (d *Document) Parameters(e Endpoint) []Parameter {
	input := d.Resolve(e.Input, e.Input)
	required := map[string]bool{}
	for _, name := range input.Member("required").Strs() {
		required[name] = true
	}
	hints := map[string][]string{}
	for _, h := range e.Semantic.Hints {
		hints[h.Parameter] = h.Texts
	}
	var out []Parameter
	properties := tree.Members(input.Member("properties"))
	for _, m := range properties[:min(len(properties), MaxParameters)] {
		schema := d.Resolve(m, e.Input)
		out = append(out, Parameter{
			Name: m.Key, Type: typeOf(schema), Required: required[m.Key],
			Description: schema.Member("description").Str(), Hints: hints[m.Key], Sample: sampleOf(schema),
		})
	}
	return out
}

// maxSample is the length of the longest sample, in bytes.
const maxSample = 100

// sampleOf returns the first text, number or truth value that a schema gives as an example, as the
// default, as a constant or in its enumeration, else the minimum unless that is negative.
func sampleOf(schema *protocol.Node) string {
	candidates := []*protocol.Node{schema.Member("example"), nil, schema.Member("default"), schema.Member("const"), nil}
	for i, key := range map[int]string{1: "examples", 4: "enum"} {
		if list := schema.Member(key); list != nil && list.Kind == protocol.Array && len(list.Items) > 0 {
			candidates[i] = list.Items[0]
		}
	}
	if n := schema.Member("minimum"); n != nil && n.Kind == protocol.Number && !strings.HasPrefix(n.Text, "-") {
		candidates = append(candidates, n)
	}
	for _, n := range candidates {
		if n == nil || n.Kind != protocol.String && n.Kind != protocol.Number && n.Kind != protocol.Bool || len(n.Text) > maxSample {
			continue
		}
		if text := protocol.WriteJSON(n, ""); len(text) <= maxSample {
			return string(text)
		}
	}
	return ""
}

// typeOf formats the type keyword of a schema.
func typeOf(schema *protocol.Node) string {
	t := schema.Member("type")
	if t.Str() != "" {
		return t.Text
	}
	names := t.Strs()
	if len(names) > len(schemaTypes) { // no list of distinct types
		return ""
	}
	return strings.Join(names, " or ")
}
