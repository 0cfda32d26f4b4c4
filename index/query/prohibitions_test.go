package query

import (
	"slices"
	"strings"
	"testing"

	"gazetteer/index/tokens"
)

func TestProhibitionsAreNoGoals(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, verb, forbidden string
		goals                 int
	}{
		{"hire a canoe and please do not pay yet", "hire", "pay", 1},
		{"compare the ferries without booking", "compare", "book", 1},
		{"find a cabin in Bergen for June, don't book, pay or cancel anything", "find", "book pay cancel", 1},
		{"list the drafts. Do not send, move, or delete any of them.", "list", "send move delete", 1},
		{"show me yurts without renting, buying or reserving", "", "rent buy reserve", 1},
		{"do not book, cancel my old cabin", "cancel", "book", 1},
		{"please don't send it, archive the draft", "archive", "send", 1},
		{"don't sell it, rent it out to the club", "rent", "sell", 1},
		{"hire a canoe and send the receipt to the club", "hire", "", 2},
		{"do not forget to water the plants", "", "", 1},
		{"find a cabin, do not book it, and check the weather there", "find", "book", 2},
	} {
		r := ParseRequest(a, c.text)
		var verbs []string
		for _, p := range r.Prohibitions {
			verbs = append(verbs, p.Verbs...)
		}
		if strings.Join(verbs, " ") != c.forbidden || c.verb != "" && r.Act.Verb != c.verb || c.verb != "" && r.Act.Question {
			t.Errorf("%s: forbids %q, the act is %+v", c.text, verbs, r.Act)
		}
		if goals := max(1, len(r.Clauses())); goals != c.goals {
			t.Errorf("%s: %d goals", c.text, goals)
		}
		if slices.ContainsFunc(r.Words, func(w Word) bool { return w.Asked == "please" }) {
			t.Errorf("%s: looks for please", c.text)
		}
	}
}
