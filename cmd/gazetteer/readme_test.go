package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"gazetteer/index"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/fakenet"
	"gazetteer/internal/server"
)

// TestTranscripts runs the commands of the transcripts in the documentation and
// holds what they print against it, so that it cannot grow old. What changes with
// the clock is left out.
func TestTranscripts(t *testing.T) {
	internet, err := fakenet.Open(fakenet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer internet.Close()
	world := server.Environment{Dial: internet.Dial, Roots: internet.Roots()}
	for _, file := range []string{"README.md", "docs/search.md"} {
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
