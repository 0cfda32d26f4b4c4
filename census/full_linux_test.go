package census_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gazetteer/census"
	"gazetteer/internal/need"
)

// TestFullDisk writes a census to a disk that is too small for it.
func TestFullDisk(t *testing.T) {
	disk := need.Tmpfs(t, "size=256k")
	s := fill(t, 1500, false)
	_, err := census.Write(t.Context(), census.Options{Store: s, At: day, Dir: filepath.Join(disk, "census")})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	if left, _ := os.ReadDir(disk); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
