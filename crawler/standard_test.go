package crawler_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
	"gazetteer/protocol"
)

// TestTransportErrorsSetLevelZero checks that a good document whose way breaks the draft has no level.
func TestTransportErrorsSetLevelZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		doc := json200(ai("A"))
		w.site("good.test", map[string]http.Handler{aiPath: doc})
		w.site("status.test", map[string]http.Handler{aiPath: page{status: 203, body: ai("A")}})
		w.site("query.test", map[string]http.Handler{aiPath: redirect("/ai.json?v=2"), "/ai.json": doc})
		w.run()
		w.crawl("good.test", "status.test", "query.test")
		for host, want := range map[string]string{"good.test": "1 ", "status.test": "0 AI106", "query.test": "0 AI114"} {
			d := w.stored(host, document.AI)
			if d == nil {
				t.Fatalf("%s: no document", host)
			}
			got := fmt.Sprint(d.Level, " ")
			for _, f := range d.Findings {
				if f.Severity == protocol.Error {
					got += f.Code
				}
			}
			if got != want {
				t.Errorf("%s: level and errors %q, want %q", host, got, want)
			}
		}
	})
}

// The crawler visits the whole small internet of the demo from its seeds: every host ends as its
// label says, and the crawler is polite to all.
func TestStandardInternet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorldOf(t, fakenet.Options{Memory: true})
		w.opts.HostInterval, w.opts.DomainInterval, w.opts.Workers = time.Second, time.Second, 64
		w.run()
		if err := w.crawler.Add(t.Context(), w.net.Seeds()...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if s := w.crawler.Status(); s.Due != 0 || s.InFlight != 0 || s.Visits < 200 {
			t.Errorf("status %+v", s)
		}
		for _, h := range w.net.Hosts() {
			if !h.Reachable {
				for _, q := range w.asked() {
					if strings.HasPrefix(q, h.Name+" ") {
						t.Errorf("%s was requested, although it is too far from any seed", q)
					}
				}
				continue
			}
			state := w.host(h.Name)
			for kind, want := range h.Expect {
				if got := state.Fetches[kind]; got.Outcome != fetch.Outcome(want) {
					t.Errorf("%s: %s is %q (%s), want %q (%s)", h.Name, kind, got.Outcome, got.Detail, want, h.Note)
				}
			}
		}
		w.wantPolite(0)
	})
}
