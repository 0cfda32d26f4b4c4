package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A program is a server in its own process, with its log.
type program struct {
	*child
	t    *testing.T
	dir  string // of the test: the data directory is in it
	log  *spool
	seen *ledger
}

// A spool keeps the written bytes.
type spool struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *spool) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// startProgram starts the server and waits until it serves.
func startProgram(t *testing.T, settings ...string) *program {
	t.Helper()
	return startProgramIn(t, t.TempDir(), settings...)
}

// startProgramIn is startProgram with the directory that the data directory is in.
func startProgramIn(t *testing.T, dir string, settings ...string) *program {
	t.Helper()
	return startProgramSeen(t, newLedger(), dir, settings...)
}

// startTroubledProgram is startProgramIn for a test that is about errors of the server.
func startTroubledProgram(t *testing.T, dir string, settings ...string) *program {
	t.Helper()
	seen := newLedger()
	seen.errorsExpected = true
	return startProgramSeen(t, seen, dir, settings...)
}

func startProgramSeen(t *testing.T, seen *ledger, dir string, settings ...string) *program {
	t.Helper()
	p, serves := launchProgram(t, seen, dir, settings...)
	if !serves {
		t.Fatalf("the server does not serve: %s", p.log)
	}
	return p
}

// launchProgram starts the server, and reports whether it serves; otherwise it has ended.
func launchProgram(t *testing.T, seen *ledger, dir string, settings ...string) (p *program, serves bool) {
	t.Helper()
	p = &program{t: t, dir: dir, log: &spool{}, seen: seen}
	var stderr io.Reader
	p.child, stderr = launch(t, p.data(), settings...)
	ctx, stop := context.WithCancel(t.Context())
	p.stop = stop
	p.work.Go(func() { p.readLog(t, io.TeeReader(stderr, p.log), p.seen) })
	t.Cleanup(func() { // when the test has not stopped it
		p.command.Process.Kill()
		p.stop()
		p.work.Wait()
		p.command.Wait()
	})
	return p, p.up(ctx)
}

func (p *program) data() string { return filepath.Join(p.dir, "data") }

// cli runs a command against the server, and returns its output and its exit code.
func (p *program) cli(args ...string) (string, int) {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), os.Args[0], args...)
	command.Args[0], command.Dir = "gazetteer", p.dir // testscript.Main picks the program by its name
	if p.child == nil {
		// What answers where servers listen by default is not of this test.
		command.Env = append(os.Environ(), "GAZETTEER_LISTEN=127.0.0.1:1")
	}
	out, err := command.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		p.t.Fatal(err)
	}
	return string(out), command.ProcessState.ExitCode()
}

// ask sends a request and returns the status and the body of the answer.
func (p *program) ask(method, path, body string, headers ...string) (int, string) {
	p.t.Helper()
	status, text, _ := p.send(method, path, body, headers...)
	return status, text
}

// send is ask, and also returns the header of the answer.
func (p *program) send(method, path, body string, headers ...string) (int, string, http.Header) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return response.StatusCode, string(text), response.Header
}
