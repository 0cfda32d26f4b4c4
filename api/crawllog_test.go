package api_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/crawler"
	"gazetteer/fetch"
)

func TestCrawlLog(t *testing.T) {
	h := newTestServer(t, options{})
	now := time.Now()
	c, err := crawler.New(crawler.Options{Store: h.store})
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range []string{"/robots.txt", "/.well-known/ai", "/.well-known/agis.json"} {
		at := now.Add(time.Duration(i-3) * time.Hour)
		if err := c.Record(t.Context(), "somebody asked for a check", fetch.Made{At: at, URL: "https://asked.example.com" + path, Status: 200, WireBytes: 12}); err != nil {
			t.Fatal(err)
		}
	}
	var seen []string
	for address := "/api/v1/services/Asked.Example.com/crawl-log?limit=2"; address != ""; {
		r := h.get(address, 200)
		var page api.CrawlLogPage
		if err := json.Unmarshal(r.body, &page); err != nil {
			t.Fatal(err)
		}
		for _, v := range page.Visits {
			if v.Why == "" || len(v.Requests) != 1 || v.Host != "asked.example.com" {
				t.Errorf("%+v", v)
			}
			seen = append(seen, v.Requests[0].URL)
		}
		address = ""
		if page.Next != "" {
			address = "/api/v1/services/Asked.Example.com/crawl-log?limit=2&cursor=" + page.Next
		}
	}
	want := []string{"https://asked.example.com/.well-known/agis.json", "https://asked.example.com/.well-known/ai", "https://asked.example.com/robots.txt"}
	if !slices.Equal(seen, want) {
		t.Errorf("requests %q, want %q", seen, want)
	}
	h.get("/api/v1/services/unheard-of.example.com/crawl-log", 404)
	h.get("/api/v1/services/10.0.0.1/crawl-log", 404)
}

func TestMetrics(t *testing.T) {
	h, text := readMetrics(t)
	line := regexp.MustCompile(`^[a-z_]+(\{[a-zA-Z]+="[^"]*"(, ?[a-zA-Z]+="[^"]*")*\})? [-+0-9.eNaIf]+$`)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, l := range lines {
		if !strings.HasPrefix(l, "#") && !line.MatchString(l) {
			t.Errorf("no line of a metric: %q", l)
		}
	}
	for _, want := range []string{"gazetteer_ready 1", "gazetteer_crawl_hosts_known 0", "gazetteer_crawl_robots_refusals_total 0",
		`gazetteer_crawl_fetches_total{kind="ai",outcome="blocked-address"} 0`, `gazetteer_crawl_fetches_total{kind="robots",outcome="ok"} 0`,
		`gazetteer_crawl_fetches_total{kind="canary",outcome="timeout"} 0`} {
		if !slices.Contains(lines, want) {
			t.Errorf("%q is missing", want)
		}
	}
	h.get("/metrics", 404) // it is for the operator
}
