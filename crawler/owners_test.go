package crawler_test

import (
	"errors"
	"fmt"
	"net/http"
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

// crawlLog reads what a host was asked, oldest first.
func (w *world) crawlLog(host string) []crawler.CrawlLogEntry {
	w.t.Helper()
	entries, err := w.crawler.CrawlLog(w.t.Context(), host, time.Time{}, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Reverse(entries)
	return entries
}

// wantCrawlLogs compares the crawl logs with what the servers saw.
func (w *world) wantCrawlLogs() {
	w.t.Helper()
	seen, told := map[string][]string{}, map[string][]string{}
	for _, q := range w.net.Requests() {
		seen[q.Host] = append(seen[q.Host], fmt.Sprintf("%s %d", q.Path, q.Status))
	}
	for host := range seen {
		for _, e := range w.crawlLog(host) {
			if e.Host != host || e.Why == "" || e.At.IsZero() {
				w.t.Errorf("%s: entry %+v", host, e)
			}
			for _, r := range e.Requests {
				told[host] = append(told[host], fmt.Sprintf("%s %d", strings.TrimPrefix(r.URL, "https://"+host), r.Status))
				if r.Why == "" {
					w.t.Errorf("%s: no reason for %s", host, r.URL)
				}
			}
		}
		slices.Sort(seen[host])
		slices.Sort(told[host])
		if !slices.Equal(seen[host], told[host]) {
			w.t.Errorf("%s was asked %q, its crawl log has %q", host, seen[host], told[host])
		}
	}
}

func TestCrawlLogHoldsEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: redirect("https://b.test/doc"), summaryPath: page{status: 503}, "/x": nil})
		w.site("b.test", map[string]http.Handler{"/doc": json200(ai("B"))})
		w.run()
		w.crawl("a.test", "b.test")
		time.Sleep(20 * time.Minute) // two more tries for the summary
		synctest.Wait()
		w.wantCrawlLogs()
		first := w.crawlLog("a.test")[0]
		if !strings.HasPrefix(first.Why, "a first visit") || first.Visited != "a.test" {
			t.Errorf("first entry %+v", first)
		}
		if e := w.crawlLog("a.test")[1]; !strings.HasPrefix(e.Why, "another try: the last answer was server-error") {
			t.Errorf("second entry %+v", e)
		}
		led := false
		for _, e := range w.crawlLog("b.test") {
			for _, r := range e.Requests {
				led = led || e.Visited == "a.test" && strings.Contains(r.Why, "a redirect led here")
			}
		}
		if !led {
			t.Errorf("the crawl log of b.test does not tell of the visit to a.test: %+v", w.crawlLog("b.test"))
		}

		// Entries stay for 90 days and no longer, across restarts.
		w.halt()
		w.run()
		time.Sleep(80 * 24 * time.Hour)
		synctest.Wait()
		w.wantCrawlLogs()
		time.Sleep(100 * 24 * time.Hour)
		synctest.Wait()
		for _, e := range w.crawlLog("b.test") {
			if age := time.Since(e.At); age > crawler.CrawlLogAge {
				t.Errorf("an entry is %v old", age)
			}
		}
		old := store.CrawlLogKey("b.test", time.Now().Add(-crawler.CrawlLogAge-35*24*time.Hour), "")
		for r := range w.store.List(t.Context(), store.CrawlLogOf("b.test"), "") {
			if r.Key < old {
				t.Errorf("%s is still stored", r.Key)
			}
		}

		if err := w.crawler.Record(t.Context(), "somebody had it checked", fetch.Made{At: time.Now(), URL: "https://b.test:443/doc", Status: 200}); err != nil {
			t.Fatal(err)
		}
		all := w.crawlLog("b.test")
		if last := all[len(all)-1]; last.Why != "somebody had it checked" || last.Requests[0].Status != 200 || !last.Check {
			t.Errorf("recorded %+v", last)
		}
		// It is no visit.
		if visit, err := crawler.ReadLastVisit(t.Context(), w.store, "b.test", time.Now()); err != nil || visit == nil || visit.Check || visit.Visited != "b.test" {
			t.Errorf("the last visit is %+v, %v; want the one before the check", visit, err)
		}
		two, err := w.crawler.CrawlLog(t.Context(), "b.test", all[len(all)-1].At, 2)
		if err != nil || len(two) != 2 || !two[0].At.Equal(all[len(all)-2].At) || !two[1].At.Equal(all[len(all)-3].At) {
			t.Errorf("the two before the last are %+v, %v", two, err)
		}
		var wrong *fetch.HostError
		if _, err := w.crawler.CrawlLog(t.Context(), "10.0.0.1", time.Time{}, 1); !errors.As(err, &wrong) {
			t.Errorf("the crawl log of what is no host: %v", err)
		}
	})
}

