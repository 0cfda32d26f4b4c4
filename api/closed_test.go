package api_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
)

// A host whose robots.txt changes to forbid everything stays known, and each document that could
// not be requested again has the reason beside it.
func TestClosedService(t *testing.T) {
	h := newTestServer(t, options{})
	d := h.publish("shut.example", document.AI, "application/json", aiText("Shut"), seen)
	later := seen.Add(27 * time.Hour)
	h.applyWrites(store.Put(store.HostKey("shut.example"), encodeJSON(t, crawler.Host{
		Name: "shut.example", Added: seen, Visited: later, Visits: 2, Due: later.Add(24 * time.Hour),
		Robots: &fetch.Robots{FetchedAt: later, Status: 200, Disallowed: fetch.EveryPath, Why: "Disallow: / (line 2)"},
		Fetches: map[string]fetch.Fetch{
			"robots": {Kind: "robots", URL: "https://shut.example/robots.txt", Outcome: fetch.OK, Status: 200, At: later},
			"ai":     {Kind: "ai", URL: d.URL, Outcome: fetch.RefusedByRobots, Detail: "Disallow: / (line 2)", At: later, Digest: d.Digest},
		},
	})))
	var s answer.Service
	if err := json.Unmarshal(h.get("/api/v1/services/shut.example", 200).body, &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Documents) != 1 || !s.Documents[0].FetchedAt.Equal(seen) {
		t.Errorf("documents %+v", s.Documents)
	}
	i := slices.IndexFunc(s.State.Fetches, func(f fetch.Fetch) bool { return f.Kind == "ai" })
	if i < 0 || s.State.Fetches[i].Outcome != fetch.RefusedByRobots || s.State.Fetches[i].Detail != "Disallow: / (line 2)" {
		t.Errorf("fetches %+v", s.State.Fetches)
	}
	if r := s.State.Robots; r == nil || !slices.Equal(r.Disallowed, []string{"*"}) || r.Why == "" || r.Open {
		t.Errorf("robots %+v", r)
	}
}
