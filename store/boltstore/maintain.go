package boltstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gazetteer/internal/wait"
	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// Maintain copies the file when at least this much of it is unused or, in a smaller file, when at
// least this many of the records are tombstones to drop: dropping them one by one takes longer.
const (
	copyShare           = 4 // a quarter, of the bytes or the records
	copyLeastBytes      = 64 << 20
	copyLeastTombstones = 100_000
)

// keepLeast is the number of newest writes that the horizon never covers: followers write their
// cursors to disk less often than they read records that do not concern them.
const keepLeast = 20_000

// A Compaction is the result of [Store.Compact].
type Compaction struct {
	Forgotten int           // tombstones dropped
	Horizon   store.Cursor  // deletions up to this cursor are forgotten
	Before    int64         // bytes of the file
	After     int64         // equal to Before when the file was not copied
	Took      time.Duration // all of it
	Pause     time.Duration // the time during which no write could begin
}

// Compact drops the tombstones that are older than keep (0 drops all) and replaces the file by a
// copy without unused pages while the store serves. It knows the age of a tombstone from marks that
// each call leaves, so a tombstone from before the first call counts as new. After an error the old
// file continues to serve, unless Failed says otherwise. store.ErrFull means that the disk has no
// room for the copy: the tombstones were dropped, and new records reuse their space.
func (s *Store) Compact(ctx context.Context, keep time.Duration) (Compaction, error) {
	return s.compactStore(ctx, keep, keepLeast, true)
}

// compactStore implements Compact; least is MaintainOptions.KeepLeast. Without always, it copies the
// file only when that saves enough.
func (s *Store) compactStore(ctx context.Context, keep time.Duration, least uint64, always bool) (c Compaction, err error) {
	s.forgetting.Lock()
	defer s.forgetting.Unlock()
	begun := time.Now()
	defer func() {
		c.Took = time.Since(begun)
		if err != nil && !isEnd(ctx, err) {
			s.countUpkeep(func(u *Upkeep) { u.Failures++ })
		}
	}()
	seq, err := s.noteTime(ctx, s.now(), keep)
	if err != nil {
		return c, fmt.Errorf("note the time: %w", err)
	}
	if keep > 0 {
		seq = min(seq, max(s.Head().Seq, least)-least)
	}
	if err := s.moveHorizon(ctx, seq); err != nil {
		return c, err
	}
	c.Horizon = s.Horizon()
	usage, err := s.file.Usage(ctx)
	if err != nil {
		return c, err
	}
	c.Before, c.After = usage.Bytes, usage.Bytes
	if !always {
		if always, err = s.isCopyWorthwhile(ctx, usage); err != nil {
			return c, err
		}
	}
	if always {
		err = s.copyFile(ctx, &c)
		if err == nil || !errors.Is(err, store.ErrFull) {
			return c, err
		}
	}
	var dropErr error
	c.Forgotten, dropErr = s.dropForgotten(ctx)
	return c, errors.Join(err, dropErr)
}

func (s *Store) isCopyWorthwhile(ctx context.Context, u boltfile.Usage) (bool, error) {
	if u.FreeBytes >= copyLeastBytes && u.FreeBytes >= u.Bytes/copyShare {
		return true, nil
	}
	tombstones, records, err := s.countForgotten(ctx)
	return tombstones >= copyLeastTombstones && tombstones >= records/copyShare, err
}

// copyFile replaces the file by a copy without tombstones up to the horizon.
func (s *Store) copyFile(ctx context.Context, c *Compaction) error {
	copying := &copier{store: s, horizon: c.Horizon.Seq}
	rebuilt, err := s.file.Rebuild(ctx, copying)
	if err != nil {
		return err
	}
	c.Forgotten, c.Before, c.After, c.Pause = copying.dropped, rebuilt.Before, rebuilt.After, rebuilt.Pause
	s.countUpkeep(func(u *Upkeep) {
		u.Forgotten += copying.dropped
		u.Compactions, u.Last, u.LastTook, u.LastPause = u.Compactions+1, time.Now(), rebuilt.Took, rebuilt.Pause
	})
	return nil
}

// WriteBackup copies the store, as it is at one moment, into a new file at path while it serves,
// and returns that moment. The copy has no deletions that are forgotten here. After an error there
// is no file at path.
func (s *Store) WriteBackup(ctx context.Context, path string) (store.Cursor, error) {
	copying := &copier{store: s, horizon: s.horizon.Load()}
	if err := s.file.CopyTo(ctx, path, copying); err != nil {
		return store.Cursor{}, err
	}
	return s.cursorAt(copying.place), nil
}

// MaintainOptions are the settings of [Store.Maintain].
type MaintainOptions struct {
	// Keep is the time for which deletions are stored for followers that have not seen them.
	Keep time.Duration
	// KeepLeast is the number of newest writes that keep their tombstones, however old they are, so
	// that a follower that was killed is not behind the horizon with its cursor on disk; 20,000
	// when 0.
	KeepLeast uint64
	// Hour is the hour of the day, in UTC, in which the daily work begins.
	Hour int
	// MustCopy, if set, decides whether the file is copied although that saves little: unused pages
	// may hold erased content.
	MustCopy func(context.Context) bool
	// After, if set, is called after the work of a day.
	After func(context.Context)
}

// Maintain drops the tombstones that are old enough once a day. It copies the file when a quarter
// of it, and 64 MiB, is unused, or when a quarter of its records, and 100,000, are dropped. It
// returns nil when ctx ends or the store is closed, and an error only when the store has failed.
// Other failures get a line in the log, and the work is tried again the next day.
func (s *Store) Maintain(ctx context.Context, o MaintainOptions) error {
	for {
		if wait.For(ctx, untilHour(time.Now(), o.Hour)) != nil {
			return nil
		}
		c, err := s.compactStore(ctx, o.Keep, cmp.Or(o.KeepLeast, keepLeast), o.MustCopy != nil && o.MustCopy(ctx))
		switch {
		case err == nil:
			s.log.Info("the store was compacted", "forgotten", c.Forgotten, "horizon", c.Horizon.Seq,
				"bytes_before", c.Before, "bytes_after", c.After, "took", c.Took, "pause", c.Pause)
		case isEnd(ctx, err):
			return nil
		case errors.Is(err, store.ErrUnknown):
			return fmt.Errorf("compact the store: %w", err)
		default:
			s.log.Error("the store could not be compacted; it continues unchanged", "error", err)
		}
		if o.After != nil {
			o.After(ctx)
		}
	}
}

// untilHour returns the time from now until the hour next begins.
func untilHour(now time.Time, hour int) time.Duration {
	now = now.UTC()
	next := time.Date(now.Year(), now.Month(), now.Day(), hour, 0, 0, 0, time.UTC)
	if !next.After(now) {
		next = next.AddDate(0, 0, 1)
	}
	return next.Sub(now)
}
