package search

import (
	"bytes"
	"strings"
	"testing"

	"gazetteer/api"
	"gazetteer/api/answer"
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
		}, viewFlags{limit: 5, page: 1})
		if strings.Contains(out.String(), "198") || !strings.Contains(out.String(), "85 operations without such an agent left out") {
			t.Errorf("counts that do not add up: %s", out.String())
		}
		if got := strings.Contains(out.String(), "next: --page 2"); got != want {
			t.Errorf("next %q: %s", next, out.String())
		}
	}
}
