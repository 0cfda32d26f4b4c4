// Package convert converts documents between formats: OpenAPI descriptions to AGIS and AI
// Discovery documents, AGIS documents to MCP tools and back, and variants of AGIS and AI Discovery
// to the forms of the drafts.
//
// Begin with [Conversions], a table with one row for each pair of formats, or with [Find], which
// returns a row. The output depends on text and options alone. The readers of this module
// ([gazetteer/protocol/agis.Parse], [gazetteer/protocol/aidiscovery.Parse]) accept it without an
// error finding. Everything that a conversion had to guess is a [Review], and is marked in the
// output if the format has comments.
//
// No conversion opens a file or a connection. References that lead out of a document are left out
// and named in a review.
package convert
