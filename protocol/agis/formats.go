package agis

import (
	_ "embed"
	"slices"
)

//go:embed agis-1.0.json
var schemaOfDocument []byte

//go:embed agis-summary-1.0.json
var schemaOfSummary []byte

// Schema returns a JSON Schema (2020-12) of the full document, so that editors
// can complete and check while somebody types. It says what a schema can say:
// what [Parse] accepts without an error is not refused by it, while verbs,
// meanings and whatever compares two places are for Parse alone. Its $id is the
// relative name agis-1.0.json.
func Schema() []byte { return slices.Clone(schemaOfDocument) }

// SummarySchema returns a JSON Schema of the summary at /.well-known/agis.json,
// with the relative name agis-summary-1.0.json.
func SummarySchema() []byte { return slices.Clone(schemaOfSummary) }
