package crawler_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
)

// always answers every path alike.
type always struct{ page }

func TestHostsWithOneAnswerForAllPaths(t *testing.T) {
	same := always{json200(ai("Same"))}
	perPath := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { json200(ai("Made for "+r.URL.Path)).ServeHTTP(w, r) })
	html := page{body: "<html>Welcome", header: map[string]string{"Content-Type": "text/html"}}
	for _, c := range []struct {
		name    string
		handler http.Handler
		outcome fetch.Outcome
		sang    bool
	}{
		{"one document for everything", same, fetch.CatchAll, true},
		{"a document made for each path", perPath, fetch.CatchAll, true},
		{"HTML for everything", html, fetch.BadMediaType, false},
		{"HTML for everything but the document", &site{pages: map[string]http.Handler{
			robotsPath: html, aiPath: json200(ai("A")), summaryPath: html, aliasPath: html,
		}}, fetch.OK, true},
		{"a document and a robots.txt", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == robotsPath {
				page{body: "User-agent: *\nAllow: /\n"}.ServeHTTP(w, r)
				return
			}
			same.ServeHTTP(w, r)
		}), fetch.OK, false},
		{"a document and nothing else", &site{pages: map[string]http.Handler{aiPath: json200(ai("A"))}}, fetch.OK, false},
		{"two documents that differ", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == summaryPath {
				json200(summary("agtp://a.test")).ServeHTTP(w, r)
				return
			}
			json200(ai("A")).ServeHTTP(w, r)
		}), fetch.OK, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.net.Handle("a.test", c.handler)
				w.run()
				r := w.visit("a.test")
				canaries := func() (n int) {
					for _, q := range w.asked() {
						if strings.Contains(q, "nothing-here-") {
							n++
						}
					}
					return n
				}
				if f := w.host("a.test").Fetches["ai"]; f.Outcome != c.outcome || (f.Digest != "") != (c.outcome == fetch.OK) {
					t.Errorf("outcome %s (%s), want %s; %s", f.Outcome, f.Detail, c.outcome, r.Summary)
				}
				if (canaries() == 1) != c.sang || canaries() > 1 {
					t.Errorf("the canary was asked for %d times: %q", canaries(), w.asked())
				}
				if (w.stored("a.test", document.AI) != nil) != (c.outcome == fetch.OK) {
					t.Error("a document is stored exactly when it is believed")
				}
				w.wantPolite(0)
				w.wantCrawlLogs()
				if c.outcome != fetch.OK {
					return
				}
				before := canaries()
				time.Sleep(40 * oneDay)
				synctest.Wait()
				if canaries() != before {
					t.Error("a host that has shown what it is, is asked again")
				}
			})
		})
	}
}
