package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
)

func TestService(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	r := h.get("/api/v1/services/Ristorante.EXAMPLE.", 200)
	var s answer.Service
	if err := json.Unmarshal(r.body, &s); err != nil {
		t.Fatal(err)
	}
	if s.Host != "ristorante.example" || s.Name != "Ristorante" || s.Namespace != "ristorante" || s.Operations != 3 || len(s.Documents) != 2 {
		t.Errorf("got %+v", s.ServiceSummary)
	}
	if !s.FetchedAt.Equal(seen) || s.State.Due.IsZero() || len(s.State.Fetches) == 0 {
		t.Errorf("state is %+v", s.State)
	}
	for _, d := range s.Documents {
		if len(d.Versions) != 1 || d.Versions[0].Digest != d.Digest {
			t.Errorf("%s has versions %+v", d.Kind, d.Versions)
		}
	}
}

// TestServiceSaysWhatIsStale checks that a service says of a document that the last visit did not bring it
// again, as a search does.
func TestServiceSaysWhatIsStale(t *testing.T) {
	h := newTestServer(t, options{})
	now := seen.Add(time.Hour)
	h.answers.Now = func() time.Time { return now }
	for host, outcome := range map[string]fetch.Outcome{"open.example": fetch.OK, "closed.example": fetch.RefusedByRobots} {
		_, writes := h.prepareDocument(host, document.AI, "application/json", aiText("A"), seen)
		var record crawler.Host
		if err := json.Unmarshal(writes[0].Value, &record); err != nil {
			t.Fatal(err)
		}
		f := record.Fetches["ai"]
		f.At, f.Outcome = now, outcome
		record.Fetches["ai"] = f
		writes[0] = store.Put(store.HostKey(host), encodeJSON(t, record))
		h.applyWrites(writes...)
		var s answer.Service
		if err := json.Unmarshal(h.get("/api/v1/services/"+host, 200).body, &s); err != nil || len(s.Documents) != 1 {
			t.Fatal(err, s.Documents)
		}
		stale := s.Documents[0].Freshness
		if (stale != nil) != (outcome != fetch.OK) || stale != nil && !strings.Contains(stale.Why, "ended with refused-by-robots") {
			t.Errorf("%s: %+v", host, stale)
		}
	}
}

// TestVersions checks that every text that a host ever published can be read, byte for byte, newest
// first.
func TestVersions(t *testing.T) {
	h := newTestServer(t, options{})
	texts := []string{aiText("First"), aiText("Second"), aiText("Third")}
	for i, text := range texts {
		h.publish("notes.example", document.AI, "application/json; charset=utf-8", text, seen.Add(time.Duration(i)*time.Hour))
	}
	var list api.VersionList
	if err := json.Unmarshal(h.get("/api/v1/services/notes.example/documents/ai/versions", 200).body, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Versions) != 3 {
		t.Fatalf("versions: %+v", list)
	}
	for i, v := range list.Versions {
		want := texts[len(texts)-1-i]
		r := h.get("/api/v1/services/notes.example/documents/ai/versions/"+v.Digest, 200)
		if string(r.body) != want || v.Size != len(want) {
			t.Errorf("version %d is %q, want %q", i, r.body, want)
		}
		if !strings.Contains(r.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("Cache-Control is %q", r.Header.Get("Cache-Control"))
		}
	}
	if r := h.get("/api/v1/services/notes.example/documents/ai", 200); string(r.body) != texts[2] {
		t.Errorf("the current document is %q", r.body)
	}
}

// TestRawDocumentsAreInert checks that browsers do not execute the documents that hosts publish.
func TestRawDocumentsAreInert(t *testing.T) {
	h := newTestServer(t, options{})
	yaml := "agis: \"1.0\"\nservice: Tables\n"
	for name, c := range map[string]struct {
		kind             document.Kind
		mediaType, text  string
		want, asDownload string
	}{
		"json":             {document.AI, "application/json; charset=utf-8", aiText("A"), "application/json", ""},
		"json of a sort":   {document.AI, "application/ld+json", aiText("B"), "application/json", ""},
		"html":             {document.AI, "text/html", aiText("<script>alert(1)</script>"), "application/octet-stream", "attachment"},
		"a type in pieces": {document.AI, "text/html; charset", aiText("C"), "application/octet-stream", "attachment"},
		"svg":              {document.AI, "image/svg+xml", aiText("D"), "application/octet-stream", "attachment"},
		"no type":          {document.AI, "", aiText("E"), "application/json", ""},
		"yaml":             {document.AGIS, "text/yaml", yaml, "application/yaml", ""},
		"yaml, no type":    {document.AGIS, "", yaml, "application/yaml", ""},
		"agis json":        {document.AGIS, "", agisText("n", "Books a table for the agent"), "application/json", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.forTest(t)
			host := "raw.example"
			h.publish(host, c.kind, c.mediaType, c.text, seen)
			r := h.get("/api/v1/services/"+host+"/documents/"+string(c.kind), 200, "Accept-Encoding", "gzip", "Accept", "text/html")
			for header, want := range map[string]string{
				"Content-Type": c.want, "Content-Disposition": c.asDownload, "X-Content-Type-Options": "nosniff",
				"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox", "Content-Encoding": "",
			} {
				if got := r.Header.Get(header); got != want {
					t.Errorf("%s is %q, want %q", header, got, want)
				}
			}
			if string(r.body) != c.text || !strings.HasPrefix(r.Header.Get("Repr-Digest"), "sha-256=:") {
				t.Errorf("Repr-Digest %q, body %q", r.Header.Get("Repr-Digest"), r.body)
			}
		})
	}
}

