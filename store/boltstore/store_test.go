package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
	"gazetteer/store/boltfile/filetest"
	"gazetteer/store/storetest"
)

// openStore opens a store without a floor of free space, so that tests pass on a full machine too.
func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, Options{MinFree: -1})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

// faultyStore is a store whose commits a test can make fail.
type faultyStore struct {
	*Store
	mu     sync.Mutex // guards the following fields
	commit func(*bolt.Tx, *os.File) error
}

func openFaulty(t testing.TB, dir string) *faultyStore {
	t.Helper()
	f := &faultyStore{commit: func(tx *bolt.Tx, _ *os.File) error { return tx.Commit() }}
	o := boltfile.Options{Commit: func(tx *bolt.Tx, file *os.File) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.commit(tx, file)
	}}
	var err error
	if f.Store, err = openWith(t.Context(), dir, Options{MinFree: -1, KeepDeletion: keepsKept}, &o); err != nil {
		t.Fatalf("Open: %v", err)
	}
	return f
}

// TestShortListCopiesFewRecords takes five records of many large ones.
func TestShortListCopiesFewRecords(t *testing.T) {
	s := openStore(t, t.TempDir())
	defer s.Close()
	const size = 4 << 10
	var writes []store.Write
	for n := range 300 {
		writes = append(writes, store.Put(fmt.Sprintf("list/%03d", n), bytes.Repeat([]byte("x"), size)))
	}
	if _, err := s.Apply(t.Context(), writes...); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	taken := 0
	for _, err := range s.List(t.Context(), "list/", "") {
		if err != nil {
			t.Fatal(err)
		}
		if taken++; taken == 5 {
			break
		}
	}
	runtime.ReadMemStats(&after)
	if copied := after.TotalAlloc - before.TotalAlloc; copied > 100*size {
		t.Errorf("a list of 5 records copied %d bytes, those of %d records", copied, copied/size)
	}
}

func keepsKept(key string) bool { return strings.HasPrefix(key, storetest.KeptPrefix) }

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Subject{
		Open: func(t testing.TB, dir string) store.Store { return openFaulty(t, dir) },
		FailCommit: func(t testing.TB, s store.Store, fault storetest.Fault) {
			f := s.(*faultyStore)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.commit = filetest.FailCommit(fault == storetest.PersistedAnyway)
		},
		Compact: func(t testing.TB, s store.Store) error {
			_, err := s.(*faultyStore).Compact(t.Context(), 1<<62)
			return err
		},
	})
}

// fileSubject is the store as a user of package boltfile.
var fileSubject = filetest.Subject{Name: BoltFile, Format: format, Open: func(ctx context.Context, dir string, o boltfile.Options) (filetest.Handle, error) {
	s, err := openWith(ctx, dir, Options{Log: o.Log, MinFree: o.MinFree}, &o)
	return handle{s}, err
}}

func TestMain(m *testing.M) { filetest.Main(m, fileSubject) }

func TestStoreFile(t *testing.T) { filetest.Run(t, fileSubject) }

type handle struct{ *Store }

func (h handle) File() *boltfile.File { return h.file }

func (h handle) Write(ctx context.Context, changes ...filetest.Change) error {
	var writes []store.Write
	for _, c := range changes {
		writes = append(writes, store.Write{Key: c.Key, Value: c.Value, Delete: c.Delete})
	}
	_, err := h.Apply(ctx, writes...)
	return err
}

func (h handle) Get(ctx context.Context, key string) ([]byte, error) {
	r, err := h.Store.Get(ctx, key)
	return r.Value, err
}

func (h handle) Compact(ctx context.Context) error {
	_, err := h.Store.Compact(ctx, 0)
	return err
}

func (h handle) Verify(t testing.TB) { verifyStore(t, h.Store) }

// verifyStore compares the two buckets record by record, by way of List and Changes and as they lie
// in the file.
func verifyStore(t testing.TB, s *Store) {
	t.Helper()
	listed, followed := readAll(t, s)
	if len(listed) != len(followed) {
		t.Errorf("the list has %d records, the log %d living ones", len(listed), len(followed))
	}
	for key, seq := range listed {
		if followed[key] != seq {
			t.Errorf("%s has sequence %d in the list, %d in the log", key, seq, followed[key])
		}
	}
	records, entries := countStored(t, s)
	if records != entries {
		t.Errorf("%d records for %d entries of the log", records, entries)
	}
}

// countStored counts records and entries of the log, tombstones included.
func countStored(t testing.TB, s *Store) (records, entries int) {
	t.Helper()
	err := s.file.View("count", func(tx *bolt.Tx) error {
		return errors.Join(
			tx.Bucket(recordsBucket).ForEach(func(_, _ []byte) error { records++; return nil }),
			tx.Bucket(logBucket).ForEach(func(_, _ []byte) error { entries++; return nil }),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	return records, entries
}

// readAll returns the sequences of the living records by way of the list and by way of the log.
func readAll(t testing.TB, s *Store) (listed, followed map[string]uint64) {
	t.Helper()
	listed, followed = map[string]uint64{}, map[string]uint64{}
	for r, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		listed[r.Key] = r.Seq
	}
	head := s.Head().Seq
	if head == 0 {
		return listed, followed
	}
	for r, err := range s.Changes(t.Context(), store.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !r.Deleted {
			followed[r.Key] = r.Seq
		}
		if r.Seq == head {
			break
		}
	}
	return listed, followed
}
