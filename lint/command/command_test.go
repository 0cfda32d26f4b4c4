package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/need"
	"gazetteer/lint"
	"gazetteer/protocol"
)

var someDay = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// run executes one command line in its own directory.
func run(t testing.TB, in string, fetcher Fetcher, args ...string) (code int, out, complaints string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	w := Environment{Program: "gazlint", In: strings.NewReader(in), Out: &stdout, Err: &stderr, Now: func() time.Time { return someDay }}
	if fetcher != nil {
		w.Fetcher = func() (Fetcher, error) { return fetcher, nil }
	}
	for _, c := range Commands(w) {
		if c.Name() != args[0] {
			continue
		}
		c.SetArgs(args[1:])
		c.SetContext(t.Context())
		err := c.Execute()
		code, ours := ExitCode(err)
		if err != nil && !ours {
			t.Fatalf("%v: an error without an exit code: %v", args, err)
		}
		if err != nil {
			fmt.Fprintln(&stderr, err)
		}
		return code, stdout.String(), stderr.String()
	}
	t.Fatalf("no command %s", args[0])
	return 0, "", ""
}

// FuzzInit checks that for any answers the document that init writes conforms, and that init gives
// the reason if it writes none.
func FuzzInit(f *testing.F) {
	f.Add("ai", "Acme\nFinds tables.\nwww.acme.test\nfind\ntable\nFinds tables\nguests: integer\nid\nGET\n/tables\n\napikey\nX-API-Key\n")
	f.Add("agis", "Acme\nBooks tables.\nwww.acme.test\nbook\ntable\nBooks a table\nguests: integer\nid\nA booking exists\nreversible\nno_table\n\nhospitality\n")
	f.Add("agis", "null\n- x: [\nwww.acme.test\nbook\n#\n\"\n\nyes: date\nA: b\n\n\ntrue\n")
	f.Add("ai", "\u202e\x1b[2J\n<b>\nwww.acme.test\nbook\n{id}\nx\nid\n\n\n/{id}\n\nbearer\nA: b\n")
	f.Fuzz(func(t *testing.T, format, answers string) {
		if format != "agis" {
			format = "ai"
		}
		dir := t.TempDir()
		code, _, complaints := run(t, answers, nil, "init", "--format", format, "--dir", dir)
		var inputs []lint.Input
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			inputs = append(inputs, lint.Input{Name: name, Text: text})
		}
		if code != 0 {
			if len(files) > 0 || complaints == "" {
				t.Fatalf("exit code %d with %d files, saying %q", code, len(files), complaints)
			}
			return
		}
		want := map[string]int{"ai": 1, "agis": 2}[format]
		if len(files) != want {
			t.Fatalf("%d files, want %d", len(files), want)
		}
		for i, r := range lint.CheckAll(inputs, lint.Options{Today: someDay}) {
			if !r.Valid {
				t.Errorf("%s:\n%s\n%+v", r.Input, inputs[i].Text, r.Findings)
			}
		}
	})
}

func TestParseFields(t *testing.T) {
	fields, notes, wrong := parseFields(" guests: integer, date : Date ,note?, at?: datetime,, id: uuid? ")
	want := []field{{"guests", "integer", true}, {"date", "date", true}, {"note", "string", false}, {"at", "datetime", false}, {"id", "uuid", false}}
	if wrong != nil || notes != nil || fmt.Sprint(fields) != fmt.Sprint(want) {
		t.Errorf("got %v, %v, %v", fields, notes, wrong)
	}
	fields, notes, wrong = parseFields("Gäste: integer, ID, habitación?, Ähnliches")
	want = []field{{"gaste", "integer", true}, {"id", "string", true}, {"habitacion", "string", false}, {"ahnliches", "string", true}}
	if wrong != nil || len(notes) != 4 || notes[0].Message != `"Gäste" is written as gaste: names of fields have plain lowercase letters` || fmt.Sprint(fields) != fmt.Sprint(want) {
		t.Errorf("got %v, %v, %v", fields, notes, wrong)
	}
	for _, answer := range []string{"a b", "guestCount", "Größe m", "客人", "9a", "a, a", "a: money", "phone number", "a; b", strings.Repeat("a", 65), ": integer"} {
		if fields, _, wrong := parseFields(answer); wrong == nil {
			t.Errorf("%q was read as %v", answer, fields)
		}
	}
}

