// Package convert turns documents of one format into another: OpenAPI
// descriptions into AGIS and AI Discovery documents, AGIS documents into MCP
// tools and back, and the forms of AGIS and AI Discovery that are met in the
// wild into those of the drafts.
//
// Begin with [Conversions], a table with one row for each pair of formats, or
// with [Find], which picks a row. A conversion is a function of its input alone:
// the same bytes and options give the same bytes. What it writes is accepted by
// the readers of this module ([gazetteer/protocol/agis.Parse],
// [gazetteer/protocol/aidiscovery.Parse]) without an error finding. What the
// input does not say and the conversion had to guess is listed as a [Review],
// and marked in the output where the format has room for that.
//
// Nothing here opens a file or a connection: references that lead out of a
// document are left out and named in a review.
package convert
