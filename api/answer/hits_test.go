package answer

import (
	"testing"

	"gazetteer/document"
	"gazetteer/index"
)

// TestMissingWordIsNamedOnce checks that the note names a word once if an expression of the query stands
// for it, too.
func TestMissingWordIsNamedOnce(t *testing.T) {
	hits := []index.Hit{{Why: index.Why{Coverage: .5, Missing: []string{"Lisbon", "tomorrow", "tomorrow"}}}}
	if got, want := missingWordsNote(hits), `not found in any of these: "Lisbon", "tomorrow"`; got != want {
		t.Errorf("the note is %q, want %q", got, want)
	}
}

// TestEffectsSayWhereTheyAreInferred checks the effects of operations in few words.
func TestEffectsSayWhereTheyAreInferred(t *testing.T) {
	for _, c := range []struct {
		operation document.Operation
		want      string
	}{
		{document.Operation{Verb: "BOOK", Effect: document.Reversible}, "reversible"},
		{document.Operation{Verb: "FIND"}, "read, inferred"},
		{document.Operation{Verb: "CANCEL", Effect: document.Informational}, "ends something, inferred from verb CANCEL"},
		{document.Operation{Verb: "XYZZY"}, ""},
	} {
		if got := DescribeEffect(index.EffectOf(&c.operation)); got != c.want {
			t.Errorf("%s: %q, want %q", c.operation.Verb, got, c.want)
		}
	}
}

// TestTruncateText checks that a text is cut between its words where it has any.
func TestTruncateText(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"a table for two", 15, "a table for two"},
		{"body: party_size* (integer), contact_name (string)", 33, "body: party_size* (integer)…"},
		{"a table for two people", 16, "a table for two…"},
		{"abcdefghijklmnop", 6, "abcde…"},
		{"予約を取り消す操作", 5, "予約を取…"},
	} {
		if got := truncateText(c.text, c.most); got != c.want {
			t.Errorf("%q cut to %d is %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
