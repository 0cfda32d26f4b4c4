// Package view reads one state of the index: which entries are live, in which of them a term
// occurs, their embeddings, and their ranks.
//
// A [Directory] is one opened index directory. [Directory.OpenSnapshot] returns a [View], which
// does not change: searches that began on an older state finish on it. All data derived from one of
// bleve's segments (entries, postings, columns of values, embeddings, spelled words) is cached with
// the segment, because a segment never changes.
//
// Package index selects the search terms, follows the log, and reads the texts of hits.
package view
