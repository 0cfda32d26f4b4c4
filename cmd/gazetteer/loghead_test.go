package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gazetteer/internal/exit"
	"gazetteer/protocol/did"
)

// TestClientsNoticeAFork has a client register an agent at a server, check the promise and the
// proof of inclusion, and keep the tree head. Then the same address serves an older copy of the
// registry, and one that has written another history with the same key: each verb that uses the log
// refuses both, until the original registry returns.
func TestClientsNoticeAFork(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	var target atomic.Pointer[url.URL]
	var asked atomic.Int64 // requests for the log
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		if strings.HasPrefix(r.In.URL.Path, "/log/") {
			asked.Add(1)
		}
		r.SetURL(target.Load())
		r.Out.Host = r.In.Host
	}})
	defer front.Close()
	show := func(p *program) {
		t.Helper()
		u, err := url.Parse(p.base)
		if err != nil {
			t.Fatal(err)
		}
		target.Store(u)
		http.DefaultClient.CloseIdleConnections()
	}
	settings := []string{"crawler.enabled=false", "registry.checkpoint_copy=none", "public_url=" + front.URL}

	p := startProgram(t, settings...)
	show(p)
	out, code := p.cli("--server", front.URL, "agent", "new", "First")
	if code != exit.OK || !strings.Contains(out, "leaf 0 of localhost/log, verified") {
		t.Fatalf("%d\n%s", code, out)
	}
	id := regexp.MustCompile(`AIR(-[0-9A-Z]{4}){3}`).FindString(out)
	heads, err := filepath.Glob(filepath.Join(state, "gazetteer", "log-heads", "*.json"))
	if err != nil || len(heads) != 1 {
		t.Fatalf("the heads are %q, %v", heads, err)
	}
	if info, err := os.Stat(heads[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	stopped(t, p)
	older := t.TempDir()
	copyData(t, p.data(), older)
	p = startProgramIn(t, p.dir, settings...)
	if status := p.register("Second"); status != 201 {
		t.Fatal(status)
	}
	p.awaitLeaves(2)
	show(p)
	verbs := [][]string{{"--server", front.URL, "resolve", id}, {"--server", front.URL, "log", "head"}, {"log", "head", front.URL + "/log"}, {"log", "verify", front.URL + "/log"},
		{"--server", front.URL, "agent", "show", id}, {"--server", front.URL, "agent", "prove", "--print"}}
	all := func(wantCode int, want string) {
		t.Helper()
		for _, args := range verbs {
			if out, code := p.cli(args...); code != wantCode || !strings.Contains(out, want) {
				t.Errorf("%v: exit code %d, want %d and %q:\n%s", args, code, wantCode, want, out)
			}
		}
	}
	for _, when := range []string{"the log has grown", "the log is the same"} {
		asked.Store(0)
		if out, code := p.cli("--server", front.URL, "agent", "show"); code != exit.OK || asked.Load() != 1 {
			t.Errorf("%s: exit code %d, %d requests for the log, want 1\n%s", when, code, asked.Load(), out)
		}
	}
	all(exit.OK, "")

	forked := startProgramIn(t, older, settings...)
	forked.awaitLeaves(1)
	show(forked)
	all(exit.NotFound, "")
	if out, _ := p.cli(verbs[0]...); !strings.Contains(out, "contradicts itself: it shows a tree of 1 leaves, and has shown one of 2 before") {
		t.Errorf("an older copy:\n%s", out)
	}
	// The owner of an agent there learns of it, too, before anything is written.
	files := func() string {
		names, err := filepath.Glob(filepath.Join(p.dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, " ")
	}
	before := files()
	for _, words := range []string{"agent new Third --key third.key", "agent update --description new", "agent rotate", "agent deactivate --yes", "agent recover --yes",
		"agent prove example.com", "agent prove --remove example.com", "agent attest " + id + " --revoke 1", "agent export " + id + " --out export", "agent proof --out proof",
		"send " + id + " --price 0EUR --offer table", "inbox", "inbox rules --block spam.example"} {
		out, code := p.cli(append([]string{"--server", front.URL}, strings.Fields(words)...)...)
		if code != exit.NotFound || !strings.Contains(out, "contradicts itself") || !strings.Contains(out, "gazetteer log forget "+front.URL+"/log") {
			t.Errorf("%s: exit code %d, want %d:\n%s", words, code, exit.NotFound, out)
		}
	}
	if after := files(); after != before {
		t.Errorf("the files are %s, and were %s", after, before)
	}
	if status := forked.register("Another"); status != 201 {
		t.Fatal(status)
	}
	forked.awaitLeaves(2)
	all(exit.NotFound, "")
	if out, _ := p.cli(verbs[0]...); !strings.Contains(out, "contradicts itself: it has shown another tree of 2 leaves before") || !strings.Contains(out, ".fork what is shown now. They prove it.") {
		t.Errorf("another tree:\n%s", out)
	}
	if status := forked.register("And another"); status != 201 {
		t.Fatal(status)
	}
	forked.awaitLeaves(3)
	all(exit.NotFound, "")
	if out, _ := p.cli(verbs[0]...); !strings.Contains(out, "it does not prove that its tree of 3 leaves contains the tree of 2 that it has shown before") || strings.Contains(out, "They prove it") {
		t.Errorf("a longer tree:\n%s", out)
	}
	show(p)
	all(exit.OK, "")
	show(forked)
	if out, code := p.cli("log", "forget", front.URL+"/log"); code != exit.OK {
		t.Errorf("%d\n%s", code, out)
	}
	all(exit.OK, "")
	stopped(t, forked)
}

// TestOwnersActWhileLogFails has a registry whose log answers with errors, as one with a damaged file
// does: an owner can still change an agent there, and learns that the log was not compared.
func TestOwnersActWhileLogFails(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var target atomic.Pointer[url.URL]
	var fails atomic.Bool
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target.Load())
		r.Out.Host = r.In.Host
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fails.Load() && strings.HasPrefix(r.URL.Path, "/log/") {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, `{"title":"A file of the log is damaged","status":500}`)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	p := startProgram(t, "crawler.enabled=false", "public_url="+front.URL)
	u, err := url.Parse(p.base)
	if err != nil {
		t.Fatal(err)
	}
	target.Store(u)
	if out, code := p.cli("--server", front.URL, "agent", "new", "Owner"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	fails.Store(true)
	out, code := p.cli("--server", front.URL, "agent", "rotate")
	if code != exit.OK || !strings.Contains(out, "was not compared with what it has shown before") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	stopped(t, p)
}

// TestPendingRegistrationsAreFollowedUp checks that a registry promises to include a registration,
// and does not show it. The client keeps the promise, waits for it, and says that it is broken once
// its time is over; when the log shows the leaf, the promise is dropped. A server that shows
// another key than its log has is not believed.
func TestPendingRegistrationsAreFollowedUp(t *testing.T) {
	state, clock := t.TempDir(), filepath.Join(t.TempDir(), "clock")
	t.Setenv("XDG_STATE_HOME", state)
	var target atomic.Pointer[url.URL]
	var hides, lies atomic.Bool
	hides.Store(true)
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target.Load())
			r.Out.Host = r.In.Host
			if hides.Load() && r.In.URL.Path == "/log/entries" {
				r.Out.URL.RawQuery = "key=agent%2FAIR-0000-0000-0000"
			}
		},
		ModifyResponse: func(r *http.Response) error {
			text, err := io.ReadAll(r.Body)
			key, parseErr := did.ParsePublicKey(newPublicKey(t))
			switch path := r.Request.URL.Path; {
			case lies.Load() && path == "/api/v1/resolve":
				text = regexp.MustCompile(`"z6Mk\w+"`).ReplaceAll(text, fmt.Appendf(nil, "%q", did.FormatMultikey(key)))
			case strings.HasSuffix(path, "/register"):
				text = bytes.Replace(text, []byte(`"inclusion":`), []byte(`"left_out":`), 1)
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return errors.Join(err, parseErr)
		},
	})
	defer front.Close()
	p := startProgram(t, "crawler.enabled=false", "public_url="+front.URL)
	u, err := url.Parse(p.base)
	if err != nil {
		t.Fatal(err)
	}
	target.Store(u)
	t.Setenv(clockFile, clock)
	out, code := p.cli("--server", front.URL, "agent", "new", "Promised")
	if code != exit.OK || !strings.Contains(out, "has promised to include it by") {
		t.Fatalf("%d\n%s", code, out)
	}
	id := regexp.MustCompile(`AIR(-[0-9A-Z]{4}){3}`).FindString(out)
	promises := func() int {
		heads, err := filepath.Glob(filepath.Join(state, "gazetteer", "log-heads", "*.json"))
		if err != nil || len(heads) != 1 {
			t.Fatalf("the heads are %q, %v", heads, err)
		}
		return strings.Count(readPage(t, heads[0]), "gazetteer inclusion promise")
	}
	resolve := func(wantCode int, want string, wantPromises int) {
		t.Helper()
		if out, code := p.cli("--server", front.URL, "resolve", id); code != wantCode || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %d and %q:\n%s", code, wantCode, want, out)
		}
		if n := promises(); n != wantPromises {
			t.Errorf("%d promises are kept, want %d", n, wantPromises)
		}
	}
	resolve(exit.OK, "does not have it yet", 1)
	if err := os.WriteFile(clock, []byte("25h"), 0o600); err != nil {
		t.Fatal(err)
	}
	resolve(exit.NotFound, "has broken its promise", 1)
	hides.Store(false)
	resolve(exit.OK, "leaf 0 of localhost/log, verified", 0)
	lies.Store(true)
	resolve(exit.NotFound, "shows another key of "+id, 0)
	stopped(t, p)
}

