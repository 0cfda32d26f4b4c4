package main

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/server"

	"golang.org/x/sync/errgroup"
)

// loginPage is what a router, a proxy or another program shows in place of a Gazetteer.
const loginPage = "<!DOCTYPE html><html><head><title>Router login</title></head><body><h1>Hello</h1></body></html>"

// A wrongServer is what answers at an address in place of a Gazetteer, with what the commands say of it.
type wrongServer struct {
	name, address string
	want          string // a regular expression
	// wantLog is that for the commands of a log, "" for want.
	wantLog string
}

// wrongServers starts servers that are no Gazetteer.
func wrongServers(t *testing.T) []wrongServer {
	t.Helper()
	answer := func(status int, kind, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	serve := func(handler http.HandlerFunc) string {
		s := httptest.NewServer(handler)
		t.Cleanup(s.Close)
		return s.URL
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	endless := serve(func(w http.ResponseWriter, r *http.Request) {
		for text := []byte(`{"a":"`); r.Context().Err() == nil; text = bytes.Repeat([]byte("a"), 1<<20) {
			w.Write(text)
		}
	})
	const no, log = "did not answer as Gazetteer would: ", "there is no log at http://[^ ]*/log: its file \"key\" is no public key, "
	page := `it sent a web page, "Router login"`
	return []wrongServer{
		{"a page", answer(200, "text/html", loginPage), no + page, log + page},
		{"other JSON", answer(200, "application/json", `{"hello":"world"}`), no + `it sent other JSON, \{"hello":"world"\}`, log + "it sent other JSON"},
		{"an array", answer(200, "application/json", `[1,2]`), no + `it sent other JSON, \[1,2\]`, log + "it sent other JSON"},
		{"null", answer(200, "application/json", `null`), no + "it sent other JSON, null", log + "it sent other JSON"},
		{"half of JSON", answer(200, "application/json", `{"agents":[`), no + "(its JSON is malformed or cut off|it sent other text)", log + "its JSON is malformed"},
		{"nothing", answer(200, "text/plain", ""), no + "its answer is empty", log + "its answer is empty"},
		{"a page 500", answer(500, "text/html", loginPage), "answered 500 Internal Server Error, and not as Gazetteer would: " + page, "/log/key is 500 Internal Server Error"},
		{"a page 401", answer(401, "text/html", loginPage), "answered 401 Unauthorized, and not as Gazetteer would: " + page, "/log/key is 401 Unauthorized"},
		{"a page 403", answer(403, "text/html", ""), "answered 403 Forbidden, and not as Gazetteer would: its answer is empty", "/log/key is 403 Forbidden"},
		{"a page 404", answer(404, "text/html", loginPage), "there is no Gazetteer at http://[0-9.:]+: the server there answered 404 Not Found", "there is no log at http://[^ ]*/log: the server there has no file \"key\""},
		{"a circle", serve(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }),
			"(does not answer: it redirects more than ten times|302 Found: a command that changes something follows no redirect; .*\n  it leads to: )", "it redirects more than ten times"},
		{"SSH", listenFor(t, "SSH-2.0-OpenSSH_9.6\r\n"), "does not answer: it does not speak HTTP", "it does not speak HTTP"},
		{"a closed connection", listenFor(t, ""), "does not answer: it closed the connection without an answer", "it closed the connection without an answer"},
		{"an alert of TLS", listenFor(t, "\x15\x03\x01\x00\x02\x02\x46"), "does not answer: it speaks HTTPS and not HTTP: begin the address with https://", "it speaks HTTPS and not HTTP"},
		{"HTTP to a TLS port", "http" + strings.TrimPrefix(secure.URL, "https"), "(speaks HTTPS and not HTTP: begin the address with https://|closed the connection)", "/log/key is 400 Bad Request"},
		{"a strange certificate", secure.URL, "does not answer: its certificate is not valid: certificate signed by unknown authority", "its certificate is not valid"},
		{"HTTPS to a plain port", "https" + strings.TrimPrefix(answer(200, "text/html", loginPage), "http"), "does not answer: it speaks HTTP and not HTTPS: begin the address with http://", "it speaks HTTP and not HTTPS"},
		{"an endless answer", endless, "(the answer of http://[0-9.:]+ is larger than 64 MiB|has a line of more than 4 MiB|" + no + ")", "key is longer than the 65536 bytes that it can have"},
	}
}

// listenFor listens, and answers each request with a text and the end of the connection.
func listenFor(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 4096)); err == nil {
					io.WriteString(conn, text)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// rawError matches texts of the libraries that say nothing to a user.
var rawError = regexp.MustCompile(`invalid character|unexpected end|unmarshal|\bEOF\b|net/http|dial tcp|context |malformed HTTP|x509|tls:|%!|token too long|stopped after|goroutine`)

// TestWrongServers has every command that talks to a server ask others than a Gazetteer, as after a wrong
// --server or behind the login of a network: each ends with exit code 3 and says what answers there, and
// writes nothing to standard output, also with --json.
func TestWrongServers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	p := startProgramIn(t, dir, "crawler.enabled=false")
	if out, code := p.cli("agent", "new", "Name"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	stopped(t, p)
	lines := append([]string{"changes\x00--follow", "search\x00book\x00--as\x00curl", "find\x00book\x00--page\x002"}, networkCommands...)
	var running errgroup.Group
	running.SetLimit(64)
	for _, far := range wrongServers(t) {
		for i, line := range lines {
			for _, asJSON := range []string{"--json=false", "--json"} {
				if far.name == "an endless answer" && i%10 != 0 {
					continue // 64 MiB each
				}
				args := append([]string{"--server", far.address, "--data-dir", filepath.Join(dir, "none"), "--timeout", "30s", asJSON}, expandWords(t, dir, line)...)
				running.Go(func() error {
					out, told := &spool{}, &spool{}
					code := run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: out, Err: told}, server.Environment{})
					want := far.want
					if strings.HasPrefix(line, "log\x00") && far.wantLog != "" {
						want = far.wantLog
					}
					if code != exit.Network || out.String() != "" || rawError.MatchString(told.String()) || !regexp.MustCompile(want).MatchString(told.String()) {
						t.Errorf("%s: %s: exit code %d, output %q\n%s\nwant %d and %s", far.name, strings.ReplaceAll(line, "\x00", " "), code, out, told, exit.Network, want)
					}
					return nil
				})
			}
		}
	}
	running.Wait()
}

// expandWords returns the words of a command of networkCommands, with files of its own.
func expandWords(t *testing.T, dir, line string) []string {
	t.Helper()
	own, err := os.MkdirTemp(dir, "own")
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "agent.key"))
	if err != nil {
		t.Fatal(err)
	}
	recovery, err := os.ReadFile(filepath.Join(dir, "agent.recovery.key"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"KEY": string(key), "KEY.recovery": string(recovery), "FILE": `{"a2a":"draft-1"}`, "LIST": contractList, "TOKEN": strings.Repeat("t", 64)} {
		if err := os.WriteFile(filepath.Join(own, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	words := strings.Split(line, "\x00")
	for i, w := range words {
		if w == "KEY" || w == "FILE" || w == "LIST" || w == "TOKEN" || w == "NEW" {
			words[i] = filepath.Join(own, w)
		}
	}
	return words
}
