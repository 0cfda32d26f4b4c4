package web

import (
	"context"
	"time"
)

// cached keeps a value that is costly to read. Its zero value is not usable: see newCached.
type cached[T any] struct {
	turn  chan struct{} // of one place: a goroutine that has filled it may touch the following
	value T
	until time.Time
}

func newCached[T any]() cached[T] { return cached[T]{turn: make(chan struct{}, 1)} }

// minAge is how old a cached value may be at least.
const minAge = 5 * time.Second

// readCached returns the value, read anew when it is too old. A value that takes long to read is
// kept for longer, so that at most a twentieth of the time is spent reading it.
func (c *cached[T]) readCached(ctx context.Context, now func() time.Time, read func(context.Context) (T, error)) (T, error) {
	var none T
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	defer func() { <-c.turn }()
	began := now()
	if began.Before(c.until) {
		return c.value, nil
	}
	value, err := read(ctx)
	if err != nil {
		return none, err
	}
	c.value, c.until = value, began.Add(max(minAge, 20*now().Sub(began)))
	return value, nil
}