// TestConcurrentCommandsKeepPromises registers agents with several commands of one user at once: no
// command is told not to rely on the registry, and the promises of all are stored.
func TestConcurrentCommandsKeepPromises(t *testing.T) {
	const commands = 12
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	var target atomic.Pointer[url.URL]
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target.Load())
			r.Out.Host = r.In.Host
			if r.In.URL.Path == "/log/entries" { // so that no promise is fulfilled
				r.Out.URL.RawQuery = "key=agent%2FAIR-0000-0000-0000"
			}
		},
		ModifyResponse: func(r *http.Response) error {
			text, err := io.ReadAll(r.Body)
			text = bytes.Replace(text, []byte(`"inclusion":`), []byte(`"left_out":`), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return err
		},
	})
	defer front.Close()
	p := startProgram(t, "crawler.enabled=false", "public_url="+front.URL)
	u, err := url.Parse(p.base)
	if err != nil {
		t.Fatal(err)
	}
	target.Store(u)
	keys := t.TempDir()
	var group sync.WaitGroup
	for i := range commands {
		group.Go(func() {
			key := filepath.Join(keys, fmt.Sprintf("%d.key", i))
			if out, code := p.cli("--server", front.URL, "agent", "new", "Promised", "--key", key); code != exit.OK {
				t.Errorf("exit code %d:\n%s", code, out)
			}
		})
	}
	group.Wait()
	heads, err := filepath.Glob(filepath.Join(state, "gazetteer", "log-heads", "*.json"))
	if err != nil || len(heads) != 1 {
		t.Fatalf("the heads are %q, %v", heads, err)
	}
	if n := strings.Count(readPage(t, heads[0]), "gazetteer inclusion promise"); n != commands {
		t.Errorf("%d promises are stored, want %d", n, commands)
	}
	stopped(t, p)
}

