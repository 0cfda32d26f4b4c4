package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gazetteer/internal/need"
	"gazetteer/store"
)

// TestFullDisk fills the log's disk while the log follows the store, and then frees space: no
// signed leaf is lost, and the log finally contains all records.
func TestFullDisk(t *testing.T) {
	h := &fixture{t: t, dir: t.TempDir()}
	disk := filepath.Join(h.dir, "log")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	need.TmpfsAt(t, disk, "size=2m")
	if err := h.tryOpen(Options{}); err != nil {
		t.Fatal(err)
	}
	h.log.retry = time.Millisecond
	h.run()
	h.events(1, 0, 10)
	before := h.checkpoint()
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var last uint64
	value := append(append([]byte{'"'}, bytes.Repeat([]byte("x"), 50_000)...), '"')
	for n := range 30 {
		var err error
		if last, err = h.store.Apply(t.Context(), store.Put(eventKey(2, n), value)); err != nil {
			t.Fatal(err)
		}
	}
	h.lines.until(t, "the log could not be written, trying again")
	if _, err := h.log.Prove(t.Context(), 0, 10); err != nil {
		t.Errorf("a proof while the disk is full: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := h.log.WaitFor(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if r := h.check(before); r.N != 40 {
		t.Errorf("verified: %+v", r)
	}
	h.shut()
}
