package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/internal/need"
)

// TestMailByShell runs the five minutes of docs/a2a.md in a bare shell, as they stand there: two agents
// exchange a sealed offer, a counter and an acceptance.
func TestMailByShell(t *testing.T) {
	t.Parallel()
	need.Program(t, "sh")
	page, err := os.ReadFile("../../docs/a2a.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "in five minutes\n")
	section, _, closed := strings.Cut(section, "\n## ")
	var commands []string
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(line, "    bin/gazetteer "); ok {
			commands = append(commands, "bin/gazetteer "+strings.TrimSpace(command))
		}
	}
	if !found || !closed || len(commands) != 12 || !strings.HasSuffix(commands[0], " &") {
		t.Fatalf("docs/a2a.md has %d commands, want 12, of which the first starts the server:\n%s", len(commands), strings.Join(commands, "\n"))
	}
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "bin", "gazetteer")); err != nil {
		t.Fatal(err)
	}
	w, socket, err := listenTold()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	shell := func(line string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), "sh", "-c", line)
		command.Dir = dir
		command.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir, "GAZETTEER_LISTEN=" + address, "NOTIFY_SOCKET=" + socket}
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
	said := ""
	for _, line := range commands[1:] {
		out, err := shell(line).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		said += string(out)
	}
	for _, want := range []string{
		"(verified)\n", "sealed    opened with your key\n", "offer     Translate 500 words to Korean\n", "counter   by Friday\n", "price     7.50 USD\n",
		"accept    at 7.50 USD\n", "state     closed_accepted\n", "  closed_accepted   3 messages\n", "  Offer 5.00 USD  Translate 500 words to Korean\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing says %q:\n%s", want, said)
		}
	}
}
