package document

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/llmstxt"
)

// A Format is one row of [Formats]: everything that the crawler, the linter, the
// API and the pages need to know of a format.
type Format struct {
	Kind Kind
	// Name names one such document for people: "AGIS summary".
	Name string
	// WellKnown is the path on the host, "" for documents that are reached
	// through a link only.
	WellKnown string
	// Request says when the crawler requests it from a host.
	Request Request
	// AliasOf is the kind whose second address this one is. An alias is not
	// authoritative: it stays out of search and of the links that are followed.
	AliasOf Kind
	// SupersededBy is the kind whose operations replace those of this one, if a host publishes
	// both.
	SupersededBy Kind
	// Rank orders the documents of a host by how well they describe the service: its name is that
	// of the lowest rank that has one.
	Rank int
	// MediaTypes are the media types that a server may send, in lower case, without parameters. The
	// first is the one that the draft requires.
	MediaTypes []string
	// Accept is the value of the request header; empty means the media types.
	Accept string
	// SoftSize is the size in bytes above which there is a warning, HardSize the size above which
	// the document is refused. Both count the decoded body.
	SoftSize, HardSize int
	// TextEndings are the endings of names of files that a server may send as text/plain, too.
	TextEndings []string
	// Syntax is what the texts are written in.
	Syntax Syntax
	// Prose says that such a document has no operations.
	Prose bool
	// Namespaces says that such a document can name a namespace and data classes.
	Namespaces bool
	// Schemas says that each operation can have a JSON Schema of its input.
	Schemas bool
	// Levels says that the draft has several levels of conformance.
	Levels bool
	// Sign describes for people how a text of the format can be recognized.
	Sign string
	// RuleCodes are the letters before the number in the codes of the format's rules; RulesTitle is
	// the heading of their list. SyntaxCode is the code of the rule about the syntax of the text.
	RuleCodes, RulesTitle, SyntaxCode string

	// members are sets of members, each of which identifies a document in JSON or YAML; the likely
	// ones identify it only if no other format does. A minus sign means that the member is absent.
	members, likely []string
	// files are the names of files with such documents, or, with an asterisk before them, their
	// endings.
	files []string
	// recognize reports whether a text that is neither JSON nor YAML, or has no known member, is of
	// the format. name is the name of its file or its address.
	recognize func(name string, text []byte) bool
	// rules are the rules of the format; nil if another row has them.
	rules func() []protocol.Rule
	// memberNames returns the members that the draft defines for the object at a pointer, nil for
	// none.
	memberNames func(pointer string) []string
	// parse reads a text with the reader of the draft.
	parse func(text []byte, o ParseOptions) (Parsed, error)
	// translate fills d with what was parsed.
	translate func(d *Document, p Parsed)
}

// A Syntax is what the texts of a format are written in.
type Syntax uint8

const (
	PlainText Syntax = iota
	JSON
	JSONOrYAML
)

// A Request says when the crawler requests a format from a host.
type Request uint8

const (
	// Always: at each visit.
	Always Request = iota
	// AfterAbsence: where the kind that it is an alias of is absent.
	AfterAbsence
	// WhenLinked: where another document names its address.
	WhenLinked
	// OnDemand: at each visit, if the operator names the kind in the configuration.
	OnDemand
)

