package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gazetteer/index"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/fakenet"
	"gazetteer/internal/need"
	"gazetteer/internal/server"
)

// TestTranscripts runs the commands of the transcripts in the documentation and
// holds what they print against it, so that it cannot grow old. What changes with
// the clock is left out.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	internet, err := fakenet.Open(fakenet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer internet.Close()
	world := server.Environment{Dial: internet.Dial, Roots: internet.Roots()}
	for _, file := range []string{"docs/search.md"} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile("../../" + file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir() + "/data"
			for _, c := range transcript(t, string(text)) {
				line, want, _ := strings.Cut(c, "\n")
				var out, complaints bytes.Buffer
				args := append([]string{"--data-dir", dir}, strings.Fields(line)...)
				if code := run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &complaints}, world); code != exit.OK {
					t.Fatalf("%s: exit code %d: %s", line, code, complaints.String())
				}
				// The transcript may show the beginning of a longer answer.
				if got := timeless(out.String()); !strings.HasPrefix(got, timeless(want)) {
					t.Errorf("gazetteer %s prints\n%s\n%s says\n%s", line, got, file, timeless(want))
				}
			}
		})
	}
}

// The table of docs/search.md has the scores that its query gives, in their order.
func TestTheWorkedExampleOfASearch(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	internet, err := fakenet.Open(fakenet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer internet.Close()
	world := server.Environment{Dial: internet.Dial, Roots: internet.Roots()}
	dir := t.TempDir() + "/data"
	var out bytes.Buffer
	for _, c := range transcript(t, string(text)) {
		line, _, _ := strings.Cut(c, "\n")
		out.Reset()
		args := append([]string{"--json", "--data-dir", dir}, strings.Fields(line)...)
		if code := run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard}, world); code != exit.OK {
			t.Fatalf("%s: exit code %d", line, code)
		}
	}
	var result index.Result
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([A-Z]+ /.*)` \\|.* (0\\.\\d\\d) \\|$").FindAllStringSubmatch(string(text), -1)
	if len(rows) != len(result.Hits) || len(rows) < 4 {
		t.Fatalf("the table has %d rows, the answer %d hits", len(rows), len(result.Hits))
	}
	for i, h := range result.Hits {
		if got := fmt.Sprintf("%s %.2f", h.Operation.ID, h.Score); got != rows[i][1]+" "+rows[i][2] {
			t.Errorf("hit %d is %s, the table says %s %s", i+1, got, rows[i][1], rows[i][2])
		}
	}
}

// TestReadmeCommands runs the commands of the README as they stand there, in their order, in a bare
// shell: the demo, and the questions that a newcomer asks it from a second terminal.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	need.Program(t, "sh")
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n    make run\n")
	_, rest, block := strings.Cut(rest, "```sh\n")
	commands, rest, closed := strings.Cut(rest, "```")
	_, rest, second := strings.Cut(rest, "```sh\n")
	booking, _, closedToo := strings.Cut(rest, "```")
	if !found || !block || !closed || !second || !closedToo {
		t.Fatal("README.md has no \"make run\" with two blocks of commands after it")
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"BIN      := bin/gazetteer", "run: build", "@$(BIN) demo $(ARGS)", "install: "} {
		if !strings.Contains(string(makefile), line) {
			t.Errorf("the Makefile has no %q", line)
		}
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
	environment := []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir, "GAZETTEER_LISTEN=" + address}
	shell := func(ctx context.Context, line string) *exec.Cmd {
		command := exec.CommandContext(ctx, "sh", "-c", line)
		command.Dir, command.Env = dir, environment
		return command
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	demo := shell(ctx, "exec bin/gazetteer demo --listen "+address)
	demo.Cancel = func() error { return demo.Process.Signal(os.Interrupt) }
	told, err := demo.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	var printed []string
	lines := bufio.NewScanner(told)
	for lines.Scan() {
		printed = append(printed, lines.Text())
		if strings.HasPrefix(lines.Text(), "Stop with Ctrl-C") {
			break
		}
	}
	if n := len(printed); n == 0 || n > 30 || !strings.HasPrefix(printed[n-1], "Stop with Ctrl-C") {
		t.Errorf("the demo prints %d lines, want an invitation within 30:\n%s", n, strings.Join(printed, "\n"))
	}
	for line := range strings.Lines(commands) {
		// What is said of the far end of a ranking must not be said of its beginning.
		if out, err := shell(ctx, line).CombinedOutput(); err != nil || !strings.Contains(string(out), ".test") || strings.Contains(string(out), "far from it") {
			t.Errorf("%s: %v\n%s", strings.TrimSpace(line), err, out)
		}
	}
	said := ""
	for line := range strings.Lines(booking) {
		out, err := shell(ctx, line).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", strings.TrimSpace(line), err, out)
		}
		said += string(out)
	}
	for _, want := range []string{"state     offered\n", "counter   The table is free.", "price     5.00 EUR\n", "  countered         2 messages\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("the booking of README.md does not print %q:\n%s", want, said)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Error("a verb that reads has made a data directory")
	}
	stop()
	io.Copy(io.Discard, told) // until the demo has closed it
	if err := demo.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the demo: %v", err)
	}
}

// transcript returns the commands of a text's first transcript, each with what it
// prints.
func transcript(t *testing.T, text string) []string {
	t.Helper()
	_, rest, found := strings.Cut(text, "```\n$ gazetteer ")
	block, _, closed := strings.Cut("$ gazetteer "+rest, "```")
	commands := strings.Split(block, "$ gazetteer ")[1:]
	if !found || !closed || len(commands) < 2 {
		t.Fatalf("there is no transcript of two commands or more: %d", len(commands))
	}
	return commands
}

var times = regexp.MustCompile(`(fetched|next visit in) \d+ \w+`)

func timeless(s string) string { return times.ReplaceAllString(s, "$1 TIME") }
