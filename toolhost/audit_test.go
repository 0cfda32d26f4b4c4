package toolhost

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"
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

// TestAuditDelay checks that an entry is in the file within 250 ms, without another that follows.
func TestAuditDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trail, err := openAudit(t.TempDir(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- trail.writeEntries(ctx) }()
		for _, pause := range []time.Duration{0, 70 * time.Millisecond, 199 * time.Millisecond} {
			time.Sleep(pause) // the clock of the test
			name := pause.String()
			trail.addEntry(AuditEntry{Event: "end", Tool: name})
			time.Sleep(250 * time.Millisecond)
			text, err := os.ReadFile(trail.path)
			if err != nil || !strings.Contains(string(text), name) {
				t.Errorf("after 250 ms the file holds %q, %v; want the entry %s", text, err, name)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := trail.closeFile(); err != nil {
			t.Error(err)
		}
	})
}
