package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"runtime"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// List and Changes read in pages, each in a separate transaction that ends before the consumer sees
// a record. A page ends at the first of these limits. Many consumers want few records, so the first
// page of a list is short.
const (
	firstRecords = 32
	pageRecords  = 256
	pageBytes    = 1 << 20
	pageVisits   = 4096 // tombstones included
)

// Get returns the record of key, or store.ErrNotFound.
func (s *Store) Get(ctx context.Context, key string) (store.Record, error) {
	if err := ctx.Err(); err != nil {
		return store.Record{}, err
	}
	var found store.Record
	err := s.file.View("read", func(tx *bolt.Tx) error {
		wanted := []byte(key)
		raw, err := boltfile.Find(tx.Bucket(recordsBucket).Cursor(), wanted)
		if err != nil {
			return err
		}
		if raw == nil {
			return missingError(key)
		}
		r, err := decodeRecord(wanted, raw)
		if err != nil {
			return err
		}
		if r.Deleted {
			return missingError(key)
		}
		found = cloneRecord(r)
		return nil
	})
	return found, err
}

// missingError is the error for a key without a record. Its text is built only when it is read,
// since reads of missing keys are frequent.
type missingError string

func (m missingError) Error() string { return fmt.Sprintf("%q: %v", string(m), store.ErrNotFound) }
func (m missingError) Unwrap() error { return store.ErrNotFound }

// List yields the living records of a prefix in key order, as store.Store says.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		from := []byte(prefix)
		if after >= prefix {
			from = append([]byte(after), 0) // the smallest key greater than after
		}
		for records := firstRecords; from != nil; records = pageRecords {
			if err := ctx.Err(); err != nil {
				yield(store.Record{}, err)
				return
			}
			page, next, err := s.readList(prefix, from, records)
			for _, e := range page {
				if !yield(e.record, e.err) {
					return
				}
			}
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			if from = next; from != nil {
				runtime.Gosched() // other goroutines need not wait for all pages
			}
		}
	}
}

// A listedRecord of a page is a record, or the key of one that is damaged.
type listedRecord struct {
	record store.Record
	err    error
}

// readList returns a page of records from a key on, as many as given or fewer, and the key where the
// next page begins, nil for none. On an error it also returns the records before the error.
func (s *Store) readList(prefix string, from []byte, records int) (page []listedRecord, next []byte, err error) {
	err = s.file.View("list", func(tx *bolt.Tx) error {
		visits, size := 0, 0
		defer func() { s.file.ReleaseListed(tx, size) }()
		return boltfile.Scan(tx.Bucket(recordsBucket), from, func(key, raw []byte) (bool, error) {
			if !bytes.HasPrefix(key, []byte(prefix)) {
				return false, nil
			}
			if visits == pageVisits || len(page) == records || size >= pageBytes {
				next = bytes.Clone(key)
				return false, nil
			}
			visits++
			r, err := decodeRecord(key, raw)
			switch {
			case err != nil:
				page = append(page, listedRecord{store.Record{Key: string(key)}, err})
			case !r.Deleted:
				page, size = append(page, listedRecord{record: cloneRecord(r)}), size+len(raw)
			}
			return true, nil
		})
	})
	return page, next, err
}

// Changes yields the latest record of every key written after the cursor and waits for more, as
// store.Store says. It yields store.ErrClosed when the store is closed. It yields store.ErrUnknown
// instead of records near a failed commit that may or may not persist.
func (s *Store) Changes(ctx context.Context, after store.Cursor) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := s.checkCursor(after); err != nil {
			yield(store.Record{}, err)
			return
		}
		needed := after.Seq
		if needed == 0 { // a record deleted before is never yielded, so its deletion is not missed
			needed = s.Head().Seq
		}
		for place := after.Seq; ; {
			s.waitNewer(ctx, place)
			if ctx.Err() != nil {
				return
			}
			page, reached, err := s.readChanges(ctx, place, needed)
			for _, e := range page {
				if ctx.Err() != nil || !yield(e.record, e.err) {
					return
				}
			}
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			place = reached
		}
	}
}

