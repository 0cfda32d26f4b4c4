package boltstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// TestReplacedFile checks that a store acknowledges no write that would be gone at its end because
// its file was removed or replaced, that it can still be copied, and that it goes on when the file
// is back.
func TestReplacedFile(t *testing.T) {
	dir := t.TempDir()
	s, err := boltstore.Open(t.Context(), dir, boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	apply := func() error {
		_, err := s.Apply(t.Context(), store.Put("host/a.example", []byte(`{}`)))
		return err
	}
	if err := errors.Join(apply(), s.CheckWrites()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "store.bolt")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	refuses := func(when string) {
		t.Helper()
		if err := apply(); !errors.Is(err, store.ErrReplaced) {
			t.Errorf("%s, a write: %v", when, err)
		}
		if err := s.CheckWrites(); !errors.Is(err, store.ErrReplaced) {
			t.Errorf("%s, the state: %v", when, err)
		}
	}
	refuses("without a file")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	refuses("with another file")
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(apply(), s.CheckWrites()); err != nil {
		t.Errorf("with its file again: %v", err)
	}
}
