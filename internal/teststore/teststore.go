// Package teststore opens real stores for tests, and searches their files.
package teststore

import (
	"testing"

	"gazetteer/store/boltstore"
)

// New opens a store in a directory of its own. The end of the test closes it.
func New(t testing.TB) *boltstore.Store {
	t.Helper()
	return Open(t, t.TempDir())
}

// Open opens the store in dir, which may be new. It logs nothing and needs no free disk space. The
// end of the test closes it, and it must close without an error.
func Open(t testing.TB, dir string) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(t.Context(), dir, boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}
