package api_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gazetteer/api"
	"gazetteer/internal/need"
	"gazetteer/registry/audit"
)

// TestFullDiskOfLog fills the disk of the log: that is a problem of its own, unless the store refuses
// writes for the same reason. With free space, the log signs again.
func TestFullDiskOfLog(t *testing.T) {
	h := newTestServer(t, options{})
	dir := t.TempDir()
	need.TmpfsAt(t, dir, "size=2m")
	h.openLogIn(filepath.Join(dir, "log"), nil)
	registerAgent(t, h)
	h.awaitLogStatus(func(s audit.Status) bool { return s.Leaves == 1 && s.Signs() })
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 16; size > 0; size /= 2 {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		err = nil
	}
	for range 20 { // more than fits into the last blocks of its files
		registerAgent(t, h)
	}
	h.awaitLogStatus(func(s audit.Status) bool { return errors.Is(s.Blocked, syscall.ENOSPC) })
	problems := func() (signing []string) {
		t.Helper()
		var status api.ServerStatus
		decodeInto(t, h.get("/api/v1/status", 200), &status)
		if status.Work.Sign {
			t.Errorf("a log on a full disk signs: %+v", status.Log)
		}
		return slices.DeleteFunc(status.Work.Problems, func(p string) bool { return !strings.HasPrefix(p, "sign: ") })
	}
	if found := problems(); len(found) != 1 || !strings.HasSuffix(found[0], "at the moment: its disk is full") {
		t.Errorf("only the log's disk is full: %q", found)
	}
	h.answers.Store = fullStore{h.store}
	if found := problems(); len(found) != 0 {
		t.Errorf("the store's disk is full, too: %q", found)
	}
	if p := h.get("/readyz?work=sign", 503).problem(t); !strings.HasPrefix(p.Detail, "write: the disk is full") {
		t.Errorf("readyz?work=sign says %q", p.Detail)
	}
	h.answers.Store = h.store
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	h.awaitLogStatus(func(s audit.Status) bool { return s.Leaves == 21 && s.Signs() })
	h.get("/readyz?work=sign", 200)
}
