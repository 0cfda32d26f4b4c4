package server

import (
	"context"
	"errors"
	"time"

	"gazetteer/internal/wait"
	"gazetteer/store"
)

// diskInterval is the time between two looks at the free disk space.
const diskInterval = 5 * time.Second

// watchDiskSpace logs when the disk is too full for new data, also at the start, and when it no
// longer is, until ctx ends.
func (h *Server) watchDiskSpace(ctx context.Context) error {
	full := false
	for {
		err := h.Store.CheckWrites()
		switch now := errors.Is(err, store.ErrFull); {
		case now && !full && errors.Is(err, store.ErrReplaced):
			h.log.Error("the server answers, but stores nothing new", "error", err)
		case now && !full:
			h.log.Warn("the disk is full: the server answers and deletes, but stores nothing new; free disk space, or lower min_free_bytes", "error", err)
		case full && !now:
			h.log.Info("new data is stored again")
		}
		full = errors.Is(err, store.ErrFull)
		if wait.For(ctx, diskInterval) != nil {
			return nil
		}
	}
}

// isNews reports whether an error of a write has to be logged: watchDiskSpace reports a full disk.
func isNews(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrFull)
}
