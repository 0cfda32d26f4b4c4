package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestRegistryByShell runs the ten commands of docs/registry.md, with a domain of
// the small internet in the place of the reader's, and then follows everything that
// the agent's page leads to.
func TestRegistryByShell(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/registry.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- tested: TestRegistryByShell -->\n```sh\n")
	block, _, closed := strings.Cut(rest, "```")
	commands := strings.Split(strings.TrimSpace(block), "\n")
	if !closed || len(commands) != 10 || commands[0] != "gazetteer serve &" {
		t.Fatalf("the page has %d commands, want ten, of which the first is gazetteer serve &", len(commands))
	}
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + address
	dir, site := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(site, ".well-known"), 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "gazetteer")); err != nil { // testscript.Main picks the program by its name
		t.Fatal(err)
	}
	w, socket, err := listenTold()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	shell := func(script string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), "sh", "-ec", script)
		command.Dir = dir
		command.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "FAKENET_SITE=agent.test="+site,
			"GAZETTEER_LISTEN="+address, "GAZETTEER_PUBLIC_URL="+base, "GAZETTEER_CRAWLER_ENABLED=false", "GAZETTEER_REGISTRY_NAME_SERVER=127.0.0.1:1")
		return command
	}
	server := shell("exec " + strings.TrimSuffix(commands[0], " &"))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		server.Process.Signal(os.Interrupt)
		if err := server.Wait(); err != nil {
			t.Errorf("the server did not end cleanly: %v", err)
		}
	}()
	if err := w.until("data"); err != nil {
		t.Fatal(err)
	}

	text := strings.Join(commands[1:], "\n")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "/var/www/agent.example", site), "agent.example", "agent.test")
	out, err := shell(text).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"proved by signature", "domain    agent.test: proved by https", "it signs nothing any more", `got       "gazetteer-agent=`,
		"proved    domain: agent.test", "by rotation, proved by signature", "verdict   valid: leaf",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("nothing says %q:\n%s", want, out)
		}
	}
	if n := strings.Count(string(out), "agent.test: proved by"); n != 2 {
		t.Errorf("the domain was proved %d times, want before the rotation and after it", n)
	}
	id := regexp.MustCompile(`AIR-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}`).FindString(string(out))
	followLinks(t, base, "/agents/"+id)
}

// followLinks asks for everything on the same site that a page leads to.
func followLinks(t *testing.T, base, path string) {
	t.Helper()
	response, err := http.Get(base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := html.Parse(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, response.Status, err)
	}
	ids, links := []string{}, []string{}
	for n := range page.Descendants() {
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				ids = append(ids, a.Val)
			case a.Key == "href" && n.Data == "a":
				links = append(links, a.Val)
			}
		}
	}
	followed := 0
	for _, link := range links {
		if id, here := strings.CutPrefix(link, "#"); here {
			if followed++; !slices.Contains(ids, id) {
				t.Errorf("%s leads to #%s, which is not there", path, id)
			}
			continue
		}
		if !strings.HasPrefix(link, "/") {
			continue // of another host
		}
		followed++
		response, err := http.Get(base + link)
		if err != nil {
			t.Errorf("%s: %v", link, err)
			continue
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s leads to %s: %s", path, link, response.Status)
		}
	}
	if followed < 30 {
		t.Errorf("only %d links were followed", followed)
	}
}