// TestConcurrentRotationsKeepTheKey rotates the key of one file with several commands at once: each
// succeeds, one after the other, and the file has the current key.
func TestConcurrentRotationsKeepTheKey(t *testing.T) {
	p := startProgram(t, "crawler.enabled=false")
	for _, name := range []string{"a.key", "b.key", "c.key"} {
		key := filepath.Join(t.TempDir(), name)
		if out, code := p.cli("agent", "new", "Rotated", "--key", key); code != exit.OK {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if out, code := p.cli("agent", "rotate", "--key", key); code != exit.OK {
					t.Errorf("exit code %d:\n%s", code, out)
				}
			})
		}
		group.Wait()
		if out, code := p.cli("agent", "update", "--description", "still mine", "--key", key); code != exit.OK {
			t.Errorf("exit code %d:\n%s", code, out)
		}
	}
	stopped(t, p)
}

// TestRegistrationIsQueued checks that the answer of a registration has a signed promise, and with
// ?wait= the proof of inclusion; a longer wait than allowed is refused.
func TestRegistrationIsQueued(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	body := func() string { return `{"name":"Promised","public_key":"` + newPublicKey(t) + `"}` }
	if status, text := p.ask(http.MethodPost, "/api/v1/agents/register", body()); status != 201 || !strings.Contains(text, `"promise":"gazetteer inclusion promise v1\nlocalhost/log\nagent/AIR-`) || strings.Contains(text, `"inclusion":`) {
		t.Errorf("%d %s", status, text)
	}
	if status, text := p.ask(http.MethodPost, "/api/v1/agents/register?wait=10", body()); status != 201 || !strings.Contains(text, `"inclusion":{"entry":{"index":1,"key":"agent/AIR-`) || !strings.Contains(text, `"checkpoint":"localhost/log\n2\n`) {
		t.Errorf("%d %s", status, text)
	}
	for _, wait := range []string{"11", "-1", "soon"} {
		if status, text := p.ask(http.MethodPost, "/api/v1/agents/register?wait="+wait, body()); status != 400 || !strings.Contains(text, `"wait"`) {
			t.Errorf("?wait=%s: %d %s", wait, status, text)
		}
	}
	stopped(t, p)
}
