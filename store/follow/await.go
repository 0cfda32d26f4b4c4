package follow

import (
	"context"
	"errors"
	"time"

	"gazetteer/store"
)

// ErrStalled means that a follower made no progress. Test with errors.Is.
var ErrStalled = errors.New("no progress")

// A Follower follows the log of a store.
type Follower interface {
	// Cursor is the position up to which the log was followed.
	Cursor() store.Cursor
	// WaitFor waits until the log was followed up to a sequence.
	WaitFor(ctx context.Context, seq uint64) error
}

// Await waits until a follower has reached a sequence, however long that takes, but not longer than
// patience while its position does not change: the error then matches [ErrStalled].
func Await(ctx context.Context, f Follower, seq uint64, patience time.Duration) error {
	at, moved := f.Cursor(), time.Now()
	for {
		waiting, stop := context.WithTimeout(ctx, patience/10)
		err := f.WaitFor(waiting, seq)
		expired := waiting.Err() != nil
		stop()
		if err == nil || ctx.Err() != nil || !expired {
			return err
		}
		if now := f.Cursor(); now != at {
			at, moved = now, time.Now()
		} else if time.Since(moved) >= patience {
			return ErrStalled
		}
	}
}