// TestCrawlLogAfterClockWasAhead checks that entries of the crawl log expire by Options.Due.
func TestCrawlLogAfterClockWasAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var behind time.Duration
		w.opts.Due = func() time.Time { return time.Now().Add(-behind) }
		w.open()
		record := func() {
			t.Helper()
			if err := w.crawler.Record(t.Context(), "a check", fetch.Made{At: time.Now(), URL: "https://a.test:443/", Status: 200}); err != nil {
				t.Fatal(err)
			}
		}
		stored := func() (n int) {
			t.Helper()
			for _, err := range w.store.List(t.Context(), store.CrawlLogOf("a.test"), "") {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			return n
		}
		record()
		behind = crawler.CrawlLogAge + 24*time.Hour
		time.Sleep(behind)
		record()
		if n := stored(); n != 2 {
			t.Errorf("%d entries are stored while the clock is ahead, want 2", n)
		}
		behind = 0
		time.Sleep(time.Second)
		record()
		if n := stored(); n != 2 {
			t.Errorf("%d entries are stored when the due clock has caught up, want the last 2", n)
		}
	})
}

// TestCrawlLogOfInterruptedVisits checks that the crawl log has the requests of a visit that the end of
// the crawler interrupted.
func TestCrawlLogOfInterruptedVisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("slow.test", map[string]http.Handler{aiPath: http.HandlerFunc(silent)})
		w.run()
		if err := w.crawler.Add(t.Context(), "slow.test"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.halt()
		w.run()
		synctest.Wait()
		e := w.crawlLog("slow.test")
		if len(e) == 0 || len(e[0].Requests) != 2 || e[0].Requests[0].Status != 404 || e[0].Requests[1].Status != 0 {
			t.Errorf("the crawl log is %+v", e)
		}
	})
}

