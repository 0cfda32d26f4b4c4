package admission

import (
	"encoding/json"
	"testing"
)

// TestBanReadsEarlyEntries checks that entries stored when the member was called "sort" keep their
// kind.
func TestBanReadsEarlyEntries(t *testing.T) {
	for _, text := range []string{`{"sort": "handle", "value": "evil_bot"}`, `{"kind": "handle", "value": "evil_bot"}`} {
		var b Ban
		if err := json.Unmarshal([]byte(text), &b); err != nil || b.Kind != BanHandle || b.Value != "evil_bot" {
			t.Errorf("%s is read as %+v, %v", text, b, err)
		}
	}
}
