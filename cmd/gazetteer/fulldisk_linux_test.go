package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gazetteer/internal/exit"
	"gazetteer/internal/need"
)

// TestErasureOnFullDisk fills the disk of a server up to its reserve: nothing new is stored, and
// an agent can be erased, because that frees space. When there is space, new data is stored again.
func TestErasureOnFullDisk(t *testing.T) {
	t.Parallel()
	const reserve = 8 << 20
	metrics := metricsAddress(t)
	p := startProgramIn(t, need.Tmpfs(t, "size=64m"), "min_free_bytes=8388608", "metrics_listen="+metrics)
	run := func(want int, words ...string) string {
		t.Helper()
		out, code := p.cli(words...)
		if code != want {
			t.Fatalf("%v: exit code %d, want %d: %s", words, code, want, out)
		}
		return out
	}
	run(0, "agent", "new", "Ephemeral", "--description", strings.Repeat("A long description. ", 40))
	run(0, "agent", "update", "--description", "A short one.")
	airID := airIDs.FindString(run(0, "agent", "show"))

	ballast := filepath.Join(p.dir, "ballast")
	var disk syscall.Statfs_t
	if err := syscall.Statfs(p.dir, &disk); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ballast, make([]byte, int64(disk.Bavail)*disk.Bsize-reserve+1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := p.register("Newcomer"); status != http.StatusServiceUnavailable {
		t.Errorf("a registration: %d, want 503", status)
	}
	if out, code := p.cli("agent", "update", "--description", "."); code == 0 { // its history grows
		t.Errorf("an update is stored: %s", out)
	}
	wantMetrics(t, metrics, `gazetteer_store_writes_refused_total\{reason="disk_full"\} [1-9]`, `gazetteer_work_possible\{work="write"\} 0$`)
	free := regexp.MustCompile(`(?m)^gazetteer_disk_free_bytes (\S+)$`).FindStringSubmatch(metricsOf(t, metrics))
	if free == nil {
		t.Error("no metric of the free space")
	} else if n, err := strconv.ParseFloat(free[1], 64); err != nil || n > reserve {
		t.Errorf("%s bytes are free, of a reserve of %d", free[1], reserve)
	}
	for path, want := range map[string]int{"/readyz": 200, "/readyz?work=read": 200, "/readyz?work=write": 503} {
		if status, body := p.ask(http.MethodGet, path, ""); status != want {
			t.Errorf("%s: %d, want %d: %s", path, status, want, body)
		}
	}
	run(0, "agent", "deactivate", "--erase", "--yes")
	if status, body := p.ask(http.MethodGet, "/api/v1/agents/"+airID, ""); status != http.StatusGone || strings.Contains(body, "Ephemeral") {
		t.Errorf("the agent after its erasure: %d %s", status, body)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if status := p.register("Newcomer"); status != http.StatusCreated {
		t.Errorf("a registration after space was freed: %d", status)
	}
	p.end(os.Interrupt)
	if out, code := p.cli("check"); code != 0 {
		t.Errorf("check: exit code %d: %s", code, out)
	}
}

// TestStartOnFullDisk checks that a start on a full disk says so in one line, with the way out: on
// a disk without any space the server does not start, on one without min_free_bytes it only reads.
func TestStartOnFullDisk(t *testing.T) {
	t.Parallel()
	dir := need.Tmpfs(t, "size=64m")
	p := startProgramIn(t, dir, "min_free_bytes=67108864")
	const warning = "the disk is full: the server answers and deletes, but stores nothing new; free disk space, or lower min_free_bytes"
	for end := time.Now().Add(time.Minute); !strings.Contains(p.log.String(), warning); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log says nothing of the full disk:\n%s", p.log)
		}
	}
	if out, code := p.cli("registry"); code != 0 || !strings.Contains(out, "admission open") {
		t.Errorf("the operator reads the state of the registry: exit code %d: %s", code, out)
	}
	p.end(os.Interrupt)
	if n := strings.Count(p.log.String(), "not enough free disk space"); n != 1 {
		t.Errorf("%d lines about the full disk, want 1:\n%s", n, p.log)
	}

	if err := os.RemoveAll(p.data()); err != nil {
		t.Fatal(err)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, int64(disk.Bavail)*disk.Bsize), 0o600) // to the last block
	out, code := p.cli("serve", "--no-crawl", "--listen", "127.0.0.1:0")
	if code != exit.Data || !strings.Contains(out, " is full: free disk space (move backups away), or use another disk") || strings.Count(out, "\n") != 1 {
		t.Errorf("exit code %d, want %d and one line:\n%s", code, exit.Data, out)
	}
}

// TestBlockListOnFullDisk checks that a server whose disk is too full to store a block list answers
// readers, and does not crawl.
func TestBlockListOnFullDisk(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "blocked.txt")
	if err := os.WriteFile(list, []byte("never.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startTroubledProgram(t, need.Tmpfs(t, "size=64m"), "min_free_bytes=67108864", "crawler.block_list_file="+list)
	if !strings.Contains(p.log.String(), "nothing is crawled until the next start") {
		t.Errorf("the log does not say that nothing is crawled:\n%s", p.log)
	}
	if status, body := p.ask(http.MethodGet, "/api/v1/services", ""); status != http.StatusOK {
		t.Errorf("services: %d %s", status, body)
	}
	p.end(os.Interrupt)
}
