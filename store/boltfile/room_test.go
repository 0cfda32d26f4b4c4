package boltfile

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"
)

var valuesBucket = []byte("values")

// openValues opens a file with one bucket and without sequences.
func openValues(t testing.TB, dir string) *File {
	t.Helper()
	f, err := Open(t.Context(), dir, Schema{
		Name: "values.bolt", Noun: "values", Format: 1, Buckets: [][]byte{valuesBucket},
		LastSequence: func(*bolt.Tx) (uint64, error) { return 0, nil },
	}, Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestReopening checks that bbolt opens the file again and again while it is written and read, and
// nothing is missing, neither then nor afterwards.
func TestReopening(t *testing.T) {
	dir := t.TempDir()
	f := openValues(t, dir)
	f.schema.ReopenPages = 40 // no write was made yet
	first := f.handle
	const writers, each = 8, 60
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	count := func() (n int) {
		if err := f.View("count", func(tx *bolt.Tx) error {
			return tx.Bucket(valuesBucket).ForEach(func(_, _ []byte) error { n++; return nil })
		}); err != nil {
			t.Error(err)
		}
		return n
	}
	for range 2 {
		reading.Go(func() {
			for last := 0; ; {
				select {
				case <-done:
					return
				default:
				}
				n := count()
				if n < last {
					t.Errorf("%d values after %d", n, last)
				}
				last = n
			}
		})
	}
	for writer := range writers {
		writing.Go(func() {
			for i := range each {
				if _, err := f.Write(context.Background(), Request{Writes: 1, Write: func(tx *Tx) (refused, err error) {
					tx.MarkChanged()
					return nil, tx.Bucket(valuesBucket).Put(fmt.Appendf(nil, "%d-%d", writer, i), make([]byte, 500))
				}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	if n := count(); n != writers*each {
		t.Errorf("%d values, want %d", n, writers*each)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f.handle == first { // compared after Close: bbolt may still be reopening the file until then
		t.Error("bbolt has never opened the file again")
	}
	f = openValues(t, dir)
	defer f.Close()
	if count() != writers*each {
		t.Errorf("%d values after a restart, want %d", count(), writers*each)
	}
}

// TestRoomIsWrittenAhead checks that the places after the pages in use are filled with zeros before
// small commits need them, and that a larger commit succeeds too, without any loss of stored data.
func TestRoomIsWrittenAhead(t *testing.T) {
	f := openValues(t, t.TempDir())
	defer f.Close()
	sizes := []int{1000, 100_000, 200_000, 300_000, 3_000_000, 1000, 200_000, 200_000, 200_000, 200_000, 200_000, 200_000}
	value := func(i int) []byte { return bytes.Repeat([]byte{byte(i + 1)}, sizes[i]) }
	var used int64
	for i := range sizes {
		before := used
		_, err := f.Write(t.Context(), Request{Writes: 1, Write: func(tx *Tx) (refused, err error) {
			tx.MarkChanged()
			return nil, tx.Bucket(valuesBucket).Put(fmt.Appendf(nil, "k%02d", i), value(i))
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.db.View(func(tx *bolt.Tx) error { used = tx.Size(); return nil }); err != nil {
			t.Fatal(err)
		}
		if f.room < before+roomLeast || f.room > before+roomLeast+roomAhead {
			t.Errorf("write %d found %d bytes in use and room up to %d", i, before, f.room)
		}
		if f.room > used {
			ahead := make([]byte, f.room-used)
			if _, err := f.handle.ReadAt(ahead, used); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(ahead, zeroes[:len(ahead)]) {
				t.Errorf("after write %d: something stands behind the pages in use", i)
			}
		}
		for j := range i + 1 {
			err := f.View("read", func(tx *bolt.Tx) error {
				if !bytes.Equal(tx.Bucket(valuesBucket).Get(fmt.Appendf(nil, "k%02d", j)), value(j)) {
					t.Fatalf("after write %d: value %d is not what was written", i, j)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
