package cli

import (
	"net/url"
	"testing"
)

// The error names the character of the query at which the mistake is.
func TestRefusalsHaveColumn(t *testing.T) {
	for body, want := range map[string]string{
		`{"detail": "a quotation mark is not closed", "help": "add it", "where": {"parameter": "q", "column": 6}}`: "a quotation mark is not closed (at character 6 of the query)\nadd it",
		`{"detail": "there is no verb", "where": {"parameter": "name", "column": 3}}`:                              "there is no verb (at character 3 of name)",
		`{"detail": "\"vrb\" is not a field", "help": "the fields are host, effect, state and verb"}`:              "\"vrb\" is not a field: did you mean verb?\nthe fields are host, effect, state and verb",
		`{"detail": "\"x\" is not an agent", "help": "write a handle of a-z, 0-9 and _, or a DID, such as a.b"}`:   "\"x\" is not an agent\nwrite a handle of a-z, 0-9 and _, or a DID, such as a.b",
		`{"detail": "limit: expected a whole number", "where": {"parameter": "limit"}}`:                            "limit: expected a whole number",
	} {
		if got := StatusError(400, []byte(body)).Error(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", body, got, want)
		}
	}
}

// A value that is not in a list is refused with the flag, the value and the similar ones.
func TestChoicesAreNamed(t *testing.T) {
	const text = `min_join: "prved" is not one of proved, mutual, claimed` + "\nhelp"
	for value, want := range map[string]string{
		"prved": "--min-join prved: did you mean proved? want one of proved, mutual, claimed",
		"liked": "--min-join liked: want one of proved, mutual, claimed",
	} {
		if got := nameChoices(text, url.Values{"min_join": {"proved", value}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
