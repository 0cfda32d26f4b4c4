package cli

import (
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
