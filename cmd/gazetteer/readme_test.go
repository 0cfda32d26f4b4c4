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
	"time"

	"gazetteer/index"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/fakenet"
	"gazetteer/internal/need"
	"gazetteer/internal/server"

	"github.com/spf13/cobra"
)

// TestTranscripts runs the commands of the transcripts in the documentation and compares their
// output, without the parts that depend on the time.
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
func TestSearchWorkedExample(t *testing.T) {
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

// TestReadmeCommands runs every block of commands of the README as a reader who pastes it does: in
// their order, in a bare shell, beside the demo that the README starts first.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	need.Program(t, "sh")
	need.Program(t, "curl")
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(text), "\n    make run ARGS=\"--keep demo-data\"\n")
	if !found || strings.Contains(before, "```") {
		t.Fatal("README.md does not begin with make run ARGS=\"--keep demo-data\"")
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
	var blocks []string
	for _, rest := range strings.Split(string(text), "\n```sh\n")[1:] {
		block, _, _ := strings.Cut(rest, "```")
		blocks = append(blocks, block)
	}
	if len(blocks) != 7 {
		t.Fatalf("README.md has %d blocks of commands, want 7", len(blocks))
	}
	shell := openReadmeShell(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	const start = "bin/gazetteer demo --keep demo-data --site corner-shop.test=shop"
	own := ownerBlocks(t, start)
	if err := os.Mkdir(filepath.Join(shell.dir, "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	demo, messages := shell.startDemo(ctx, start)
	// The first lines of README.md show a command with its output; only the AIR ID differs each time.
	sample := regexp.MustCompile(`(?m)^    \$ (.+)\n((?:    .+\n)+)`).FindStringSubmatch(before)
	if sample == nil {
		t.Fatal("README.md does not begin with a command and its output")
	}
	airIDs := regexp.MustCompile(`AIR-[0-9A-Z-]+`)
	want := airIDs.ReplaceAllString(strings.ReplaceAll(regexp.MustCompile("(?m)^    ").ReplaceAllString(sample[2], ""), "127.0.0.1:8080", shell.address), "AIR-")
	if got := airIDs.ReplaceAllString(shell.runBlock(ctx, "export PATH=\"$PWD/bin:$PATH\" GAZETTEER_DATA_DIR=demo-data\n"+sample[1]), "AIR-"); !strings.HasPrefix(got, want) {
		t.Errorf("%s prints\n%s\nREADME.md shows\n%s", sample[1], got, want)
	}
	wanted := [][]string{
		{"reservations.acme.test", "Demo concierge"},
		{"state     offered\n", "counter   The table is free.", "price     5.00 EUR\n", "accept    at 4.00 EUR\n", "state     closed_accepted\n", "  closed_accepted   4 messages\n"},
		{"approved   book_reservation", `"status":"CONFIRMED"`},
		{`{"tools":`, `"strength":"proved"`, "gazetteer-agent=did:wba:", "offered ─▶ countered", "It is your turn"},
		{"not valid", `+      "method": "POST"`, "endpoint-changed", `"inputSchema"`, "Written: try/ai.json", "reachable    yes"},
		{"admission open", "registered", "of the transparency log"},
	}
	for i, want := range wanted {
		output := shell.runBlock(ctx, blocks[i])
		checkPrinted(t, fmt.Sprintf("block %d of README.md", i+1), output, want)
		switch i {
		case 0:
			// What is said of the far end of a ranking must not be said of its beginning.
			if strings.Contains(output, "may not fit") {
				t.Errorf("the first results are far from the query:\n%s", output)
			}
			shell.askOwnQuestion(ctx, string(text))
		case 1: // the agent has answered
			took := time.Since(started)
			t.Logf("from the end of the build to the answer of an agent: %s", took.Round(100*time.Millisecond))
			if took > 5*time.Minute {
				t.Errorf("a newcomer has called an agent after %s, want 5 minutes at most", took)
			}
		}
	}
	for i, want := range [][]string{
		{"Written: shop/ai.json", "not listed: ", "AI203", "1 finding repaired", "listed: it publishes", "BOOK book_table"},
		{"corner-shop.test: proved by https", "agent service: conformant, level 1"},
		{`{"host":"corner-shop.test","state":`},
		{"Nothing has changed yet", "gazetteer-opt-out=corner-shop.test", "no further visits", "does not want to be visited"},
	} {
		checkPrinted(t, fmt.Sprintf("block %d of docs/validate.md", i+1), shell.runBlock(ctx, own[i]), want)
	}
	shell.runQuickstarts(ctx)
	// Without a data directory, a verb that reads asks the server on the configured address, and makes none.
	elsewhere := shell.command(ctx, "cd elsewhere && ../bin/gazetteer search book a table && ls")
	if out, err := elsewhere.CombinedOutput(); err != nil || !strings.Contains(string(out), ".test") || strings.Contains(string(out), "\ndata\n") {
		t.Errorf("a search beside no data: %v\n%s", err, out)
	}
	stop()
	io.Copy(io.Discard, messages) // until the demo has closed it
	if err := demo.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the demo: %v", err)
	}
	check, serve, _ := strings.Cut(strings.TrimSpace(blocks[6]), "\n")
	shell.runBlock(t.Context(), check)
	shell.serveUntilReady(serve)
}

// ownerBlocks returns the commands of docs/validate.md from a document to a listed service, which
// run beside a demo that was started as the page says.
func ownerBlocks(t *testing.T, start string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/validate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "\n## From a document to a listed service\n")
	part, _, _ = strings.Cut(part, "\n## ")
	if !found || !strings.Contains(part, "\n    mkdir shop\n    "+start+"\n") {
		t.Fatalf("docs/validate.md does not start the demo with %q", start)
	}
	var blocks []string
	for _, rest := range strings.Split(part, "\n```sh\n")[1:] {
		block, _, _ := strings.Cut(rest, "```")
		blocks = append(blocks, block)
	}
	if len(blocks) != 4 {
		t.Fatalf("the section has %d blocks of commands, want 4", len(blocks))
	}
	return blocks
}

// readmeShell runs commands of the README where it looks as in a fresh clone after make build.
type readmeShell struct {
	t            *testing.T
	dir, address string
	exports      string // the variables that the README has the reader set
}

func openReadmeShell(t *testing.T) *readmeShell {
	t.Helper()
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"bin", "elsewhere"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"bin/gazetteer": program, "web": filepath.Join(root, "web")} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	return &readmeShell{t: t, dir: dir, address: address, exports: ":"}
}

