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
	// ErrGrowing: the tree was lost and is being grown again (see
	// [Options.Regrow]); until it contains the newest checkpoint there is
	// nothing to serve.
	ErrGrowing = errors.New("the tree is being grown again and does not yet reach the newest checkpoint")
	// ErrDamaged: a file of the log is not what the log wrote.
	ErrDamaged = errors.New("the log is damaged")
	// ErrFork: going on would contradict a checkpoint that was handed out.
	ErrFork = errors.New("the tree contradicts the last signed checkpoint")
)

// HeldError says that another process has the directory open. PID is 0 when
// that process has not said who it is.
type HeldError struct {
	PID int
	Dir string
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("directory %s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("directory %s is in use by process %d", e.Dir, e.PID)
}

// A DamagedError names the file that is not what the log wrote, and what to do.
// Nothing was changed. It matches [ErrDamaged].
type DamagedError struct {
	File    string // its path, or its name in the tlog-tiles layout
	Problem string // what is wrong with it
	Remedy  string
}

func (e *DamagedError) Error() string {
	return join(e.File+" "+e.Problem, e.Remedy)
}

func (e *DamagedError) Unwrap() error { return ErrDamaged }

// A ForkError says that the tree is shorter than, or another than, the last
// signed checkpoint: an older copy was put in place of the log. Nothing was
// changed and nothing is signed. It matches [ErrFork].
type ForkError struct {
	Dir     string
	Problem string
	Remedy  string
}

func (e *ForkError) Error() string {
	return join(fmt.Sprintf("log %s: %v: %s", e.Dir, ErrFork, e.Problem), e.Remedy)
}

func (e *ForkError) Unwrap() error { return ErrFork }

func join(problem, remedy string) string {
	if remedy == "" {
		return problem
	}
	return problem + "; nothing was changed: " + remedy
}

const remedyRestore = "put back a newer copy of the whole directory"
