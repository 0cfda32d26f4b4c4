// Package pace lets long searches leave the processors to others: they yield at intervals, and rest
// while the processors are busy. Start with [Yield].
package pace

import (
	"context"
	"runtime"
	"time"

	"gazetteer/internal/wait"
)

// Yield ends a search whose client has disconnected, and lets other goroutines run first: without
// it a long search occupies a processor for ten milliseconds at a time, longer than a usual search
// takes. In a context of [WithRests] it rests, too.
func Yield(ctx context.Context) error {
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

// WithRests returns a context for one search, which rests after each turn while busy reports that
// other searches need the processors. A search that only yields keeps a processor busy all the time,
// and then the operating system, too, lets the threads of this process wait for those of others.
func WithRests(ctx context.Context, busy func() bool) context.Context {
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

// Interval is the approximate time after which a search yields. Yielding for each hit would
// cost more than showing it: an idle processor would wake up to look for work.
const Interval = 100 * time.Microsecond
