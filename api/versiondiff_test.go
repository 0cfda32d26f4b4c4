package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/document"
	"gazetteer/document/diff"
)

// TestVersionDiff compares stored versions: the last two, and two that are named.
func TestVersionDiff(t *testing.T) {
	h := newTestServer(t, options{})
	const place = "/api/v1/services/notes.example/documents/ai"
	first := aiText("First")
	h.publish("notes.example", document.AI, "application/json", first, seen)
	if r := h.get(place+"/diff", 404); !strings.Contains(string(r.body), "no-document") {
		t.Errorf("one version: %s", r.body)
	}
	second := strings.Replace(first, `"First"`, `"Second"`, 1)
	h.publish("notes.example", document.AI, "application/json", second, seen.Add(time.Hour))
	h.publish("notes.example", document.AI, "application/json", second+" ", seen.Add(2*time.Hour))

	var got api.VersionDiff
	if err := json.Unmarshal(h.get(place+"/diff", 200).body, &got); err != nil {
		t.Fatal(err)
	}
	if got.Severity != "none" || len(got.Changes) != 0 || got.From.Digest != document.Digest([]byte(second)) || !got.To.Seen.Equal(seen.Add(2*time.Hour)) {
		t.Errorf("white space: %+v", got)
	}
	r := h.get(place+"/diff?from="+document.Digest([]byte(first))+"&to="+document.Digest([]byte(second)), 200)
	if err := json.Unmarshal(r.body, &got); err != nil {
		t.Fatal(err)
	}
	if got.Severity != "high" || len(got.Changes) != 1 || got.Changes[0].Kind != diff.ServiceIdentityChanged || *got.Changes[0].From != "First" || *got.Changes[0].To != "Second" {
		t.Errorf("another name: %s", r.body)
	}
	if r := h.get(place+"/diff?from="+document.Digest([]byte("never")), 404); !strings.Contains(string(r.body), "no-document") {
		t.Errorf("a version that never was: %s", r.body)
	}
	if r := h.get(place+"/diff?to=latest", 400); !strings.Contains(string(r.body), "bad-parameter") {
		t.Errorf("a digest that is none: %s", r.body)
	}
}