// A file that somebody changes between reading and writing is left alone.
func TestReplaceChangedFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ai.json")
	if err := os.WriteFile(name, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replaceText(t.Context(), name, []byte("read before"), []byte("ours")); err == nil {
		t.Error("it was overwritten")
	}
	if err := replaceText(t.Context(), name, []byte("theirs"), []byte("ours")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil || string(text) != "ours" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
}

// A write that fails leaves the file as it was and nothing beside it.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "ai.json")
	if err := os.WriteFile(name, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	if err := replaceFile(name, func(f *os.File) error { f.WriteString("half"); return full }); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	text, _ := os.ReadFile(name)
	entries, _ := os.ReadDir(dir)
	if string(text) != "before" || len(entries) != 1 {
		t.Errorf("the file holds %q beside %d others", text, len(entries)-1)
	}
	if err := replaceFile(dir, func(*os.File) error { return nil }); err == nil {
		t.Error("a directory was replaced")
	}
}

// stub answers with what a test puts into it; what a real client answers is
// tested through the programs.
type stub struct {
	answers []fetch.Answer
	err     error
}

func (s stub) Document(context.Context, document.Kind, string) (fetch.Answer, error) {
	return s.answers[0], s.err
}

func (s stub) Host(context.Context, string) ([]fetch.Answer, error) { return s.answers, s.err }

func answer(kind document.Kind, url string, outcome fetch.Outcome, body string, findings ...protocol.Finding) fetch.Answer {
	a := fetch.Answer{}
	a.Kind, a.URL, a.Outcome, a.Findings = string(kind), url, outcome, findings
	if body != "" {
		a.Body, a.Status = []byte(body), 200
	}
	return a
}

const notes = `{"aiendpoint":"1.0","service":{"name":"Notes","description":"Keeps notes"},"capabilities":[{"id":"list_notes","description":"Lists notes","endpoint":"https://api.b.test/notes","method":"GET","returns":"notes[] {id}"}],"auth":{"type":"apikey","header":"X-API-Key"}}`

func TestAnswers(t *testing.T) {
	absent := protocol.Finding{Code: "FETCH105", Severity: protocol.Error, Message: "404"}
	silent := protocol.Finding{Code: "FETCH102", Severity: protocol.Error, Message: "nobody"}
	for name, c := range map[string]struct {
		stub stub
		code int
		want string // in the output, "!" before what must not be
	}{
		"one document, and another absent": {stub{answers: []fetch.Answer{
			answer(document.AI, "https://a.test/.well-known/ai", fetch.OK, notes),
			answer(document.AGISSummary, "https://a.test/.well-known/agis.json", fetch.Absent, ""),
		}}, 0, "!agis.json"},
		"the host asked settles what is foreign": {stub{answers: []fetch.Answer{
			answer(document.AI, "https://a.test/.well-known/ai", fetch.OK, notes),
		}}, 0, "AI905"},
		"everything absent": {stub{answers: []fetch.Answer{
			answer(document.AI, "https://a.test/.well-known/ai", fetch.Absent, "", absent),
			answer(document.AGISSummary, "https://a.test/.well-known/agis.json", fetch.Absent, "", absent),
		}}, ExitFindings, "FETCH105"},
		"nobody there": {stub{answers: []fetch.Answer{
			answer(document.AI, "https://a.test/.well-known/ai", fetch.DNSFailed, "", silent),
		}}, ExitInput, "FETCH102"},
		"one reason for every address": {stub{answers: []fetch.Answer{
			answer(document.AI, "https://a.test/.well-known/ai", fetch.DNSFailed, "", silent),
			answer(document.AGISSummary, "https://a.test/.well-known/agis.json", fetch.DNSFailed, "", silent),
		}}, ExitInput, "https://a.test/: not fetched"},
		"one of two silent": {stub{answers: []fetch.Answer{
			answer(document.AI, "https://a.test/.well-known/ai", fetch.OK, notes),
			answer(document.AGISSummary, "https://a.test/.well-known/agis.json", fetch.Timeout, "", silent),
		}}, ExitFindings, "not fetched"},
		"no host name": {stub{err: &fetch.HostError{Host: "x", Problem: "it is none"}}, ExitUsage, "it is none"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, complaints := run(t, "", c.stub, "validate", "a.test")
			want, absent := strings.CutPrefix(c.want, "!")
			if code != c.code || strings.Contains(out+complaints, want) == absent {
				t.Errorf("exit code %d\n%s%s", code, out, complaints)
			}
		})
	}
}

func TestNoNetwork(t *testing.T) {
	if code, _, complaints := run(t, "", nil, "validate", "a.test"); code != ExitInput || !strings.Contains(complaints, "no network") {
		t.Errorf("exit code %d: %s", code, complaints)
	}
}

// TestDirectory checks that hidden directories and those of other tools are not searched, except
// for .well-known.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".well-known/ai", "a/ai.json", ".git/ai.json", "node_modules/x/ai.json", "a/ai.txt"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(notes), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "endless.json")); err != nil {
		t.Fatal(err)
	}
	code, out, complaints := run(t, "", nil, "validate", "--format", "json", dir)
	if code != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, "/.well-known/ai\"") || !strings.Contains(out, "/a/ai.json\"") {
		t.Errorf("exit code %d\n%s%s", code, out, complaints)
	}
}

