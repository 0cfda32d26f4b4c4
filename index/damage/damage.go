// Package damage turns what a damaged index causes into errors. Start with [Recover].
package damage

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// An Error means that the content of the index differs from what was written. The index is then
// rebuilt.
type Error struct {
	What string
	// Outdated is set if another version of the program built the index: nothing in it is damaged.
	Outdated bool
}

func (e *Error) Error() string {
	if e.Outdated {
		return "the index is of another version of the program: " + e.What
	}
	return "the index is damaged: " + e.What
}

// Errorf returns an [*Error] with a formatted text.
func Errorf(format string, args ...any) error { return &Error{What: fmt.Sprintf(format, args...)} }

// Recover runs f and converts a panic to an [*Error]: a damaged segment can lead bleve beyond the end
// of a slice or of the mapped file.
func Recover(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = Errorf("%v", r)
		}
	}()
	return f()
}

// RecoverParallel calls f with every number below n, on all processors at once, each time as
// [Recover] does. It returns the error of the lowest number that failed; after an error it starts no
// more calls.
func RecoverParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	work := func() {
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if errs[i] = Recover(func() error { return f(i) }); errs[i] != nil {
				failed.Store(true)
			}
		}
	}
	var others sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return cmp.Or(errs...)
}

// RecoverConcurrent runs f, as [Recover] does, while its caller continues. The caller must call wait,
// which returns the error of f and may be called more than once.
func RecoverConcurrent(f func() error) (wait func() error) {
	var err error
	var running sync.WaitGroup
	running.Go(func() { err = Recover(f) })
	return func() error {
		running.Wait()
		return err
	}
}
