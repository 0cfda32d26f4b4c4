package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"gazetteer/internal/exit"
)

// TestSavedMailIsNotReplaced sends two envelopes with one id to an agent that saves its mail: the
// second sender cannot replace the file of the first one, and nothing is written through a link.
func TestSavedMailIsNotReplaced(t *testing.T) {
	p := startProgram(t, "crawler.enabled=false", "registry.allow_loopback=true", "public_url=")
	run := func(args ...string) string {
		t.Helper()
		out, code := p.cli(args...)
		if code != exit.OK {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
		return out
	}
	find := func(pattern, text string) string { return regexp.MustCompile(pattern).FindString(text) }
	run("agent", "new", "Alice", "--key", "alice.key")
	run("agent", "new", "Eve", "--key", "eve.key")
	bob := find(`AIR(-[0-9A-Z]{4}){3}`, run("agent", "new", "Bob", "--key", "bob.key", "--inbox", "here"))
	id := find(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, run("send", bob, "--price", "0EUR", "--offer", "Five for you", "--key", "alice.key"))
	saved := filepath.Join(p.dir, "mail")
	target := filepath.Join(p.dir, "target")
	if err := os.Mkdir(saved, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(saved, id+"-2.json")); err != nil {
		t.Fatal(err)
	}
	run("inbox", "--save", "mail", "--key", "bob.key")
	first := readPage(t, filepath.Join(saved, id+".json"))

	var envelope map[string]any
	if err := json.Unmarshal([]byte(first), &envelope); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"from", "nonce", "signature", "timestamp"} {
		delete(envelope, member)
	}
	text, err := json.Marshal(envelope)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.dir, "forged.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	forged := run("envelope", "sign", "forged.json", "--key", "eve.key")
	if status, answer := p.ask(http.MethodPost, "/inbox/"+bob, forged, "Content-Type", "application/json"); status/100 != 2 {
		t.Fatalf("%d %s", status, answer)
	}
	run("inbox", "--save", "mail", "--key", "bob.key")
	if now := readPage(t, filepath.Join(saved, id+".json")); now != first {
		t.Errorf("the envelope of the first sender was replaced by\n%s", now)
	}
	if second := readPage(t, filepath.Join(saved, id+"-3.json")); second == first {
		t.Error("the second envelope was not saved")
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("an envelope was written through a link")
	}
	stopped(t, p)
}