// A text without an end is not read to its end.
func TestEndlessInput(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); errors.Is(err, fs.ErrNotExist) {
		need.Missing(t, "there is no /dev/zero")
	}
	code, _, complaints := run(t, "", nil, "validate", "/dev/zero")
	if code != ExitInput || !strings.Contains(complaints, "longer than") {
		t.Errorf("exit code %d: %s", code, complaints)
	}
}

// TestInterrupted checks that a command that waits for input can be interrupted.
func TestInterrupted(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		need.Missing(t, "no named pipe can be made: %v", err)
	}
	for _, args := range [][]string{
		{"validate", fifo}, {"validate", "-"}, {"convert", "--to", "agis", fifo}, {"convert", "--to", "agis", "-"},
		{"init", "--dir", t.TempDir()}, {"init", "--openapi", fifo, "--dir", t.TempDir()},
	} {
		silence, nobody := io.Pipe()
		defer nobody.Close()
		var out bytes.Buffer
		asked := notice{seen: make(chan struct{})}
		w := Environment{Program: "gazlint", In: silence, Out: &out, Err: &asked, Now: func() time.Time { return someDay }}
		for _, c := range Commands(w) {
			if c.Name() != args[0] {
				continue
			}
			ctx, cancel := context.WithCancel(t.Context())
			c.SetArgs(args[1:])
			c.SetContext(ctx)
			if args[0] == "init" && len(args) == 3 { // it waits after the first question
				go func() { <-asked.seen; cancel() }()
			} else {
				cancel()
			}
			if err := c.Execute(); !errors.Is(err, context.Canceled) {
				t.Errorf("%v: %v", args, err)
			}
			cancel()
		}
		if out.Len() > 0 {
			t.Errorf("%v: wrote %q", args, out.String())
		}
	}
}

// notice closes seen when a prompt is written.
type notice struct {
	seen chan struct{}
	once sync.Once
}

func (n *notice) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("  > ")) {
		n.once.Do(func() { close(n.seen) })
	}
	return len(p), nil
}

// TestMissing checks that an argument that is neither a file nor a host gets its own message.
func TestMissing(t *testing.T) {
	for arg, want := range map[string]string{
		"missing.json":            "missing.json: no such file",
		"127.0.0.1":               "127.0.0.1: neither a file nor a valid host: it is an IP address",
		"localhost":               "localhost: neither a file nor a valid host",
		"www.acme.test/agis.yaml": "no such file; if you mean the address, write https://www.acme.test/agis.yaml",
		"no/such/ai.json":         "no/such/ai.json: no such file",
	} {
		code, _, complaints := run(t, "", nil, "validate", arg)
		if code != ExitInput || !strings.Contains(complaints, want) {
			t.Errorf("%s: exit code %d, %s", arg, code, complaints)
		}
	}
	if code, _, complaints := run(t, "", nil, "validate", ""); code != ExitUsage || !strings.Contains(complaints, "empty") {
		t.Errorf("an empty argument: exit code %d, %s", code, complaints)
	}
}

// TestTypedAnswers checks how typed answers give verbs and proposed names of fields.
func TestTypedAnswers(t *testing.T) {
	for answer, want := range map[string][2]string{
		"book": {"book", ""}, "reserve a table": {"reserve", "table"}, "look at the menu": {"look", "menu"},
		"Check exchange rate": {"Check", "exchange rate"}, "add to": {"add", "to"}, "": {"", ""},
	} {
		if verb, noun := splitVerb(answer); verb != want[0] || noun != want[1] {
			t.Errorf("%q: %q, %q", answer, verb, noun)
		}
	}
	for given, want := range map[string]string{
		"phone number": "write phone_number", "Guests": "write guests", "guestCount": "write guestcount", "how many people come": "use lowercase", "2 people": "use lowercase", "…": "use lowercase",
	} {
		if got := nameAdvice(given); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s", given, got)
		}
	}
}

// TestAnswersWithMarks checks that answers in Spanish give names that the drafts allow.
func TestAnswersWithMarks(t *testing.T) {
	for format, want := range map[string][]string{
		"ai":   {`"id": "reservar_habitacion"`, `"huespedes": "integer, optional"`, `"endpoint": "/habitacion"`, "Reserva una habitación"},
		"agis": {"path: /habitacion", "huespedes:", "Reserva una habitación"},
	} {
		answers := []string{"Panadería", "Pan y habitaciones en Cádiz", "www.example.com", "reservar", "habitación", "Reserva una habitación para unas noches", "huéspedes?: integer", "número", "", "", "", "", "", ""}
		if format == "agis" {
			answers = append(answers[:8], "La habitación está reservada", "", "sin_habitación", "", "hospitality")
		}
		dir := t.TempDir()
		if code, _, complaints := run(t, strings.Join(answers, "\n")+"\n", nil, "init", "--format", format, "--dir", dir); code != 0 {
			t.Fatal(complaints)
		}
		text, err := os.ReadFile(filepath.Join(dir, map[string]string{"ai": "ai.json", "agis": "agis.yaml"}[format]))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %s:\n%s", format, part, text)
			}
		}
	}
}

