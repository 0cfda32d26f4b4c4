package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gazetteer/altarkit"
	"gazetteer/internal/need"
)

// pageShell runs the commands of one section of docs/altar.md in a bare shell, in their order.
type pageShell struct {
	t        *testing.T
	dir      string
	address  string // in place of the usual one
	socket   string // NOTIFY_SOCKET of the programs
	root     string // of the repository
	commands []string
}

// openPageShell reads a section and prepares a directory that looks like a fresh clone after make
// build.
func openPageShell(t *testing.T, title string, commands int) *pageShell {
	t.Helper()
	need.Program(t, "sh")
	need.Program(t, "curl")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/altar.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## "+title+"\n")
	section, _, closed := strings.Cut(section, "\n## ")
	s := &pageShell{t: t, dir: t.TempDir(), root: root}
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			s.commands = append(s.commands, strings.TrimSpace(command))
		}
	}
	if !found || !closed || len(s.commands) != commands {
		t.Fatalf("the section %q of docs/altar.md has %d commands, want %d:\n%s", title, len(s.commands), commands, strings.Join(s.commands, "\n"))
	}
	if s.address, err = freeAddress(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"bin/gazetteer": program, "internal": filepath.Join(root, "internal"), "altarkit": filepath.Join(root, "altarkit")} {
		if err := os.Symlink(to, filepath.Join(s.dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// command prepares one command of the page.
func (s *pageShell) command(ctx context.Context, line string) *exec.Cmd {
	line = strings.ReplaceAll(line, "127.0.0.1:8080", s.address)
	line = strings.ReplaceAll(line, "go run ./", "exec go run -C "+s.root+" ./")
	c := exec.CommandContext(ctx, "sh", "-c", line)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "HOME="+s.dir, "TMPDIR="+s.dir, "GAZETTEER_LISTEN="+s.address, "NOTIFY_SOCKET="+s.socket)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	return c
}

// run runs one command and returns its output. It must succeed, or fail if refused is set.
func (s *pageShell) run(line string, refused bool) string {
	s.t.Helper()
	out, err := s.command(s.t.Context(), line).CombinedOutput()
	if (err != nil) != refused {
		s.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

func (s *pageShell) want(line, said string, parts ...string) {
	s.t.Helper()
	for _, part := range parts {
		if !strings.Contains(said, part) {
			s.t.Errorf("%s does not print %q:\n%s", line, part, said)
		}
	}
}

// TestSearchToCallByShell runs the first section of docs/altar.md word for word: it finds an
// operation, proposes and approves its contract, and calls it; a change of its document is refused
// until it is approved. README.md has the beginning of it.
func TestSearchToCallByShell(t *testing.T) {
	t.Parallel()
	s := openPageShell(t, "From a search to a call", 16)
	readme, err := os.ReadFile(filepath.Join(s.root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	s.want("README.md", string(readme), strings.ReplaceAll(strings.Join(s.commands[3:6], "\n"), "bin/gazetteer", "gazetteer"), `make run ARGS="--keep`)
	s.run(s.commands[0], false)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	demo := s.command(ctx, "exec "+s.commands[1]+" --listen "+s.address)
	printed, err := demo.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stop()
		io.Copy(io.Discard, printed) // until the demo has closed it
		if err := demo.Wait(); err != nil && ctx.Err() == nil {
			t.Errorf("the demo: %v", err)
		}
	}()
	lines, ready := bufio.NewScanner(printed), false
	for !ready && lines.Scan() {
		ready = strings.HasPrefix(lines.Text(), "Stop with Ctrl-C")
	}
	if !ready {
		t.Fatal("the demo has ended")
	}
	const booked = `"status":"CONFIRMED"`
	wants := [][]string{
		{"BOOK /reservation", "reservations.acme.test"},
		{"proposed   book_reservation", "contracts approve book_reservation"},
		{"approved   book_reservation"},
		{booked, `"reservation_id":"R-1"`},
		nil,
		{"added", "planner"},
		{`"structuredContent":`, `CONFIRMED`, "R-2"},
		nil,
		{"will be visited again"},
		{"agis 3 operations"},
		{"book_reservation: ", "parameter-optional-added", "/seating", "until you approve it"},
		{"INVALID_PARAMETERS", "/seating"},
		{"approved   book_reservation"},
		{booked, `"seating":"terrace"`, `"reservation_id":"R-3"`},
	}
	for i, line := range s.commands[2:] {
		refused := len(wants[i]) > 0 && wants[i][0] == "INVALID_PARAMETERS"
		s.want(line, s.run(line, refused), wants[i]...)
	}
}

// TestToolRuntimeByShell runs the second section of docs/altar.md word for word: the example in Go
// executes two tools, for the operator and for a client.
func TestToolRuntimeByShell(t *testing.T) {
	t.Parallel()
	need.Program(t, "go")
	s := openPageShell(t, "A runtime of your own in five minutes", 13)
	w, socket, err := listenTold()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	s.socket = socket
	for _, line := range s.commands[:5] {
		s.run(line, false)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := s.command(ctx, "exec "+s.commands[5])
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stop()
		if err := server.Wait(); err != nil && ctx.Err() == nil {
			t.Errorf("the server: %v", err)
		}
	}()
	if err := w.until("data"); err != nil {
		t.Fatal(err)
	}
	running, end := context.WithCancel(ctx)
	runtime := s.command(running, strings.TrimSuffix(s.commands[6], " &"))
	caches, err := exec.CommandContext(ctx, "go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.Fields(string(caches))
	runtime.Env = append(runtime.Env, "GOCACHE="+paths[0], "GOMODCACHE="+paths[1])
	runtime.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go run hands no signal on to its child
	runtime.Cancel = func() error { return syscall.Kill(-runtime.Process.Pid, syscall.SIGINT) }
	if err := runtime.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		end()
		runtime.Wait() // go run reports the interrupt as a failure
	}()
	for said := ""; !strings.Contains(said, "add, count"); { // until the example is built and connected
		said = s.run(s.commands[7], false)
	}
	wants := [][]string{{"calculator", "add, count"}, {"add", "count"}, {`{"sum":3}`}, {"1\n2\n3\n"}, {`{"sum":3}`}, {`"session_id":`}}
	for i, line := range s.commands[7:] {
		s.want(line, s.run(line, false), wants[i]...)
	}
	s.runToolHelp()
}

// runToolHelp runs the commands of the help texts of gazetteer tool, with a runtime that executes
// the tools that they name.
func (s *pageShell) runToolHelp() {
	s.t.Helper()
	for name, text := range map[string]string{
		"helper.token": strings.Repeat("helper-token-", 4),
		"picture.png":  "\x89PNG\r\n\x00\xff",
		"help.json": `[{"name": "upload", "parameters": [{"name": "data", "type": "binary", "required": true}], "effect": "irreversible", "runtimes": ["helper"]},
			{"name": "search", "parameters": [{"name": "query", "type": "string"}, {"name": "tags", "type": "array[string]"}], "effect": "informational", "runtimes": ["helper"]}]`,
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	s.run("bin/gazetteer altar identity add --runtime helper --token-file helper.token", false)
	s.run("bin/gazetteer contracts add help.json", false)
	r := altarkit.Runtime{URL: "ws://" + s.address + "/altar/v1/runtimes", ID: "helper", Token: strings.Repeat("helper-token-", 4)}
	r.Handle("upload", func(_ context.Context, c *altarkit.Call) (any, error) {
		var in struct{ Data []byte }
		err := c.Decode(&in)
		return len(in.Data), err
	})
	r.Handle("search", func(_ context.Context, c *altarkit.Call) (any, error) { return c.Parameters, nil })
	running, stop := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(running) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
	}()
	for said := ""; !strings.Contains(said, "search, upload"); {
		said = s.run("bin/gazetteer tool runtimes", false)
	}
	var commands []string
	for _, page := range []string{"tool", "tool call"} {
		help, _, _ := strings.Cut(s.run("bin/gazetteer "+page+" --help", false), "\nUsage:")
		for line := range strings.Lines(help) {
			if strings.HasPrefix(line, "  gazetteer ") {
				commands = append(commands, "bin/"+strings.ReplaceAll(strings.TrimSpace(line), "https://tools.example", "http://127.0.0.1:8080"))
			}
		}
	}
	wants := []string{"upload", `{"sum":3}`, "upload", `{"sum":3}`, "8", `"tags"`}
	if len(commands) != len(wants) {
		s.t.Fatalf("the help texts have %d commands, want %d: %q", len(commands), len(wants), commands)
	}
	for i, line := range commands {
		s.want(line, s.run(line, false), wants[i])
	}
}
