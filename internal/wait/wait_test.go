package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := For(t.Context(), time.Minute); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if err := For(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

func TestForSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signal := make(chan struct{}, 1)
		begun := time.Now()
		if err := ForSignal(t.Context(), time.Minute, signal); err != nil || time.Since(begun) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		signal <- struct{}{}
		begun = time.Now()
		if err := ForSignal(t.Context(), time.Minute, signal); err != nil || time.Since(begun) != 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

func TestBroadcast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Broadcast
		b.Notify() // nobody waits
		woken := make(chan int, 3)
		for i := range 3 {
			go func() { <-b.Next(); woken <- i }()
		}
		synctest.Wait()
		if len(woken) != 0 {
			t.Error("woken before there was a change")
		}
		next := b.Next()
		b.Notify()
		synctest.Wait()
		if len(woken) != 3 {
			t.Errorf("%d of 3 woken", len(woken))
		}
		if b.Next() == next {
			t.Error("the next change has the channel of the last one")
		}
	})
}
