package nearest

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	names := []string{"finance", "food", "travel", "search", "serve", "crawler.workers", "BOOK"}
	for word, want := range map[string]string{
		"finanace": "finance", "serach": "search", "crawler.worker": "crawler.workers", "book": "BOOK", "BOKO": "BOOK", "fodo": "food", "oodf": "", "OBOK": "BOOK", "KOOB": "",
		"trav": "travel", "tr": "", "": "", "foof": "food", strings.Repeat("x", 1000): "", "zebra": "",
	} {
		if got := strings.Join(findNearest(word, names), " "); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
	if got := Question("serv", names); got != "did you mean serve?" {
		t.Errorf("got %q", got)
	}
}

// A word that is one of the names needs no question.
func TestNoQuestionForKnownName(t *testing.T) {
	if got := Question("BOOK", []string{"BOOK", "BOOKS"}); got != "" {
		t.Error(got)
	}
	if got := Question("BOOKZ", []string{"BOOK", "BOOKS"}); got == "" {
		t.Error("no question about BOOKZ")
	}
}
