package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gazetteer/internal/exit"
	"gazetteer/internal/need"
)

// openTerminal returns the two ends of a new pseudo-terminal: what a person types and reads, and the
// terminal of a program.
func openTerminal(t *testing.T) (person, terminal *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		need.Missing(t, "there is no pseudo-terminal: %v", err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	return person, terminal
}

// answerAtTerminal runs a command at a terminal, types keys when the prompt is there, and returns what
// the terminal shows and the exit code.
func (p *program) answerAtTerminal(prompt, keys string, args ...string) (string, int) {
	p.t.Helper()
	person, terminal := openTerminal(p.t)
	command := exec.CommandContext(p.t.Context(), os.Args[0], args...)
	command.Args[0], command.Dir = "gazetteer", p.dir
	command.Stdin, command.Stdout, command.Stderr = terminal, terminal, terminal
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err := command.Start()
	terminal.Close() // the command has it: when it ends, the reads below fail
	if err != nil {
		p.t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { command.Process.Kill() })
	defer late.Stop()
	var shown bytes.Buffer
	part := make([]byte, 4096)
	for typed := false; ; {
		n, err := person.Read(part)
		shown.Write(part[:n])
		if !typed && strings.Contains(shown.String(), prompt) {
			typed = true
			if _, err := person.WriteString(keys); err != nil {
				p.t.Fatal(err)
			}
		}
		if err != nil {
			break
		}
	}
	command.Wait()
	return strings.ReplaceAll(shown.String(), "\r\n", "\n"), command.ProcessState.ExitCode()
}

// TestConfirmationAtTerminal answers the questions of all commands that cannot be undone at a
// pseudo-terminal: only the name of what it happens to confirms, and Ctrl-C ends the command.
func TestConfirmationAtTerminal(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	id := regexp.MustCompile(`AIR-\w{4}-\w{4}-\w{4}`)
	var ids []string
	for _, key := range []string{"agent.key", "other.key"} {
		out, code := p.cli("agent", "new", "Booker", "--key", key)
		if code != exit.OK {
			t.Fatal(out)
		}
		ids = append(ids, id.FindString(out))
	}
	a, b := ids[0], ids[1]
	if status, body := p.ask("POST", "/api/v1/agents/"+a+"/reports", `{"reason":"spam","text":"It writes to strangers."}`); status >= 300 {
		t.Fatal(status, body)
	}
	out, _ := p.cli("registry", "reports")
	report := regexp.MustCompile(`(?m)^report +(\S+)`).FindStringSubmatch(out)
	if report == nil {
		t.Fatalf("no report: %s", out)
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{a, []string{"registry", "delete", a, "--reason", "spam"}},
		{a, []string{"registry", "erase", a}},
		{a, []string{"registry", "merge", a, b, "--reason", "one owner"}},
		{report[1], []string{"registry", "settle", report[1], "deleted"}},
		{a, []string{"agent", "deactivate"}},
		{a, []string{"agent", "deactivate", "--erase"}},
		{a, []string{"agent", "merge", "--into", "other.key"}},
		{a, []string{"agent", "recover"}},
	} {
		half := c.name[:len(c.name)/2+1]
		if half == c.name {
			half = "0"
		}
		for _, answer := range []struct {
			keys, want string
			code       int
		}{
			{"y\n", "that is not " + c.name + ": nothing was done\n", exit.Usage},
			{"n\n", "that is not " + c.name + ": nothing was done\n", exit.Usage},
			{"\n", "\ngazetteer: not confirmed: nothing was done\n", exit.Usage},
			{"\x04", "\ngazetteer: not confirmed: nothing was done\n", exit.Usage},
			{half + "\x04\x04", "\ngazetteer: that is not " + c.name + ": nothing was done\n", exit.Usage},
			{c.name + "\x03", "", 130},
		} {
			shown, code := p.answerAtTerminal(" to confirm: ", answer.keys, c.args...)
			if code != answer.code || !strings.HasSuffix(shown, answer.want) {
				t.Errorf("%s, answered with %q: %d, %q", strings.Join(c.args, " "), answer.keys, code, shown)
			}
		}
	}
	for name, args := range map[string][]string{a: {"registry", "delete", a, "--reason", "spam"}, b: {"agent", "deactivate", "--key", "other.key"}} {
		if out, _ := p.cli("agent", "show", name); !strings.Contains(out, "\nstatus    active\n") {
			t.Errorf("before its confirmation: %s", out)
		}
		if shown, code := p.answerAtTerminal(" to confirm: ", name+"\n", args...); code != exit.OK {
			t.Errorf("%s, confirmed: %d, %q", strings.Join(args, " "), code, shown)
		}
		if out, _ := p.cli("agent", "show", name); strings.Contains(out, "\nstatus    active\n") {
			t.Errorf("after its confirmation: %s", out)
		}
	}
}

// TestEndAtPassphrase checks that Ctrl-C and Ctrl-D end a command that asks for a passphrase, and that it
// has made no key.
func TestEndAtPassphrase(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	for _, keys := range []string{"\x03", "a secret\n\x03"} {
		shown, code := p.answerAtTerminal("Passphrase for the new keys: ", keys, "agent", "new", "Booker", "--encrypt")
		if code != 130 || strings.Contains(shown, "secret") {
			t.Errorf("%q: %d, %q", keys, code, shown)
		}
	}
	for _, keys := range []string{"\x04", "\n", "a secret\n\x04"} {
		shown, code := p.answerAtTerminal("Passphrase for the new keys: ", keys, "agent", "new", "Booker", "--encrypt")
		if code != exit.Usage || !strings.HasSuffix(shown, "\ngazetteer: no passphrase was given: nothing was done\n") {
			t.Errorf("%q: %d, %q", keys, code, shown)
		}
	}
	if keys, err := filepath.Glob(filepath.Join(p.dir, "*.key*")); err != nil || len(keys) > 0 {
		t.Errorf("the interrupted commands have made %q (%v)", keys, err)
	}
}

// TestEditedPassphrase checks that the keys which edit a line edit a hidden one, too, and that a key with
// this passphrase can be used.
func TestEditedPassphrase(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	line := "wrong\x15secrex\x7fty\x7f\n"
	if shown, code := p.answerAtTerminal("Passphrase for the new keys: ", line+"secret\n", "agent", "new", "Booker", "--encrypt"); code != exit.OK || strings.Contains(shown, "secret") {
		t.Fatalf("%d, %q", code, shown)
	}
	if shown, code := p.answerAtTerminal("Passphrase of agent.key: ", "secret\r", "agent", "update", "--description", "Books."); code != exit.OK {
		t.Errorf("%d, %q", code, shown)
	}
}
