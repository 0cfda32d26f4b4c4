package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startClock gives the programs of a test a clock, and returns a function that sets how far it is ahead.
func startClock(t *testing.T) (set func(ahead string)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clock")
	t.Setenv(clockFile, file)
	return func(ahead string) {
		t.Helper()
		if err := os.WriteFile(file+".next", []byte(ahead), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".next", file); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMachineClockJumps checks that a jump appears in the log, in /healthz and in the metrics, and
// that it does not cause irreversible actions: a recovery that is due in 72 hours does not
// complete, claims of handles of the last 30 days still count, and mail that is kept for a week is
// still there.
func TestMachineClockJumps(t *testing.T) {
	set := startClock(t)
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
		must("handle", "agent", "update", "--handle", handle, "--key", "sender.key")
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

// TestKeysAfterClockJumps rotates keys while the clock is ahead and after it was corrected: no interval
// of a key inverts, two keys are never in use at once, and none begins in the future.
func TestKeysAfterClockJumps(t *testing.T) {
	set := startClock(t)
	p := startProgram(t, "crawler.enabled=false")
	must := func(words ...string) {
		t.Helper()
		if out, code := p.cli(words...); code != 0 {
			t.Fatalf("%v: exit code %d: %s", words, code, out)
		}
	}
	must("agent", "new", "Rotator")
	must("agent", "rotate")
	set("2000h")
	must("agent", "rotate")
	_, page := p.ask("GET", "/api/v1/agents?q=Rotator", "")
	set("0s")
	// Of the second whose nonces were forgotten at the jump, nothing is accepted any more.
	out, code := p.cli("agent", "rotate")
	for deadline := time.Now().Add(time.Minute); code != 0 && strings.Contains(out, "forgotten the nonces") && time.Now().Before(deadline); out, code = p.cli("agent", "rotate") {
	}
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	wantOrderedKeys(t, p, airIDs.FindString(page))
	stopped(t, p)
}

// wantOrderedKeys checks that each key of an agent was in use until the next one began, and that the
// current one does not begin in the future.
func wantOrderedKeys(t *testing.T, p *program, airID string) {
	t.Helper()
	var page struct {
		Keys []struct {
			From, Until time.Time
		}
	}
	_, text := p.ask("GET", "/api/v1/agents/"+airID+"/keys", "")
	if json.Unmarshal([]byte(text), &page) != nil || len(page.Keys) < 3 {
		t.Fatal(text)
	}
	current, retired := page.Keys[0], page.Keys[1:]
	if !current.Until.IsZero() || current.From.After(time.Now()) {
		t.Errorf("the current key: %s", text)
	}
	for i, k := range retired {
		next := current.From
		if i+1 < len(retired) {
			next = retired[i+1].From
		}
		if k.Until.Before(k.From) || !next.Equal(k.Until) {
			t.Errorf("key %d is not in use until the next one begins: %s", i+1, text)
		}
	}
}

// TestHostsVisitedWhileClockWasAhead runs a crawl with a clock that is eight years ahead. After the
// correction, by a restart or while the program runs, the hosts are due at once, and the log says why.
func TestHostsVisitedWhileClockWasAhead(t *testing.T) {
	const ahead = "70080h"
	w := newFarCrawl(t, 3)
	late, wake := "late.test", "wake.test"
	for _, name := range []string{late, wake} {
		w.internet.Handle(name, http.HandlerFunc(w.serve))
	}
	t.Setenv(farNet, w.internet.Address())
	t.Setenv(farRoot, string(w.internet.RootPEM()))
	set := startClock(t)
	settings := []string{"crawler.seeds=" + strings.Join(w.names, ","), "crawler.host_interval=10ms", "crawler.domain_interval=10ms", "crawler.timeout=1m"}
	// await waits until the document of each host was requested so often.
	await := func(when string, times int, hosts ...string) {
		t.Helper()
		missing := func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, host := range hosts {
				if len(w.asked[host]) < times {
					return host
				}
			}
			return ""
		}
		for deadline := time.Now().Add(time.Minute); missing() != ""; {
			select {
			case <-w.event:
			case <-time.After(time.Until(deadline)):
				t.Fatalf("%s: the document of %s was not requested %d times in a minute", when, missing(), times)
			}
		}
	}
	set(ahead)
	p := startProgram(t, settings...)
	await("ahead", 1, w.names...)
	stopped(t, p)

	set("0s")
	p = startProgramIn(t, p.dir, settings...)
	await("after a restart with the right clock", 2, w.names...)
	crawl := func(host string) {
		t.Helper()
		if out, code := p.cli("crawl", host); code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
	}
	set(ahead)
	crawl(late)
	set("0s")
	crawl(wake)
	await("after a correction", 2, late)
	stopped(t, p)
	for _, want := range []string{"the clock jumped", "they are due now"} {
		if !strings.Contains(p.log.String(), want) {
			t.Errorf("the log does not say %q: %s", want, p.log)
		}
	}
}
