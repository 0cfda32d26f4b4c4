package web

import (
	"testing"

	"gazetteer/api/answer"
	"gazetteer/conformance"
)

// TestUnknownStates checks that a page says why nothing is known of a state of a host.
func TestUnknownStates(t *testing.T) {
	failed := []conformance.State{{Name: conformance.Answers, Verdict: conformance.No}}
	for _, c := range []struct {
		class  conformance.PublisherClass
		states []conformance.State
		state  conformance.Name
		want   string
	}{
		{conformance.Publishes, nil, conformance.Consistent, "Not applicable: one document"},
		{conformance.Nothing, nil, conformance.Consistent, "Unknown"},
		{conformance.Withheld, nil, conformance.Answers, "Not checked (robots.txt)"},
		{conformance.Withheld, failed, conformance.Answers, "Unknown"},
		{conformance.Nothing, nil, conformance.Answers, "Unknown"},
	} {
		if got := unknownWord(answer.Explanation{Class: c.class, States: c.states}, c.state); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.class, c.state, got, c.want)
		}
	}
}
