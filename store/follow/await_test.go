package follow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/store"
	"gazetteer/store/follow"
)

// TestAwait waits for a follower that is slow, one that stops, and one that fails.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := new(follow.Position)
		go func() {
			for seq := range uint64(10) {
				time.Sleep(20 * time.Second)
				slow.MoveTo(store.Cursor{Seq: seq + 1})
			}
		}()
		begun := time.Now()
		if err := follow.Await(t.Context(), slow, 10, 30*time.Second); err != nil {
			t.Errorf("a slow one: %v", err)
		}
		if took := time.Since(begun); took != 200*time.Second {
			t.Errorf("a slow one took %v", took)
		}
		begun = time.Now()
		if err := follow.Await(t.Context(), slow, 11, 30*time.Second); !errors.Is(err, follow.ErrStalled) {
			t.Errorf("one that stopped: %v", err)
		}
		if took := time.Since(begun); took != 30*time.Second {
			t.Errorf("one that stopped took %v", took)
		}
		slow.SetError(store.ErrClosed)
		if err := follow.Await(t.Context(), slow, 11, 30*time.Second); !errors.Is(err, store.ErrClosed) {
			t.Errorf("one that failed: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := follow.Await(ctx, new(follow.Position), 1, 30*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that gives up: %v", err)
		}
	})
}