// askOwnQuestion searches for what the README does not search for, as its reader does next.
func (s *readmeShell) askOwnQuestion(ctx context.Context, readme string) {
	s.t.Helper()
	const question, want = "will it rain tomorrow", "LIST /forecast/daily "
	if strings.Contains(readme, "rain") {
		s.t.Errorf("README.md has the question %q", question)
	}
	if output := s.runBlock(ctx, "gazetteer search "+question); !strings.HasPrefix(output, want) {
		s.t.Errorf("%s: the first result is not %s:\n%s", question, want, output)
	}
}

// runQuickstarts runs the programs of docs/quickstart that register an agent, write, and read the answer.
func (s *readmeShell) runQuickstarts(ctx context.Context) {
	s.t.Helper()
	answered := regexp.MustCompile(`^registered AIR-\S+\nsent \S+ queued\nreceived .*Counter.*`)
	for _, test := range [][]string{{"node", "agent.mjs"}, {"python3", "agent.py"}, {"sh", "agent.sh"}, {"go", "run", "./agent"}} {
		program := exec.CommandContext(ctx, need.Program(s.t, test[0]), append(test[1:], "concierge")...)
		program.Dir = "../../docs/quickstart"
		program.Env = append(os.Environ(), "BASE=http://"+s.address)
		out, err := program.CombinedOutput()
		if text := string(out); err != nil || !answered.MatchString(text) ||
			!strings.Contains(text, `"amount_cents":500`) || !strings.Contains(text, "The table is free") {
			s.t.Errorf("docs/quickstart: %s: %v\n%s", test, err, text)
		}
	}
}

// checkPrinted checks that the output of a block of commands contains the wanted texts.
func checkPrinted(t *testing.T, block, output string, wanted []string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(output, w) {
			t.Errorf("%s does not print %q:\n%s", block, w, output)
		}
	}
}

