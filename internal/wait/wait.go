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
