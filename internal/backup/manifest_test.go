package backup

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
		_, err := parseManifest(text)
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

// newCounter returns the counter of a restore whose progress nobody reads.
func newCounter(t *testing.T) *counter {
	return &counter{ctx: t.Context(), progress: func(string, int64, int64) {}}
}

// TestRestoreVerifiesWhatItCopies changes a file of a backup when its restore begins to copy, at the
// same length: what was read is compared with the manifest, not what an earlier reading found. Each
// byte of the backup is read once, and nothing is left.
func TestRestoreVerifiesWhatItCopies(t *testing.T) {
	from, parent := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{storeFile: "content", "cursor.key": "a key"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := listFiles(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Manifest{Format: manifestFormat, Files: files}.encode(true)
	if err == nil {
		err = os.WriteFile(filepath.Join(from, manifestFile), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := newCounter(t)
	if _, err := copyBackup(from, t.TempDir(), c); err != nil || c.done != 12 || c.total != 12 {
		t.Errorf("%d of %d bytes were read, want all 12 once; %v", c.done, c.total, err)
	}
	var changed error
	_, err = Restore(t.Context(), from, filepath.Join(parent, "data"), func(part string, done, _ int64) {
		if part == filesPart && done == 0 {
			changed = os.WriteFile(filepath.Join(from, "cursor.key"), []byte("other"), 0o600)
		}
	})
	if damage, ok := errors.AsType[*DamagedError](err); changed != nil || !ok || !strings.HasPrefix(damage.Error(), "cursor.key was changed") {
		t.Errorf("%v, want a damaged cursor.key; %v", err, changed)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("%v were left, %v", left, err)
	}
}

// TestRestoreReadsRegularFilesAlone restores backups whose manifest is a pipe or an endless device: the
// restore must neither wait nor read without end.
func TestRestoreReadsRegularFilesAlone(t *testing.T) {
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	device := func(path string) error { return os.Symlink("/dev/zero", path) }
	for i, put := range []func(path string) error{pipe, device} {
		name := []string{"a pipe", "a device"}[i]
		from, parent := t.TempDir(), t.TempDir()
		if err := put(filepath.Join(from, manifestFile)); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := Restore(t.Context(), from, filepath.Join(parent, "data"), func(string, int64, int64) {})
			ended <- err
		}()
		select {
		case err := <-ended:
			if damage, ok := errors.AsType[*DamagedError](err); !ok || !strings.HasSuffix(damage.Error(), manifestFile+" is not a regular file") {
				t.Errorf("%s: %v, want the name of the manifest", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: the restore does not end", name)
		}
		if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
			t.Errorf("%s: %v were left, %v", name, left, err)
		}
	}
}

// TestHugeManifestIsNotRead checks that a sparse file of 50 GB in the place of a manifest is refused by its
// size.
func TestHugeManifestIsNotRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, manifestFile)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 50<<30); err != nil {
		t.Fatal(err)
	}
	_, err := copyBackup(dir, t.TempDir(), newCounter(t))
	if _, ok := errors.AsType[*DamagedError](err); !ok || !strings.Contains(err.Error(), "has 53687091200 bytes") {
		t.Errorf("a manifest of 50 GB: %v", err)
	}
}
