package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/server"
)

// networkCommands are the commands that talk to a server, with arguments. KEY is the key file of an
// agent, FILE an envelope, LIST a list of contracts, TOKEN a token, NEW a path where nothing is.
var networkCommands = strings.Fields(strings.NewReplacer(" ", "\x00", "\n", " ").Replace(`agents
agent attest AIR-0000-0000-0000 --key KEY --revoke 1
agent deactivate --key KEY --yes
agent export --key KEY --out NEW
agent merge --key KEY --into KEY --yes
agent new Name --key NEW
agent proof --key KEY --out NEW
agent prove example.com --key KEY
agent recover --key KEY --yes
agent rotate --key KEY
agent show --key KEY
agent update --key KEY --description text
altar identity add --runtime r --token-file TOKEN
altar identity list
altar identity remove r
backup NEW
census -o NEW
changes
compact
contracts add LIST
contracts approve a
contracts diff
contracts list
contracts propose book
contracts revoke a
crawl example.com
crawl-log example.com
crawler block example.com
crawler blocked
crawler recrawl example.com
crawler unblock example.com
explain example.com
find book
inbox --key KEY
inbox add FILE --key KEY
inbox rules --key KEY
log head
log verify
opt-in example.com
opt-out example.com
registry admission
registry applications
registry approve AIR-0000-0000-0000
registry ban domain example.com
registry bans
registry cosign
registry delete AIR-0000-0000-0000 --reason text --yes
registry erase AIR-0000-0000-0000 --yes
registry export AIR-0000-0000-0000
registry import FILE
registry merge AIR-0000-0000-0000 AIR-1111-1111-1111 --reason text --yes
registry refuse AIR-0000-0000-0000 --reason text
registry reports
registry restore AIR-0000-0000-0000
registry resume-signing
registry settle 1 dismissed
registry suspend AIR-0000-0000-0000 --reason text
registry unban domain example.com
resolve AIR-0000-0000-0000
search book
send AIR-0000-0000-0000 --price 0EUR --offer text --key KEY
services
show example.com
tool call t --token-file TOKEN
tool list --token-file TOKEN
tool runtimes
verbs`))

// otherCommands ask no server elsewhere, or have another limit: validate and diff that of
// crawler.timeout, mcp that of its client.
var otherCommands = strings.Fields("check convert demo diff envelope inbox-export inbox-import inbox-list inbox-read inbox-search init log-forget mcp restore serve thread validate version")

// contractList is a list of one contract.
const contractList = `[{"name": "add", "description": "Add two numbers", "parameters": [{"name": "a", "type": "integer", "required": true}],
	"effect": "informational", "timeout_ms": 5000, "streaming": false}]`

// TestEveryCommandTimesOut has each command that talks to a server ask one that accepts connections
// and never answers, one that has no log and does not answer anything else, and one behind the socket
// of a data directory that never answers, as a suspended one: each ends after --timeout with exit
// code 3, and says so.
func TestEveryCommandTimesOut(t *testing.T) {
	dir := t.TempDir()
	key, file := filepath.Join(dir, "agent.key"), filepath.Join(dir, "file")
	p := startProgramIn(t, dir, "crawler.enabled=false")
	if out, code := p.cli("agent", "new", "Name"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	stopped(t, p)
	token, list := filepath.Join(dir, "token"), filepath.Join(dir, "list")
	for path, text := range map[string]string{file: `{"a2a":"draft-1"}`, token: strings.Repeat("t", 64), list: contractList} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(silent.Close)
	withoutLog := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/log/") {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			w.Write([]byte(`{"type":"about:blank","title":"there is no log","status":404}`))
			return
		}
		<-release
	}))
	t.Cleanup(withoutLog.Close)
	t.Cleanup(func() { close(release) })

	suspended := filepath.Join(dir, "suspended")
	listenSilently(t, suspended)

	environment := server.Environment{}
	listed := map[string]bool{}
	files := 0
	var running sync.WaitGroup
	for _, line := range networkCommands {
		words := strings.Split(line, "\x00")
		found, _, err := newRoot(cli.Streams{}, environment).Find(words)
		if err != nil {
			t.Fatal(err)
		}
		path := found.CommandPath()
		listed[path] = true
		for _, server := range [][]string{
			{"--server", silent.URL, "--data-dir", filepath.Join(dir, "none")},
			{"--server", withoutLog.URL, "--data-dir", filepath.Join(dir, "none")},
			{"--data-dir", suspended},
		} {
			if server[1] == withoutLog.URL && (words[0] == "log" || path == "gazetteer agent proof") {
				continue // it is told that there is no log
			}
			if server[0] != "--server" && words[0] == "log" || server[0] == "--server" && words[0] == "crawl" {
				continue // log reads the files of a data directory; crawl is for the socket only
			}
			args := append(server, "--timeout", "100ms")
			for _, w := range words {
				if path, ok := map[string]string{"KEY": key, "FILE": file, "LIST": list, "TOKEN": token}[w]; ok {
					w = path
				} else if w == "NEW" {
					files++
					w = filepath.Join(dir, fmt.Sprint("new", files))
				}
				args = append(args, w)
			}
			running.Go(func() {
				out := &spool{}
				code := run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: out, Err: out}, environment)
				if code != exit.Network || !strings.Contains(out.String(), "--timeout") && !strings.Contains(out.String(), "no answer in time") {
					t.Errorf("%s: exit code %d, want %d\n%s", strings.Join(args, " "), code, exit.Network, out)
				}
			})
		}
	}
	running.Wait()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := c.CommandPath()
		name := strings.ReplaceAll(strings.TrimPrefix(path, "gazetteer "), " ", "-")
		if c.HasSubCommands() {
			for _, below := range c.Commands() {
				walk(below)
			}
		} else if first, _, _ := strings.Cut(name, "-"); !listed[path] && !slices.Contains(otherCommands, name) && !slices.Contains(otherCommands, first) {
			t.Errorf("%s is in neither list of this test", path)
		}
	}
	walk(newRoot(cli.Streams{}, server.Environment{}))
}

// listenSilently listens on the socket of a data directory and answers no request.
func listenSilently(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	address, release, err := server.SocketAddress(filepath.Join(dir, server.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	l, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}
