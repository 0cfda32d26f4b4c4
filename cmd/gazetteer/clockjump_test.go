package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMachineClockJumps checks that a jump appears in the log, in /healthz and in the metrics, and
// that it does not cause irreversible actions: a recovery that is due in 72 hours does not
// complete, claims of handles of the last 30 days still count, and mail that is kept for a week is
// still there.
func TestMachineClockJumps(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "clock")
	t.Setenv(clockFile, file)
	set := func(ahead string) {
		t.Helper()
		if err := os.WriteFile(file+".next", []byte(ahead), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".next", file); err != nil {
			t.Fatal(err)
		}
	}
	set("0s")
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	p, proxy := startBehindLosingProxy(t, "registry.allow_loopback=true", "metrics_listen="+address)
	proxy.lost.Store(1) // it loses nothing
	must := func(says string, words ...string) {
		t.Helper()
		if out, code := p.cli(words...); code != 0 || !strings.Contains(out, says) {
			t.Fatalf("%v: exit code %d, want %q: %s", words, code, says, out)
		}
	}
	health := func() (state struct {
		Clock *struct {
			Jumps int
			By    float64 `json:"by_seconds"`
		}
	}) {
		t.Helper()
		status, body := p.ask("GET", "/healthz", "")
		if err := json.Unmarshal([]byte(body), &state); status != http.StatusOK || err != nil {
			t.Fatalf("%d %s", status, body)
		}
		return state
	}
	must("", "agent", "new", "Booker", "--inbox", "here")
	must("", "agent", "new", "Sender", "--key", "sender.key")
	_, page := p.ask("GET", "/api/v1/agents?q=Booker", "")
	booker := airIDs.FindString(page)
	must("", "send", booker, "--offer", "still here", "--price", "0EUR", "--key", "sender.key")
	if c := health().Clock; c != nil {
		t.Errorf("a clock that runs as it should: %+v", c)
	}
	must("under way", "agent", "recover", "--yes", "--key", "agent.key")
	for _, handle := range []string{"courier", "carrier", "messenger"} {
		must("username", "agent", "update", "--handle", handle, "--key", "sender.key")
	}
	set("2000h")
	if c := health().Clock; c == nil || c.Jumps != 1 || c.By < 1999*3600 || c.By > 2001*3600 {
		t.Errorf("/healthz after a jump: %+v", c)
	}
	must("under way", "agent", "show", booker)
	if out, code := p.cli("agent", "update", "--handle", "postman", "--key", "sender.key"); code != 3 || !strings.Contains(out, "has claimed 3 handles") {
		t.Errorf("a fourth handle after a jump: exit code %d: %s", code, out)
	}
	set("0s")
	if c := health().Clock; c == nil || c.Jumps != 2 || c.By > -1999*3600 {
		t.Errorf("/healthz after the jump back: %+v", c)
	}
	must("", "agent", "recover", "--withdraw")
	must("still here", "inbox")
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var metrics strings.Builder
	if _, err := io.Copy(&metrics, response.Body); err != nil || !strings.Contains(metrics.String(), "gazetteer_clock_jumps_total 2\n") {
		t.Errorf("the metrics do not count the jumps: %v", err)
	}
	p.end(os.Interrupt)
	if n := strings.Count(p.log.String(), "the clock of the machine jumped"); n != 2 {
		t.Errorf("%d lines in the log tell of jumps, want 2", n)
	}
}
