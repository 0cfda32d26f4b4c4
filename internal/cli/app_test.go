package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gazetteer/lint/format"
)

func TestHiddenCharactersAreEscaped(t *testing.T) {
	hostile := "a\x1b[31mred\x1b]0;title\a\u009b2J\r\n\u202eevil\u200bx\u2066y\u2028z\x7f\xff\U000e0041"
	got := format.Visible(hostile)
	for _, r := range got {
		if format.Hidden(r) {
			t.Fatalf("%U came through in %q", r, got)
		}
	}
	if !strings.Contains(got, `\u{1b}[31mred`) || !strings.Contains(got, `\u{202e}evil`) {
		t.Errorf("what was hidden is not shown: %q", got)
	}
	var logged strings.Builder
	NewLogger(&logged, "info").Warn("it was refused", "host", hostile, "error", fmt.Errorf("wrapped: %w", errors.New(hostile)))
	if text := strings.TrimSuffix(logged.String(), "\n"); strings.ContainsFunc(text, format.Hidden) || !strings.Contains(text, `wrapped: a\\u{1b}`) {
		t.Errorf("the log has %q", text)
	}
	var b strings.Builder
	if err := WriteJSON(&b, map[string]string{"text": "\u009b2J\u202e\x7f\U000e0041"}); err != nil {
		t.Fatal(err)
	}
	if want := `{"text":"\u009b2J\u202e\u007f\udb40\udc41"}` + "\n"; b.String() != want {
		t.Errorf("JSON is %q, want %q", b.String(), want)
	}
}

// TestLongLogValuesAreTruncated logs values of 20 kB, one of which consists of characters that are
// escaped: each event is one line of valid JSON and at most 4,096 bytes. It contains the beginning
// and the length of each value.
func TestLongLogValuesAreTruncated(t *testing.T) {
	const size = 20_000
	long := func(text string) string { return strings.Repeat(text, size/len(text)) }
	var logged strings.Builder
	log := NewLogger(&logged, "info").With("agent", long("w"))
	log.Warn("a long text", "text", long("t"))
	log.Warn("three long values", "text", long("t"), "escaped", long(`"\`), "error", errors.New(long("line\n")))
	log.Warn("hidden characters", "hidden", long("\x1b"), "list", strings.Split(long("a,"), ","))
	lines := strings.SplitAfter(logged.String(), "\n")
	if len(lines) != 4 || lines[3] != "" {
		t.Fatalf("three events have %d lines", len(lines)-1)
	}
	for i, values := range [][]string{{"text"}, {"text", "escaped", "error"}, {"hidden", "list"}} {
		var event map[string]string
		if err := json.Unmarshal([]byte(lines[i]), &event); err != nil || len(lines[i]) > 4096 {
			t.Errorf("a line of %d bytes: %v: %.200s", len(lines[i]), err, lines[i])
		}
		for _, name := range append(values, "agent") {
			if text := event[name]; len(text) < 100 || !strings.HasSuffix(text, " bytes)") {
				t.Errorf("%s: %s is %q", event["msg"], name, text)
			}
		}
	}
}
