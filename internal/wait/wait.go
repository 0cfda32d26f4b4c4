// Package wait has waits that end with their context, and a broadcast.
package wait

import (
	"context"
	"time"
)

// For waits for a duration. The error is that of ctx if ctx ends first.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ForSignal waits for a duration or for a signal, whichever is first. The error is that of ctx if
// ctx ends before both.
func ForSignal(ctx context.Context, d time.Duration, signal <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-signal:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ForRead waits for a read, until ctx ends at the latest, as at Ctrl-C. A read from a terminal or an
// idle pipe cannot be interrupted: its goroutine ends with the read, or with the program.
func ForRead[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
