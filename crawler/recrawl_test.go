package crawler_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
)

func TestRecrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.HostInterval, w.opts.DomainInterval = 3*time.Second, 3*time.Second
		s := w.site("a.test", map[string]http.Handler{robotsPath: page{body: "User-agent: *\nDisallow: /\n"}})
		w.run()
		w.visit("a.test")
		w.wantAsked(0, "a.test "+robotsPath)
		s.set(robotsPath, nil)

		// Paths that were refused or absent may be requested at once, robots.txt first.
		if err := w.crawler.Recrawl(t.Context(), "https://A.test/", crawler.Operator); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		w.wantAsked(1, "a.test "+robotsPath, "a.test "+aiPath, "a.test "+summaryPath, "a.test "+aliasPath)
		q := w.net.Requests()
		if gap := q[1].Begun.Sub(q[0].Begun); gap < 3*time.Second {
			t.Errorf("visited again after %v, want the interval", gap)
		}
		entries := w.crawlLog("a.test")
		if why := entries[len(entries)-1].Why; !strings.Contains(why, "on request of the owner") {
			t.Errorf("the crawl log says %q", why)
		}

		// Not twice within ten minutes, and the error says how long.
		s.set(aiPath, json200(ai("A")))
		time.Sleep(4 * time.Minute)
		var soon *crawler.SoonError
		if err := w.crawler.Recrawl(t.Context(), "a.test", crawler.Anybody); !errors.As(err, &soon) || soon.Wait != 5*time.Minute+50*time.Second {
			t.Fatalf("the second wish: %v", err)
		}
		if want := "the host a.test can be visited again in 6 minutes: a visit was requested already"; !strings.HasPrefix(soon.Error(), want) {
			t.Errorf("the error says %q, want %q", soon, want)
		}
		time.Sleep(soon.Wait)
		synctest.Wait()
		w.wantAsked(5)
		if err := w.crawler.Recrawl(t.Context(), "a.test", crawler.Operator); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if w.stored("a.test", document.AI) == nil {
			t.Error("what was published meanwhile is not stored")
		}
		// The pause is not for the operator.
		if err := w.crawler.Recrawl(t.Context(), "a.test", crawler.Operator); err != nil {
			t.Errorf("the operator, one second later: %v", err)
		}

		// Only known hosts, and none that is blocked.
		if err := w.crawler.Recrawl(t.Context(), "b.test", crawler.Operator); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown host: %v", err)
		}
		var wrong *fetch.HostError
		if err := w.crawler.Recrawl(t.Context(), "10.0.0.1", crawler.Operator); !errors.As(err, &wrong) {
			t.Errorf("no host: %v", err)
		}
		if err := w.crawler.Block(t.Context(), crawler.Block{Host: "a.test", By: crawler.ByOwner}); err != nil {
			t.Fatal(err)
		}
		if err := w.crawler.Recrawl(t.Context(), "a.test", crawler.Operator); !errors.Is(err, crawler.ErrBlocked) {
			t.Errorf("a blocked host: %v", err)
		}
	})
}

