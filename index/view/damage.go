package view

import (
	"fmt"
	"runtime/debug"
)

// RecoverDamage runs f and converts a panic to an error: a damaged segment can lead bleve beyond
// the end of a slice or of the mapped file.
func RecoverDamage(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = NewDamageError("%v", r)
		}
	}()
	return f()
}

// A DamagedError means that the content of the index differs from what was written. The index is
// then rebuilt.
type DamagedError struct{ What string }

func (e *DamagedError) Error() string { return "the index is damaged: " + e.What }

func NewDamageError(format string, args ...any) error {
	return &DamagedError{fmt.Sprintf(format, args...)}
}
