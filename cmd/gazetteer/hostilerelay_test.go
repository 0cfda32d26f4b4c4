package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/internal/exit"
)

// TestHostileRelay reads an inbox at a relay that always announces more, with a new cursor each time, and
// at one that asks for a pause of a day: neither the relay nor the reader's machine is kept busy, and the
// reader waits at most ten minutes.
func TestHostileRelay(t *testing.T) {
	t.Parallel()
	var pulls, refuse atomic.Int64
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/pull") {
			http.NotFound(w, r) // no key for receipts
			return
		}
		if refuse.Load() != 0 {
			w.Header().Set("Retry-After", "86400")
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `{"envelopes":[],"cursor":"%d","has_more":true}`, pulls.Add(1))
	}))
	defer relay.Close()
	p := startProgram(t, "registry.allow_loopback=true")
	if out, code := p.cli("agent", "new", "Reader", "--inbox", relay.URL+"/inbox/reader"); code != exit.OK {
		t.Fatalf("exit code %d: %s", code, out)
	}

	const most = 101 // empty pages, and the first one
	if out, code := p.cli("inbox"); code != exit.OK || !strings.Contains(out, "no new mail") || pulls.Load() > most {
		t.Errorf("exit code %d after %d pulls: %s", code, pulls.Load(), out)
	}
	pulls.Store(0)
	p.follow(func(lines *bufio.Scanner) {
		for pulls.Load() < most-1 {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(2 * time.Second) // less than the pause between two polls
	})
	if n := pulls.Load(); n > most+1 {
		t.Errorf("a follower asks %d times", n)
	}

	refuse.Store(1)
	p.follow(func(lines *bufio.Scanner) {
		for lines.Scan() {
			if _, pause, waits := strings.Cut(lines.Text(), "trying again in "); waits {
				if pause != "10m0s" {
					t.Errorf("a follower waits %s", pause)
				}
				return
			}
		}
		t.Error("a follower does not say how long it waits")
	})
}

// follow runs inbox --follow while watch reads the lines that it writes to standard error, and ends it
// then.
func (p *program) follow(watch func(lines *bufio.Scanner)) {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), os.Args[0], "inbox", "--follow")
	command.Args[0], command.Dir = "gazetteer", p.dir
	messages, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	watch(bufio.NewScanner(messages))
	if err := command.Process.Signal(os.Interrupt); err != nil {
		p.t.Error(err)
	}
	io.Copy(io.Discard, messages)
	if err := command.Wait(); err != nil {
		p.t.Errorf("inbox --follow: %v", err)
	}
}
