package boltfile

import (
	"bytes"
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// CopyWhole replaces the file by a copy of some of its buckets that contains nothing that was deleted
// before the call. Writes wait only while the copy is compared with the file. After an error the old
// file continues to serve. noun names the file in the error.
func (f *File) CopyWhole(ctx context.Context, noun string, buckets ...[]byte) error {
	if _, err := f.Rebuild(ctx, &wholeCopier{buckets: buckets}); err != nil {
		return fmt.Errorf("compact the %s: %w", noun, err)
	}
	return nil
}

// A wholeCopier copies buckets of which nothing tells what was written last: it copies them as they
// are at one moment, and in the last step, while nothing is written, whatever differs.
type wholeCopier struct {
	buckets [][]byte
	steps   int
}

// CopyAll implements [Copier].
func (c *wholeCopier) CopyAll(ctx context.Context, to *Copy) error {
	return to.File().View("read what is copied", func(from *bolt.Tx) error {
		for _, name := range c.buckets {
			if source := from.Bucket(name); source != nil { // else of a newer layout
				if err := copyBucket(ctx, source, to, [][]byte{name}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// CatchUp implements [Copier]. Other writers do not wait for the first step.
func (c *wholeCopier) CatchUp(from, to *bolt.Tx, _ int) (int, error) {
	if c.steps++; c.steps == 1 {
		return 0, nil
	}
	for _, name := range c.buckets {
		source := from.Bucket(name)
		if source == nil {
			continue // of a newer layout
		}
		target, err := to.CreateBucketIfNotExists(name)
		if err != nil {
			return 0, err
		}
		if err := copyDifferences(source, target); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// Verify implements [Copier]: the copy has every entry of the file.
func (c *wholeCopier) Verify(from, to *bolt.Tx) error {
	for _, name := range c.buckets {
		if source := from.Bucket(name); source != nil && !equalBuckets(source, to.Bucket(name)) {
			return fmt.Errorf("the copy of bucket %s differs", name)
		}
	}
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

// copyDifferences makes a bucket of the copy equal to that of the file.
func copyDifferences(from, to *bolt.Bucket) error {
	var missing, extra, inner [][]byte // keys; the cursors allow no change meanwhile
	x, y := from.Cursor(), to.Cursor()
	key, value := x.First()
	other, copied := y.First()
	for key != nil || other != nil {
		order := bytes.Compare(key, other)
		switch {
		case other == nil:
			order = -1
		case key == nil:
			order = 1
		}
		same := order == 0 && (value == nil) == (copied == nil)
		switch {
		case same && value == nil:
			inner = append(inner, key)
		case same && bytes.Equal(value, copied):
		default:
			if order <= 0 {
				missing = append(missing, key)
			}
			if order >= 0 && !same {
				extra = append(extra, bytes.Clone(other))
			}
		}
		if order <= 0 {
			key, value = x.Next()
		}
		if order >= 0 {
			other, copied = y.Next()
		}
	}
	for _, k := range extra {
		remove := to.Delete
		if to.Bucket(k) != nil {
			remove = to.DeleteBucket
		}
		if err := remove(k); err != nil {
			return err
		}
	}
	for _, k := range missing {
		if value := from.Get(k); value != nil {
			if err := to.Put(k, value); err != nil {
				return err
			}
			continue
		}
		if _, err := to.CreateBucket(k); err != nil {
			return err
		}
		inner = append(inner, k)
	}
	for _, k := range inner {
		if err := copyDifferences(from.Bucket(k), to.Bucket(k)); err != nil {
			return err
		}
	}
	return to.SetSequence(from.Sequence())
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
