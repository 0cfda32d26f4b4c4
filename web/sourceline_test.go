package web

import (
	"strings"
	"testing"
	"unicode/utf8"

	"gazetteer/api/answer"
	"gazetteer/lint"
	"gazetteer/protocol"
)

// TestFindingsOfLongLinesAreShown checks that a long line is cut so that each place with a finding is shown,
// with its column, and that other lines stay as they are.
func TestFindingsOfLongLinesAreShown(t *testing.T) {
	long := strings.Repeat("é", 900) + "first wrong" + strings.Repeat("b", 3000) + "second wrong" + strings.Repeat("c", 100)
	findings := []protocol.Finding{
		{Code: "AI801", Line: 1, Column: 901, Message: "m"}, {Code: "AI214", Line: 1, Column: 3912, Message: "m"}, {Code: "AI214", Line: 2, Column: 3, Message: "m"},
	}
	v := resultOf(1, answer.ValidationResult{Result: lint.Result{Findings: findings}, Text: []byte(long + "\nshort\r\n" + long)})
	got := v.Lines[0]
	for _, want := range []string{"ééé", " … ", "first wrong", "second wrong"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("the line does not show %q: %s", want, got.Text)
		}
	}
	if n := utf8.RuneCountInString(got.Text); n > 600 || !strings.HasPrefix(got.Text, "ééé") {
		t.Errorf("%d characters: %s", n, got.Text)
	}
	if len(got.Notes) != 2 || got.Notes[0].Column != 901 || got.Notes[1].Column != 3912 {
		t.Errorf("the notes are %+v", got.Notes)
	}
	if short := v.Lines[1]; short.Text != "short" || short.Notes[0].Column != 0 {
		t.Errorf("a short line: %+v", short)
	}
	if v.Lines[2].Text != long {
		t.Error("a long line without findings is cut here, and not on the page")
	}
	for _, column := range []int{0, 1, 5000} {
		if text := cutAroundNotes(long, []lineNote{{Column: column}, {Column: column}}); !strings.HasPrefix(text, "ééé") || utf8.RuneCountInString(text) > 600 {
			t.Errorf("column %d: %s", column, text)
		}
	}
}
