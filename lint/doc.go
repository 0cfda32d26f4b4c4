// Package lint checks the text of one published document or of several together: it recognizes the
// format, runs its reader, adds the findings of the fetch, and returns the result for a person or a
// program.
//
// Begin with [Check] for one text, or with [CheckAll] for several, which also compares the AGIS
// summary of a service with its full document. [Rule] explains a code. [Tell] recognizes a format.
// A [Baseline] hides accepted findings. Package lint/repair repairs texts, package lint/format
// writes results.
//
// Nothing here opens a file or a connection.
package lint
