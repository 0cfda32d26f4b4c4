package convert

import (
	"strings"
	"testing"
)

func TestConversionsAreFound(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Conversions {
		pair := c.From + " to " + c.To
		if seen[pair] || c.Summary == "" || strings.ContainsRune(c.Summary, '\n') {
			t.Errorf("the row %s stands twice or has no summary of one line", pair)
		}
		seen[pair] = true
		found, err := Find(c.From, c.To)
		if err != nil || found.Summary != c.Summary {
			t.Errorf("Find(%s): %v", pair, err)
		}
		if _, err := c.Do([]byte("\x00"), Options{}); err == nil {
			t.Errorf("%s accepts what is no text", pair)
		}
	}
	for pair, want := range map[[2]string]string{
		{"mcp", "openapi"}: `no conversion from "mcp" to "openapi"; convert to agis first, and the result to openapi`,
		{"agis", "ai"}:     `no conversion from "agis" to "ai"; convert to openapi first, and the result to ai`,
		{"agis", "pdf"}:    `no conversion from "agis" to "pdf"; agis can become openapi, mcp`,
		{"pdf", "agis"}:    `no conversion from "pdf" to "agis"; the formats to convert from are openapi, agis, mcp, notation, agis-map, ai`,
	} {
		if _, err := Find(pair[0], pair[1]); err == nil || err.Error() != want {
			t.Errorf("%s: %v", pair, err)
		}
	}
}
