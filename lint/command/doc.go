// Package command has the commands validate, convert and init, which the
// programs gazetteer and gazlint share.
//
// Begin with [Commands], or with one of [Validate], [Convert] and [Init]: each
// takes a [World], which is all that the command may touch, and returns a cobra
// command. What it returns as an error knows its exit code ([ExitCode]):
//
//	0  all documents conform
//	1  findings: an error, with --strict a warning too
//	2  the command line makes no sense
//	3  something could not be read: a file, a host, the network
//
// Where several apply, the largest counts. Findings and converted documents go
// to the output; what the program has to say about its work goes to the error
// stream.
package command
