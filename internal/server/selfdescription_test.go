package server

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index/query"
	"gazetteer/internal/config"
	"gazetteer/internal/fakenet"
	"gazetteer/lint"
	"gazetteer/store"
)

// openSelf opens a server with the public address https://gazetteer.test, in a small internet where
// that name resolves to the server itself. It runs the server until the test ends.
func openSelf(t *testing.T) *Server {
	gin.SetMode(gin.ReleaseMode)
	t.Helper()
	n, err := fakenet.Open(fakenet.Options{Empty: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	c := config.Default()
	c.DataDir, c.PublicURL, c.Listen = t.TempDir(), "https://gazetteer.test", ""
	h, err := Open(t.Context(), c, Environment{Dial: n.Dial, Roots: n.Roots(), DNS: n}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	n.Handle("gazetteer.test", h.api.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	ended, ready := make(chan error, 1), make(chan struct{})
	go func() { ended <- h.Run(ctx, nil, true, func() { close(ready) }) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, h.Close()); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return h
}

// readText returns the body of one of the server's own addresses.
func readText(t *testing.T, h *Server, path, mediaType string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.RequestURI, request.Host = path, "gazetteer.test"
	w := httptest.NewRecorder()
	h.api.Handler().ServeHTTP(w, request)
	r := w.Result()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), mediaType) || len(body) == 0 {
		t.Fatalf("%s: %s, %s, %v: %.300s", path, r.Status, r.Header.Get("Content-Type"), err, body)
	}
	return string(body)
}

// TestOwnDocumentsAreValid checks that our own documents obey all rules that we check in others, at
// the highest level.
func TestOwnDocumentsAreValid(t *testing.T) {
	h := openSelf(t)
	var inputs []lint.Input
	for path, kind := range map[string]document.Kind{"/.well-known/ai": document.AI, "/.well-known/agis.json": document.AGISSummary, "/gazetteer.agis": document.AGIS} {
		mediaType := "application/json"
		if kind == document.AGIS {
			mediaType = "application/agis" // AGIS §10
		}
		inputs = append(inputs, lint.Input{Name: path, Text: []byte(readText(t, h, path, mediaType)), Kind: kind, URL: "https://gazetteer.test" + path})
	}
	for _, r := range lint.CheckAll(inputs, lint.Options{Strict: true, Level: 2, Today: time.Now()}) {
		if len(r.Findings) > 0 || !r.Valid || r.Operations < 5 {
			t.Errorf("%s: valid %t, %d operations, findings %v", r.Input, r.Valid, r.Operations, r.Findings)
		}
	}
}

// TestOwnCrawlerFindsThisServer checks that our crawler visits this server like any other host and
// finds no error, and our search finds this server by its purpose.
func TestOwnCrawlerFindsThisServer(t *testing.T) {
	h := openSelf(t)
	var visited crawler.Result
	if err := h.crawlAndIndex(t.Context(), []string{"gazetteer.test"}, func(r crawler.Result) error { visited = r; return nil }); err != nil {
		t.Fatal(err)
	}
	record, err := h.Store.Get(t.Context(), store.DocumentKey("gazetteer.test", string(document.AI)))
	if err != nil {
		t.Fatal(err)
	}
	var stored document.Document
	if err := json.Unmarshal(record.Value, &stored); err != nil {
		t.Fatal(err)
	}
	for _, f := range stored.Findings {
		t.Errorf("%s: %s %s", stored.Kind, f.Code, f.Message)
	}
	read := map[string]bool{}
	for _, f := range visited.Fetches {
		if f.Outcome == fetch.OK {
			read[f.Kind] = true
		}
	}
	for _, kind := range []document.Kind{document.AI, document.AGISSummary, document.AGIS} {
		if !read[string(kind)] {
			t.Errorf("the visit did not bring %s: %+v", kind, visited.Fetches)
		}
	}
	for _, words := range []string{"find a service that can book a table", "find an agent and its inbox", "validate a document", "register an agent"} {
		q, err := query.Parse(words)
		if err != nil {
			t.Fatal(err)
		}
		found, err := h.Index.Search(t.Context(), q)
		if err != nil || len(found.Hits) == 0 || found.Hits[0].Host != "gazetteer.test" || found.Hits[0].Findings != "" {
			t.Errorf("%s: %+v, %v", words, found.Hits, err)
		}
	}
	if text := readText(t, h, "/sitemap.xml", "application/xml"); !strings.Contains(text, "<loc>https://gazetteer.test/services/gazetteer.test</loc>") {
		t.Errorf("the sitemap does not have the service: %s", text)
	}
}

// TestOwnDocumentLinksResolve checks that the server answers at each address in our documents, in
// the formats of the specifications.
func TestOwnDocumentLinksResolve(t *testing.T) {
	h := openSelf(t)
	texts := map[string]string{}
	for path, mediaType := range map[string]string{
		"/.well-known/ai": "application/json", "/.well-known/agis.json": "application/json", "/.well-known/did.json": "application/did",
		"/.well-known/api-catalog": "application/linkset+json", "/.well-known/security.txt": "text/plain", "/robots.txt": "text/plain",
		"/sitemap.xml": "application/xml", "/opensearch.xml": "application/opensearchdescription+xml", "/llms.txt": "text/plain",
	} {
		texts[path] = readText(t, h, path, mediaType)
	}
	for path, text := range texts {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\" \n()<>", r) }) {
			at, ours := strings.CutPrefix(word, "https://gazetteer.test")
			if !ours || strings.Contains(at, "{") {
				continue
			}
			request, err := http.NewRequestWithContext(t.Context(), "GET", at, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host, request.RequestURI = "gazetteer.test", at
			w := httptest.NewRecorder()
			h.api.Handler().ServeHTTP(w, request)
			if w.Code != 200 && !(at == "/api/v1/search?q=book+a+table&within_tokens=1500`" || at == "/api/v1") {
				t.Errorf("%s names %s, which is answered with %d", path, at, w.Code)
			}
		}
	}
	var catalog struct {
		Linkset []map[string]any `json:"linkset"`
	}
	if err := json.Unmarshal([]byte(texts["/.well-known/api-catalog"]), &catalog); err != nil || len(catalog.Linkset) < 2 {
		t.Errorf("the catalog is no linkset: %v", err)
	}
	for _, path := range []string{"/sitemap.xml", "/opensearch.xml"} {
		if err := xml.Unmarshal([]byte(texts[path]), new(struct{})); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, after, found := strings.Cut(texts["/.well-known/security.txt"], "Expires: ")
	line, _, _ := strings.Cut(after, "\n")
	until, err := time.Parse(time.RFC3339, line)
	if left := time.Until(until); !found || err != nil || left < 90*24*time.Hour || left > 365*24*time.Hour {
		t.Errorf("security.txt ends at %q, %v", line, err)
	}
}
