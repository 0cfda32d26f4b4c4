package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/exit"
)

// TestOlderPartsOfDirectory puts each part of a data directory in an older state, and the log and its
// key also in other states, and starts the program. It answers as before, from all parts, or it
// refuses to start with the reason and the way out in one line, before it reports that it is ready and
// before it writes anything.
func TestOlderPartsOfDirectory(t *testing.T) {
	t.Parallel()
	p := &program{t: t, dir: t.TempDir()}
	older, whole := filepath.Join(p.dir, "older"), filepath.Join(p.dir, "whole")
	must := func(words ...string) {
		t.Helper()
		if out, code := p.cli(words...); code != exit.OK {
			t.Fatalf("%v: %d\n%s", words, code, out)
		}
	}
	settings := []string{"crawler.enabled=false", "registry.allow_loopback=true"}
	day := func(name string) {
		t.Helper()
		token := filepath.Join(p.dir, name+".token")
		if err := os.WriteFile(token, []byte(strings.Repeat(name, 10)), 0o600); err != nil {
			t.Fatal(err)
		}
		s := startProgramIn(t, p.dir, settings...)
		must("agent", "new", name, "--key", name+".key", "--inbox", "here")
		must("inbox", "rules", "--block", name+".example", "--key", name+".key")
		must("altar", "identity", "add", "--client", name, "--token-file", token)
		s.answers()
		stopped(t, s)
	}
	foreign := startProgram(t, settings...)
	if status := foreign.register("foreign"); status != 201 {
		t.Fatal(status)
	}
	stopped(t, foreign)
	must("crawl", "sms.nexmo.test")
	beforeRestore, err := os.ReadFile(filepath.Join(p.data(), "FORMAT"))
	if err != nil {
		t.Fatal(err)
	}
	must("backup", "saved")
	if err := os.RemoveAll(p.data()); err != nil {
		t.Fatal(err)
	}
	must("restore", "saved")
	day("first")
	copyTree(t, p.data(), older)
	if err := os.WriteFile(filepath.Join(older, "FORMAT"), beforeRestore, 0o600); err != nil {
		t.Fatal(err)
	}
	must("crawl", "gzip.test")
	day("second")
	copyTree(t, p.data(), whole)
	checkpoints := map[string][]byte{}
	for path := range fileDigests(t, p.dir) {
		if strings.HasPrefix(path, ".gazetteer-checkpoint-") {
			if checkpoints[path], err = os.ReadFile(filepath.Join(p.dir, path)); err != nil {
				t.Fatal(err)
			}
		}
	}

	// replace makes the data directory as it was, with one part from another directory, "" for none.
	replace := func(t *testing.T, from, part string) {
		t.Helper()
		err := os.RemoveAll(p.data())
		for path, content := range checkpoints {
			err = errors.Join(err, os.WriteFile(filepath.Join(p.dir, path), content, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		copyTree(t, whole, p.data())
		for part := range strings.FieldsSeq(part) {
			if err := os.RemoveAll(filepath.Join(p.data(), part)); err != nil {
				t.Fatal(err)
			}
			if from != "" {
				copyTree(t, filepath.Join(from, part), filepath.Join(p.data(), part))
			}
		}
	}
	replace(t, "", "")
	s := startProgramIn(t, p.dir, settings...)
	want := s.answers()
	if !strings.Contains(want, "gzip.test") || !strings.Contains(want, `"second"`) {
		t.Fatalf("the whole directory: %s", want)
	}
	s.end(os.Kill)

	type state struct {
		from, part string // the directory that the part, or several, are taken from, "" for none
		says       string // in the log of the program that serves
		refused    string // why it does not start, with the setting that accepts it, "" for none
		accepts    string
	}
	const newKey, acceptKey = "signed again; clients need the new key", "registry.accept_log_key=true"
	states := map[string]state{
		"no log":                   {"", "log", "", "log is gone, and it was signed: restore any copy of the directory", ""},
		"log of another directory": {foreign.data(), "log", "", "put the log and the store together that belong together", ""},
		"no key of the log":        {"", "log.key", newKey, "log.key is missing, and it has signed", acceptKey},
		"key of another log":       {foreign.data(), "log.key", newKey, "the log was signed with another key", acceptKey},
		"no store":                 {"", "store.bolt FORMAT HEAD", "", "the store of " + p.data() + " is gone, and its transparency log is there", ""},
		"store of another log":     {foreign.data(), "store.bolt FORMAT HEAD", "", "put the log and the store together that belong together", ""},
		"older store":              {older, "store.bolt", "", "an older copy of the store was put back; to repair it, put back a newer copy of the store", ""},
		"older store and head":     {older, "store.bolt HEAD FORMAT", "", "an older copy of the store was put back; to repair it, put back a newer copy of the store", ""},
		"older log and store":      {older, "log store.bolt", "", "an older copy of the log and of the store was put back", ""},
		"older log":                {older, "log", "an older copy was put back; it is grown again from the store", "", ""},
		"older mail":               {older, "relay", "the queue has lost acknowledged writes", "", ""},
		"older identity":           {older, "FORMAT", "begins a new incarnation", "", ""},
		"no journal of the crawl":  {"", "crawler", "", "", ""},
	}
	// These are derived from the store, or not part of the answers, and need no word.
	for _, part := range []string{"HEAD", "LOCK", "altar", "census.snapshot", "changes", "history.jsonl", "index", "standing"} {
		states["older "+part] = state{from: older, part: part}
	}
	// No other part changes while the program works.
	entries, err := os.ReadDir(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		known := slices.ContainsFunc(slices.Collect(maps.Values(states)), func(s state) bool { return s.part == e.Name() })
		if !known && !maps.Equal(fileDigests(t, filepath.Join(whole, e.Name())), fileDigests(t, filepath.Join(older, e.Name()))) {
			t.Errorf("the directory has the part %s, which this test does not know", e.Name())
		}
	}
	for name, c := range states {
		if c.from == older && c.refused == "" && maps.Equal(fileDigests(t, filepath.Join(whole, c.part)), fileDigests(t, filepath.Join(older, c.part))) {
			continue // nothing of it has changed, or it is empty after a stop
		}
		t.Run(name, func(t *testing.T) {
			replace(t, c.from, c.part)
			if c.refused != "" {
				wantRefusedStart(t, p, c.refused, settings...)
			}
			if c.refused != "" && c.accepts == "" {
				return
			}
			seen := newLedger()
			seen.errorsExpected = true
			s := startProgramSeen(t, seen, p.dir, append(settings[:len(settings):len(settings)], strings.Fields(c.accepts)...)...)
			got := s.answers()
			for deadline := time.Now().Add(time.Minute); got != want && time.Now().Before(deadline); got = s.answers() {
			}
			if got != want {
				t.Errorf("it answers\n%s\nwant\n%s", got, want)
			}
			s.end(os.Kill)
			if !strings.Contains(s.log.String(), c.says) {
				t.Errorf("the log does not have %q: %s", c.says, s.log)
			}
		})
	}
}

// wantRefusedStart checks that a server refuses to start on the directory of p: with the reason in one
// line, without READY=1 for the service manager, and with each file in the directory and beside it as
// it was.
func wantRefusedStart(t *testing.T, p *program, reason string, settings ...string) {
	t.Helper()
	before := fileDigests(t, p.dir)
	manager, socket, err := listenTold()
	if err != nil {
		t.Fatal(err)
	}
	defer manager.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0], "serve", "--data-dir", p.data(), "--listen", "127.0.0.1:0")
	for _, s := range settings {
		command.Args = append(command.Args, "--set", s)
	}
	command.Args[0], command.Dir = "gazetteer", p.dir // testscript.Main picks the program by its name
	command.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket)
	out, err := command.CombinedOutput()
	if code := command.ProcessState.ExitCode(); err == nil || code != exit.Data {
		t.Errorf("exit code %d, want %d (%v)", code, exit.Data, err)
	}
	var words []string // the lines of the program that are none of the log
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "{") {
			words = append(words, line)
		}
	}
	if len(words) != 1 || !strings.HasPrefix(words[0], "gazetteer: ") || !strings.Contains(words[0], reason) {
		t.Errorf("want one line with %q:\n%s", reason, out)
	}
	conn, err := net.Dial("unixgram", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("end")); err != nil { // after all messages of the program
		t.Fatal(err)
	}
	for message := make([]byte, 1<<12); ; {
		n, err := manager.at.Read(message)
		if err != nil || string(message[:n]) == "end" {
			break
		}
		if strings.Contains(string(message[:n]), "READY=1") {
			t.Errorf("the service manager is told %q", message[:n])
		}
	}
	after := fileDigests(t, p.dir)
	for name, digest := range after {
		if before[name] != digest {
			t.Errorf("%s was changed", name)
		}
		delete(before, name)
	}
	for name := range before {
		t.Errorf("%s was removed", name)
	}
}

// answers reads what a program answers from the parts of its data directory.
func (p *program) answers() string {
	p.t.Helper()
	var all []string
	for _, c := range []struct{ path, members string }{
		{"/api/v1/services", `"host":"[^"]*"`},
		{"/api/v1/agents", `"name":"[^"]*"`},
		{"/api/v1/changes", `"title":"[^(]*`},
		{"/api/v1/search?q=host:gzip.test", `"total":\d+`},
		{"/api/v1/services/gzip.test/explanation", `"(?:class|state|listed)":[^,]*`},
		{"/api/v1/stats", `"hosts":\d+`},
		{"/api/v1/status", `"(?:ready|signs)":\w+|"leaves":\d+`},
	} {
		status, body := p.ask("GET", c.path, "")
		all = append(all, fmt.Sprint(c.path, " ", status, " ", strings.Join(regexp.MustCompile(c.members).FindAllString(body, -1), " ")))
	}
	return strings.Join(all, "\n")
}

// fileDigests returns the digest of each regular file below a directory.
func fileDigests(t *testing.T, dir string) map[string]string {
	t.Helper()
	digests := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		digests[name] = fmt.Sprintf("%x", sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return digests
}