// startDemo starts the demo and returns when it invites the reader.
func (s *readmeShell) startDemo(ctx context.Context, start string) (demo *exec.Cmd, messages io.Reader) {
	s.t.Helper()
	demo = s.command(ctx, "exec "+start+" --listen "+s.address)
	demo.Cancel = func() error { return demo.Process.Signal(os.Interrupt) }
	messages, err := demo.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		s.t.Fatal(err)
	}
	var printed []string
	lines := bufio.NewScanner(messages)
	for lines.Scan() {
		printed = append(printed, lines.Text())
		if strings.HasPrefix(lines.Text(), "Stop with Ctrl-C") {
			break
		}
	}
	if n := len(printed); n == 0 || n > 30 || !strings.HasPrefix(printed[n-1], "Stop with Ctrl-C") {
		s.t.Errorf("the demo prints %d lines, want an invitation within 30:\n%s", n, strings.Join(printed, "\n"))
	}
	return demo, messages
}

func (s *readmeShell) command(ctx context.Context, line string) *exec.Cmd {
	command := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(line, "127.0.0.1:8080", s.address))
	command.Dir = s.dir
	command.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + s.dir, "TMPDIR=" + s.dir, "GAZETTEER_LISTEN=" + s.address,
		"GAZETTEER_SEARCH_TIMEOUT=1m"} // however busy the machine is
	return command
}

// runBlock runs the lines of a block and returns their output. Each must end with the exit code in
// its comment, or 0 if the comment has none. The lines of a block with a here-document belong
// together, and run in one shell.
func (s *readmeShell) runBlock(ctx context.Context, block string) string {
	s.t.Helper()
	if strings.Contains(block, "<<END") {
		out, err := s.command(ctx, s.exports+"\nset -eu\n"+block).CombinedOutput()
		if err != nil {
			s.t.Errorf("%s: %v\n%s", block, err, out)
		}
		return string(out)
	}
	output := ""
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "export ") {
			s.exports = line
		}
		want := 0
		if strings.Contains(line, "# exit code 1: ") {
			want = 1
		}
		command := s.command(ctx, s.exports+"\n"+line)
		out, err := command.CombinedOutput()
		if command.ProcessState == nil || command.ProcessState.ExitCode() != want {
			s.t.Errorf("%s: %v, want exit code %d\n%s", line, err, want, out)
		}
		output += string(out)
	}
	return output
}

// serveUntilReady starts a server, and stops it as soon as it serves.
func (s *readmeShell) serveUntilReady(line string) {
	s.t.Helper()
	serve := s.command(s.t.Context(), s.exports+"\nexec "+line)
	serve.Env = append(serve.Env, "GAZETTEER_CRAWLER_ENABLED=false")
	messages, err := serve.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		s.t.Fatal(err)
	}
	ready := false
	for lines := bufio.NewScanner(messages); !ready && lines.Scan(); {
		ready = strings.Contains(lines.Text(), "serving")
	}
	if !ready {
		s.t.Errorf("%s does not serve", line)
	}
	serve.Process.Signal(os.Interrupt)
	io.Copy(io.Discard, messages)
	if err := serve.Wait(); err != nil {
		s.t.Errorf("%s: %v", line, err)
	}
}

// transcript returns the commands of a text's first transcript, each with its output.
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

// helpWord is one word of a command line in a help text: plain, or in quotes.
var helpWord = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)

// TestHelpExamples holds the examples of every --help against the commands as they are: each names a
// command that exists, with flags and arguments that the command accepts.
func TestHelpExamples(t *testing.T) {
	t.Parallel()
	newCommand := func() *cobra.Command {
		return newRoot(cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, server.Environment{})
	}
	examples := 0
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if !strings.HasPrefix(line, "  ") {
				continue // prose
			}
			line, _, _ = strings.Cut(strings.TrimSpace(line), "  ") // what follows explains
			for part := range strings.SplitSeq(line, " | ") {
				part, _, _ = strings.Cut(part, " > ")
				part, _, _ = strings.Cut(part, " >> ")
				part, _, _ = strings.Cut(part, " < ")
				words := helpWord.FindAllString(part, -1)
				if len(words) == 0 || words[0] != "gazetteer" {
					continue
				}
				examples++
				for i := range words {
					words[i] = strings.Trim(words[i], `'"`)
				}
				named, rest, err := newCommand().Find(words[1:])
				if err == nil {
					err = named.ParseFlags(rest)
				}
				if err == nil && !named.DisableFlagParsing {
					err = named.ValidateArgs(named.Flags().Args())
				}
				if err != nil || !named.Runnable() {
					t.Errorf("%s --help shows %q: %v", c.CommandPath(), part, err)
				}
			}
		}
		for _, inner := range c.Commands() {
			check(inner)
		}
	}
	check(newCommand())
	if examples < 120 {
		t.Errorf("only %d examples were found", examples)
	}
}
