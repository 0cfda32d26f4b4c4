package cli

import "testing"

// The error names the character of the query at which the mistake is.
func TestRefusalsHaveColumn(t *testing.T) {
	for body, want := range map[string]string{
		`{"detail": "a quotation mark is not closed", "help": "add it", "where": {"parameter": "q", "column": 6}}`: "a quotation mark is not closed (at character 6 of the query)\nadd it",
		`{"detail": "there is no verb", "where": {"parameter": "name", "column": 3}}`:                              "there is no verb (at character 3 of name)",
		`{"detail": "limit: expected a whole number", "where": {"parameter": "limit"}}`:                            "limit: expected a whole number",
	} {
		if got := StatusError(400, []byte(body)).Error(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", body, got, want)
		}
	}
}
