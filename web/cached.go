package web

import (
	"context"
	"sync/atomic"
	"time"
)

// cached stores a value that is expensive to compute. Use newCached; the zero value is not usable.
type cached[T any] struct {
	slot    chan struct{} // of capacity 1: the goroutine that filled it may replace current
	current atomic.Pointer[cachedValue[T]]
}

type cachedValue[T any] struct {
	value T
	until time.Time
}

func newCached[T any]() *cached[T] { return &cached[T]{slot: make(chan struct{}, 1)} }

// minAge is how old a cached value may be at least.
const minAge = 5 * time.Second

// readCached returns the value, computed again if it is too old. While one caller computes it, the
// others get the previous value. A value that takes long to compute is kept longer, so that at most
// a twentieth of the time is spent on it.
func (c *cached[T]) readCached(ctx context.Context, now func() time.Time, read func(context.Context) (T, error)) (T, error) {
	var none T
	before := c.current.Load()
	if before != nil {
		if now().Before(before.until) {
			return before.value, nil
		}
		select {
		case c.slot <- struct{}{}:
		default:
			return before.value, nil
		}
	} else {
		select {
		case c.slot <- struct{}{}:
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
	defer func() { <-c.slot }()
	began := now()
	if v := c.current.Load(); v != nil && began.Before(v.until) {
		return v.value, nil
	}
	value, err := read(ctx)
	if err != nil {
		return none, err
	}
	c.current.Store(&cachedValue[T]{value, began.Add(max(minAge, 20*now().Sub(began)))})
	return value, nil
}
