package boltstore

import (
	"bytes"
	"fmt"
	"testing"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
)

// TestRoomIsWrittenAhead: small commits find the places behind the pages in use
// written with zeroes, and a commit that needs more than was made ready harms
// nothing; what was stored before is there all the time.
func TestRoomIsWrittenAhead(t *testing.T) {
	s := openStore(t, t.TempDir())
	defer s.Close()
	sizes := []int{1000, 100_000, 200_000, 300_000, 3_000_000, 1000, 200_000, 200_000, 200_000, 200_000, 200_000, 200_000}
	value := func(i int) []byte { return bytes.Repeat([]byte{byte(i + 1)}, sizes[i]) }
	var used int64
	for i := range sizes {
		before := used
		if _, err := s.Apply(t.Context(), store.Put(fmt.Sprintf("k%02d", i), value(i))); err != nil {
			t.Fatal(err)
		}
		if err := s.db.View(func(tx *bolt.Tx) error { used = tx.Size(); return nil }); err != nil {
			t.Fatal(err)
		}
		if s.room < before+roomLeast || s.room > before+roomLeast+roomAhead {
			t.Errorf("write %d found %d bytes in use and room up to %d", i, before, s.room)
		}
		if s.room > used {
			ahead := make([]byte, s.room-used)
			if _, err := s.file.ReadAt(ahead, used); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(ahead, zeroes[:len(ahead)]) {
				t.Errorf("after write %d: something stands behind the pages in use", i)
			}
		}
		for j := range i + 1 {
			if r, err := s.Get(t.Context(), fmt.Sprintf("k%02d", j)); err != nil || !bytes.Equal(r.Value, value(j)) {
				t.Fatalf("after write %d: value %d is not what was written (%v)", i, j, err)
			}
		}
	}
}
