package protocol_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gazetteer/protocol"
)

const wellFormed = `# A comment.

AI301 name-missing error must AI Discovery §3.2
The service needs a name
that people can read.
bad: |
  {"description": "Notes"}

    "indented": true
good: |-
  {"name": "Acme"}

AI302 name-type warning own Draft
Text.
bad: |-
  1
good: |
  "Acme"
`

func TestParseRules(t *testing.T) {
	rules := protocol.ParseRules(wellFormed)
	want := []protocol.Rule{
		{Code: "AI301", Slug: "name-missing", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must",
			Text: "The service needs a name that people can read.", Bad: "{\"description\": \"Notes\"}\n\n  \"indented\": true\n", Good: `{"name": "Acme"}`},
		{Code: "AI302", Slug: "name-type", Severity: protocol.Warning, Section: "Draft", Basis: "own", Text: "Text.", Bad: "1", Good: "\"Acme\"\n"},
	}
	if !slices.Equal(rules, want) {
		t.Errorf("rules:\n%+v\nwant:\n%+v", rules, want)
	}
	for name, c := range map[string]struct{ from, to, want string }{
		"a duplicate":          {"AI302", "AI301", `rule "AI301 name-type warning own Draft": the code occurs twice`},
		"another severity":     {"warning", "grave", `severity "grave"`},
		"no section":           {" own Draft", " own", "want a line of code"},
		"no text":              {"Text.\n", "", "want a line of code"},
		"no example":           {"good: |\n", "", "want a line of code"},
		"an unindented line":   {"  1\n", "1\n", `the line "1"`},
		"another block scalar": {"good: |\n", "good: |+\n", "want | or |-"},
	} {
		text := strings.Replace(wellFormed, c.from, c.to, 1)
		if text == wellFormed {
			t.Fatalf("%s: the text is unchanged", name)
		}
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("%s: panic %s, want %s", name, got, c.want)
				}
			}()
			protocol.ParseRules(text)
		}()
	}
}
