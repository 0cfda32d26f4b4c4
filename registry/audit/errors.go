package audit

import (
	"errors"
	"fmt"
)

// Errors of a log. Test with errors.Is.
var (
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("the log is closed")
	// ErrRange: the newest checkpoint covers no such leaf or size.
	ErrRange = errors.New("outside the log")
	// ErrGrowing: an older copy of the tree was restored, and the log grows it again from the
	// store. The log serves nothing until the tree contains the last signed checkpoint.
	ErrGrowing = errors.New("the tree was put back to an older copy and does not yet reach the last signed checkpoint")
	// ErrHeld: another process has the directory open.
	ErrHeld = errors.New("another process has the log open")
	// ErrKey: the last checkpoint was signed with another key of the same name.
	ErrKey = errors.New("the log was signed with another key")
	// ErrHalted: the log signs nothing until its operator has repaired it; see [Halt].
	ErrHalted = errors.New("the log is halted: it signs nothing more")
	// ErrFork: further signatures would contradict a signed checkpoint or logged records.
	ErrFork = errors.New("the log does not go on, because it would contradict what it has signed")
)

// A ForkError means that an older copy of the log or of the store was restored, so that further
// signatures would contradict earlier ones. The log signs nothing more. It matches [ErrFork].
type ForkError struct {
	Problem string
	Remedy  string

	// LossOfRecords is set if only records of the store are lost: Options.AcceptLoss then continues the log.
	LossOfRecords bool

	cause string // of a halt; "" where the log must be opened again
}

func (e *ForkError) Error() string {
	return fmt.Sprintf("%v: %s; to repair it, %s", ErrFork, e.Problem, e.Remedy)
}

func (e *ForkError) Unwrap() error { return ErrFork }

const (
	remedyRestore    = "put back a newer copy of the whole directory"
	remedyCheckpoint = "put back the newest checkpoint of this log that can be found: its backup, a witness and everybody who verified one have it"
	remedyOrigin     = "set the origin and key of that log, or begin this one in another directory"
	remedyAnew       = "start a log with a new origin in another directory"
)
