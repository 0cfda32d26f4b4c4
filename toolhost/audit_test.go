package toolhost

import (
	"encoding/json"
	"testing"
	"time"
)

// A line of the audit trail is what encoding/json writes, on one line.
func TestAuditLine(t *testing.T) {
	for _, entry := range []AuditEntry{
		{Time: time.Date(2026, 11, 23, 1, 2, 3, 40, time.UTC), Event: "end", Client: "me", Session: "s", Invocation: "i", Tool: "t"},
		{Event: "begin", Client: "a\"\n", Principal: "ü\x01", Tenant: "t", Session: "s", Invocation: "i", Tool: "t", Runtime: "rt", Outcome: "success", TookMS: 7, Parameters: json.RawMessage("{\n\"a\": 1\n}")},
	} {
		line, err := entry.appendLine(nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		if string(line) != string(want)+"\n" {
			t.Errorf("%s, want %s", line, want)
		}
	}
	if line, err := (&AuditEntry{Client: "\xff"}).appendLine(nil); err == nil {
		t.Errorf("a text that is no UTF-8 gives %q", line)
	}
}
