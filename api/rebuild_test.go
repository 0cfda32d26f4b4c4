package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/store"
)

// What clients ask in the tests of an index that is rebuilt; each finds something
// when the index is whole.
var ofTheIndex = []string{
	"/api/v1/search?q=book+a+table",
	"/api/v1/search?verb=BOOK&limit=3",
	"/api/v1/search?q=book+a+table&within_tokens=2000",
	"/api/v1/orchestrate?q=book+a+table",
	"/api/v1/suggest?q=bo",
	"/api/v1/services/ristorante.example/similar",
	"/api/v1/verbs",
	"/api/v1/verbs/BOOK",
	"/api/v1/namespaces",
	"/api/v1/namespaces/ristorante",
	"/api/v1/data-classes",
	"/api/v1/data-classes/reservation",
	"/api/v1/resolve?name=ristorante.BOOK",
}

// said is an answer of any of these routes.
type said map[string]json.RawMessage

// lists are the members that hold what was found: each route has one of them.
var lists = []string{"hits", "operations", "suggestions", "services", "verbs", "namespaces", "classes", "claims", "holders", "candidates"}

func (s said) empty() bool {
	for _, name := range lists {
		var found []json.RawMessage
		if json.Unmarshal(s[name], &found) == nil && len(found) > 0 {
			return false
		}
	}
	return true
}

// judgeRebuilding fails for an answer that says that there is nothing and does
// not say that the index is behind.
func judgeRebuilding(t *testing.T, path string, r reply) (found bool) {
	t.Helper()
	switch r.StatusCode {
	case 200, 300:
		var s said
		if err := json.Unmarshal(r.body, &s); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		behind := s["behind"] != nil
		if s.empty() && !behind {
			t.Errorf("%s: nothing was found, and the answer passes for complete: %.300s", path, r.body)
		}
		return !s.empty() && !behind
	case 503:
		if r.Header.Get("Retry-After") == "" {
			t.Errorf("%s: 503 without Retry-After", path)
		}
	default:
		t.Errorf("%s: %s %.300s", path, r.Status, r.body)
	}
	return false
}

// TestRebuildWhileCrawlingAndServing builds the index from the beginning of a log
// that goes on growing, while clients ask: none of them is told that there is
// nothing as if that were the whole truth.
func TestRebuildWhileCrawlingAndServing(t *testing.T) {
	h := newHouse(t, options{unread: true})
	ctx := t.Context()
	visit := func(hosts ...string) {
		var all []store.Write
		for _, host := range hosts {
			_, writes := h.published(host, document.AI, "application/json", aiText("Service "+host), seen)
			all = append(all, writes...)
		}
		if _, err := h.store.Apply(ctx, all...); err != nil {
			t.Error(err)
		}
	}
	// What is asked for lies at the end of the log.
	for n := range 40 {
		var hosts []string
		for m := range 10 {
			hosts = append(hosts, fmt.Sprintf("h%d-%d.shops.example", n, m))
		}
		visit(hosts...)
	}
	_, writes := h.published("ristorante.example", document.AGIS, "application/json", agisText("ristorante", "Books a restaurant table for the requesting agent"), seen)
	last, err := h.store.Apply(ctx, writes...)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range ofTheIndex { // nothing is indexed yet
		if judgeRebuilding(t, path, h.ask("GET", path, "")) {
			t.Errorf("%s finds something in an empty index", path)
		}
	}

	crawling, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; crawling.Err() == nil; n++ {
			visit(fmt.Sprintf("h%d-%d.shops.example", n%40, n%10))
		}
	})
	for client := range 4 {
		all.Go(func() {
			h := h.in(t)
			for n := client; crawling.Err() == nil; n++ {
				path := ofTheIndex[n%len(ofTheIndex)]
				judgeRebuilding(t, path, h.ask("GET", path, ""))
			}
		})
	}
	h.follow()
	whole, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := h.index.WaitFor(whole, last); err != nil {
		t.Error(err)
	}
	stop()
	all.Wait()
	if err := h.index.WaitFor(whole, h.store.Head().Seq); err != nil {
		t.Fatal(err)
	}
	for _, path := range ofTheIndex {
		if !judgeRebuilding(t, path, h.ask("GET", path, "")) {
			t.Errorf("%s: nothing complete is found when the index is whole", path)
		}
	}
}
