package follow

import (
	"cmp"
	"context"
	"iter"
	"runtime"
	"time"

	"gazetteer/store"
)

// BatchOptions shapes the batches of [ReadBatches]. The zero value has good defaults.
type BatchOptions struct {
	Batch  int           // most records handed over at once; 1,000 when 0
	Linger time.Duration // longest wait for a batch to fill; 200 ms when 0
	// Damaged, when set, is called for each damaged record, and apply gets the record as a
	// tombstone, because its value cannot be trusted. Without it ReadBatches ends at the first
	// damaged record.
	Damaged func(r store.Record, err error)
}

// ReadBatches reads the changes of s after the cursor and passes them to apply in batches: as soon
// as there are Batch records, or Linger after the first of them. apply gets the cursor for
// everything up to the end of its batch and must save it in the same commit as the derived data.
// ReadBatches returns nil when ctx ends, and otherwise the first error of the log or of apply.
// [store.ErrCursorGone] requires a rebuild from the zero cursor; it may come at any time, when the
// horizon of the store passes the follower. ReadBatches waits for its own goroutine.
func ReadBatches(ctx context.Context, s store.Store, after store.Cursor, o BatchOptions, apply func(batch []store.Record, upTo store.Cursor) error) error {
	o.Batch = cmp.Or(o.Batch, 1000)
	o.Linger = cmp.Or(o.Linger, 200*time.Millisecond)
	ctx, cancel := context.WithCancel(ctx)
	records := make(chan store.Record)
	done := make(chan error, 1)
	go func() { done <- sendRecords(ctx, s, after, o.Damaged, records) }()
	err := applyBatches(s, o, records, apply)
	cancel()
	if sendErr := <-done; err == nil {
		err = sendErr
	}
	return err
}

// sendRecords moves records from the log into the channel until ctx or the log ends.
func sendRecords(ctx context.Context, s store.Store, after store.Cursor, damaged func(store.Record, error), records chan<- store.Record) error {
	defer close(records)
	sent := 0
	for r, err := range s.Changes(ctx, after) {
		switch {
		case err != nil && damaged != nil && store.Damaged(r, err):
			damaged(r, err)
			r = store.Record{Key: r.Key, Seq: r.Seq, Deleted: true}
		case err != nil:
			return err
		}
		select {
		case records <- r:
		case <-ctx.Done():
			return nil
		}
		if sent++; sent%recordsPerTurn == 0 {
			runtime.Gosched()
		}
	}
	return nil
}

// recordsPerTurn is after how many records a follower lets other goroutines run. A few followers that
// catch up after a start would otherwise keep a processor for 10 ms each in turn.
const recordsPerTurn = 16

// InTurns yields the records of a batch, and lets other goroutines run after every few of them. It is
// for loops that hold no lock.
func InTurns(batch []store.Record) iter.Seq[store.Record] {
	return func(yield func(store.Record) bool) {
		for i, r := range batch {
			if i%recordsPerTurn == recordsPerTurn-1 {
				runtime.Gosched()
			}
			if !yield(r) {
				return
			}
		}
	}
}

// applyBatches cuts the stream of records into batches until the channel is closed. The records
// gathered at that moment are applied too, which saves reading them again.
func applyBatches(s store.Store, o BatchOptions, records <-chan store.Record, apply func([]store.Record, store.Cursor) error) error {
	head := s.Head() // names the log: store and incarnation do not change while it is open
	for first := range records {
		batch := []store.Record{first}
		timer := time.NewTimer(o.Linger)
		open := true
		for open && len(batch) < o.Batch {
			select {
			case r, more := <-records:
				if open = more; more {
					batch = append(batch, r)
				}
				continue
			case <-timer.C:
			}
			break
		}
		timer.Stop()
		upTo := store.Cursor{Store: head.Store, Incarnation: head.Incarnation, Seq: batch[len(batch)-1].Seq}
		if err := apply(batch, upTo); err != nil {
			return err
		}
	}
	return nil
}
