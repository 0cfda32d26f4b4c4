package boltstore

import (
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/storetest"
)

// openStore opens a store without a floor of free space, so that tests pass on
// a full machine too.
func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, Options{MinFree: -1})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Subject{
		Open:       func(t testing.TB, dir string) store.Store { return openStore(t, dir) },
		FailCommit: failCommit,
	})
}

// failCommit makes the next commit fail at its edges. For a commit that is not
// kept the file is closed under bbolt, which meets the error on its own way
// through. For one that is kept bbolt does all of it and only then comes the
// error that a failing second sync would give; TestFailingSync has both from
// the system itself.
func failCommit(t testing.TB, s store.Store, f storetest.Fault) {
	b := s.(*Store)
	b.commit = func(tx *bolt.Tx) error {
		if f == storetest.NotPersisted {
			if err := b.file.Close(); err != nil {
				t.Error(err)
			}
			return tx.Commit()
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		return syscall.EIO
	}
}
