// Package follow keeps data that is derived from the records of a store up to date.
//
// [Run] is the whole life of a follower: it builds the data when there is none, applies the log in
// batches, rebuilds when the position in the log is gone, and saves. A [Position] tells how far the
// follower is, and lets callers wait for a write. A follower whose own files can fail uses
// [ReadBatches] and a Position in its own loop.
package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"gazetteer/store"
)

// Options of [Run]. Name and Apply are required.
type Options struct {
	// Name is the name of the derived data in the log and in errors: "the change feed".
	Name string
	Log  *slog.Logger // nil: silent
	// Linger is that of [BatchOptions].
	Linger time.Duration
	// Damaged is that of [BatchOptions]; nil: damaged records are logged and come as tombstones.
	Damaged func(r store.Record, err error)
	// Rebuild starts the data again: it empties the data, may fill it from the store, and moves the
	// position to where following starts. It is called when the position is at the beginning or is
	// gone from the log. nil: the log is read again from the beginning.
	Rebuild func(ctx context.Context) error
	// Apply applies a batch of records. The position moves to upTo afterwards, or earlier if Apply
	// itself moves it.
	Apply func(ctx context.Context, batch []store.Record, upTo store.Cursor) error
	// Save stores the data, or its position, for the next start. It is called when Run ends, with a
	// context that has not ended. If SaveEvery is set, it is also called after a batch when
	// SaveEvery, and fifty times the duration of a save, have passed since the last call. nil:
	// nothing is stored.
	Save      func(ctx context.Context) error
	SaveEvery time.Duration
}

// saveShare is the minimum ratio of the time between two saves to the duration of a save.
const saveShare = 50

// Run follows the log of s from a position until ctx ends, and then returns nil. Errors are those
// of the store and of the functions in the options.
func Run(ctx context.Context, s store.Store, p *Position, o Options) error {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	err := o.followLog(ctx, s, p)
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		err = nil
	}
	if o.Save != nil {
		err = errors.Join(err, o.Save(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return fmt.Errorf("follow the store into %s: %w", o.Name, err)
	}
	return nil
}

// followLog rebuilds and applies until ctx ends or something fails.
func (o *Options) followLog(ctx context.Context, s store.Store, p *Position) error {
	batches := BatchOptions{Linger: o.Linger, Damaged: o.Damaged}
	if batches.Damaged == nil {
		batches.Damaged = func(r store.Record, err error) {
			o.Log.Error("a damaged record is left out of "+o.Name, "key", r.Key, "error", err)
		}
	}
	nextSave := time.Now().Add(o.SaveEvery)
	apply := func(batch []store.Record, upTo store.Cursor) error {
		if err := o.Apply(ctx, batch, upTo); err != nil {
			return err
		}
		if p.Cursor() != upTo {
			p.MoveTo(upTo)
		}
		if begun := time.Now(); o.SaveEvery > 0 && begun.After(nextSave) {
			if err := o.Save(ctx); err != nil {
				return err
			}
			nextSave = time.Now().Add(max(o.SaveEvery, saveShare*time.Since(begun)))
		}
		return nil
	}
	rebuild := p.Cursor().Seq == 0
	for {
		if rebuild {
			if err := o.rebuildData(ctx, p); err != nil {
				return err
			}
		}
		err := ReadBatches(ctx, s, p.Cursor(), batches, apply)
		switch {
		case !errors.Is(err, store.ErrCursorGone):
			return err
		case ctx.Err() != nil:
			return nil
		}
		o.Log.Warn(o.Name+" cannot be continued and is made again from the store", "error", err)
		rebuild = true
	}
}

func (o *Options) rebuildData(ctx context.Context, p *Position) error {
	if o.Rebuild != nil {
		return o.Rebuild(ctx)
	}
	p.MoveTo(store.Cursor{})
	return nil
}
