package cache

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSingle checks that one caller computes a value while others get the previous one, that those
// without a previous one wait for it or for the end of their context, and that an error replaces nothing.
func TestSingle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx, computed := NewSingle[int](), t.Context(), 0
		compute := func() (int, error) {
			time.Sleep(time.Second)
			computed++
			return computed, nil
		}
		get := func(ctx context.Context, least int) (int, error) {
			return s.Get(ctx, func(v int) bool { return v >= least }, compute)
		}
		var first sync.WaitGroup
		for range 10 {
			first.Go(func() {
				if v, err := get(ctx, 1); v != 1 || err != nil {
					t.Errorf("the first value: %d, %v", v, err)
				}
			})
		}
		synctest.Wait()
		hurried, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		if _, err := get(hurried, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that does not wait: %v", err)
		}
		first.Wait()

		go func() { _, _ = get(ctx, 2) }()
		synctest.Wait()
		if v, err := get(ctx, 2); v != 1 || err != nil {
			t.Errorf("while the second value is computed: %d, %v", v, err)
		}
		time.Sleep(2 * time.Second)
		if v, err := get(ctx, 2); v != 2 || err != nil || computed != 2 {
			t.Errorf("the second value: %d, %v after %d computations", v, err, computed)
		}
		failure := errors.New("no disk")
		if _, err := s.Get(ctx, func(int) bool { return false }, func() (int, error) { return 0, failure }); err != failure {
			t.Errorf("a failing computation: %v", err)
		}
		if v, err := get(ctx, 2); v != 2 || err != nil {
			t.Errorf("after a failure: %d, %v", v, err)
		}
	})
}
