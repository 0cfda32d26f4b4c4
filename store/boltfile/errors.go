package boltfile

import (
	"fmt"
	"runtime/debug"

	"gazetteer/store"
)

// HeldError says that another process has the directory open. PID is 0 when that process has not
// yet written its pid.
type HeldError struct {
	PID int
	Dir string
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("data directory %s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("data directory %s is in use by process %d", e.Dir, e.PID)
}

// DamagedError says that a file of the directory is damaged, missing or foreign. Open changed
// nothing: the readable rest is still in the file. It matches store.ErrCorrupt.
type DamagedError struct {
	Dir     string
	File    string // path of the damaged file
	Problem string // the damage, as the rest of a sentence that begins with File
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s %s; nothing was changed: restore a backup into %s, or move that directory away to start with a new one", e.File, e.Problem, e.Dir)
}

func (e *DamagedError) Unwrap() error { return store.ErrCorrupt }

// FormatError says that the file was written by a newer version of the program. Open changed
// nothing.
type FormatError struct {
	File          string // path of the FORMAT file
	Noun          string // of the schema
	Format, Known int
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s gives the %s format %d, this program supports formats up to %d; nothing was changed: use the newer program that wrote it", e.File, e.Noun, e.Format, e.Known)
}

// CatchDamage runs f and turns a panic into an error that matches store.ErrCorrupt. bbolt panics on
// an invalid page, and an access to mapped memory faults where the disk cannot deliver it or the
// file was truncated. A fault can only be caught in the goroutine that accesses the memory.
func CatchDamage(doing string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %s: %v", store.ErrCorrupt, doing, p)
		}
	}()
	return f()
}

// A ReplacedError says that the path of the open file names no file, or another one. It matches
// store.ErrReplaced, and store.ErrFull, because writers wait for both.
type ReplacedError struct {
	File string // its path
}

func (e *ReplacedError) Error() string {
	return e.File + " was removed or replaced while this process has it open, so that new writes would be lost: put the file back; " +
		"or make a backup (gazetteer backup), which contains all writes, stop the process, and restore the backup"
}

func (e *ReplacedError) Is(target error) bool {
	return target == store.ErrReplaced || target == store.ErrFull
}
