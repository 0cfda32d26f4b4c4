package boltfile

import (
	"bytes"
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// CopyWhole replaces the file by a copy of some of its buckets that contains nothing that was deleted
// before the call. Writes wait only for the last changes, and for the swap of the files. After an error
// the old file continues to serve. noun names the file in the error.
func (f *File) CopyWhole(ctx context.Context, noun string, buckets ...[]byte) error {
	c := &wholeCopier{file: f, buckets: buckets}
	defer c.release()
	if _, err := f.Rebuild(ctx, c); err != nil {
		return fmt.Errorf("compact the %s: %w", noun, err)
	}
	return nil
}

// CopyWholeTo is [File.CopyWhole] into a new file at path; the file itself stays as it is.
func (f *File) CopyWholeTo(ctx context.Context, path string, buckets ...[]byte) error {
	c := &wholeCopier{file: f, buckets: buckets}
	defer c.release()
	return f.CopyTo(ctx, path, c)
}

// A wholeCopier copies buckets of which nothing tells what was written last: it copies them as they
// are at one moment, and then what has changed since, which it finds by the pages that changed.
type wholeCopier struct {
	file    *File
	buckets [][]byte
	copied  *bolt.Tx // the state that the copy has; while it is open, its pages stay as they are
}

func (c *wholeCopier) release() {
	if c.copied != nil {
		_ = c.copied.Rollback()
		c.copied = nil
	}
}

// CopyAll implements [Copier]. It verifies the copy, so that only changes are left to be verified
// while writers wait.
func (c *wholeCopier) CopyAll(ctx context.Context, to *Copy) (err error) {
	if c.copied, err = c.file.beginSnapshot(); err != nil {
		return err
	}
	return CatchDamage("read what is copied", func() error {
		for _, name := range c.buckets {
			if source := c.copied.Bucket(name); source != nil { // else of a newer layout
				if err := copyBucket(ctx, source, to, [][]byte{name}); err != nil {
					return err
				}
			}
		}
		return to.view(func(to *bolt.Tx) error {
			for _, name := range c.buckets {
				if source := c.copied.Bucket(name); source != nil && !equalBuckets(source, to.Bucket(name)) {
					return fmt.Errorf("the copy of bucket %s differs", name)
				}
			}
			return ctx.Err()
		})
	})
}

// CatchUp implements [Copier]. It copies all changes at once: they are few when it is called again.
func (c *wholeCopier) CatchUp(_, to *bolt.Tx, _ int) (copied int, err error) {
	now, err := c.file.beginSnapshot()
	if err != nil {
		return 0, err
	}
	defer func() { // the transaction of the copy refers to values of now, and ends later
		c.release()
		c.copied = now
	}()
	for _, name := range c.buckets {
		after := now.Bucket(name)
		if after == nil {
			continue // of a newer layout
		}
		target, err := to.CreateBucketIfNotExists(name)
		if err != nil {
			return copied, err
		}
		n, err := copyChanges(c.copied.Bucket(name), after, target)
		if copied += n; err != nil {
			return copied, err
		}
	}
	return copied, nil
}

// Verify implements [Copier]: nothing was written since the last changes were copied.
func (c *wholeCopier) Verify(from, _ *bolt.Tx) error {
	for _, name := range c.buckets {
		if before, after := c.copied.Bucket(name), from.Bucket(name); after != nil && !isUnchanged(before, after) {
			return fmt.Errorf("bucket %s changed while nobody could write", name)
		}
	}
	c.release() // the old file could not be closed
	return nil
}

// copyBucket copies a bucket with those inside it to the place of the copy that path names, in
// transactions of some megabytes.
func copyBucket(ctx context.Context, from *bolt.Bucket, to *Copy, path [][]byte) error {
	cursor := from.Cursor()
	key, value := cursor.First()
	for more := true; more; more = key != nil {
		var inner [][]byte // keys of buckets
		err := to.Update(ctx, syncBytes, func(tx *bolt.Tx) error {
			target, err := createPath(tx, path)
			if err != nil {
				return err
			}
			target.FillPercent = 1
			for size := 0; key != nil && size < syncBytes; key, value = cursor.Next() {
				if value == nil {
					inner = append(inner, key)
				} else if err := target.Put(key, value); err != nil {
					return err
				}
				size += len(key) + len(value)
			}
			return target.SetSequence(from.Sequence())
		})
		if err != nil {
			return err
		}
		for _, k := range inner {
			if err := copyBucket(ctx, from.Bucket(k), to, append(path[:len(path):len(path)], k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// createPath returns the bucket that path names, which it creates if there is none.
func createPath(tx *bolt.Tx, path [][]byte) (*bolt.Bucket, error) {
	bucket, err := tx.CreateBucketIfNotExists(path[0])
	for _, name := range path[1:] {
		if err != nil {
			return nil, err
		}
		bucket, err = bucket.CreateBucketIfNotExists(name)
	}
	return bucket, err
}

// isUnchanged reports whether a bucket is the same in two states of the file, of which the first is
// still open: a page with the same number is the same page then.
func isUnchanged(before, after *bolt.Bucket) bool {
	if before == nil || before.Root() != after.Root() || before.Sequence() != after.Sequence() {
		return false
	}
	return after.Root() != 0 || equalBuckets(before, after) // 0: the entries are inside another page
}

// copyChanges makes a bucket of the copy, which equals before, equal to after, and returns the number
// of entries that it changed. before is nil for a new bucket.
func copyChanges(before, after, to *bolt.Bucket) (changed int, err error) {
	switch {
	case before != nil && isUnchanged(before, after):
		return 0, nil
	case before == nil || before.Root() == 0 || after.Root() == 0:
		changed, err = copyEntries(before, after, to)
	default:
		changed, err = copyChangedPages(before, after, to)
	}
	if err != nil {
		return changed, err
	}
	return changed, to.SetSequence(after.Sequence())
}

// copyEntries looks at each entry, of a bucket that is new or has few of them.
func copyEntries(before, after, to *bolt.Bucket) (changed int, err error) {
	var gone [][]byte
	if before != nil {
		for c, key := firstKey(before); key != nil; key, _ = c.Next() {
			gone = append(gone, key)
		}
	}
	changed, err = deleteGone(gone, after, to)
	for c, key := firstKey(after); key != nil && err == nil; key, _ = c.Next() {
		var n int
		n, err = copyEntry(key, before, after, to)
		changed += n
	}
	return changed, err
}

func firstKey(b *bolt.Bucket) (*bolt.Cursor, []byte) {
	c := b.Cursor()
	key, _ := c.First()
	return c, key
}

// copyChangedPages looks at the entries of the leaf pages that only one of the two states has.
func copyChangedPages(before, after, to *bolt.Bucket) (changed int, err error) {
	old, oldLeaves, err := findLeaves(before)
	if err != nil {
		return 0, err
	}
	pages, leaves, err := findLeaves(after)
	if err != nil {
		return 0, err
	}
	gone, err := old.keysOfOthers(oldLeaves, leaves)
	if err != nil {
		return 0, err
	}
	if changed, err = deleteGone(gone, after, to); err != nil {
		return changed, err
	}
	written, err := pages.keysOfOthers(leaves, oldLeaves)
	for _, k := range written {
		n, err := copyEntry(k, before, after, to)
		if changed += n; err != nil {
			return changed, err
		}
	}
	return changed, err
}

// keysOfOthers returns the keys of the leaf pages that are not among others.
func (p pageMap) keysOfOthers(leaves, others map[uint64]bool) (keys [][]byte, err error) {
	for id := range leaves {
		if others[id] {
			continue
		}
		more, err := p.leafKeys(id)
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	return keys, nil
}

// deleteGone deletes the entries with these keys that after does not have.
func deleteGone(keys [][]byte, after, to *bolt.Bucket) (changed int, err error) {
	for _, k := range keys {
		if after.Get(k) != nil || after.Bucket(k) != nil {
			continue
		}
		if to.Bucket(k) != nil {
			err = to.DeleteBucket(k)
		} else {
			err = to.Delete(k)
		}
		if changed++; err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// copyEntry makes one entry of the copy equal to that of after.
func copyEntry(key []byte, before, after, to *bolt.Bucket) (changed int, err error) {
	value, copied := after.Get(key), to.Get(key)
	if value != nil {
		if copied != nil && bytes.Equal(value, copied) {
			return 0, nil
		}
		if to.Bucket(key) != nil {
			if err := to.DeleteBucket(key); err != nil {
				return 0, err
			}
		}
		return 1, to.Put(key, value)
	}
	if copied != nil {
		if err := to.Delete(key); err != nil {
			return 0, err
		}
	}
	target, err := to.CreateBucketIfNotExists(key)
	if err != nil {
		return 0, err
	}
	var inner *bolt.Bucket
	if before != nil {
		inner = before.Bucket(key)
	}
	return copyChanges(inner, after.Bucket(key), target)
}

func equalBuckets(a, b *bolt.Bucket) bool {
	if b == nil || a.Sequence() != b.Sequence() {
		return false
	}
	x, y := a.Cursor(), b.Cursor()
	key, value := x.First()
	other, copied := y.First()
	for ; key != nil && other != nil; key, value = x.Next() {
		if !bytes.Equal(key, other) || !bytes.Equal(value, copied) || value == nil && !equalBuckets(a.Bucket(key), b.Bucket(other)) {
			return false
		}
		other, copied = y.Next()
	}
	return key == nil && other == nil
}
