package boltqueue

import (
	"bytes"
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store/boltfile"
)

// maxCompacted is how much the queue may hold to be copied: nobody can push while it is.
const maxCompacted = 256 << 20

// Compact replaces the file by a copy that holds nothing of the mail which was deleted. Pushes wait
// while it is made. An error means that the old file goes on serving; a queue that holds more than 256
// MiB is not copied, and its deleted mail stays in the file until new mail takes its place.
func (q *Queue) Compact(ctx context.Context) error {
	usage, err := q.file.Usage(ctx)
	if err != nil {
		return err
	}
	if held := usage.Bytes - usage.FreeBytes; held > maxCompacted {
		return fmt.Errorf("compact the queue: it holds %d bytes, more than the %d that are copied at once", held, maxCompacted)
	}
	_, err = q.file.Rebuild(ctx, &copier{})
	return err
}

// A copier copies all buckets in the last step, while nothing is written: what is deleted before then
// never gets into the copy.
type copier struct{ steps int }

// CopyAll implements boltfile.Copier.
func (c *copier) CopyAll(context.Context, *boltfile.Copy) error { return nil }

// CatchUp implements boltfile.Copier. The first step is the one that other writers do not wait for.
func (c *copier) CatchUp(from, to *bolt.Tx, _ int) (int, error) {
	if c.steps++; c.steps == 1 {
		return 0, nil
	}
	for _, name := range copiedBuckets() {
		source := from.Bucket(name)
		if source == nil {
			continue // of a younger layout
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

// Verify implements boltfile.Copier: the copy has every entry of the file.
func (c *copier) Verify(from, to *bolt.Tx) error {
	for _, name := range copiedBuckets() {
		if source := from.Bucket(name); source != nil && !equalBuckets(source, to.Bucket(name)) {
			return fmt.Errorf("the copy of bucket %s differs", name)
		}
	}
	return nil
}

func copiedBuckets() [][]byte {
	return append([][]byte{mailBucket, idsBucket, inboxBucket, seenBucket, stateBucket}, laterBuckets()...)
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