// An anonymous request does not cause new requests for documents that a host does not have (AI
// Discovery §4.3), and does not delay the owner's request.
func TestRecrawlByStranger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("nothing.test", nil)
		w.site("half.test", map[string]http.Handler{aiPath: json200(ai("A"))})
		w.run()
		w.crawl("nothing.test", "half.test")
		time.Sleep(6 * time.Hour)
		mark := len(w.asked())

		var soon *crawler.SoonError
		if err := w.crawler.Recrawl(t.Context(), "nothing.test", crawler.Anybody); !errors.As(err, &soon) || soon.Wait > 18*time.Hour || soon.Wait < 17*time.Hour || !strings.Contains(soon.Why, "24 hours") || !strings.Contains(soon.Error(), "again in 18 hours: ") {
			t.Errorf("a host without documents: %v", err)
		}
		if err := w.crawler.Recrawl(t.Context(), "half.test", crawler.Anybody); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		w.wantAsked(mark, "half.test "+aiPath)
		entries := w.crawlLog("half.test")
		if why := entries[len(entries)-1].Why; !strings.Contains(why, "on request") {
			t.Errorf("the crawl log says %q", why)
		}

		mark = len(w.asked())
		if err := w.crawler.Recrawl(t.Context(), "half.test", crawler.Anybody); !errors.As(err, &soon) || soon.Wait > 10*time.Minute {
			t.Errorf("again: %v", err)
		}
		if err := w.crawler.Recrawl(t.Context(), "half.test", crawler.Operator); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		w.wantAsked(mark, "half.test "+robotsPath, "half.test "+aiPath, "half.test "+summaryPath)

		// After three months without a document the request takes effect one day after the last
		// visit.
		time.Sleep(60 * 24 * time.Hour)
		if err := w.crawler.Recrawl(t.Context(), "nothing.test", crawler.Anybody); errors.As(err, &soon) && soon.Wait > 24*time.Hour {
			t.Errorf("after sixty days: %v", err)
		}
	})
}

// TestRecrawlByOwner checks that the pause between two requests of the owner counts only those:
// neither a stranger nor the operator delays the owner.
func TestRecrawlByOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
		w.run()
		w.crawl("a.test")
		for _, c := range []struct {
			after time.Duration
			by    crawler.Requester
			wait  time.Duration
		}{
			{time.Hour, crawler.Operator, 0},
			{time.Minute, crawler.ProvedOwner, 0},
			{time.Minute, crawler.Operator, 0},
			{time.Minute, crawler.ProvedOwner, 8 * time.Minute},
			{time.Minute, crawler.Anybody, 8 * time.Minute}, // after the operator
			{7 * time.Minute, crawler.ProvedOwner, 0},
			{10 * time.Minute, crawler.Anybody, 0},
			{time.Minute, crawler.ProvedOwner, 0},
		} {
			time.Sleep(c.after)
			synctest.Wait()
			err := w.crawler.Recrawl(t.Context(), "a.test", c.by)
			var soon *crawler.SoonError
			if c.wait == 0 && err != nil || c.wait > 0 && (!errors.As(err, &soon) || soon.Wait != c.wait) {
				t.Errorf("%q: %v, want a wait of %v", c.by, err, c.wait)
			}
		}
	})
}

// An owner who has repaired an unusable document need not wait for a day: only a 404 answer
// prevents new requests.
func TestRecrawlOfARepairedDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.site("repaired.test", map[string]http.Handler{aiPath: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/plain")
			_, _ = rw.Write([]byte(ai("A")))
		})})
		w.run()
		w.crawl("repaired.test")
		mark := len(w.asked())
		s.set(aiPath, json200(ai("A")))
		if err := w.crawler.Recrawl(t.Context(), "repaired.test", crawler.Anybody); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		w.wantAsked(mark, "repaired.test "+aiPath)
	})
}

// A request during a visit causes another visit; it survives a restart.
func TestRecrawlDuringAVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.site("a.test", map[string]http.Handler{aiPath: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(4 * time.Second)
			json200(ai("old")).ServeHTTP(rw, r)
		})})
		w.run()
		if err := w.crawler.Add(t.Context(), "a.test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		s.set(aiPath, json200(ai("new")))
		if err := w.crawler.Recrawl(t.Context(), "a.test", crawler.Operator); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(w.asked()); n != 6 {
			t.Errorf("%d requests, want two visits of three: %q", n, w.asked())
		}
		if d := w.stored("a.test", document.AI); d == nil || d.Service.Name != "new" {
			t.Errorf("stored is %+v", d)
		}
		if due := w.host("a.test").Due; time.Until(due) < 20*time.Hour {
			t.Errorf("due again at %v, after the wish was granted", due)
		}

		time.Sleep(11 * time.Minute)
		w.halt()
		w.open()
		if err := w.crawler.Recrawl(t.Context(), "a.test", crawler.Operator); err != nil { // nobody runs
			t.Fatal(err)
		}
		w.halt()
		w.run()
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(w.asked()); n != 9 {
			t.Errorf("%d requests after the restart, want a third visit: %q", n, w.asked())
		}
	})
}

