package audit

import (
	"errors"
	"fmt"
)

// Errors of a log. Test with errors.Is.
var (
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("the log is closed")
	// ErrRange: there is no such leaf, or no such size, under the newest
	// checkpoint.
	ErrRange = errors.New("outside the log")
	// ErrNoFile: the layout has no file of that name, or not yet.
	ErrNoFile = errors.New("no such file in the log")
	// ErrGrowing: an older copy of the tree was put back and is being grown
	// again from the store; until it contains the last signed checkpoint there
	// is nothing to serve.
	ErrGrowing = errors.New("the tree was put back to an older copy and does not yet reach the last signed checkpoint")
	// ErrRemote: a server of a log could not be reached, or did not answer as one.
	ErrRemote = errors.New("the log could not be fetched")
	// ErrHeld: another process has the directory open.
	ErrHeld = errors.New("another process has the log open")
	// ErrHalted: the log signs nothing more until its operator has repaired it; see [Halt].
	ErrHalted = errors.New("the log is halted: it signs nothing more")
	// ErrDamaged: a file of the log is not what the log wrote.
	ErrDamaged = errors.New("the log is damaged")
	// ErrFork: going on would contradict what was signed or logged.
	ErrFork = errors.New("the log does not go on, because it would contradict what it has signed")
)

// A DamagedError names the file that is not what the log wrote, and what to do.
// It matches [ErrDamaged].
type DamagedError struct {
	File    string // its path, or its name in the tlog-tiles layout
	Problem string // what is wrong with it
	Remedy  string // "" when the reader is not the log's operator
}

func (e *DamagedError) Error() string {
	if e.Remedy == "" {
		return e.File + " " + e.Problem
	}
	return e.File + " " + e.Problem + "; nothing was changed: " + e.Remedy
}

func (e *DamagedError) Unwrap() error { return ErrDamaged }

// A ForkError says that an older copy of the log or of the store was put back,
// so that going on would contradict what was signed. Nothing more is signed. It
// matches [ErrFork].
type ForkError struct {
	Problem string
	Remedy  string

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
	remedyAnew       = "begin a log with an origin of its own in another directory"
)
