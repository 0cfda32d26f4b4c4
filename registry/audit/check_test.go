package audit

import (
	"errors"
	"path/filepath"
	"runtime"
	"testing"

	"gazetteer/registry/audit/tiles"
	"gazetteer/store"

	"golang.org/x/mod/sumdb/tlog"
)

// TestCheckLeaves checks leaves of the newest tree and of an older one, with an erased leaf among
// them, and finds the first damaged one: its content, its row or its hash. Damage beside the leaves
// does not matter.
func TestCheckLeaves(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 300)
	h.apply(store.Delete(eventKey(1, 7)))
	h.events(1, 300, 600)
	size := h.log.Head().N
	check := func(what string, from, to, size, want int64, wantErr error) {
		t.Helper()
		sound, err := h.log.CheckLeaves(t.Context(), from, to, size)
		if sound != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: %d of the leaves %d to %d are sound, error %v; want %d, %v", what, sound, from, to, err, want, wantErr)
		}
	}
	check("all", 0, size, size, size, nil)
	check("none", 5, 5, size, 0, nil)
	check("an older tree", 100, 290, 290, 190, nil)
	check("beyond the tree", 0, size+1, size+1, 0, ErrRange)
	check("backwards", 6, 5, size, 0, ErrRange)

	log := func(name string) string { return filepath.Join(h.dir, "log", name) }
	row, err := h.log.leaves.readRow(400)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range []struct {
		what, file string
		at         int64
	}{
		{"content", entriesFile, row.endOffset() - 1},
		{"row", rowsFile, 400*rowBytes + 3},
		{"hash", hashesFile, tlog.StoredHashIndex(0, 400) * tlog.HashSize},
	} {
		flip(t, log(damage.file), damage.at)
		check(damage.what, 300, 500, size, 100, tiles.ErrDamaged)
		check(damage.what+" before the leaves", 402, 500, size, 98, nil)
		flip(t, log(damage.file), damage.at)
	}
	check("repaired", 300, 500, size, 200, nil)
	h.shut()
}

// TestCheckedLeavesShareProof checks that a check of many leaves allocates little: anybody may
// request one.
func TestCheckedLeavesShareProof(t *testing.T) {
	h := newFixture(t)
	const size = 500
	h.events(1, 0, size)
	content := uint64(0)
	for index := range int64(size) {
		r, err := h.log.leaves.readRow(index)
		if err != nil {
			t.Fatal(err)
		}
		content += uint64(r.keyLen + r.leafLen)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if sound, err := h.log.CheckLeaves(t.Context(), 0, size, size); sound != size || err != nil {
		t.Fatal(sound, err)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc - content) / size; each > 1<<10 {
		t.Errorf("the check of a leaf allocates %d bytes besides its content", each)
	}
	h.shut()
}