// The time that a host names itself is waited out.
func TestRecrawlObeysRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		busy := page{status: 429, header: map[string]string{"Retry-After": "3600"}}
		w.site("a.test", map[string]http.Handler{aiPath: busy, summaryPath: busy})
		w.site("b.test", map[string]http.Handler{robotsPath: page{status: 503, header: map[string]string{"Retry-After": "3600"}}})
		w.run()
		w.crawl("a.test", "b.test")
		mark := len(w.asked())
		for _, host := range []string{"a.test", "b.test"} {
			var soon *crawler.SoonError
			if err := w.crawler.Recrawl(t.Context(), host, crawler.Operator); !errors.As(err, &soon) || soon.Wait < 59*time.Minute {
				t.Errorf("%s: %v", host, err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		w.wantAsked(mark)
	})
}

// TestCrawlWaitsForDelayedHosts checks that a caller who waits for a host that is delayed after an
// interrupted visit gets the result of its visit, or learns of the delay if it is long.
func TestCrawlWaitsForDelayedHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, host := range []string{"once.test", "often.test"} {
			w.site(host, map[string]http.Handler{aiPath: json200(ai(host))})
		}
		w.open()
		if err := w.crawler.Add(t.Context(), "once.test", "often.test"); err != nil {
			t.Fatal(err)
		}
		w.halt()
		if err := os.MkdirAll(w.opts.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		now := time.Now().UnixMilli()
		visits := fmt.Sprintf("a once.test 2 %d\na often.test 7 %d\nb %d once.test once.test -\nb %d often.test often.test -\n", now, now, now, now)
		if err := os.WriteFile(filepath.Join(w.opts.Dir, "visits"), []byte(visits), 0o600); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		w.run()
		r := w.crawl("once.test", "often.test")
		if took := time.Since(begun); took < 50*time.Second || took > 2*time.Minute || r["once.test"].State != crawler.Listed {
			t.Errorf("after %v: %+v", took, r["once.test"])
		}
		often := r["often.test"]
		if often.State != crawler.Unvisited || !often.NotDue || often.NextDue.Sub(begun) < 23*time.Hour || often.Summary == "" {
			t.Errorf("the other: %+v", often)
		}
	})
}

func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("listed.test", map[string]http.Handler{aiPath: json200(ai("A")), summaryPath: page{status: 503}})
		w.site("absent.test", nil)
		w.site("html.test", map[string]http.Handler{aiPath: page{body: "<html>", header: map[string]string{"Content-Type": "text/html"}}})
		w.site("robots.test", map[string]http.Handler{robotsPath: page{body: "User-agent: *\nDisallow: /\n"}})
		w.site("busy.test", map[string]http.Handler{aiPath: page{status: 503}})
		w.run()
		want := map[string]crawler.State{
			"listed.test": crawler.Listed, "absent.test": crawler.Empty, "html.test": crawler.Empty, "robots.test": crawler.Refused,
			"busy.test": crawler.Failing, "unknown.test": crawler.Failing, "10.0.0.1": crawler.Refused,
		}
		for _, again := range []bool{false, true} {
			for host, r := range w.crawl(slices.Collect(maps.Keys(want))...) {
				if r.State != want[host] {
					t.Errorf("%s is %q (%s), want %q", host, r.State, r.Summary, want[host])
				}
				asked := 0
				for _, q := range w.net.Requests() {
					if q.Host == host {
						asked++
					}
				}
				if host == "unknown.test" {
					asked = r.Requests // attempts that reached nobody
				}
				if again && r.Requests != 0 || !again && r.Requests != asked {
					t.Errorf("%s: %d requests, the server saw %d", host, r.Requests, asked)
				}
			}
		}
	})
}
