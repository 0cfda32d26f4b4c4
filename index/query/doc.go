// Package query parses the queries of the index. [Parse] reads the query language into a [Query];
// [Filters] has one row for each filter key; [ParseRequest] reads the free text: its words, what
// the client wants done, and what must not be done.
package query
