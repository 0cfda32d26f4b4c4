package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// The maximum size of a transaction that fills the copy.
const (
	copyRecords = 4_000
	copyBytes   = 1 << 20
)

// copier copies the store into a new file, without the tombstones up to the horizon. The first step
// copies the records in key order, the second the log in its own order, both packed densely. The
// third step repeats: it copies the writes made meanwhile. Each step reads in several transactions,
// so a record may be written between them: the first two steps are responsible for the sequences up
// to start, and the log of changes names all later ones.
type copier struct {
	store    *Store
	horizon  uint64 // it does not move meanwhile
	dropped  int    // tombstones
	start    uint64 // the head of the log when the copy began
	place    uint64 // up to where the copy has caught up
	records  int    // copied in the first step with sequences up to start
	entries  int    // copied in the second step
	replaced int    // of records, those whose entry was gone before the second step
}

// CopyAll copies the records and the log.
func (c *copier) CopyAll(ctx context.Context, to *boltfile.Copy) error {
	seq, _ := to.File().Progress()
	c.start, c.place = seq, seq
	if err := c.copyRecords(ctx, to); err != nil {
		return err
	}
	return c.copyLog(ctx, to)
}

// copiedPair is an entry of a bucket, in memory.
type copiedPair struct{ key, value []byte }

func (c *copier) copyRecords(ctx context.Context, to *boltfile.Copy) error {
	for from := []byte{}; from != nil; {
		page, next, size, err := readPairs(to.File(), recordsBucket, from)
		if err != nil {
			return err
		}
		err = to.Update(ctx, size, func(tx *bolt.Tx) error {
			records := tx.Bucket(recordsBucket)
			records.FillPercent = 1
			for _, p := range page {
				if len(p.value) < headerSize {
					return store.Corruptf("record %q has an impossible size", p.key)
				}
				if _, yes := c.store.isForgotten(p.key, p.value, c.horizon); yes {
					c.dropped++
					continue
				}
				if binary.BigEndian.Uint64(p.value) <= c.start {
					c.records++
				}
				if err := records.Put(p.key, p.value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		from = next
	}
	return nil
}

// copyLog copies the entries of the log up to start and looks up the record of each: a copy that
// lost part of a damaged tree must not replace the file.
func (c *copier) copyLog(ctx context.Context, to *boltfile.Copy) error {
	for from := []byte{}; from != nil; {
		page, next, size, err := readPairs(to.File(), logBucket, from)
		if err != nil {
			return err
		}
		var missing []copiedPair
		err = to.Update(ctx, size, func(tx *bolt.Tx) error {
			records, log := tx.Bucket(recordsBucket), tx.Bucket(logBucket)
			log.FillPercent = 1
			for _, p := range page {
				if len(p.key) != 8 {
					return store.Corruptf("the log has the entry %x", p.key)
				}
				if binary.BigEndian.Uint64(p.key) > c.start {
					next = nil
					return nil
				}
				raw := records.Get(p.value)
				if raw == nil {
					missing = append(missing, p)
					continue
				}
				if !bytes.HasPrefix(raw, p.key) {
					return store.Corruptf("the log and the record %q disagree on its sequence", p.value)
				}
				c.entries++
				if err := log.Put(p.key, p.value); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			err = c.checkDropped(to.File(), missing)
		}
		if err != nil {
			return err
		}
		from = next
	}
	return nil
}

// checkDropped makes sure that the entries of the log whose records were not copied are those of
// dropped tombstones, which may have been written again.
func (c *copier) checkDropped(file *boltfile.File, entries []copiedPair) error {
	return file.View("look for dropped deletions", func(tx *bolt.Tx) error {
		records := tx.Bucket(recordsBucket)
		for _, e := range entries {
			raw := records.Get(e.value)
			if _, yes := c.store.isForgotten(e.value, raw, c.horizon); !yes && (len(raw) < headerSize || binary.BigEndian.Uint64(raw) <= c.start) {
				return store.Corruptf("the log names %q, whose record cannot be found", e.value)
			}
		}
		return nil
	})
}

// readPairs reads a page of a bucket from a key on. It returns the page, its size, and the key
// where the next page begins, nil for none.
func readPairs(file *boltfile.File, bucket, from []byte) (page []copiedPair, next []byte, size int64, err error) {
	err = file.View("copy", func(tx *bolt.Tx) error {
		return boltfile.Scan(tx.Bucket(bucket), from, func(key, value []byte) (bool, error) {
			if len(page) == copyRecords || size >= copyBytes {
				next = bytes.Clone(key)
				return false, nil
			}
			page = append(page, copiedPair{bytes.Clone(key), bytes.Clone(value)})
			size += int64(len(key) + len(value))
			return true, nil
		})
	})
	return page, next, size, err
}

// CatchUp copies the records that the log names after the position that the copy has reached.
func (c *copier) CatchUp(from, to *bolt.Tx, limit int) (copied int, err error) {
	records, log := from.Bucket(recordsBucket), from.Bucket(logBucket)
	newRecords, newLog := to.Bucket(recordsBucket), to.Bucket(logBucket)
	newLog.FillPercent = 1
	size := 0
	err = boltfile.Scan(log, logKey(c.place+1), func(seq, key []byte) (bool, error) {
		raw := records.Get(key)
		if len(seq) != 8 || !bytes.HasPrefix(raw, seq) {
			return false, store.Corruptf("the log and the record %q disagree on its sequence", key)
		}
		if err := c.replaceRecord(newRecords, newLog, key, raw); err != nil {
			return false, err
		}
		c.place = binary.BigEndian.Uint64(seq)
		copied++
		if size += len(raw); size > 16*copyBytes {
			copied = max(copied, limit) // there may be more
		}
		return copied < limit, nil
	})
	if err != nil {
		return 0, err
	}
	return copied, copyMeta(from, to)
}

// copyMeta copies the horizon and the marks.
func copyMeta(from, to *bolt.Tx) error {
	for _, key := range [][]byte{horizonKey, marksKey} {
		if value := from.Bucket(metaBucket).Get(key); value != nil {
			if err := to.Bucket(metaBucket).Put(key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *copier) replaceRecord(records, log *bolt.Bucket, key, raw []byte) error {
	if old := records.Get(key); old != nil {
		seq := bytes.Clone(old[:8])
		if log.Get(seq) == nil {
			if binary.BigEndian.Uint64(seq) <= c.start {
				c.replaced++
			}
		} else if err := log.Delete(seq); err != nil {
			return err
		}
	}
	if err := records.Put(key, raw); err != nil {
		return err
	}
	return log.Put(raw[:8], key)
}

// Verify checks that the copy has as many records as entries in its log, and ends where the store
// does.
func (c *copier) Verify(from, to *bolt.Tx) error {
	if c.records != c.entries+c.replaced {
		return store.Corruptf("the copy has %d records for %d entries of the log and %d that were replaced", c.records, c.entries, c.replaced)
	}
	last, _, err := boltfile.FindLast(from.Bucket(logBucket))
	if err != nil {
		return err
	}
	copied, _ := to.Bucket(logBucket).Cursor().Last()
	if !bytes.Equal(last, copied) {
		return store.Corruptf("the log ends with %x, its copy with %x", last, copied)
	}
	return nil
}