// checkCursor refuses a cursor that is not a position in this log. readChanges checks whether it is
// behind the horizon.
func (s *Store) checkCursor(c store.Cursor) error {
	if c == (store.Cursor{}) {
		return nil
	}
	head := s.Head()
	switch {
	case c.Store != head.Store:
		return fmt.Errorf("%w: it is of store %q, this is store %q", store.ErrCursorGone, c.Store, head.Store)
	case c.Incarnation != head.Incarnation:
		return fmt.Errorf("%w: it is of incarnation %d, this is incarnation %d", store.ErrCursorGone, c.Incarnation, head.Incarnation)
	case c.Seq > head.Seq:
		return fmt.Errorf("%w: it is at %d, the log ends at %d", store.ErrCursorGone, c.Seq, head.Seq)
	}
	return nil
}

// waitNewer waits until a write newer than place is on disk, or until ctx ends or the store is
// closed, which the next read notices.
func (s *Store) waitNewer(ctx context.Context, place uint64) {
	for {
		seq, grown := s.file.Progress()
		if seq > place {
			return
		}
		select {
		case <-grown:
		case <-s.file.Closing():
			return
		case <-ctx.Done():
			return
		}
	}
}

// readChanges returns a page of the log after a place, and the place it reaches.
//
// A transaction may see a commit whose last sync is still running. If readChanges returned its
// records, or only the gap that an overwritten record leaves, and then the power failed, a follower
// would have missed a record permanently. So the page waits until everything it saw is on disk.
//
// needed is a sequence up to which the reader misses no deletion. The place is gone when the
// horizon has passed both needed and the place: a deletion in between may have been dropped.
func (s *Store) readChanges(ctx context.Context, place, needed uint64) (page []listedRecord, reached uint64, err error) {
	var seen uint64
	err = s.file.View("read the log", func(tx *bolt.Tx) error {
		horizon, err := readHorizon(tx)
		if err != nil {
			return err
		}
		if horizon > max(place, needed) {
			return fmt.Errorf("%w: it is at %d, deletions are forgotten up to %d", store.ErrCursorGone, place, horizon)
		}
		records, log := tx.Bucket(recordsBucket), tx.Bucket(logBucket)
		size := 0
		defer func() { s.file.ReleaseListed(tx, size) }()
		if reached, err = s.readEnd(records, log); err != nil {
			return err
		}
		seen = reached
		if err := checkEntryBefore(records, log, place+1); err != nil {
			return err
		}
		return boltfile.Scan(log, logKey(place+1), func(seq, key []byte) (bool, error) {
			r, err := readLogged(records, seq, key)
			var one *recordError
			switch {
			case errors.As(err, &one) && len(seq) == 8:
				r = record{Key: string(key), Seq: binary.BigEndian.Uint64(seq)}
			case err != nil:
				return false, err // where the log itself is wrong, no place in it is to be trusted
			}
			page, size = append(page, listedRecord{cloneRecord(r), err}), size+headerSize+len(r.Value)
			if len(page) == pageRecords || size >= pageBytes {
				reached = r.Seq
				return false, nil
			}
			return true, nil
		})
	})
	if waiting := s.file.WaitDurable(ctx, seen); waiting != nil {
		return nil, place, waiting
	}
	return page, reached, err
}

// readEnd returns the sequence of the last entry of the log.
func (s *Store) readEnd(records, log *bolt.Bucket) (uint64, error) {
	last, key, err := boltfile.FindLast(log)
	if err != nil {
		return 0, err
	}
	if len(last) != 8 {
		return 0, store.Corruptf("the log ends with the entry %x", last)
	}
	seq := binary.BigEndian.Uint64(last)
	if durable, _ := s.file.Progress(); seq <= durable {
		return seq, nil
	}
	// Either its commit is being written, or the entry is damaged: then the caller would wait
	// without end for that commit.
	if _, err := readLogged(records, last, key); err != nil && !isRecordError(err) {
		return 0, err
	}
	return seq, nil
}

func isRecordError(err error) bool {
	_, ok := errors.AsType[*recordError](err)
	return ok
}

// checkEntryBefore checks the entry of the log before place: a damaged entry that belongs at place
// may be there, and reading from place on would omit it.
func checkEntryBefore(records, log *bolt.Bucket, place uint64) error {
	c := log.Cursor()
	if seq, _ := c.Seek(logKey(place)); seq == nil {
		return nil // the caller has checked the last entry
	}
	seq, key := c.Prev()
	if seq == nil {
		return nil
	}
	_, err := readLogged(records, seq, key)
	if isRecordError(err) {
		return nil // the entry is right, and its record was reported
	}
	return err
}
