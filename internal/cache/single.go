package cache

import (
	"context"
	"sync/atomic"
)

// A Single keeps one value that is expensive to compute. Use NewSingle; the zero value is not usable.
// It may be used from any goroutine.
type Single[T any] struct {
	slot    chan struct{} // of capacity 1: the goroutine that filled it may replace current
	current atomic.Pointer[T]
}

// NewSingle returns an empty Single.
func NewSingle[T any]() *Single[T] { return &Single[T]{slot: make(chan struct{}, 1)} }

// Get returns the kept value if valid accepts it, and else the one that compute returns. While one
// caller computes it, the others get the previous value; they wait, until ctx ends, if there is none.
// After an error of compute the previous value stays.
func (s *Single[T]) Get(ctx context.Context, valid func(T) bool, compute func() (T, error)) (value T, err error) {
	before := s.current.Load()
	if before != nil {
		if valid(*before) {
			return *before, nil
		}
		select {
		case s.slot <- struct{}{}:
		default:
			return *before, nil
		}
	} else {
		select {
		case s.slot <- struct{}{}:
		case <-ctx.Done():
			return value, ctx.Err()
		}
	}
	defer func() { <-s.slot }()
	if now := s.current.Load(); now != nil && valid(*now) {
		return *now, nil
	}
	if value, err = compute(); err == nil {
		s.current.Store(&value)
	}
	return value, err
}
