// Package agis reads AGIS documents, version 1.0
// (draft-hood-independent-agis-01), in YAML or JSON, and the summary that a
// service publishes at /.well-known/agis.json (§11.1).
//
// Begin with [Parse] for a full document and [ParseSummary] for a summary. Both
// return the document in the draft's own words and the findings of the
// validation passes of §9.1. [gazetteer/protocol/yaml.Read] reads YAML into the
// same tree as [protocol.ReadJSON], so each rule is written once.
//
// All eight passes are judged: structure (1), the form and the class of methods
// (2 and 3, by a dictionary, see word.go), paths (4), semantic blocks (5), the
// agreement of intent and method (6, by package effect), the vocabulary (7) and
// the JSON Schemas (8). An uncertain finding is a warning or a hint, never an
// error. [CrossCheck] and [CheckAccess] compare a summary with the full
// document. [Rules] lists every rule with its explanation, docs/agis.md says
// where the draft leaves a choice and how it was made.
package agis
