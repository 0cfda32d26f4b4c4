// Package command has the commands validate, convert and init, which the programs gazetteer and
// gazlint share.
//
// Begin with [Commands], or with one of [Validate], [Convert] and [Init]: each takes an
// [Environment], which is all that the command may use, and returns a cobra command. [ExitCode]
// returns the exit code for its error:
//
//	0  all documents conform
//	1  findings: an error, with --strict a warning too
//	2  the command line makes no sense
//	3  something could not be read: a file, a host, the network
//
// If several apply, the largest counts. Findings and converted documents go to the output, messages
// about the work to the error stream.
package command
