package tiles

import (
	"errors"
	"fmt"
)

// Errors of reading and verifying a log. Test with errors.Is.
var (
	// ErrNoFile: the layout has no file of that name, or not yet.
	ErrNoFile = errors.New("no such file in the log")
	// ErrRemote: the server of a log could not be reached, or its answer was invalid.
	ErrRemote = errors.New("the log could not be fetched")
	// ErrDamaged: a file of the log differs from what the log wrote.
	ErrDamaged = errors.New("the log is damaged")
	// ErrContradiction: the log does not contain a tree that it has signed.
	ErrContradiction = errors.New("the log contradicts a checkpoint that it has signed")
)

// A DamagedError names the damaged file and the repair. It matches [ErrDamaged].
type DamagedError struct {
	File    string // its path, or its name in the layout
	Problem string // the damage
	Remedy  string // "" when the reader is not the log's operator
}

func (e *DamagedError) Error() string {
	if e.Remedy == "" {
		return e.File + " " + e.Problem
	}
	return e.File + " " + e.Problem + "; nothing was changed: " + e.Remedy
}

func (e *DamagedError) Unwrap() error { return ErrDamaged }

// An UndeclaredError says that leaves have no content and that no leaf of an erasure names them. A log
// that cannot sign at the moment erases the content of a record first, and declares that with its next
// checkpoint; from the outside, such a leaf looks like one that was removed.
type UndeclaredError struct {
	File   string // of the first one, in the layout
	Leaf   int64  // the first one
	Leaves int64  // how many there are
}

// Code is the stable code of the error.
func (e *UndeclaredError) Code() string { return "erased-undeclared" }

func (e *UndeclaredError) Error() string {
	return fmt.Sprintf("%s: %s has no content for leaf %d, and no leaf of an erasure names it; %d in all, and everything else is right: they are erased and not yet declared, or were removed. "+
		"Verify again after the next checkpoint, which has to declare them", e.Code(), e.File, e.Leaf, e.Leaves)
}
