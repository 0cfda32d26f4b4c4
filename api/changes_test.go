package api_test

import (
	"net/http"
	"strings"
	"testing"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/document"
)

// TestChangesFollowTheStore: a follower sees what was published, changed and removed after its place,
// once and in order, and a registration.
func TestChangesFollowTheStore(t *testing.T) {
	h := newTestServer(t, options{})
	follow := func(since string) (list api.ChangeList) {
		t.Helper()
		decodeInto(t, h.get("/api/v1/changes?limit=100&since="+since, 200), &list)
		return list
	}
	first := follow("")
	if len(first.Changes) != 0 || first.More {
		t.Fatalf("an empty store has the changes %+v", first)
	}
	d := h.publish("one.example", document.AI, "application/json", aiText("One"), seen)
	agent := registerAgent(t, h)
	second := follow(first.Next)
	if len(second.Changes) != 2 {
		t.Fatalf("changes %+v", second.Changes)
	}
	if c := second.Changes[0]; c.Kind != answer.DocumentPublished || c.Host != "one.example" || c.Document != "ai" || c.Digest != d.Digest || c.At.IsZero() {
		t.Errorf("the document is %+v", c)
	}
	if c := second.Changes[1]; c.Kind != answer.AgentChanged || c.AirID != agent.AirID || c.Event != "registered" || c.At.IsZero() {
		t.Errorf("the agent is %+v", c)
	}
	if again := follow(second.Next); len(again.Changes) != 0 || again.Next != second.Next {
		t.Errorf("nothing happened, and the feed says %+v", again)
	}
	if all := follow(""); len(all.Changes) != 2 {
		t.Errorf("without a place the feed has %+v", all.Changes)
	}
	page := h.get("/api/v1/changes?limit=1", 200)
	if link := page.Header.Get("Link"); !strings.Contains(link, `rel="next"`) {
		t.Errorf("the first of two pages has the Link %q", link)
	}
	h.get("/api/v1/changes?since=7.1", http.StatusGone)
	h.get("/api/v1/changes?since=x.y", http.StatusBadRequest)
	h.get("/api/v1/changes?since=1.99999999", http.StatusGone)
}
