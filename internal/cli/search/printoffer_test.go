package search

import (
	"bytes"
	"strings"
	"testing"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/index"
	"gazetteer/internal/cli"
)

// Operations without the requested agent count in the total, yet fill no further page.
func TestNextPageOfOffersExists(t *testing.T) {
	for next, want := range map[string]bool{"": false, "cursor": true} {
		var out bytes.Buffer
		a := &verbs{&cli.App{Streams: cli.Streams{Out: &out}}}
		a.printOffers(api.OrchestratePage{
			ServedOperations: answer.ServedOperations{Operations: make([]answer.ServedOperation, 3), Total: 198, Passed: 85},
			Next:             next,
		}, viewFlags{limit: 5, page: 1}, false)
		if strings.Contains(out.String(), "198") || !strings.Contains(out.String(), "left out: 85 operations without such an agent") {
			t.Errorf("counts that do not add up: %s", out.String())
		}
		if got := strings.Contains(out.String(), "next: --page 2"); got != want {
			t.Errorf("next %q: %s", next, out.String())
		}
	}
}

// A search by words counts all operations of a service and lists three: the last page comes before the
// total is reached.
func TestLastPageOfHitsNamesNoNext(t *testing.T) {
	for next, want := range map[string]string{"": "3 of 178 operations; a list by words shows at most three of a service; details", "cursor": "3 of 178 operations; next: --page 2; details"} {
		var out bytes.Buffer
		a := &verbs{&cli.App{Streams: cli.Streams{Out: &out}}}
		a.printHits(searchAnswer{Result: index.Result{Total: 178}, Hits: make([]searchHit, 3), Next: next}, "book", viewFlags{limit: 3, page: 1})
		if !strings.Contains(out.String(), want) {
			t.Errorf("next %q: %s", next, out.String())
		}
	}
}

// A total that counts operations without the requested agent is not shown.
func TestTotalOfJoinedOffers(t *testing.T) {
	var out bytes.Buffer
	a := &verbs{&cli.App{Streams: cli.Streams{Out: &out}}}
	a.printOffers(api.OrchestratePage{ServedOperations: answer.ServedOperations{Operations: make([]answer.ServedOperation, 1), Total: 178}, Next: "cursor"}, viewFlags{limit: 1, page: 1}, true)
	if strings.Contains(out.String(), "178") || !strings.Contains(out.String(), "1 operation; next: --page 2") {
		t.Errorf("got %s", out.String())
	}
}
