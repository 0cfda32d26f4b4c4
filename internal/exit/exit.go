// Package exit holds the exit codes of the program, and errors that know theirs.
//
// A command, the server and the loading of the configuration return these errors; cli.ExitCode reads
// the code that the process ends with.
package exit

import (
	"errors"
	"fmt"
)

// Exit codes, the same for every command.
const (
	OK       = 0
	NotFound = 1 // nothing found, or findings
	Usage    = 2
	Network  = 3 // network or server
	Data     = 4 // data or internal
)

// Error is an error that knows its exit code.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Usagef returns an error for a wrong command line or configuration.
func Usagef(format string, args ...any) error {
	return &Error{Code: Usage, Err: fmt.Errorf(format, args...)}
}

// NotFoundf returns an error for something that does not exist, or does not hold.
func NotFoundf(format string, args ...any) error {
	return &Error{Code: NotFound, Err: fmt.Errorf(format, args...)}
}

// Networkf returns an error of the network or of a server.
func Networkf(format string, args ...any) error {
	return &Error{Code: Network, Err: fmt.Errorf(format, args...)}
}

// ErrSilent ends the program with code 1 after the command has printed everything
// to say.
var ErrSilent = &Error{Code: NotFound, Err: errors.New("")}

// Dataf returns an error of the data directory or of the program itself.
func Dataf(format string, args ...any) error {
	return &Error{Code: Data, Err: fmt.Errorf(format, args...)}
}
