package agis_test

import (
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// meant is a conforming document with one endpoint.
const meant = `agis: "1.0"
service: S
agtp: agtp://s.example.com
description: d
version: "1"
endpoints:
  - method: METHOD
    path: /thing
    semantic: {intent: INTENT, actor: agent, outcome: A thing is done, EXTRA}
    input: {type: object}
    output: {type: object, properties: {id: {type: string}}}
    errors: [{name: thing_missing, description: There is none}]
vocabulary: {declared_verbs: [METHOD], domain: things}
`

func findingsOf(t *testing.T, method, intent, extra string) []protocol.Finding {
	t.Helper()
	text := strings.NewReplacer("METHOD", method, "INTENT", `"`+intent+`"`, "EXTRA", extra).Replace(meant)
	_, findings, err := agis.Parse([]byte(text), agis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

func find(findings []protocol.Finding, code string) (protocol.Finding, bool) {
	for _, f := range findings {
		if f.Code == code {
			return f, true
		}
	}
	return protocol.Finding{}, false
}

// TestMeaning checks that pass 6 (§6.3) reports at most one code for each endpoint, by the verdict
// of Compare.
func TestMeaning(t *testing.T) {
	for _, c := range []struct{ method, intent, want string }{
		{"BOOK", "Books a thing for the agent", ""},
		{"BOOK", "Reserves a thing for the agent", ""},
		{"BOOK", "Returns a list of things", "AGIS601"},
		{"CANCEL", "Retrieves cancellation policy", "AGIS601"},
		{"APPROVE", "Rejects a thing", "AGIS601"},
		{"FIND", "Finds a thing and books it for the agent", "AGIS602"},
		{"CREATE", "Returns the created thing", "AGIS602"},
		{"BOOK", "Réserve une table pour le client", "AGIS603"},
		{"BOOK", "The thing", "AGIS603"},
		{"YOYAKU", "Reserves a thing", "AGIS603"},
		{"BOOKED", "Returns a list of things", ""}, // AGIS206 first
		{"GET", "Creates a thing", ""},             // AGIS301 first
		{"BOOK", "", ""},                           // AGIS502 says it
	} {
		findings := findingsOf(t, c.method, c.intent, "is_idempotent: true")
		got := ""
		for _, f := range findings {
			if strings.HasPrefix(f.Code, "AGIS60") {
				got += f.Code
				if f.Pointer != "/endpoints/0/semantic/intent" || f.Line == 0 || f.Help == "" {
					t.Errorf("%s %q: place or help is missing: %+v", c.method, c.intent, f)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s %q: %q, want %q", c.method, c.intent, got, c.want)
		}
	}
}

func TestIntentStatesObjectAndMethod(t *testing.T) {
	f, ok := find(findingsOf(t, "BOOK", "Returns a list of things", "is_idempotent: true"), "AGIS601")
	if !ok {
		t.Fatal("no AGIS601")
	}
	if want := `the intent says the endpoint reads something ("Returns"), the method BOOK commits to something`; f.Message != want {
		t.Errorf("message %q, want %q", f.Message, want)
	}
	if want := `if the intent is right, make the method a verb such as FIND or RETRIEVE; if the method is right, say in the intent what BOOK does for the caller`; f.Help != want {
		t.Errorf("help %q, want %q", f.Help, want)
	}
}

// TestImpactFits checks that AGIS521 is reported only if every reading of the verb excludes the
// declared impact.
func TestImpactFits(t *testing.T) {
	for _, c := range []struct {
		method, extra, pointer string
	}{
		{"BOOK", "impact_tier: informational", "impact_tier"},
		{"BOOK", "impact_tier: Informational", "impact_tier"},
		{"BOOK", "impact_tier: reversible", ""},
		{"CANCEL", "impact_tier: informational", "impact_tier"},
		{"FIND", "impact_tier: informational", ""},
		{"FIND", "impact_tier: reversible", "impact_tier"},
		{"FIND", "impact_tier: irreversible", "impact_tier"},
		{"FIND", "impact_tier: permanent", ""}, // AGIS510
		{"REVIEW", "impact_tier: reversible", ""},
		{"REVIEW", "impact_tier: informational", ""},
		{"NOTIFY", "impact_tier: informational", ""}, // may be seen either way
		{"YOYAKU", "impact_tier: informational", ""},
		{"BOOK", "capability: retrieval", "capability"},
		{"BOOK", "capability: transaction", ""},
		{"BOOK", "capability: notification", ""},
		{"FIND", "capability: modification", "capability"},
		{"FIND", "capability: discovery", ""},
		{"CALCULATE", "capability: transaction", "capability"},
	} {
		f, ok := find(findingsOf(t, c.method, "Does a thing", c.extra), "AGIS521")
		if ok != (c.pointer != "") || ok && f.Pointer != "/endpoints/0/semantic/"+c.pointer {
			t.Errorf("%s with %s: %+v, want a hint at %q", c.method, c.extra, f, c.pointer)
		}
		if ok && (f.Severity != protocol.Info || f.Help == "") {
			t.Errorf("%s with %s: %+v", c.method, c.extra, f)
		}
	}
}