func TestBlockedHostsAreNotVisited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, host := range []string{"a.test", "www.a.test", "b.test", "x.b.test"} {
			w.site(host, map[string]http.Handler{aiPath: json200(ai(host)), summaryPath: json200(summary("https://a.test/full", "agtp://a.test", "agtp://new.a.test"))})
		}
		w.site("c.test", map[string]http.Handler{aiPath: redirect("https://a.test/ai"), summaryPath: json200(summary("agtp://c.test", "agtp://x.b.test"))})
		w.run()
		w.crawl("a.test", "www.a.test", "b.test", "x.b.test")
		if w.stored("a.test", document.AI) == nil {
			t.Fatal("nothing is stored")
		}
		if err := w.crawler.Block(t.Context(), crawler.Block{Host: "a.test", By: crawler.ByOwner, Subdomains: true}); err != nil {
			t.Fatal(err)
		}
		if err := w.crawler.SetBlockList(t.Context(), []string{"x.b.test"}); err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"a.test", "www.a.test", "x.b.test"} {
			for _, prefix := range []string{store.HostKey(host), store.DocumentsOf(host), store.VersionsOfAll(host)} {
				for r := range w.store.List(t.Context(), prefix, "") {
					t.Errorf("%s is still stored", r.Key)
				}
			}
			if len(w.crawlLog(host)) == 0 {
				t.Errorf("the crawl log of %s is gone", host)
			}
		}
		if w.stored("b.test", document.AI) == nil {
			t.Error("what b.test published is gone")
		}
		mark := len(w.asked())
		check := func(when string) {
			t.Helper()
			r := w.crawl("a.test", "sub.a.test", "x.b.test", "c.test")
			for _, host := range []string{"a.test", "sub.a.test", "x.b.test"} {
				if r[host].Outcome() != fetch.OptedOut {
					t.Errorf("%s: %s: %s", when, host, r[host].Summary)
				}
			}
			time.Sleep(40 * 24 * time.Hour)
			synctest.Wait()
			for _, q := range w.asked()[mark:] {
				if strings.Contains(q, "a.test ") || strings.HasPrefix(q, "x.b.test ") {
					t.Errorf("%s: asked %s", when, q)
				}
			}
			if f := w.host("c.test").Fetches["ai"]; f.Outcome != fetch.OptedOut {
				t.Errorf("%s: a redirect to a blocked host is %s", when, f.Outcome)
			}
		}
		check("at once")
		w.halt()
		w.run()
		check("after a restart")

		// The operator's list cannot revoke an owner's request.
		if err := w.crawler.SetBlockList(t.Context(), []string{" *.a.test ", "10.0.0.1"}); err == nil {
			t.Error("an entry that is no host name is taken")
		}
		if err := w.crawler.SetBlockList(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		r := w.crawl("a.test", "x.b.test")
		if r["a.test"].Outcome() != fetch.OptedOut || r["x.b.test"].Documents == 0 {
			t.Errorf("a.test: %s; x.b.test: %s", r["a.test"].Summary, r["x.b.test"].Summary)
		}
		if err := w.crawler.Unblock(t.Context(), "a.test"); err != nil {
			t.Fatal(err)
		}
		if r := w.visit("a.test"); r.Documents == 0 {
			t.Errorf("after it was unblocked: %s", r.Summary)
		}
	})
}

// A visit that is under way when its host is blocked leaves nothing behind.
func TestBlockDuringAVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(3 * time.Second)
			json200(ai("A")).ServeHTTP(rw, r)
		})})
		w.run()
		if err := w.crawler.Add(t.Context(), "a.test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := w.crawler.Block(t.Context(), crawler.Block{Host: "a.test", By: crawler.ByOwner}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(oneDay)
		synctest.Wait()
		for _, prefix := range []string{store.HostPrefix, store.DocumentPrefix, store.VersionPrefix} {
			for r := range w.store.List(t.Context(), prefix, "") {
				t.Errorf("%s is stored", r.Key)
			}
		}
		if s := w.crawler.Status(); s.Known != 0 || s.InFlight != 0 {
			t.Errorf("status %+v", s)
		}
	})
}

// A domain's million names are believed a hundred at a time, and more when other
// domains vouch for it.
func TestLinksToOneDomainAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		name := func(i, j int) string { return fmt.Sprintf("agtp://s%d-%d.farm.test", i, j) }
		var seeds []string
		for i := range 20 {
			var links []string
			for j := range 60 {
				links = append(links, name(i, j))
			}
			host := fmt.Sprintf("seed%d.test", i)
			if i < 10 { // the first ten stand below one domain
				host = fmt.Sprintf("seed%d.one.test", i)
			}
			seeds = append(seeds, host)
			w.site(host, map[string]http.Handler{summaryPath: json200(summary("agtp://x.test", links...))})
		}
		w.run()
		w.crawl(seeds[:10]...)
		count := func() (n int) {
			for r := range w.store.List(t.Context(), store.HostPrefix+"test.farm.", "") {
				if r.Key != "" {
					n++
				}
			}
			return n
		}
		if n := count(); n != 100 {
			t.Errorf("%d hosts of a domain are believed that one other links to, want 100", n)
		}
		w.crawl(seeds[10:]...)
		if n := count(); n != 200 {
			t.Errorf("%d hosts are believed when eleven others link there, want 200", n)
		}
		before := count()
		time.Sleep(31 * oneDay)
		synctest.Wait()
		if n := count(); n <= before || n > before+200 {
			t.Errorf("a month later %d hosts are believed, %d before", n, before)
		}
	})
}
