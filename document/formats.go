package document

import (
	"fmt"
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
	// Request says when a host is asked for it.
	Request Request
	// AliasOf is the kind whose second address this one is. An alias is not
	// authoritative: it stays out of search and of the links that are followed.
	AliasOf Kind
	// SupersededBy is the kind whose operations stand in for those of this one,
	// where a host publishes both.
	SupersededBy Kind
	// Rank orders the documents of a host by how well they describe the service:
	// its name is taken from the lowest rank that has one.
	Rank int
	// MediaTypes are those a server may send, in lower case, without
	// parameters. The first is the one the draft asks for.
	MediaTypes []string
	// Accept is the value of the request header, the media types when empty.
	Accept string
	// SoftSize is the size in bytes that earns a warning, HardSize the one
	// that is refused. Both count the decoded body.
	SoftSize, HardSize int
	// Sign says for a person by what a text of the format is known.
	Sign string

	// recognize reports whether a text that is neither JSON nor YAML, or has no
	// known member, is of the format. name is the file or address it comes from.
	recognize func(name string, text []byte) bool
	// rules are those of the format; nil where another row has them.
	rules func() []protocol.Rule
	// read parses in.Bytes and fills d.
	read func(d *Document, in Input) error
}

// A Request says when a host is asked for a format.
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

// Formats lists the documents that services publish, in the order in which a
// host is asked for them. Stored verdicts of robots.txt count on the order: a new
// format goes to the end.
var Formats = []Format{
	{
		Kind: AI, Name: "AI Discovery document", WellKnown: "/.well-known/ai", Rank: 1,
		MediaTypes: []string{"application/json"},
		SoftSize:   aidiscovery.SoftSize, HardSize: aidiscovery.HardSize,
		Sign: "an AI Discovery document has the member aiendpoint", rules: aidiscovery.Rules, read: readAI,
	},
	{
		Kind: AIAlias, Name: "AI Discovery document at /ai", WellKnown: "/ai", Rank: 4,
		Request: AfterAbsence, AliasOf: AI,
		MediaTypes: []string{"application/json"},
		SoftSize:   aidiscovery.SoftSize, HardSize: aidiscovery.HardSize, read: readAI,
	},
	{
		Kind: AGISSummary, Name: "AGIS summary", WellKnown: "/.well-known/agis.json", Rank: 3,
		// The summary repeats verb and path of the full document's operations,
		// without intent or parameters.
		SupersededBy: AGIS,
		MediaTypes:   []string{"application/json"},
		SoftSize:     aidiscovery.SoftSize, HardSize: aidiscovery.HardSize,
		Sign: "an AGIS summary has the fields agis and agis_document", read: readSummary,
	},
	{
		Kind: AGIS, Name: "AGIS document", Rank: 2, Request: WhenLinked,
		MediaTypes: []string{"application/agis", "application/agis+json", "application/agis+yaml", "application/json", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"},
		Accept:     "application/agis+json, application/agis+yaml, application/agis, application/json, application/yaml, text/yaml;q=0.9, text/plain;q=0.5",
		SoftSize:   aidiscovery.SoftSize, HardSize: aidiscovery.HardSize,
		Sign: "an AGIS document has the field agis", rules: agis.Rules, read: readAGIS,
	},
	{
		Kind: LLMS, Name: "llms.txt file", WellKnown: "/llms.txt", Rank: 5, Request: OnDemand,
		MediaTypes: []string{"text/markdown", "text/plain"},
		SoftSize:   aidiscovery.SoftSize, HardSize: aidiscovery.HardSize,
		Sign: "an llms.txt file begins with # and a name", rules: llmstxt.Rules, recognize: llmstxt.Recognize, read: readLLMS,
	},
}

// Kinds returns all kinds, in the order of [Formats].
func Kinds() []Kind { return filterKinds(func(Format) bool { return true }) }

// AuthoritativeKinds returns the kinds that are not an alias of another one.
func AuthoritativeKinds() []Kind { return filterKinds(func(f Format) bool { return f.AliasOf == "" }) }

// OnDemandKinds returns the kinds that are requested only if the operator names them.
func OnDemandKinds() []Kind {
	return filterKinds(func(f Format) bool { return f.Request == OnDemand })
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

// Recognize returns the kind of a text that its own form or the name of its file
// tells, and "" where neither does. Documents in JSON and YAML are told by their
// members instead, see package lint.
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

// IsAlias reports whether documents of the kind are not authoritative.
func (k Kind) IsAlias() bool {
	f, _ := FormatOf(k)
	return f.AliasOf != ""
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
