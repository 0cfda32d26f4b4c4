package boltfile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store/boltfile"
)

// erasedMeanwhile is what an erasingCopier deletes.
var erasedMeanwhile = bytes.Repeat([]byte("erased meanwhile "), 100)

// An erasingCopier copies entries that are deleted while the copy is made.
type erasingCopier struct {
	begun, wait chan struct{} // if not nil, CopyAll closes begun, and waits for wait
	erased      bool
}

func (c *erasingCopier) CopyAll(ctx context.Context, to *boltfile.Copy) error {
	if c.begun != nil {
		close(c.begun)
		<-c.wait
	}
	for batch := range 3 {
		err := to.Update(ctx, 1, func(tx *bolt.Tx) error {
			var err error
			for n := range 20 {
				err = errors.Join(err, tx.Bucket(itemsBucket).Put(fmt.Appendf(nil, "erased-%d-%d", batch, n), erasedMeanwhile),
					tx.Bucket(itemsBucket).Put(fmt.Appendf(nil, "stays-%d-%d", batch, n), bytes.Repeat([]byte("stays "), 2_000)))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *erasingCopier) CatchUp(_, to *bolt.Tx, _ int) (int, error) {
	if c.erased {
		return 0, nil
	}
	c.erased = true
	var err error
	for batch := range 3 {
		for n := range 20 {
			err = errors.Join(err, to.Bucket(itemsBucket).Delete(fmt.Appendf(nil, "erased-%d-%d", batch, n)))
		}
	}
	return 60, err
}

func (c *erasingCopier) Verify(_, _ *bolt.Tx) error { return nil }

// TestCopyHasNothingErasedMeanwhile deletes entries while they are copied: no page of the copy has
// them, and the copy is sound with either of its meta pages.
func TestCopyHasNothingErasedMeanwhile(t *testing.T) {
	h, err := openList(t.Context(), t.TempDir(), boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	path := filepath.Join(t.TempDir(), "copy.bolt")
	if err := h.(list).file.CopyTo(t.Context(), path, &erasingCopier{}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(whole, erasedMeanwhile[:30]) {
		t.Error("unused pages of the copy contain what was erased")
	}
	const page, pageHeader = 4096, 16
	for lost := range 2 {
		damaged := bytes.Clone(whole)
		damaged[lost*page+pageHeader+56] ^= 1 // its checksum
		name := filepath.Join(t.TempDir(), "copy.bolt")
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := bolt.Open(name, 0o600, nil)
		if err != nil {
			t.Fatalf("without meta page %d: %v", lost, err)
		}
		err = db.View(func(tx *bolt.Tx) error {
			for problem := range tx.Check() {
				t.Errorf("without meta page %d: %v", lost, problem)
			}
			if n := tx.Bucket(itemsBucket).Stats().KeyN; n != 60 {
				t.Errorf("without meta page %d there are %d entries, want 60", lost, n)
			}
			return nil
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCopyWaitsForRebuild begins a copy during a rebuild: it waits until that has ended, or until its
// own context ends.
func TestCopyWaitsForRebuild(t *testing.T) {
	h, err := openList(t.Context(), t.TempDir(), boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	file, path := h.(list).file, filepath.Join(t.TempDir(), "copy.bolt")
	slow := &erasingCopier{begun: make(chan struct{}), wait: make(chan struct{})}
	rebuilt, copied := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := file.Rebuild(t.Context(), slow)
		rebuilt <- err
	}()
	<-slow.begun
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := file.CopyTo(ended, path, &erasingCopier{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a copy whose context has ended: %v", err)
	}
	go func() { copied <- file.CopyTo(t.Context(), path, &erasingCopier{}) }()
	close(slow.wait)
	if err := errors.Join(<-rebuilt, <-copied); err != nil {
		t.Error(err)
	}
}
