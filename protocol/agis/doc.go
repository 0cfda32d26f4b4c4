// Package agis reads AGIS documents, version 1.0
// (draft-hood-independent-agis-01), in YAML or JSON, and the summary that a
// service publishes at /.well-known/agis.json (§11.1).
//
// Begin with [Parse] for a full document and [ParseSummary] for a summary. Both
// return the document in the draft's own words and the findings of the
// validation passes of §9.1. [ReadYAML] reads YAML into the same tree as
// [protocol.ReadJSON], so each rule is written once.
//
// Judged here are the passes that need no knowledge of English: structure (1),
// the form of method tokens (2), the methods that the draft itself prohibits
// (3), paths (4), semantic blocks (5), the vocabulary (7) and the JSON Schemas
// (8). What needs a dictionary or the meaning of a sentence is not judged, and
// then nothing is reported.
package agis
