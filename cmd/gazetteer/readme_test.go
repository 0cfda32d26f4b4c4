package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"gazetteer/internal/fakenet"
)

// TestReadmeTranscript runs the commands of the README's transcript and holds
// what they print against it, so that it cannot grow old. What changes with the
// clock is left out.
func TestReadmeTranscript(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "```\n$ gazetteer ")
	block, _, closed := strings.Cut("$ gazetteer "+rest, "```")
	if !found || !closed {
		t.Fatal("the README has no transcript")
	}
	internet, err := fakenet.Open(fakenet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer internet.Close()
	world := edge{dial: internet.Dial, roots: internet.Roots()}
	dir := t.TempDir() + "/data"
	commands := strings.Split(block, "$ gazetteer ")[1:]
	if len(commands) < 2 {
		t.Fatalf("the transcript has %d commands", len(commands))
	}
	for _, c := range commands {
		line, want, _ := strings.Cut(c, "\n")
		var out, complaints bytes.Buffer
		args := append([]string{"--data-dir", dir}, strings.Fields(line)...)
		if code := run(t.Context(), args, streams{strings.NewReader(""), &out, &complaints}, world); code != exitOK {
			t.Fatalf("%s: exit code %d: %s", line, code, complaints.String())
		}
		// The transcript may show the beginning of a longer answer.
		if got := timeless(out.String()); !strings.HasPrefix(got, timeless(want)) {
			t.Errorf("gazetteer %s prints\n%s\nthe README says\n%s", line, got, timeless(want))
		}
	}
}

var times = regexp.MustCompile(`(fetched|next visit in) \d+ \w+`)

func timeless(s string) string { return times.ReplaceAllString(s, "$1 TIME") }
