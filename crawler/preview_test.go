package crawler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
)

// TestPreviewOfAbsentDocument checks what a preview says of a document that was not found: the owner
// has it requested again.
func TestPreviewOfAbsentDocument(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	kind := string(document.AI)
	h := crawler.Host{
		Name:      "a.test",
		Fetches:   map[string]fetch.Fetch{kind: {Kind: kind, Outcome: fetch.Absent, At: now}},
		NotBefore: map[string]time.Time{kind: now.Add(48 * time.Hour)},
	}
	for by, want := range map[crawler.Requester]string{crawler.Anybody: "after 24 hours", crawler.ProvedOwner: "although nothing was found there"} {
		steps := h.PreviewRecrawl(now, by).Steps
		i := slices.IndexFunc(steps, func(s crawler.PreviewStep) bool { return s.Kind == kind })
		if i < 0 || !strings.Contains(steps[i].Why, want) || steps[i].Asked != (by == crawler.ProvedOwner) {
			t.Errorf("%v: %+v, want %q", by, steps, want)
		}
	}
}
