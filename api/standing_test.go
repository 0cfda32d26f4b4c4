package api_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"gazetteer/api"
	"gazetteer/crawler"
)

func TestStanding(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	head := h.store.Head().Seq
	if err := errors.Join(h.index.WaitFor(t.Context(), head), h.answers.Standing.WaitFor(t.Context(), head)); err != nil {
		t.Fatal(err)
	}
	r := h.get("/api/v1/status", 200)
	var s api.ServerStatus
	if err := json.Unmarshal(r.body, &s); err != nil {
		t.Fatal(err)
	}
	if s.Store == 0 || s.Index != s.Store || !s.Ready || s.Version != "test" || s.Crawler != nil || s.Started.After(s.At) {
		t.Errorf("%s", r.body)
	}
	if r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control %q", r.Header.Get("Cache-Control"))
	}
}

// TestStatusWithoutCrawl checks that a server that does not crawl shows no figures of a crawl, though
// it has a crawler for the list of blocked hosts.
func TestStatusWithoutCrawl(t *testing.T) {
	for _, off := range []bool{false, true} {
		h := newTestServer(t, options{api: func(o *api.Options) { o.NoCrawl = off }})
		c, err := crawler.New(crawler.Options{Store: h.store})
		if err != nil {
			t.Fatal(err)
		}
		h.answers.Crawler = c
		var s api.ServerStatus
		if r := h.get("/api/v1/status", 200); json.Unmarshal(r.body, &s) != nil || (s.Crawler == nil) != off {
			t.Errorf("NoCrawl %v: %s", off, r.body)
		}
	}
}

// A stream tells at once, ends when the server does, and the places of one
// network are few.
func TestStandingStream(t *testing.T) {
	h := newTestServer(t, options{api: func(o *api.Options) { o.TrustedProxies = []string{"127.0.0.1"} }})
	follow := func() *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), "GET", h.base+"/api/v1/status/stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Forwarded-For", "198.51.100.7") // this machine has every place
		r, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Body.Close() })
		return r
	}
	first := follow()
	if first.StatusCode != 200 || first.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %v", first.Status, first.Header)
	}
	reader := bufio.NewReader(first.Body)
	for _, want := range []string{"event: status\n", "id: ", "data: {", "\n", "event: status\n"} {
		line, err := reader.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, want) {
			t.Fatalf("%q, want %q: %v", line, want, err)
		}
	}
	for range 63 {
		if r := follow(); r.StatusCode != 200 {
			t.Fatal(r.Status)
		}
	}
	if r := follow(); r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" {
		t.Errorf("the 65th: %s", r.Status)
	}
	if r := h.request("HEAD", "/api/v1/status/stream", ""); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("HEAD: %s", r.Status)
	}
	h.api.EndStreams()
	h.api.EndStreams()
	if _, err := io.ReadAll(reader); err != nil {
		t.Errorf("the end of a stream: %v", err)
	}
}
