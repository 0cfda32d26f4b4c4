package boltfile

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// TestCopyChanges changes entries at random, those of buckets in buckets included, and checks after
// each round that copying what changed makes the copy equal.
func TestCopyChanges(t *testing.T) {
	open := func(name string) *bolt.DB {
		db, err := bolt.Open(filepath.Join(t.TempDir(), name), 0o600, &bolt.Options{NoSync: true, PageSize: pageSize, InitialMmapSize: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	from, to := open("from"), open("to")
	defer from.Close()
	defer to.Close()
	random := rand.New(rand.NewPCG(1, 2))
	name := []byte("bucket")
	var before *bolt.Tx
	copied := 0
	for round, changes := range []int{0, 5000, 1, 20, 3000, 0, 1, 300, 20000, 10, 0} {
		err := from.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(name)
			if err != nil {
				return err
			}
			for range changes {
				if err := changeAtRandom(b, random, round); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		after, err := from.Begin(false)
		if err != nil {
			t.Fatal(err)
		}
		err = to.Update(func(tx *bolt.Tx) error {
			target, err := tx.CreateBucketIfNotExists(name)
			if err != nil {
				return err
			}
			var old *bolt.Bucket
			if before != nil {
				old = before.Bucket(name)
			}
			copied, err = copyChanges(old, after.Bucket(name), target)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if copied > changes {
			t.Errorf("round %d: %d entries were copied for %d changes", round, copied, changes)
		}
		err = to.View(func(tx *bolt.Tx) error {
			if !equalBuckets(after.Bucket(name), tx.Bucket(name)) {
				t.Errorf("round %d: the copy differs after %d changes", round, changes)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if before != nil {
			if isUnchanged(before.Bucket(name), after.Bucket(name)) != (changes == 0) {
				t.Errorf("round %d: %d changes are seen wrongly", round, changes)
			}
			before.Rollback()
		}
		before = after
	}
	before.Rollback()
}

// changeAtRandom changes a bucket, or one of ten in it.
func changeAtRandom(b *bolt.Bucket, random *rand.Rand, round int) error {
	inner := fmt.Appendf(nil, "inner %d", random.IntN(10))
	switch random.IntN(40) {
	case 0:
		if b.Bucket(inner) != nil && random.IntN(10) == 0 {
			return b.DeleteBucket(inner)
		}
		return nil
	case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10:
		var err error
		if b, err = b.CreateBucketIfNotExists(inner); err != nil {
			return err
		}
		if err := b.SetSequence(random.Uint64()); err != nil {
			return err
		}
	}
	key := fmt.Appendf(nil, "key %d", random.IntN(4000))
	if random.IntN(3) == 0 {
		return b.Delete(key)
	}
	return b.Put(key, fmt.Appendf(nil, "value %d of round %d, %0*d", random.Int(), round, random.IntN(200), 0))
}
