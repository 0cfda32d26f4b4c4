package view

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// RunParallel calls f with every number below n, on all processors at once, as guarded
// as its caller should be. It returns the error of the lowest number that had one;
// after an error no more calls are begun.
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

// StartConcurrent runs f, guarded, while its caller goes on. The caller must wait, which
// it may do more than once, and learns what f returned.
func StartConcurrent(f func() error) (wait func() error) {
	var err error
	var running sync.WaitGroup
	running.Go(func() { err = RecoverDamage(f) })
	return func() error {
		running.Wait()
		return err
	}
}

// YieldTurn ends a search whose client has left, and lets other goroutines run first: without it a
// long search keeps a processor for ten milliseconds at a time, in which a usual one would be done.
func YieldTurn(ctx context.Context) error {
	runtime.Gosched()
	return ctx.Err()
}

// TurnTime is about how long a search goes on before it yields. To yield for each hit would cost
// more than to show it: an idle processor is woken to look for work.
const TurnTime = 100 * time.Microsecond
