package boltfile_test

import (
	"errors"
	"math"
	"path/filepath"
	"testing"

	"gazetteer/internal/need"
	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// TestCopyFromFullDisk copies a file whose disk has less free space than is reserved: into the same disk
// that is refused, and another disk, as of a backup, needs no such reserve.
func TestCopyFromFullDisk(t *testing.T) {
	dir := t.TempDir()
	h, err := openList(t.Context(), dir, boltfile.Options{MinFree: math.MaxInt64 / 2})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	file := h.(list).file
	if err := file.CopyWholeTo(t.Context(), filepath.Join(dir, "copy.bolt"), itemsBucket); !errors.Is(err, store.ErrFull) {
		t.Errorf("a copy on the same disk: %v, want ErrFull", err)
	}
	if err := file.CopyWholeTo(t.Context(), filepath.Join(need.Tmpfs(t, "size=4m"), "copy.bolt"), itemsBucket); err != nil {
		t.Errorf("a copy on another disk: %v", err)
	}
}
