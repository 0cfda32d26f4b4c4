package boltfile

import (
	"bytes"
	"fmt"
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

// TestRoomIsWrittenAhead: small commits find the places behind the pages in use written with
// zeroes, and a commit that needs more than was made ready harms nothing; what was stored before is
// there all the time.
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
