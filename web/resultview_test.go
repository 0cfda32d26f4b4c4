package web

import (
	"testing"

	"gazetteer/api/answer"
	"gazetteer/lint"
)

func TestResultWithoutText(t *testing.T) {
	if v := resultOf(1, answer.ValidationResult{Result: lint.Result{Input: "https://a.example/.well-known/ai"}}); v.Facts != "" {
		t.Errorf("a document that could not be fetched has the facts %q", v.Facts)
	}
	got := resultOf(1, answer.ValidationResult{Text: []byte("{}"), Result: lint.Result{Input: "ai.json", Operations: 2, Tokens: lint.Tokens{Served: 3, Compact: 1}}})
	if want := "2 operations, about 3 tokens for a model, 1 without white space"; got.Facts != want {
		t.Errorf("facts %q, want %q", got.Facts, want)
	}
}

// TestSizeOfUnparsedText checks that a text that is not JSON has no size without white space.
func TestSizeOfUnparsedText(t *testing.T) {
	for _, compact := range []int{0, 4} {
		got := resultOf(1, answer.ValidationResult{Text: []byte("{,,}"), Result: lint.Result{Input: "ai.json", Tokens: lint.Tokens{Served: 3, Compact: compact}}})
		if want := "about 3 tokens for a model"; got.Facts != want {
			t.Errorf("facts %q, want %q", got.Facts, want)
		}
	}
}

func TestHostOfValid(t *testing.T) {
	broken := answer.ValidationResult{Result: lint.Result{Input: "https://a.example/.well-known/ai"}}
	if host := hostOfValid([]answer.ValidationResult{broken}); host != "" {
		t.Errorf("a broken document offers to add %q", host)
	}
	valid := answer.ValidationResult{Result: lint.Result{Input: "https://a.example/.well-known/agis.json", Valid: true}}
	if host := hostOfValid([]answer.ValidationResult{broken, valid}); host != "a.example" {
		t.Errorf("host %q, want a.example", host)
	}
}

func TestRobotsVerdict(t *testing.T) {
	for _, c := range []struct {
		name string
		view answer.RobotsView
		want string
	}{
		{"none", answer.RobotsView{Status: 404, Open: true}, "There is none (HTTP 404), so all paths are allowed"},
		{"some paths", answer.RobotsView{Status: 200, Disallowed: []string{"/ai"}}, "It disallows some of the paths that the crawler requests"},
		{"everything", answer.RobotsView{Status: 200, Disallowed: []string{"*"}}, "It disallows all paths for this crawler, which obeys it"},
		{"server error", answer.RobotsView{Status: 503, Disallowed: []string{"*"}}, "It could not be read, so the host is not visited"},
		{"no answer", answer.RobotsView{Disallowed: []string{"*"}}, "It could not be read, so the host is not visited"},
	} {
		if got, _ := robotsVerdict(c.view); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
