package aidiscovery

import (
	_ "embed"
	"slices"
)

//go:embed ai-discovery-1.0.json
var schema []byte

// Schema returns a JSON Schema (2020-12) of the format, so that editors can
// complete and check while somebody types. It says what a schema can say and
// nothing that [Parse] would accept is refused by it; uniqueness of ids,
// calendar dates, secrets and much else are for Parse alone. Its $id is the
// relative name ai-discovery-1.0.json.
func Schema() []byte { return slices.Clone(schema) }
