package store

import (
	"context"
	"time"
)

// FollowOptions shapes the batches of [Follow]. The zero value has good defaults.
type FollowOptions struct {
	Batch  int           // most records handed over at once; 1,000 when 0
	Linger time.Duration // longest wait for a batch to fill; 200 ms when 0
	// Damaged, when set, is called for each damaged record, and apply gets the record as a
	// tombstone, because its value cannot be trusted. Without it the first damaged record ends
	// Follow.
	Damaged func(r Record, err error)
}

// Follow reads the changes of s after the cursor and hands them to apply in batches: as soon as
// Batch records are there, or Linger after the first of them. apply gets the cursor that stands for
// everything up to the end of its batch and must keep it in the same commit as the data that it
// derives. Follow returns nil when ctx ends, and the first error of the log or of apply otherwise.
// [ErrCursorGone] calls for a rebuild from the zero cursor; it may come at any time, when the
// horizon of the store passes the follower. Follow waits for its own goroutine.
func Follow(ctx context.Context, s Store, after Cursor, o FollowOptions, apply func(batch []Record, upTo Cursor) error) error {
	if o.Batch == 0 {
		o.Batch = 1000
	}
	if o.Linger == 0 {
		o.Linger = 200 * time.Millisecond
	}
	ctx, cancel := context.WithCancel(ctx)
	records := make(chan Record)
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
func sendRecords(ctx context.Context, s Store, after Cursor, damaged func(Record, error), records chan<- Record) error {
	defer close(records)
	for r, err := range s.Changes(ctx, after) {
		switch {
		case err != nil && damaged != nil && Damaged(r, err):
			damaged(r, err)
			r = Record{Key: r.Key, Seq: r.Seq, Deleted: true}
		case err != nil:
			return err
		}
		select {
		case records <- r:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// applyBatches cuts the stream of records into batches until the channel is closed. The records
// gathered at that moment are applied too, which saves reading them again.
func applyBatches(s Store, o FollowOptions, records <-chan Record, apply func([]Record, Cursor) error) error {
	head := s.Head() // names the log: store and incarnation do not change while it is open
	for first := range records {
		batch := []Record{first}
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
		upTo := Cursor{Store: head.Store, Incarnation: head.Incarnation, Seq: batch[len(batch)-1].Seq}
		if err := apply(batch, upTo); err != nil {
			return err
		}
	}
	return nil
}
