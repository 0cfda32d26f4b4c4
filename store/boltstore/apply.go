package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// fewWrites is the number of writes up to which pairwise comparison is faster than a map.
const fewWrites = 8

// request is one Apply that waits for its batch.
type request struct {
	changes []change
	bytes   int
	adds    bool // something besides deletions
	growth  int  // of all records together, in bytes; set by checkRequest
	reserve bool // see store.WithReserve
}

func newRequest(writes []store.Write) (*request, error) {
	if len(writes) > maxWrites {
		return nil, fmt.Errorf("%w: %d writes at once, at most %d are allowed", store.ErrInvalid, len(writes), maxWrites)
	}
	r := &request{changes: make([]change, len(writes))}
	if key, twice := findRepeated(writes); twice {
		return nil, fmt.Errorf("%w: two writes to %q at once", store.ErrInvalid, key)
	}
	for i, w := range writes {
		c, err := newChange(w)
		if err != nil {
			return nil, err
		}
		r.changes[i] = c
		r.bytes += len(c.key) + len(c.raw)
		r.adds = r.adds || !c.delete
	}
	return r, nil
}

// findRepeated returns a key that occurs in two writes.
func findRepeated(writes []store.Write) (key string, twice bool) {
	if len(writes) <= fewWrites {
		for i, w := range writes {
			if slices.ContainsFunc(writes[:i], func(before store.Write) bool { return before.Key == w.Key }) {
				return w.Key, true
			}
		}
		return "", false
	}
	seen := make(map[string]bool, len(writes))
	for _, w := range writes {
		if seen[w.Key] {
			return w.Key, true
		}
		seen[w.Key] = true
	}
	return "", false
}

// Apply writes all or nothing, as store.Store says. A canceled ctx has an effect until the commit
// begins; Apply waits for a commit that has begun, so that its outcome is known. store.ErrFull and
// store.ErrCorrupt mean that nothing was written. While the disk is full, Apply accepts what removes
// more than it adds, and what store.WithReserve allows.
func (s *Store) Apply(ctx context.Context, writes ...store.Write) (uint64, error) {
	r, err := newRequest(writes)
	if err != nil {
		return 0, err
	}
	r.reserve = store.UsesReserve(ctx)
	return s.file.Write(ctx, boltfile.Request{
		Write:  func(tx *boltfile.Tx) (refused, err error) { return s.batchOf(tx).applyRequest(r) },
		Writes: len(r.changes), Bytes: r.bytes, Frees: true,
	})
}

// batch is one transaction that several requests write into.
type batch struct {
	tx *boltfile.Tx

	records, log *bolt.Bucket
	entries      []uint64 // see checkRequest; reused to save memory
	number       [8]byte  // a key of the log; bbolt keeps a copy

	lookup, logged *bolt.Cursor // of records and log; their positions have no meaning
}

// batchOf returns the batch of a transaction. Only the commits of the file call it.
func (s *Store) batchOf(tx *boltfile.Tx) *batch {
	b := &s.batch
	if b.tx != tx {
		b.tx, b.records, b.log = tx, tx.Bucket(recordsBucket), tx.Bucket(logBucket)
		b.log.FillPercent = 0.9 // it grows at its end
		b.lookup, b.logged = b.records.Cursor(), b.log.Cursor()
	}
	return b
}

// applyRequest checks the whole request and then writes it. refused is the request's own error,
// with nothing written; err spoils the transaction.
func (b *batch) applyRequest(r *request) (refused, err error) {
	err = boltfile.CatchDamage("read", func() error {
		refused = b.checkRequest(r)
		return nil
	})
	if refused == nil && r.adds && r.growth >= 0 {
		if refused = b.tx.Full(); r.reserve {
			refused = b.tx.TakeReserve(r.growth)
		}
	}
	if err != nil || refused != nil {
		return cmp.Or(err, refused), nil // a record that cannot be read concerns that request alone
	}
	for i := range r.changes {
		if c := &r.changes[i]; !c.void {
			if err := b.putChange(c, b.entries[i]); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// checkRequest sets entries to the sequence of each key's entry in the log, 0 for none, and refuses
// a request whose expectations are not met.
func (b *batch) checkRequest(r *request) error {
	b.entries, r.growth = b.entries[:0], 0
	for i := range r.changes {
		c := &r.changes[i]
		old, err := b.readCurrent(c.key)
		if err != nil {
			return err
		}
		living := old.Seq
		if old.Deleted {
			living = 0
		}
		if c.expect != nil && *c.expect != living {
			return conflictError(string(c.key), *c.expect, living)
		}
		b.entries = append(b.entries, old.Seq)
		if c.void = c.delete && living == 0; !c.void {
			r.growth += c.growth(old)
		}
	}
	return nil
}

// readCurrent returns the newest write to key, the zero record if there is none. It verifies the
// record, because the record's sequence decides which entry of the log is removed.
func (b *batch) readCurrent(key []byte) (record, error) {
	raw, err := boltfile.Find(b.lookup, key)
	if raw == nil {
		return record{}, err
	}
	old, err := decodeRecord(key, raw)
	if err != nil {
		return record{}, err
	}
	logged, err := boltfile.Find(b.logged, b.logKey(old.Seq))
	if err != nil {
		return record{}, err
	}
	if !bytes.Equal(logged, key) {
		return record{}, store.Corruptf("the log does not name the record %q", key)
	}
	return old, nil
}

func (b *batch) logKey(seq uint64) []byte {
	return binary.BigEndian.AppendUint64(b.number[:0], seq)
}

func (b *batch) putChange(c *change, old uint64) error {
	if old != 0 {
		if err := b.log.Delete(b.logKey(old)); err != nil {
			return err
		}
	}
	seq := b.tx.NextSequence()
	if err := b.records.Put(c.key, c.setSequence(seq)); err != nil {
		return err
	}
	return b.log.Put(b.logKey(seq), c.key)
}

func conflictError(key string, expected, found uint64) error {
	switch {
	case expected == 0:
		return fmt.Errorf("%w: %q exists already, with sequence %d", store.ErrConflict, key, found)
	case found == 0:
		return fmt.Errorf("%w: %q does not exist, sequence %d was expected", store.ErrConflict, key, expected)
	}
	return fmt.Errorf("%w: %q has sequence %d, %d was expected", store.ErrConflict, key, found, expected)
}
