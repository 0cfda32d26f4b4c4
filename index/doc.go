// Package index answers "who can do this?": it follows the log into a bleve
// index with one entry an operation, one a service and one a data class, and
// searches it with a scorer of its own.
//
// Begin with [Open], which gives an [Index]; [Index.Run] follows the log and
// [Index.Search] answers a [Query], which [Parse] reads from text. How a
// document becomes entries is in entry.go, how a text becomes terms in
// analysis.go, what words mean in meaning.go, how terms and meanings become a
// score in score.go.
//
// # What is kept where
//
// The index holds no text that is shown. An entry's id is
//
//	host NUL kind NUL print NUL place
//
// where place says which operation or data class of the document it is, or that
// it is the service, and print is a digest of everything the index took from that
// document. A hit's text is read from the
// store's document record, and only if that record still has the same print: an
// entry is never shown with the text of another version. The place in the log
// up to which the index has read lies in the index's own batch, so the index
// can be deleted at any time: it is rebuilt by following from zero, and answers
// as before, byte for byte.
//
// bleve keeps and merges the postings; its searchers are not used. They score
// every match through several layers, while the scorer here sweeps the postings
// of bleve's immutable segments term at a time, each list decoded once and kept
// within a bound of memory. Beside the postings each entry has a meaning, a vector
// of 200 bytes in memory, which is computed from the postings when a segment is
// first met and never stored. Scores depend on the live entries alone, never on how
// they happen to lie in segments.
//
// bleve writes a few messages to the global logger of package log; a program
// that wants them elsewhere redirects that logger.
package index
