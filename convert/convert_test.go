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
	if _, err := Find("mcp", "openapi"); err == nil || !strings.Contains(err.Error(), "openapi to agis") {
		t.Errorf("error %v does not list what there is", err)
	}
}
