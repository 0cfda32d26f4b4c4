package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"syscall"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
)

// List and Changes read in pages, each in a transaction of its own that ends
// before the consumer sees a record. A page ends at whichever comes first.
const (
	pageRecords = 256
	pageBytes   = 1 << 20
	pageVisits  = 4096 // tombstones included
)

// Get returns the record of key, or store.ErrNotFound.
func (s *Store) Get(ctx context.Context, key string) (store.Record, error) {
	if err := ctx.Err(); err != nil {
		return store.Record{}, err
	}
	var found store.Record
	err := s.view("read", func(tx *bolt.Tx) error {
		wanted := []byte(key)
		raw, err := find(tx.Bucket(recordsBucket).Cursor(), wanted)
		if err != nil {
			return err
		}
		if raw == nil {
			return missing(key)
		}
		r, err := decode(wanted, raw)
		if err != nil {
			return err
		}
		if r.Deleted {
			return missing(key)
		}
		found = own(r)
		return nil
	})
	return found, err
}

// missing is the error for a key without a record. It is put into words only when
// somebody reads them: many ask for what is not there.
type missing string

func (m missing) Error() string { return fmt.Sprintf("%q: %v", string(m), store.ErrNotFound) }
func (m missing) Unwrap() error { return store.ErrNotFound }

// view runs f in a read transaction. f must not call anything that may wait.
func (s *Store) view(doing string, f func(tx *bolt.Tx) error) error {
	s.inUse.RLock()
	defer s.inUse.RUnlock()
	if s.isClosed() {
		return store.ErrClosed
	}
	if s.isBroken() {
		return s.Err()
	}
	began := false
	err := guard(doing, func() error {
		tx, err := s.begin(false)
		if err != nil {
			return err
		}
		began = true
		defer tx.Rollback()
		return f(tx)
	})
	if err != nil && !began {
		return s.breakDown(err)
	}
	return err
}

// begin begins a transaction of bbolt, which reads a meta page there with its
// locks held: if that faulted, everybody else would wait for ever. The one way
// in which it happens, the file cut under the running process, is looked for
// first.
func (s *Store) begin(writable bool) (*bolt.Tx, error) {
	var file syscall.Stat_t
	if err := syscall.Fstat(int(s.file.Fd()), &file); err == nil && file.Size < 2*pageSize {
		return nil, corrupt("%s was cut to %d bytes while it was open", BoltFile, file.Size)
	}
	return s.db.Begin(writable)
}

// checkSeek finds a damaged signpost in the tree, which leads a search past what
// it looks for.
func checkSeek(b *bolt.Bucket, key []byte) error {
	c := b.Cursor()
	next, _ := c.Seek(key)
	return checkPlace(c, next, key)
}

// find returns what is stored under key, nil for nothing, which it makes sure of
// as checkSeek does.
func find(c *bolt.Cursor, key []byte) ([]byte, error) {
	next, raw := c.Seek(key)
	if raw != nil && bytes.Equal(next, key) {
		return raw, nil
	}
	return nil, checkPlace(c, next, key)
}

// checkPlace checks where the search for key has ended, at next or behind
// everything: what lies on either side must be on that side of key.
func checkPlace(c *bolt.Cursor, next, key []byte) error {
	var before []byte
	if next == nil {
		before, _ = c.Last()
	} else {
		before, _ = c.Prev()
	}
	if next != nil && bytes.Compare(next, key) < 0 || before != nil && bytes.Compare(before, key) >= 0 {
		return corrupt("the search for %q goes astray", key)
	}
	return nil
}

// List yields the living records of a prefix in key order, as store.Store says.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		from := []byte(prefix)
		if after >= prefix {
			from = append([]byte(after), 0) // the smallest key greater than after
		}
		for from != nil {
			if err := ctx.Err(); err != nil {
				yield(store.Record{}, err)
				return
			}
			page, next, err := s.listPage(prefix, from)
			for _, e := range page {
				if !yield(e.record, e.err) {
					return
				}
			}
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			from = next
		}
	}
}

// An entry of a page is a record, or the key of one that is damaged.
type entry struct {
	record store.Record
	err    error
}

