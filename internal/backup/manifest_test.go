package backup

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFlippedManifestsAreRefused checks that a flip of any bit of a manifest is noticed, in a
// checksum and in the date alike. The manifest of an earlier version, which has no checksum, is
// read.
func TestFlippedManifestsAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, storeFile), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := listFiles(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	m := Manifest{Format: manifestFormat, Created: time.Date(2026, 11, 23, 2, 24, 56, 0, time.UTC), Store: "s", Incarnation: 1, Seq: 4, Leaves: 1, Files: files}
	whole, err := m.encode(true)
	if err != nil {
		t.Fatal(err)
	}
	earlier, err := m.encode(false)
	if err != nil {
		t.Fatal(err)
	}
	read := func(text []byte) error {
		if err := os.WriteFile(filepath.Join(dir, manifestFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readManifest(t.Context(), dir)
		return err
	}
	for name, text := range map[string][]byte{"of this version": whole, "of an earlier version": earlier} {
		if err := read(text); err != nil {
			t.Errorf("a manifest %s: %v", name, err)
		}
	}
	for i := range whole {
		for bit := range 8 {
			flipped := bytes.Clone(whole)
			flipped[i] ^= 1 << bit
			if err := read(flipped); err == nil {
				t.Errorf("bit %d of byte %d changed: the manifest was read\n%s", bit, i, flipped)
			} else if _, ok := errors.AsType[*DamagedError](err); !ok {
				t.Errorf("bit %d of byte %d changed: %v", bit, i, err)
			}
		}
	}
}
