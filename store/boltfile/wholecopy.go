package boltfile

import (
	"bytes"
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// maxWholeCopy is the maximum size of a file that is copied as a whole: writers wait during the
// copy.
const maxWholeCopy = 256 << 20

// CopyWhole replaces the file by a copy of some of its buckets that contains no deleted data.
// Writes wait meanwhile. After an error the old file continues to serve. A file that holds more
// than 256 MiB is not copied, and deleted data stays in it until new values take its place. noun
// names the file in the error.
func (f *File) CopyWhole(ctx context.Context, noun string, buckets ...[]byte) error {
	usage, err := f.Usage(ctx)
	if err != nil {
		return err
	}
	if held := usage.Bytes - usage.FreeBytes; held > maxWholeCopy {
		return fmt.Errorf("compact the %s: it has %d bytes, more than the %d that are copied at once", noun, held, maxWholeCopy)
	}
	if _, err = f.Rebuild(ctx, &wholeCopier{buckets: buckets}); err != nil {
		return fmt.Errorf("compact the %s: %w", noun, err)
	}
	return nil
}

// A wholeCopier copies all buckets in the last step, while nothing is written: data that was
// deleted before then never gets into the copy.
type wholeCopier struct {
	buckets [][]byte
	steps   int
}

// CopyAll implements [Copier].
func (c *wholeCopier) CopyAll(context.Context, *Copy) error { return nil }

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
		if to.Bucket(name) != nil {
			if err := to.DeleteBucket(name); err != nil {
				return 0, err
			}
		}
		target, err := to.CreateBucket(name)
		if err != nil {
			return 0, err
		}
		if err := copyBucket(source, target); err != nil {
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

func copyBucket(from, to *bolt.Bucket) error {
	to.FillPercent = 1
	if err := to.SetSequence(from.Sequence()); err != nil {
		return err
	}
	return from.ForEach(func(key, value []byte) error {
		if value != nil {
			return to.Put(key, value)
		}
		inner, err := to.CreateBucket(key)
		if err != nil {
			return err
		}
		return copyBucket(from.Bucket(key), inner)
	})
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
