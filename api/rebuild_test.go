package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/blevesearch/bleve/v2"

	"gazetteer/document"
	"gazetteer/index"
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

// jsonAnswer is an answer of any of these routes.
type jsonAnswer map[string]json.RawMessage

// lists has the names of the members that hold results: each route has one of them.
var lists = []string{"hits", "operations", "suggestions", "services", "verbs", "namespaces", "classes", "claims", "holders", "candidates"}

func (s jsonAnswer) empty() bool {
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
func judgeRebuilding(t *testing.T, path string, r bufferedResponse) (found bool) {
	t.Helper()
	switch r.StatusCode {
	case 200, 300:
		var s jsonAnswer
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

// TestRebuildWhileCrawlingAndServing builds the index from the beginning of a growing log while
// clients search. No client gets an empty result that does not say that the index is incomplete.
func TestRebuildWhileCrawlingAndServing(t *testing.T) {
	h := newTestServer(t, options{unread: true})
	ctx := t.Context()
	visit := func(hosts ...string) {
		var all []store.Write
		for _, host := range hosts {
			_, writes := h.prepareDocument(host, document.AI, "application/json", aiText("Service "+host), seen)
			all = append(all, writes...)
		}
		if _, err := h.store.Apply(ctx, all...); err != nil {
			t.Error(err)
		}
	}
	// The requested data is at the end of the log.
	const batches = 16
	for n := range batches {
		var hosts []string
		for m := range 10 {
			hosts = append(hosts, fmt.Sprintf("h%d-%d.shops.example", n, m))
		}
		visit(hosts...)
	}
	_, writes := h.prepareDocument("ristorante.example", document.AGIS, "application/json", agisText("ristorante", "Books a restaurant table for the requesting agent"), seen)
	last, err := h.store.Apply(ctx, writes...)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range ofTheIndex { // nothing is indexed yet
		if judgeRebuilding(t, path, h.request("GET", path, "")) {
			t.Errorf("%s finds something in an empty index", path)
		}
	}

	crawling, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; crawling.Err() == nil; n++ {
			visit(fmt.Sprintf("h%d-%d.shops.example", n%batches, n%10))
		}
	})
	for client := range 4 {
		all.Go(func() {
			h := h.forTest(t)
			for n := client; crawling.Err() == nil; n++ {
				path := ofTheIndex[n%len(ofTheIndex)]
				judgeRebuilding(t, path, h.request("GET", path, ""))
			}
		})
	}
	h.followStore()
	whole, cancel := context.WithTimeout(ctx, patience)
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
		if !judgeRebuilding(t, path, h.request("GET", path, "")) {
			t.Errorf("%s: nothing complete is found when the index is whole", path)
		}
	}
}

// indexIn gives the server the index in a directory, which does not follow yet.
func (h *testServer) indexIn(t *testing.T, dir string) (x *index.Index, follow func()) {
	t.Helper()
	x, err := index.Open(t.Context(), index.Options{Dir: dir, Store: h.store})
	if err != nil {
		t.Fatal(err)
	}
	h.answers.Index = x
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	begun := make(chan struct{})
	go func() {
		select {
		case <-begun:
			ended <- x.Run(ctx)
		case <-ctx.Done():
			ended <- nil
		}
	}()
	return x, func() {
		t.Helper()
		close(begun)
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := x.WaitFor(limited, h.store.Head().Seq); err != nil {
			t.Fatal(err)
		}
	}
}

// indexAnswers are what the routes of the index say, but for what differs each time.
func (h *testServer) indexAnswers(t *testing.T) string {
	t.Helper()
	once := regexp.MustCompile(`"(next|nextCursor)":"[^"]*"`)
	var all strings.Builder
	for _, path := range ofTheIndex {
		r := h.forTest(t).request("GET", path, "")
		fmt.Fprintf(&all, "%s %d %s\n", path, r.StatusCode, once.ReplaceAll(r.body, nil))
	}
	return all.String()
}

// TestDamagedIndexOverHTTP damages the index directory in twelve ways while the program is not
// running. Each time the server is not ready until it has rebuilt the index, and then gives the
// same answers as before.
func TestDamagedIndexOverHTTP(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	whole := filepath.Join(t.TempDir(), "whole")
	t.Run("build", func(t *testing.T) {
		_, follow := h.indexIn(t, whole)
		follow()
	})
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	root := func(dir string) string { return filepath.Join(dir, "store", "root.bolt") }
	segments := func(t *testing.T, dir string, damage func(path string) error) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "store", "*.zap"))
		must(t, err)
		if len(files) == 0 {
			t.Fatal("there are no segments")
		}
		for _, path := range files {
			must(t, damage(path))
		}
	}
	halve := func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}
	var want string
	t.Run("sound", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "index")
		must(t, os.CopyFS(dir, os.DirFS(whole)))
		h.indexIn(t, dir)
		h.forTest(t).get("/readyz", 200)
		want = h.indexAnswers(t)
	})
	for name, damage := range map[string]func(t *testing.T, dir string){
		"directory missing": func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) },
		"directory empty":   func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)); must(t, os.Mkdir(dir, 0o700)) },
		"a file in its place": func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir))
			must(t, os.WriteFile(dir, []byte("x"), 0o600))
		},
		"meta file missing": func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "index_meta.json"))) },
		"root file missing": func(t *testing.T, dir string) { must(t, os.Remove(root(dir))) },
		"root file empty":   func(t *testing.T, dir string) { must(t, os.Truncate(root(dir), 0)) },
		"root file halved":  func(t *testing.T, dir string) { must(t, halve(root(dir))) },
		"segment missing":   func(t *testing.T, dir string) { segments(t, dir, os.Remove) },
		"segment empty": func(t *testing.T, dir string) {
			segments(t, dir, func(path string) error { return os.Truncate(path, 0) })
		},
		"segment halved": func(t *testing.T, dir string) { segments(t, dir, halve) },
		"segment garbage": func(t *testing.T, dir string) {
			segments(t, dir, func(path string) error {
				info, err := os.Stat(path)
				must(t, err)
				return os.WriteFile(path, []byte(strings.Repeat("\xa5\x17", int(info.Size())/2)), 0o600)
			})
		},
		"of another version": func(t *testing.T, dir string) {
			x, err := bleve.Open(dir)
			must(t, err)
			state, err := x.GetInternal([]byte("gazetteer/state"))
			must(t, err)
			_, text, _ := strings.Cut(string(state), " ") // a checksum stands before it
			text = regexp.MustCompile(`"version":"[^"]*"`).ReplaceAllString(text, `"version":"0123456789abcdef"`)
			sum := crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
			must(t, x.SetInternal([]byte("gazetteer/state"), fmt.Appendf(nil, "%08x %s", sum, text)))
			must(t, x.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "index")
			must(t, os.CopyFS(dir, os.DirFS(whole)))
			damage(t, dir)
			_, follow := h.indexIn(t, dir)
			if r := h.forTest(t).get("/readyz", 503); r.Header.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
			for _, path := range ofTheIndex {
				if judgeRebuilding(t, path, h.forTest(t).request("GET", path, "")) {
					t.Errorf("%s finds something in an empty index", path)
				}
			}
			follow()
			h.forTest(t).get("/readyz", 200)
			if got := h.indexAnswers(t); got != want {
				t.Errorf("other answers than before\ngot  %s\nwant %s", got, want)
			}
		})
	}
}
