package view

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// RunParallel calls f with every number below n, on all processors at once, with the protection
// against damage of its caller. It returns the error of the lowest number that failed; after an
// error it starts no more calls.
func RunParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	work := func() {
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if errs[i] = RecoverDamage(func() error { return f(i) }); errs[i] != nil {
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

// StartConcurrent runs f, protected against damage, while its caller continues. The caller must
// call wait, which returns the error of f and may be called more than once.
func StartConcurrent(f func() error) (wait func() error) {
	var err error
	var running sync.WaitGroup
	running.Go(func() { err = RecoverDamage(f) })
	return func() error {
		running.Wait()
		return err
	}
}

// YieldProcessor ends a search whose client has disconnected, and lets other goroutines run first:
// without it a long search occupies a processor for ten milliseconds at a time, longer than a usual
// search takes.
func YieldProcessor(ctx context.Context) error {
	runtime.Gosched()
	return ctx.Err()
}

// YieldInterval is the approximate time after which a search yields. Yielding for each hit would
// cost more than showing it: an idle processor would wake up to look for work.
const YieldInterval = 100 * time.Microsecond
