package boltstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// Maintain compacts the file when at least this much of it is unused.
const (
	compactShare = 4 // a quarter
	compactLeast = 64 << 20
)

// A Compaction says what [Store.Compact] did.
type Compaction struct {
	Forgotten int           // tombstones dropped
	Horizon   store.Cursor  // deletions up to there are forgotten
	Before    int64         // bytes of the file
	After     int64         // the same when the file was not copied
	Took      time.Duration // all of it
	Pause     time.Duration // for how long no write could begin
}

// Compact drops the tombstones that are older than keep, as far as it was noted what was written by
// then (see Maintain; 0 drops all), and replaces the file by a copy without unused pages while the
// store serves. An error means that the old file goes on serving, unless Failed says otherwise;
// store.ErrFull that the disk has no room for the copy.
func (s *Store) Compact(ctx context.Context, keep time.Duration) (Compaction, error) {
	return s.compact(ctx, keep, func(boltfile.Usage) bool { return true })
}

func (s *Store) compact(ctx context.Context, keep time.Duration, worthwhile func(boltfile.Usage) bool) (c Compaction, err error) {
	s.forgetting.Lock()
	defer s.forgetting.Unlock()
	begun := time.Now()
	defer func() {
		if err != nil && !isEnd(ctx, err) {
			s.countUpkeep(func(u *Upkeep) { u.Failures++ })
		}
	}()
	seq, err := s.noteTime(ctx, begun, keep)
	if err != nil {
		return c, fmt.Errorf("note the time: %w", err)
	}
	if c.Forgotten, err = s.forget(ctx, s.cursorAt(seq)); err != nil {
		return c, err
	}
	c.Horizon = s.Horizon()
	usage, err := s.file.Usage(ctx)
	if err != nil {
		return c, err
	}
	c.Before, c.After = usage.Bytes, usage.Bytes
	if worthwhile(usage) {
		rebuilt, err := s.file.Rebuild(ctx, &copier{})
		if err != nil {
			return c, err
		}
		c.Before, c.After, c.Pause = rebuilt.Before, rebuilt.After, rebuilt.Pause
		s.countUpkeep(func(u *Upkeep) {
			u.Compactions, u.Last, u.LastTook, u.LastPause = u.Compactions+1, time.Now(), rebuilt.Took, rebuilt.Pause
		})
	}
	c.Took = time.Since(begun)
	return c, nil
}

// MaintainOptions are the settings of [Store.Maintain].
type MaintainOptions struct {
	// Keep is how long deletions are kept for followers that have not seen them.
	Keep time.Duration
	// Hour is the hour of the day, in UTC, at the beginning of which the work is done.
	Hour int
}

// Maintain drops the tombstones that are old enough once a day, and compacts the file when a quarter
// of it, and 64 MiB, is unused. It returns nil when ctx ends or the store is closed, and an error
// only when the store has failed: what else goes wrong gets a line in the log, and is tried again
// the next day.
func (s *Store) Maintain(ctx context.Context, o MaintainOptions) error {
	for {
		timer := time.NewTimer(untilHour(time.Now(), o.Hour))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		c, err := s.compact(ctx, o.Keep, func(u boltfile.Usage) bool {
			return u.FreeBytes >= compactLeast && u.FreeBytes >= u.Bytes/compactShare
		})
		switch {
		case err == nil:
			s.log.Info("the store was compacted", "forgotten", c.Forgotten, "horizon", c.Horizon.Seq,
				"bytes_before", c.Before, "bytes_after", c.After, "took", c.Took, "pause", c.Pause)
		case isEnd(ctx, err):
			return nil
		case errors.Is(err, store.ErrUnknown):
			return fmt.Errorf("compact the store: %w", err)
		default:
			s.log.Error("the store could not be compacted; it goes on as it was", "error", err)
		}
	}
}

// untilHour returns the time from now until the hour begins next.
func untilHour(now time.Time, hour int) time.Duration {
	now = now.UTC()
	next := time.Date(now.Year(), now.Month(), now.Day(), hour, 0, 0, 0, time.UTC)
	if !next.After(now) {
		next = next.AddDate(0, 0, 1)
	}
	return next.Sub(now)
}