// Formats lists the documents that services publish, in the order in which the crawler requests
// them. Stored verdicts of robots.txt depend on the order: add a new format at the end.
var Formats = []Format{
	{
		Kind: AI, Name: "AI Discovery document", WellKnown: "/.well-known/ai", Rank: 1,
		MediaTypes: []string{"application/json"},
		SoftSize:   aidiscovery.SoftSize, HardSize: aidiscovery.HardSize,
		Sign: "an AI Discovery document has the member aiendpoint", RuleCodes: "AI", RulesTitle: "AI Discovery, /.well-known/ai",
		Syntax: JSON, SyntaxCode: "AI203",
		members: []string{"aiendpoint"}, likely: []string{"service capabilities -endpoints -methods", "service capabilities -vocabulary -agtp"}, files: []string{"ai.json", "*.well-known/ai"},
		rules: aidiscovery.Rules, memberNames: aidiscovery.MemberNames, parse: parseAI, translate: translateAI,
	},
	{
		Kind: AIAlias, Name: "AI Discovery document at /ai", WellKnown: "/ai", Rank: 4,
		Request: AfterAbsence, AliasOf: AI,
		MediaTypes: []string{"application/json"},
		SoftSize:   aidiscovery.SoftSize, HardSize: aidiscovery.HardSize,
		Syntax: JSON, SyntaxCode: "AI203", memberNames: aidiscovery.MemberNames, parse: parseAI, translate: translateAI,
	},
	{
		Kind: AGISSummary, Name: "AGIS summary", WellKnown: "/.well-known/agis.json", Rank: 3,
		// The summary repeats verb and path of the full document's operations,
		// without intent or parameters.
		SupersededBy: AGIS,
		MediaTypes:   []string{"application/json"},
		SoftSize:     aidiscovery.SoftSize, HardSize: aidiscovery.HardSize,
		Sign: "an AGIS summary has the fields agis and agis_document", RuleCodes: "WK", RulesTitle: "AGIS summary, /.well-known/agis.json",
		Syntax: JSON, SyntaxCode: "WK101", Namespaces: true,
		members: []string{"agis_document -agis", "agis_document -endpoints", "agis methods -endpoints"}, likely: []string{"methods agtp -endpoints"},
		files: []string{"agis.json", "*.agis-summary.json"}, memberNames: agis.SummaryMemberNames, parse: parseSummary, translate: translateSummary,
	},
	{
		Kind: AGIS, Name: "AGIS document", Rank: 2, Request: WhenLinked,
		MediaTypes:  []string{"application/agis", "application/agis+json", "application/agis+yaml", "application/json", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"},
		TextEndings: []string{".agis", ".yaml", ".yml"},
		Accept:      "application/agis+json, application/agis+yaml, application/agis, application/json, application/yaml, text/yaml;q=0.9, text/plain;q=0.5",
		SoftSize:    aidiscovery.SoftSize, HardSize: aidiscovery.HardSize,
		Syntax: JSONOrYAML, SyntaxCode: "AGIS101", Namespaces: true, Schemas: true, Levels: true,
		Sign: "an AGIS document has the field agis", RuleCodes: "AGIS", RulesTitle: "AGIS documents",
		members: []string{"agis"}, likely: []string{"endpoints vocabulary", "endpoints agtp"},
		files: []string{"*.agis", "agis.yaml", "agis.yml"}, rules: agis.Rules, memberNames: agis.MemberNames, parse: parseAGIS, translate: translateAGIS,
	},
	{
		Kind: LLMS, Name: "llms.txt file", WellKnown: "/llms.txt", Rank: 5, Request: OnDemand, Prose: true,
		MediaTypes: []string{"text/markdown", "text/plain"},
		SoftSize:   aidiscovery.SoftSize, HardSize: aidiscovery.HardSize,
		Sign: "an llms.txt file begins with # and a name", RuleCodes: "LLMS", RulesTitle: "llms.txt files", rules: llmstxt.Rules, recognize: llmstxt.Recognize,
		parse: parseLLMS, translate: translateLLMS,
	},
}

// Kinds returns all kinds, in the order of [Formats].
func Kinds() []Kind { return filterKinds(func(Format) bool { return true }) }

// AuthoritativeKinds returns the kinds that are not an alias of another one.
func AuthoritativeKinds() []Kind { return filterKinds(func(f Format) bool { return f.AliasOf == "" }) }

// RecognizableKinds returns the kinds that the members of a document identify.
func RecognizableKinds() []Kind {
	return filterKinds(func(f Format) bool { return f.members != nil })
}

// OnDemandKinds returns the kinds that are requested only if the operator names them.
func OnDemandKinds() []Kind {
	return filterKinds(func(f Format) bool { return f.Request == OnDemand })
}

// ServiceKinds returns the authoritative kinds that describe operations.
func ServiceKinds() []Kind {
	return filterKinds(func(f Format) bool { return f.AliasOf == "" && !f.Prose })
}

// NamespaceKinds returns the kinds that can name a namespace and data classes, the most detailed
// first.
func NamespaceKinds() []Kind {
	kinds := filterKinds(func(f Format) bool { return f.Namespaces })
	slices.SortFunc(kinds, func(a, b Kind) int { return a.Rank() - b.Rank() })
	return kinds
}

func filterKinds(holds func(Format) bool) []Kind {
	var kinds []Kind
	for _, f := range Formats {
		if holds(f) {
			kinds = append(kinds, f.Kind)
		}
	}
	return kinds
}

// ListKinds joins kinds for a message: "ai, agis-summary and agis" with the word
// "and".
func ListKinds(kinds []Kind, word string) string {
	var b strings.Builder
	for i, k := range kinds {
		switch {
		case i > 0 && i == len(kinds)-1:
			b.WriteString(" " + word + " ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(k))
	}
	return b.String()
}

// RecognizeMembers returns the kind of a document in JSON or YAML by the names of its members, and
// "" if they identify none. likely accepts members that other formats may have, too.
func RecognizeMembers(names map[string]bool, likely bool) Kind {
	matches := func(set string) bool {
		for name := range strings.FieldsSeq(set) {
			if absent, ok := strings.CutPrefix(name, "-"); ok == names[absent] {
				return false
			}
		}
		return true
	}
	for _, f := range Formats {
		sets := f.members
		if likely {
			sets = f.likely
		}
		if slices.ContainsFunc(sets, matches) {
			return f.Kind
		}
	}
	return ""
}

// RecognizeName returns the kind of a document by its path or address, "" if the name is not one
// that a format uses.
func RecognizeName(name string) Kind {
	for _, f := range Formats {
		for _, file := range f.files {
			if end, ok := strings.CutPrefix(file, "*"); ok && strings.HasSuffix(name, end) || file == path.Base(name) {
				return f.Kind
			}
		}
	}
	return ""
}

// Recognize returns the kind of a text by its form or the name of its file, and "" if neither shows
// it. Documents in JSON and YAML are recognized by their members instead: see [RecognizeMembers].
func Recognize(name string, text []byte) Kind {
	for _, f := range Formats {
		if f.recognize != nil && f.recognize(name, text) {
			return f.Kind
		}
	}
	return ""
}

// Rules returns the rules of all formats.
func Rules() []protocol.Rule {
	var all []protocol.Rule
	for _, f := range Formats {
		if f.rules != nil {
			all = append(all, f.rules()...)
		}
	}
	return all
}

// format returns the row of a kind, an empty one for a kind that has none.
func (k Kind) format() Format {
	f, _ := FormatOf(k)
	return f
}

// Rank returns the place of the kind in the order in which the documents of a host describe its
// service.
func (k Kind) Rank() int { return k.format().Rank }

// IsAlias reports whether documents of the kind are not authoritative.
func (k Kind) IsAlias() bool { return k.format().AliasOf != "" }

// IsSummary reports whether another kind describes the same operations in more detail.
func (k Kind) IsSummary() bool { return k.format().SupersededBy != "" }

// HasLevels reports whether documents of the kind can have different levels of conformance.
func (k Kind) HasLevels() bool { return k.format().Levels }

// HasSchemas reports whether operations in documents of the kind can have JSON Schemas.
func (k Kind) HasSchemas() bool { return k.format().Schemas }

// MemberNames returns the members that the draft defines for the object at a JSON Pointer, nil for
// none.
func (k Kind) MemberNames(pointer string) []string {
	if names := k.format().memberNames; names != nil {
		return names(pointer)
	}
	return nil
}

// Describe names one document of the kind for people, and returns the kind itself
// where it has no format.
func (k Kind) Describe() string {
	if f, ok := FormatOf(k); ok {
		return f.Name
	}
	return string(k)
}

// FormatOf returns the row of a kind, and false for a kind that has none.
func FormatOf(k Kind) (Format, bool) {
	for _, f := range Formats {
		if f.Kind == k {
			return f, true
		}
	}
	return Format{}, false
}

// UnknownKindError is returned by [Read] for a kind without a format.
type UnknownKindError struct{ Kind Kind }

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("no document format is called %q", e.Kind)
}
