package document

import (
	"fmt"

	"gazetteer/protocol/aidiscovery"
)

// A Format is one row of [Formats].
type Format struct {
	Kind Kind
	// WellKnown is the path on the host, "" for documents that are reached
	// through a link only.
	WellKnown string
	// MediaTypes are those a server may send, in lower case, without
	// parameters. The first is the one the draft asks for.
	MediaTypes []string
	// SoftSize is the size in bytes that earns a warning, HardSize the one
	// that is refused. Both count the decoded body.
	SoftSize, HardSize int

	// read parses in.Bytes and fills d.
	read func(d *Document, in Input) error
}

// Formats lists the documents that services publish, in the order in which a
// host is asked for them.
var Formats = []Format{
	{
		Kind: AI, WellKnown: "/.well-known/ai", MediaTypes: []string{"application/json"},
		SoftSize: aidiscovery.SoftSize, HardSize: aidiscovery.HardSize, read: readAI,
	},
	{
		Kind: AIAlias, WellKnown: "/ai", MediaTypes: []string{"application/json"},
		SoftSize: aidiscovery.SoftSize, HardSize: aidiscovery.HardSize, read: readAI,
	},
	{
		Kind: AGISSummary, WellKnown: "/.well-known/agis.json", MediaTypes: []string{"application/json"},
		SoftSize: aidiscovery.SoftSize, HardSize: aidiscovery.HardSize, read: readSummary,
	},
	{
		Kind:       AGIS,
		MediaTypes: []string{"application/agis", "application/agis+json", "application/agis+yaml", "application/json", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"},
		SoftSize:   aidiscovery.SoftSize, HardSize: aidiscovery.HardSize, read: readAGIS,
	},
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
