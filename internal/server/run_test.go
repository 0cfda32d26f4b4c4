package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"testing/synctest"

	"gazetteer/store"
)

// TestFollowersOutliveShortages checks that a follower goes on after a shortage of descriptors and
// after a full disk, but not after other errors.
func TestFollowersOutliveShortages(t *testing.T) {
	h := &Server{log: slog.New(slog.DiscardHandler)}
	damage := fmt.Errorf("read: %w", store.ErrCorrupt)
	for name, last := range map[string]error{"nothing": nil, "damage": damage} {
		synctest.Test(t, func(t *testing.T) {
			outcomes := []error{
				&os.PathError{Op: "open", Path: "changes.db", Err: syscall.EMFILE},
				fmt.Errorf("write the change feed: %w", store.ErrFull),
				last,
			}
			runs := 0
			err := h.followThroughShortages(t.Context(), "the feed of changes", func(context.Context) error {
				runs++
				return outcomes[runs-1]
			})
			if runs != len(outcomes) || !errors.Is(err, last) {
				t.Errorf("%s at last: %d runs, then %v", name, runs, err)
			}
		})
	}
	// A stop does not wait for room on the disk.
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		if err := h.followThroughShortages(ctx, "the feed of changes", func(context.Context) error { cancel(); return store.ErrFull }); err != nil {
			t.Errorf("a stop on a full disk: %v", err)
		}
	})
}
