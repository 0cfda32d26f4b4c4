package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestCachedResponsesAreCurrent checks that a client whose write was confirmed reads that write,
// while others request the same answer in all its forms.
func TestCachedResponsesAreCurrent(t *testing.T) {
	h := newTestServer(t, options{})
	a := registerAgent(t, h)
	path := "/api/v1/agents/" + a.AirID
	done := make(chan struct{})
	var readers sync.WaitGroup
	for _, zip := range []string{"", "gzip"} {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if r := h.request("GET", path, "", "Accept-Encoding", zip); r.StatusCode != 200 {
						t.Errorf("%s", r.Status)
						return
					}
				}
			}
		})
	}
	tags := map[string]bool{}
	for i := range 60 {
		text := fmt.Sprintf("version %d %s", i, strings.Repeat("long enough to be compressed ", 60))
		if r := h.request("PUT", path, `{"description": "`+strings.TrimSpace(text)+`"}`, "Content-Type", jsonType, "X-Agent-Secret", a.Secret); r.StatusCode != 200 {
			t.Fatalf("%s %s", r.Status, r.body)
		}
		for range 2 { // the second is kept
			plain := h.get(path, 200)
			if !strings.Contains(string(plain.body), fmt.Sprintf("version %d ", i)) {
				t.Fatalf("after write %d: %.120s", i, plain.body)
			}
			zipped := h.get(path, 200, "Accept-Encoding", "gzip")
			if zipped.Header.Get("Content-Encoding") != "gzip" || unzip(t, zipped.body) != string(plain.body) {
				t.Fatalf("after write %d: the compressed form is another", i)
			}
			if h.get(path, 304, "If-None-Match", plain.Header.Get("ETag")); zipped.Header.Get("ETag") == plain.Header.Get("ETag") {
				t.Fatal("two forms have one tag")
			}
			tags[plain.Header.Get("ETag")] = true
		}
	}
	close(done)
	readers.Wait()
	if len(tags) != 60 {
		t.Errorf("%d tags of 60 answers", len(tags))
	}
	// A log line is written for a kept answer, too, with its route.
	line := h.log.lines(t, "request")
	if last := line[len(line)-1]; last["route"] != "/api/v1/agents/:air_id" {
		t.Errorf("%v", last)
	}
}

// TestDeletedAgentIsNotCached checks that the next request sees a change of an agent in every form
// of the answer, and that erased data is no longer in memory.
func TestDeletedAgentIsNotCached(t *testing.T) {
	for name, c := range map[string]struct {
		end      func(h *testServer, a owner)
		record   int // status of the record then
		document int // of the DID document
	}{
		"suspended": {func(h *testServer, a owner) {
			h.requestOperator("POST", "/admin/agents/"+a.AirID+"/suspend", `{"reason": "x"}`, 200)
		}, 200, 403},
		"deactivated": {func(h *testServer, a owner) { a.send("POST", "/deactivate", "") }, 200, 410},
		"deleted":     {func(h *testServer, a owner) { h.requestOperator("DELETE", "/api/v1/agents/"+a.AirID, "", 200) }, 200, 410},
		"erased":      {func(h *testServer, a owner) { a.send("POST", "/erase", "") }, 410, 410},
		"merged": {func(h *testServer, a owner) {
			b := registerProved(t, h, 2, "")
			h.requestOperator("POST", "/admin/agents/"+a.AirID+"/merge", `{"into": "`+b.AirID+`", "reason": "x"}`, 200)
		}, 200, 410},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestServer(t, options{})
			a := registerProved(t, h, 1, `, "description": "a word that is not to be kept"`)
			forms := []string{"", "gzip"}
			ask := func(below, zip string) bufferedResponse {
				return h.request("GET", a.path+below, "", "Accept-Encoding", zip)
			}
			for _, zip := range append(forms, forms...) {
				for _, below := range []string{"", "/did-document"} {
					if r := ask(below, zip); r.StatusCode != 200 {
						t.Fatal(r.Status)
					}
				}
			}
			if n, _ := h.api.CachedResponses(); n != 2 { // too short to be compressed: one form each
				t.Errorf("%d answers are kept, want 2", n)
			}
			c.end(h, a)
			for _, zip := range forms {
				r := ask("", zip)
				if r.StatusCode != c.record || strings.Contains(string(r.body), `"status":"active"`) {
					t.Errorf("the record is answered with %s %s", r.Status, r.body)
				}
				if r := ask("/did-document", zip); r.StatusCode != c.document {
					t.Errorf("the DID document is answered with %s", r.Status)
				}
				if r := h.request("GET", "/agents/"+a.AirID+"/did.json", "", "Accept-Encoding", zip); r.StatusCode != c.document {
					t.Errorf("did.json is answered with %s", r.Status)
				}
			}
			if n, _ := h.api.CachedResponses(); name == "erased" && n != 0 {
				t.Errorf("%d answers about an erased agent are in memory", n)
			}
		})
	}
}

// TestOnlyCacheableResponsesAreCached checks that the cache stores no answer to the operator, to a
// query or with a refusal, and only a bounded number of headers.
func TestOnlyCacheableResponsesAreCached(t *testing.T) {
	h := newTestServer(t, options{})
	a := registerAgent(t, h)
	path := "/api/v1/agents/" + a.AirID
	h.requestOperator("GET", "/admin/registry", "", 200)
	h.requestOperator("GET", "/admin/registry/reports", "", 200)
	h.requestOperator("GET", "/admin/agents/"+a.AirID+"/export?secret=true", "", 200)
	h.get(path+"?require=domain", 412)
	h.get("/api/v1/agents/AIR-0000-0000-0000", 404)
	h.get(path+"/history", 200)
	if n, _ := h.api.CachedResponses(); n != 0 {
		t.Errorf("%d answers are kept", n)
	}
	// A kept answer is no answer to another question.
	first := h.get(path, 200)
	h.get(path+"?require=domain", 412)
	h.get(path+"?nope=1", 400)
	if r := h.request("POST", path, "{}", "Content-Type", jsonType); r.StatusCode != 405 {
		t.Errorf("POST: %s", r.Status)
	}
	if r := h.request("OPTIONS", path, ""); r.StatusCode != 204 {
		t.Errorf("OPTIONS: %s", r.Status)
	}
	head := h.request("HEAD", path, "")
	if head.StatusCode != 200 || len(head.body) > 0 || head.Header.Get("Content-Length") != fmt.Sprint(len(first.body)) {
		t.Errorf("HEAD: %s, %v", head.Status, head.Header)
	}
	sameHeaders(t, head.Header, first.Header)
	// A client that requests a range gets the whole body.
	if r := h.get(path, 200, "Range", "bytes=0-9"); string(r.body) != string(first.body) {
		t.Errorf("Range: %s", r.body)
	}
	for range 200 {
		h.get("/api/v1/agents/"+registerAgent(t, h).AirID, 200)
	}
	if n, headers := h.api.CachedResponses(); n != 201 || headers > 3 {
		t.Errorf("%d answers are kept with %d sets of headers", n, headers)
	}
}
