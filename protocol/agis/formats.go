package agis

import (
	_ "embed"
	"slices"
)

//go:embed agis-1.0.json
var schemaOfDocument []byte

//go:embed agis-summary-1.0.json
var schemaOfSummary []byte

// Schema returns a JSON Schema (2020-12) of the full document, for completion and checks in
// editors. It covers the rules that a schema can express: it accepts every document that [Parse]
// accepts without an error. Only Parse checks verbs, meanings and rules about two places. Its $id
// is the relative name agis-1.0.json.
func Schema() []byte { return slices.Clone(schemaOfDocument) }

// SummarySchema returns a JSON Schema of the summary at /.well-known/agis.json,
// with the relative name agis-summary-1.0.json.
func SummarySchema() []byte { return slices.Clone(schemaOfSummary) }
