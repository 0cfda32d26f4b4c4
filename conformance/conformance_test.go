package conformance_test

import (
	"slices"
	"testing"
	"time"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/protocol"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func fetched(kind document.Kind, outcome fetch.Outcome, status int, findings ...protocol.Finding) fetch.Fetch {
	return fetch.Fetch{Kind: string(kind), URL: "https://s.example/" + string(kind), Outcome: outcome, Status: status, At: noon, Findings: findings}
}

func valid(kind document.Kind, level int, findings ...protocol.Finding) document.Document {
	return document.Document{Kind: kind, URL: "https://s.example/" + string(kind), Level: level, FetchedAt: noon, Findings: findings}
}

func broken(code string) protocol.Finding {
	return protocol.Finding{Code: code, Severity: protocol.Error, Pointer: "/service", Line: 3, Column: 5, Message: "it is wrong", Help: "put it right"}
}

func warned(code string) protocol.Finding {
	return protocol.Finding{Code: code, Severity: protocol.Warning, Message: "it differs"}
}

// verdicts writes the five verdicts in their order.
func verdicts(j conformance.Judgment) []conformance.Verdict {
	var out []conformance.Verdict
	for _, s := range j.States {
		out = append(out, s.Verdict)
	}
	return out
}

func TestJudge(t *testing.T) {
	const yes, no, unknown = conformance.Yes, conformance.No, conformance.Unknown
	robots := fetch.Fetch{Kind: fetch.KindRobots, Outcome: fetch.Absent, Status: 404, At: noon}
	for name, c := range map[string]struct {
		in    conformance.Input
		class conformance.PublisherClass
		want  []conformance.Verdict
		level int
	}{
		"never visited": {conformance.Input{}, conformance.Unvisited, []conformance.Verdict{unknown, unknown, unknown, unknown, unknown}, 0},
		"silent": {conformance.Input{Fetches: []fetch.Fetch{fetched(document.AI, fetch.Timeout, 0)}},
			conformance.Silent, []conformance.Verdict{no, unknown, unknown, unknown, no}, 0},
		"nothing there": {conformance.Input{Fetches: []fetch.Fetch{robots, fetched(document.AI, fetch.Absent, 404), fetched(document.AGISSummary, fetch.Absent, 404)}},
			conformance.Nothing, []conformance.Verdict{yes, unknown, unknown, unknown, unknown}, 0},
		"robots.txt forbids all": {conformance.Input{Fetches: []fetch.Fetch{{Kind: fetch.KindRobots, Outcome: fetch.OK, Status: 200, At: noon}, fetched(document.AI, fetch.RefusedByRobots, 0)}},
			conformance.Withheld, []conformance.Verdict{yes, unknown, unknown, unknown, unknown}, 0},
		"another format": {conformance.Input{Fetches: []fetch.Fetch{fetched(document.AI, fetch.OtherFormat, 200)}},
			conformance.OtherFormat, []conformance.Verdict{yes, no, unknown, unknown, unknown}, 0},
		"the same answer for every path": {conformance.Input{Fetches: []fetch.Fetch{fetched(document.AI, fetch.CatchAll, 200)}},
			conformance.CatchAll, []conformance.Verdict{yes, no, unknown, unknown, unknown}, 0},
		"text that is no document": {conformance.Input{Fetches: []fetch.Fetch{robots, fetched(document.AI, fetch.Unreadable, 200, broken("AI203"))}},
			conformance.Unreadable, []conformance.Verdict{yes, no, unknown, unknown, unknown}, 0},
		"redirects without end": {conformance.Input{Fetches: []fetch.Fetch{robots, fetched(document.AI, fetch.TooManyRedirects, 307)}},
			conformance.Failing, []conformance.Verdict{yes, unknown, unknown, unknown, no}, 0},
		"one good document": {conformance.Input{Fetches: []fetch.Fetch{fetched(document.AI, fetch.OK, 200)}, Documents: []document.Document{valid(document.AI, 1)}},
			conformance.Publishes, []conformance.Verdict{yes, yes, yes, unknown, yes}, 1},
		"three good documents": {conformance.Input{
			Fetches:   []fetch.Fetch{fetched(document.AI, fetch.Unchanged, 304), fetched(document.AGISSummary, fetch.OK, 200), fetched(document.AGIS, fetch.OK, 200)},
			Documents: []document.Document{valid(document.AI, 1), valid(document.AGISSummary, 1), valid(document.AGIS, 2)}},
			conformance.Publishes, []conformance.Verdict{yes, yes, yes, yes, yes}, 2},
		"one that breaks its draft": {conformance.Input{
			Fetches:   []fetch.Fetch{fetched(document.AI, fetch.OK, 200), fetched(document.AGISSummary, fetch.OK, 200)},
			Documents: []document.Document{valid(document.AI, 0, broken("AI301"), warned("AI111")), valid(document.AGISSummary, 1)}},
			conformance.Publishes, []conformance.Verdict{yes, yes, no, yes, yes}, 0},
		"two that contradict each other": {conformance.Input{
			Fetches:   []fetch.Fetch{fetched(document.AGIS, fetch.OK, 200), fetched(document.AGISSummary, fetch.OK, 200)},
			Documents: []document.Document{valid(document.AGIS, 1), valid(document.AGISSummary, 1, warned(document.CodeDiffers))}},
			conformance.Publishes, []conformance.Verdict{yes, yes, yes, no, yes}, 1},
		"kept from an earlier visit": {conformance.Input{Fetches: []fetch.Fetch{fetched(document.AI, fetch.ServerError, 503)}, Documents: []document.Document{valid(document.AI, 1)}},
			conformance.Publishes, []conformance.Verdict{yes, unknown, yes, unknown, no}, 1},
		"an alias alone": {conformance.Input{Fetches: []fetch.Fetch{fetched(document.AIAlias, fetch.OK, 200)}, Documents: []document.Document{valid(document.AIAlias, 0)}},
			conformance.Publishes, []conformance.Verdict{yes, yes, unknown, unknown, yes}, 0},
	} {
		j := conformance.Judge(c.in)
		if got := verdicts(j); j.Class != c.class || !slices.Equal(got, c.want) || j.State(conformance.Conformant).Level != c.level {
			t.Errorf("%s: class %s, %v, level %d; want %s, %v, level %d", name, j.Class, got, j.State(conformance.Conformant).Level, c.class, c.want, c.level)
		}
		for _, s := range j.States {
			if s.Verdict == no && len(s.Evidence) == 0 {
				t.Errorf("%s: %s fails without evidence", name, s.Name)
			}
			if s.Verdict != unknown && s.At.IsZero() {
				t.Errorf("%s: %s was measured at no time", name, s.Name)
			}
		}
	}
}

// TestEvidence checks that evidence names the rule, the place and the correction, and that its
// length is limited.
func TestEvidence(t *testing.T) {
	var findings []protocol.Finding
	for range 100 {
		findings = append(findings, broken("AI301"))
	}
	j := conformance.Judge(conformance.Input{
		Fetches: []fetch.Fetch{fetched(document.AI, fetch.OK, 200)}, Documents: []document.Document{valid(document.AI, 0, findings...)},
	})
	s := j.State(conformance.Conformant)
	if len(s.Evidence) != 20 {
		t.Fatalf("%d pieces of evidence", len(s.Evidence))
	}
	want := conformance.Evidence{Kind: "ai", URL: "https://s.example/ai", Code: "AI301", Line: 3, Column: 5, Pointer: "/service", Text: "it is wrong", Help: "put it right"}
	if s.Evidence[0] != want {
		t.Errorf("got %+v", s.Evidence[0])
	}
}
