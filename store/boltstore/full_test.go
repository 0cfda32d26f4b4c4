package boltstore_test

import (
	"bytes"
	"errors"
	"testing"

	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// TestWritesOnFullDisk writes while less space is free than the floor: what removes more than it adds
// is accepted, everything else is refused without a trace.
func TestWritesOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	s, err := boltstore.Open(t.Context(), dir, boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	long, short := bytes.Repeat([]byte("x"), 1000), bytes.Repeat([]byte("y"), 500)
	if _, err := s.Apply(t.Context(), store.Put("a", long), store.Put("b", long), store.Put("c", long), store.Put("empty", nil)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = boltstore.Open(t.Context(), dir, boltstore.Options{MinFree: 1 << 62})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	none := uint64(0)
	for _, c := range []struct {
		name   string
		writes []store.Write
		want   error
	}{
		{"a new record", []store.Write{store.Put("new", nil)}, store.ErrFull},
		{"a record of the same size", []store.Write{store.Put("a", long)}, store.ErrFull},
		{"a longer record beside a deletion", []store.Write{store.Delete("a"), store.Put("b", append(long, long...))}, store.ErrFull},
		{"a deletion of nothing pays for nothing", []store.Write{store.Delete("unknown"), store.Put("new", nil)}, store.ErrFull},
		{"a conflict", []store.Write{{Key: "a", Value: short, Expect: &none}}, store.ErrConflict},
		{"a shorter record", []store.Write{store.Put("a", short)}, nil},
		{"a shorter record and a new one", []store.Write{store.Put("b", nil), store.Put("new", short)}, nil},
		{"a deletion and a new record", []store.Write{store.Delete("c"), store.Put("newer", short)}, nil},
		{"a record after its deletion", []store.Write{store.Put("c", nil)}, store.ErrFull},
		{"a deletion of an empty record", []store.Write{store.Delete("empty")}, nil},
	} {
		before := s.Head().Seq
		_, err := s.Apply(t.Context(), c.writes...)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if moved := s.Head().Seq > before; moved != (c.want == nil) {
			t.Errorf("%s: the store was changed: %v", c.name, moved)
		}
	}
}

// TestReserveOfFullDisk writes while less space is free than the floor, with permission to use half
// of it: what fits into that half is accepted, and below it nothing that grows.
func TestReserveOfFullDisk(t *testing.T) {
	dir := t.TempDir()
	s, err := boltstore.Open(t.Context(), dir, boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), store.Put("a", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	upkeep, err := s.Upkeep(t.Context())
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	free := upkeep.DiskFree
	if free <= 0 {
		t.Fatal("the free space of the disk is unknown")
	}
	for _, c := range []struct {
		name    string
		minFree int64
		want    error // with the reserve
	}{
		{"a quarter is missing", free + free/4, nil},
		{"more than half is missing", 3 * free, store.ErrFull},
	} {
		s, err := boltstore.Open(t.Context(), dir, boltstore.Options{MinFree: c.minFree})
		if err != nil {
			t.Fatal(err)
		}
		writes := []store.Write{store.Put("a", nil), store.Put("new", bytes.Repeat([]byte("y"), 1000))}
		if _, err := s.Apply(t.Context(), writes...); !errors.Is(err, store.ErrFull) {
			t.Errorf("%s, without the reserve: %v, want ErrFull", c.name, err)
		}
		head := s.Head().Seq
		if _, err := s.Apply(store.WithReserve(t.Context()), writes...); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if moved := s.Head().Seq > head; moved != (c.want == nil) {
			t.Errorf("%s: the store was changed: %v", c.name, moved)
		}
		if _, err := s.Apply(t.Context(), store.Delete("new")); err != nil {
			t.Errorf("%s: a deletion: %v", c.name, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