// listPage returns a page of the records from a key on, and where the next page
// begins, nil for nowhere. With an error come the records before it.
func (s *Store) listPage(prefix string, from []byte) (page []entry, next []byte, err error) {
	err = s.view("list", func(tx *bolt.Tx) error {
		records := tx.Bucket(recordsBucket)
		if err := checkSeek(records, from); err != nil {
			return err
		}
		visits, size := 0, 0
		c := records.Cursor()
		for key, raw := c.Seek(from); key != nil && bytes.HasPrefix(key, []byte(prefix)); key, raw = c.Next() {
			if visits == pageVisits || len(page) == pageRecords || size >= pageBytes {
				next = bytes.Clone(key)
				return nil
			}
			visits++
			r, err := decode(key, raw)
			switch {
			case err != nil:
				page = append(page, entry{store.Record{Key: string(key)}, err})
			case !r.Deleted:
				page, size = append(page, entry{record: own(r)}), size+len(raw)
			}
		}
		return nil
	})
	return page, next, err
}

// Changes yields the latest record of every key written after the cursor and
// waits for more, as store.Store says. It yields store.ErrClosed when the store
// is closed, and store.ErrUnknown rather than anything that stands beside a
// commit which failed and may or may not stay.
func (s *Store) Changes(ctx context.Context, after store.Cursor) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := s.follows(after); err != nil {
			yield(store.Record{}, err)
			return
		}
		for place := after.Seq; ; {
			s.waitNewer(ctx, place)
			if ctx.Err() != nil {
				return
			}
			page, reached, err := s.changesPage(ctx, place)
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

// follows says whether a cursor is a place in this log.
func (s *Store) follows(c store.Cursor) error {
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
		return fmt.Errorf("%w: it stands at %d, the log ends at %d", store.ErrCursorGone, c.Seq, head.Seq)
	}
	return nil
}

// waitNewer waits until something newer than place is on disk, or the store is
// closed, which the next read will notice, or ctx ends.
func (s *Store) waitNewer(ctx context.Context, place uint64) {
	for {
		seq, grown := s.progress()
		if seq > place {
			return
		}
		select {
		case <-grown:
		case <-s.closing:
			return
		case <-ctx.Done():
			return
		}
	}
}

// changesPage returns a page of the log after a place, and the place it reaches.
//
// A transaction may see a commit whose last sync is still running. If its
// records were handed out, or only the gap that an overwritten record leaves,
// and then the power failed, a follower would have passed by a record for ever.
// So the page waits until what it saw is on disk.
func (s *Store) changesPage(ctx context.Context, place uint64) (page []entry, reached uint64, err error) {
	var seen uint64
	err = s.view("read the log", func(tx *bolt.Tx) error {
		records, log := tx.Bucket(recordsBucket), tx.Bucket(logBucket)
		size := 0
		c := log.Cursor()
		last, _ := c.Last()
		if len(last) != 8 {
			return corrupt("the log ends with the entry %x", last)
		}
		seen, reached = binary.BigEndian.Uint64(last), binary.BigEndian.Uint64(last)
		if err := checkSeek(log, logKey(place+1)); err != nil {
			return err
		}
		for seq, key := c.Seek(logKey(place + 1)); seq != nil; seq, key = c.Next() {
			r, err := logged(records, seq, key)
			var one *recordError
			switch {
			case errors.As(err, &one) && len(seq) == 8:
				r = record{Key: string(key), Seq: binary.BigEndian.Uint64(seq)}
			case err != nil:
				return err // where the log itself is wrong, no place in it is to be trusted
			}
			page, size = append(page, entry{own(r), err}), size+headerSize+len(r.Value)
			if len(page) == pageRecords || size >= pageBytes {
				reached = r.Seq
				return nil
			}
		}
		return nil
	})
	if waiting := s.onDisk(ctx, seen); waiting != nil {
		return nil, place, waiting
	}
	return page, reached, err
}

// onDisk waits until seq is on disk.
func (s *Store) onDisk(ctx context.Context, seq uint64) error {
	for {
		durable, grown := s.progress()
		if durable >= seq {
			return nil
		}
		select {
		case <-grown:
		case <-s.failed:
			return s.Err()
		case <-s.closing:
			return store.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
