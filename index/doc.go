// Package index answers "who can do this?": it follows the log into a bleve index with one entry for
// each operation, service and data class, and searches it with its own scorer.
//
// Start with [Open], which returns an [Index]; [Index.Run] follows the log and [Index.Search]
// answers a query, which package query parses from text. Package entry converts documents to
// entries, package tokens converts texts to terms, package semantic compares embeddings, package
// view ranks. This package combines the steps of a search (search.go), explains hits (explain.go)
// and follows the log (follow.go).
//
// # What is kept where
//
// The index holds no text that is shown. The id of an entry is
//
//	host NUL kind fingerprint place
//
// where place names the operation or data class of the document, or its service, and fingerprint is a
// digest of everything that the index took from the document. The text of a hit is read from the
// document record in the store, and only if that record still has the same fingerprint, so an entry is
// never shown with the text of another version. The position in the log up to which the index has read
// is part of the index's own batch. The index can therefore be deleted at any time: it is rebuilt by
// following the log from the beginning, and gives the same answers, byte for byte.
//
// bleve stores and merges the postings; its searchers are not used. They score every match through
// several layers, while the scorer here sweeps the postings of bleve's immutable segments term at a
// time. Each list is decoded once and cached within a bound of memory. Each operation also has an
// embedding, a vector of 256 bytes. It is computed from the postings when a segment is first searched.
// In a large index the embeddings, the list of entries and the vocabulary of a segment are then stored
// beside it and mapped from that file when the index is opened again. Scores depend on the live entries
// alone, not on their distribution over segments.
//
// bleve writes a few messages to the global logger of package log; a program that wants them elsewhere
// redirects that logger.
package index