// TestUnreadableInput checks that convert, diff and a repair say what is wrong with a text and
// nothing else, and name the repair if there is one.
func TestUnreadableInput(t *testing.T) {
	t.Chdir(t.TempDir())
	merged := "agis: \"1.0\"\nx: {<<: {a: 1}}\n"
	for name, text := range map[string]string{"ai.json": notes, "comma.json": strings.TrimSuffix(notes, "}") + ",}", "comment.json": "{ // notes\n'aiendpoint': '1.0', \"service\": {}, \"capabilities\": []}", "merged.agis": merged} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"convert", "--to", "mcp", "comma.json"}, "comma.json: line 1, column 264: this is not JSON: there is a comma before the closing bracket\nto repair it: gazlint validate --fix comma.json\n"},
		{[]string{"convert", "--to", "mcp", "comment.json"}, "comment.json: line 1, column 3: this is not JSON: JSON has no comments\nto repair it: gazlint validate --fix comment.json\n"},
		{[]string{"diff", "ai.json", "comma.json"}, "comma.json: this is not JSON: a trailing comma in line 1; the rest is compared\nto repair it: gazlint validate --fix comma.json\n"},
		{[]string{"validate", "--write-baseline", "known.json", "ai.json"}, "known.json has 0 findings; --baseline known.json hides them\n"},
		{[]string{"convert", "--to", "mcp", "merged.agis"}, "merged.agis: line 2, column 5: a merge key (<<) may not be used\n"},
		{[]string{"convert", "--from", "openapi", "--to", "agis", "ai.json"}, "ai.json: this is an AI Discovery document; convert it from ai\n"},
		{[]string{"validate", "--diff", "merged.agis"}, "merged.agis: it cannot be read, and nothing in it can be repaired automatically: line 2, column 5: a merge key (<<) may not be used\n\n"},
	} {
		if _, _, complaints := run(t, "", nil, c.args...); complaints != c.want {
			t.Errorf("%v: got %q, want %q", c.args, complaints, c.want)
		}
	}
}

// TestFileErrors checks that an error about a file names the file as the command line does, and not
// the temporary one that would take its place.
func TestFileErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("ai.json", []byte(notes), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"convert", "--to", "mcp", "ai.json", "-o", "nowhere/tools.json"}, ExitInput, "nowhere/tools.json: no such file or directory\n"},
		{[]string{"convert", "--to", "mcp", "ai.json", "-o", "."}, ExitInput, ".: it is not a regular file\n"},
		{[]string{"validate", "--baseline", "none.json", "ai.json"}, ExitUsage, "--baseline none.json: no such file or directory\nwrite one with --write-baseline none.json\n"},
		{[]string{"validate", "--write-baseline", "nowhere/known.json", "ai.json"}, ExitInput, "write baseline: nowhere/known.json: no such file or directory\n"},
	} {
		if code, _, complaints := run(t, "", nil, c.args...); code != c.code || complaints != c.want {
			t.Errorf("%v: exit code %d, %q", c.args, code, complaints)
		}
	}
}

// TestProposedNamespaceNamesOwnDomain checks that the namespace that init proposes begins with the name of
// the host's own domain: another one may look like squatting on the domain of somebody else.
func TestProposedNamespaceNamesOwnDomain(t *testing.T) {
	for _, c := range []struct{ service, host, want string }{
		{"Hotel Anil", "www.anil.example", "anil-hotel"},
		{"Hotel Anil", "hotel-anil.example", "hotel-anil"},
		{"Acme Reservations", "reservations.acme.co.uk", "acme-reservations"},
		{"Book Shop", "Example.com", "example-book-shop"},
		{"Acme", "acme.example", "acme"},
		{"La Ruche d'Or", "ruche-dor.example", "ruche-dor"},
		{"Studio Blue Note 54", "bluenote.example", "bluenote-studio-54"},
		{"", "acme.example", "acme"},
		{"Acme", "", "acme"},
		{"", "", "service"},
	} {
		if got := proposeNamespace(c.service, c.host); got != c.want {
			t.Errorf("%q at %q: got %q, want %q", c.service, c.host, got, c.want)
		}
	}
}
