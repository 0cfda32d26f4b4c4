// Package query reads what a client asks the index for. [Parse] reads the query language into a
// [Query]; [Filters] has one row for each filter key; [SplitWords] cuts the free text into words
// and numbers the clauses of a request with several goals.
package query
