package aidiscovery

import (
	_ "embed"
	"slices"
)

//go:embed ai-discovery-1.0.json
var schema []byte

// Schema returns a JSON Schema (2020-12) of the format, for completion and checks in editors. It
// covers the rules that a schema can express and accepts every document that [Parse] accepts. Only
// Parse checks unique ids, calendar dates, secrets and much else. Its $id is the relative name
// ai-discovery-1.0.json.
func Schema() []byte { return slices.Clone(schema) }
