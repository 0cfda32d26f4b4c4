// Package lint judges the text of one published document, or of several
// together: it tells the format from the text, runs the reader of that format,
// joins what the fetch found, and arranges all of it for a person or a program.
//
// Begin with [Check] for one text and [CheckAll] for several, which also
// compares the AGIS summary of a service with its full document. [Rule] explains
// a code, [Tell] says what a text seems to be, and a [Baseline] hides what is
// known already. Package lint/repair repairs texts, package lint/format writes
// results, package lint/command has the commands.
//
// Nothing here opens a file or a connection.
package lint
