package view

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"gazetteer/internal/wait"
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
// search takes. In a context of [WithPace] it rests, too.
func YieldProcessor(ctx context.Context) error {
	if p, ok := ctx.Value(paceKey{}).(*pace); ok {
		return p.rest(ctx)
	}
	runtime.Gosched()
	return ctx.Err()
}

type paceKey struct{}

// A pace makes one search rest. It belongs to the goroutine of the search.
type pace struct {
	busy  func() bool
	began time.Time // of the present stretch of work
}

const (
	// minWork is how long a paced search works before it rests: shorter rests would cost more than
	// they free.
	minWork = 500 * time.Microsecond
	// restPerWork is how many times as long as its last stretch of work a paced search rests.
	restPerWork = 3
)

// WithPace returns a context for one search, which rests after each turn while busy reports that other
// searches need the processors. A search that only yields keeps a processor busy all the time, and
// then the operating system, too, lets the threads of this process wait for those of others.
func WithPace(ctx context.Context, busy func() bool) context.Context {
	return context.WithValue(ctx, paceKey{}, &pace{busy: busy, began: time.Now()})
}

func (p *pace) rest(ctx context.Context) error {
	worked := time.Since(p.began)
	if worked < minWork || !p.busy() {
		runtime.Gosched()
		return ctx.Err()
	}
	err := wait.For(ctx, restPerWork*worked)
	p.began = time.Now()
	return err
}

// YieldInterval is the approximate time after which a search yields. Yielding for each hit would
// cost more than showing it: an idle processor would wake up to look for work.
const YieldInterval = 100 * time.Microsecond
