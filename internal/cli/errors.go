package cli

import (
	"context"
	"errors"
	"fmt"

	"gazetteer/internal/exit"
	"gazetteer/lint/command"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// ExitCode returns the exit code of the process for the error of a command.
func ExitCode(err error) int {
	var e *exit.Error
	if code, ours := command.ExitCode(err); ours {
		return code
	}
	switch {
	case err == nil:
		return exit.OK
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, context.Canceled):
		return 130 // ended by a signal, as shells report it
	default:
		return exit.Data
	}
}

// Explain adds the user's next step to an error of the data directory.
func Explain(err error) error {
	var held *boltstore.HeldError
	switch {
	case errors.As(err, &held) && held.PID > 0:
		return fmt.Errorf("%w: stop it first (kill %d), or name another directory with --data-dir", err, held.PID)
	case errors.Is(err, store.ErrUnknown):
		return fmt.Errorf("%w: start again; acknowledged writes are safe", err)
	}
	return err
}
