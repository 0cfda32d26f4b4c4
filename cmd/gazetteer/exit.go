package main

import (
	"context"
	"errors"
	"fmt"

	"gazetteer/lint/command"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// Exit codes, the same for every verb.
const (
	exitOK       = 0
	exitNotFound = 1 // nothing found, or findings
	exitUsage    = 2
	exitNetwork  = 3 // network or server
	exitData     = 4 // data or internal
)

// exitError is an error that knows its exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func notFoundf(format string, args ...any) error {
	return &exitError{exitNotFound, fmt.Errorf(format, args...)}
}

func networkf(format string, args ...any) error {
	return &exitError{exitNetwork, fmt.Errorf(format, args...)}
}

// errQuiet ends the program with code 1 after the verb has printed all there is
// to say.
var errQuiet = &exitError{exitNotFound, errors.New("")}

// exitCode maps what a verb returned to the code the process ends with.
func exitCode(err error) int {
	var e *exitError
	if code, ours := command.ExitCode(err); ours {
		return code
	}
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, context.Canceled):
		return 130 // ended by a signal, as shells say it
	default:
		return exitData
	}
}

// explain adds to an error of the data directory what a person can do about it.
func explain(err error) error {
	var held *boltstore.HeldError
	switch {
	case errors.As(err, &held) && held.PID > 0:
		return fmt.Errorf("%w: stop it first (kill %d), or name another directory with --data-dir", err, held.PID)
	case errors.Is(err, store.ErrUnknown):
		return fmt.Errorf("%w: start again; what was acknowledged is kept", err)
	}
	return err
}