func TestSearch(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	var p api.SearchPage
	read := func(path string) {
		t.Helper()
		p = api.SearchPage{}
		if err := json.Unmarshal(h.get(path, 200).body, &p); err != nil {
			t.Fatal(err)
		}
	}
	read("/api/v1/search?q=book+restaurant+verb:BOOK&host=RISTORANTE.example&fields=all")
	if p.Total != 2 || p.Hits[0].Host != "ristorante.example" || p.Query.Words == "" || len(p.Query.Filters["verb"]) != 1 || p.Hits[0].Why.Coverage == 0 {
		t.Errorf("got %+v", p)
	}
	read("/api/v1/search?verb=list&verb=book&host=s1.shops.example&host=s2.shops.example&fields=all")
	if p.Total != 4 {
		t.Errorf("two verbs of two hosts: %d operations, want 4", p.Total)
	}
	read("/api/v1/search?q=xylophone")
	if p.Total != 0 || p.Hits == nil || p.Next != "" {
		t.Errorf("nothing found: %+v", p)
	}
	h.publish("alias.example", document.AIAlias, "application/json", aiText("Only an alias"), seen)
	read("/api/v1/search?q=host:alias.example")
	if p.Total != 0 {
		t.Error("an alias was found without asking for it")
	}
	read("/api/v1/search?q=host:alias.example&aliases=true")
	if p.Total != 2 {
		t.Errorf("an alias asked for: %d operations, want 2", p.Total)
	}
}

func TestVerbs(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	var list api.VerbList
	if err := json.Unmarshal(h.get("/api/v1/verbs", 200).body, &list); err != nil {
		t.Fatal(err)
	}
	for _, c := range list.Verbs {
		var v api.VerbPage
		if err := json.Unmarshal(h.get("/api/v1/verbs/"+strings.ToLower(c.Verb), 200).body, &v); err != nil {
			t.Fatal(err)
		}
		if v.VerbCount != c || v.Total != c.Operations || len(v.Hits) != c.Operations {
			t.Errorf("%+v, %d hits of %d", v.VerbCount, len(v.Hits), v.Total)
		}
	}
	if len(list.Verbs) != 2 {
		t.Errorf("verbs are %+v", list.Verbs)
	}
}

func TestResolve(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	read := func(name string, status int) (r answer.Resolution) {
		t.Helper()
		if err := json.Unmarshal(h.get("/api/v1/resolve?name="+name, status).body, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := read("ristorante.book", 200); r.Kind != "verb" || r.Ambiguous || len(r.Candidates) != 1 || r.Candidates[0].Digest == "" {
		t.Errorf("got %+v", r)
	}
	h.publish("copy.example", document.AGIS, "application/json", agisText("ristorante", "Books a table elsewhere for the agent"), seen)
	if r := read("ristorante.BOOK", 300); !r.Ambiguous || len(r.Candidates) != 2 {
		t.Errorf("two bear the name: %+v", r)
	}

	agent := registerAgent(t, h)
	inbox := "https://relay.example/inbox/alice"
	put := h.request("PUT", "/api/v1/agents/"+agent.AirID, `{"username": "Alice_1", "service_endpoints": [{"type": "A2AInbox", "serviceEndpoint": "`+inbox+`"}]}`,
		"Content-Type", jsonType, "X-Agent-Secret", agent.Secret)
	if put.StatusCode != 200 {
		t.Fatalf("%s %s", put.Status, put.body)
	}
	for _, name := range []string{agent.AirID, "@alice_1", "ALICE_1", "did:wba:registry.example:agents:" + agent.AirID} {
		if r := read(name, 200); r.Kind != "agent" || r.AirID != agent.AirID || r.Inbox != inbox || r.Document == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
