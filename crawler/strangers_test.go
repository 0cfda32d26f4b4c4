package crawler_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/psl"
	"gazetteer/store"
)

// versions lists the stored versions of a document, oldest first.
func (w *world) versions(host string, kind document.Kind) []crawler.Version {
	w.t.Helper()
	var out []crawler.Version
	for r, err := range w.store.List(w.t.Context(), store.VersionsOf(host, string(kind)), "") {
		var v crawler.Version
		if err == nil {
			err = json.Unmarshal(r.Value, &v)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// A 304 is an answer to a question. Unasked it is an error, and the next request
// is unconditional; so it is when our copy is gone, whatever the host remembers.
func TestNotModifiedUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var conditional atomic.Int32
		always := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since") != "" {
				conditional.Add(1)
			}
			w.Header().Set("ETag", `"one"`)
			w.WriteHeader(304)
		})
		tagged := page{body: ai("A"), header: map[string]string{"ETag": `"one"`, "Last-Modified": "Fri, 01 Jan 1999 00:00:00 GMT"}}
		w.site("never.test", map[string]http.Handler{aiPath: always})
		lost := w.site("lost.test", map[string]http.Handler{aiPath: tagged})
		w.run()
		w.crawl("never.test", "lost.test")
		lost.set(aiPath, always)
		if _, err := w.store.Apply(t.Context(), store.Delete(store.DocumentKey("lost.test", "ai"))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(27 * time.Hour)
		synctest.Wait()
		for _, host := range []string{"never.test", "lost.test"} {
			f := w.host(host).Fetches["ai"]
			if f.Outcome != fetch.BadStatus || f.Status != 304 || f.Digest != "" || w.stored(host, document.AI) != nil {
				t.Errorf("%s: %s (%s), digest %q", host, f.Outcome, f.Detail, f.Digest)
			}
		}
		if n := conditional.Load(); n > 0 {
			t.Errorf("%d conditional requests without a copy", n)
		}
		lost.set(aiPath, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != "" {
				always(w, r)
				return
			}
			tagged.ServeHTTP(w, r)
		}))
		time.Sleep(9 * oneDay)
		synctest.Wait()
		if f := w.host("lost.test").Fetches["ai"]; f.Outcome != fetch.Unchanged || w.stored("lost.test", document.AI) == nil {
			t.Errorf("asked again, and again: %s (%s)", f.Outcome, f.Detail)
		}
	})
}

// A document that loses all its operations is stored in its present form; its earlier form stays
// among its versions, with its bytes.
func TestShrinkingDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		full := ai("A")
		empty := full[:strings.Index(full, `"capabilities":`)] + `"capabilities":[]}`
		s := w.site("a.test", map[string]http.Handler{aiPath: json200(full)})
		w.run()
		w.visit("a.test")
		first := w.stored("a.test", document.AI)
		s.set(aiPath, json200(empty))
		time.Sleep(27 * time.Hour)
		synctest.Wait()
		now := w.stored("a.test", document.AI)
		if len(first.Operations) != 1 || len(now.Operations) != 0 || !now.ChangedAt.After(first.ChangedAt) {
			t.Errorf("%d operations, then %d; changed at %s, then %s", len(first.Operations), len(now.Operations), first.ChangedAt, now.ChangedAt)
		}
		all := w.versions("a.test", document.AI)
		if len(all) != 2 || all[0].Digest != first.Digest || all[1].Digest != now.Digest || !all[1].Seen.After(all[0].Seen) {
			t.Fatalf("versions %+v", all)
		}
		for i, want := range []string{full, empty} {
			if r, err := w.store.Get(t.Context(), store.BlobKey(all[i].Digest)); err != nil || string(r.Value) != want {
				t.Errorf("version %d is %q, %v", i, r.Value, err)
			}
		}
		if h := w.host("a.test"); !h.Listed() {
			t.Error("the host is not listed any more")
		}
	})
}

// A permanent 500 costs the host three requests in growing gaps, then one a day.
func TestPermanentErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: page{status: 500}, summaryPath: page{status: 500}})
		w.run()
		w.visit("a.test")
		time.Sleep(23 * time.Hour)
		synctest.Wait()
		for _, path := range []string{aiPath, summaryPath} {
			times := w.times("a.test", path)
			if len(times) != 3 || times[1] < time.Minute || times[2]-times[1] < 4*times[1] {
				t.Errorf("%s was asked for after %v, want three times with growing gaps", path, times)
			}
		}
		h := w.host("a.test")
		if f := h.Fetches["ai"]; f.Outcome != fetch.ServerError || f.Repeats != 2 || h.Failures != 3 || h.Due.Before(time.Now()) {
			t.Errorf("%s, %d repeats, %d failures, due %s", f.Outcome, f.Repeats, h.Failures, h.Due)
		}
		var why []string
		for _, e := range w.crawlLog("a.test") {
			why = append(why, e.Why)
		}
		if len(why) != 3 || why[1] != "another try: the last answer was server-error" {
			t.Errorf("the crawl log says %q", why)
		}
		time.Sleep(10 * oneDay)
		synctest.Wait()
		if n := len(w.times("a.test", aiPath)); n < 11 || n > 13 {
			t.Errorf("%d requests in eleven days, want one a day after the first three", n)
		}
	})
}

// An endless tree of names below one domain, each of which names more; a farm of
// domains that all name it; and a chain of hosts, each of which names the next.
func TestTreesOfHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.Workers = 64
		// tree answers for a host and has its children ready.
		var tree func(host string) http.Handler
		tree = func(host string) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != summaryPath {
					http.NotFound(rw, r)
					return
				}
				var below []string
				for i := range 60 {
					below = append(below, fmt.Sprintf("c%d.%s", i, host))
					w.net.Handle(below[i], tree(below[i]))
				}
				relatedHosts(below...).ServeHTTP(rw, r)
			})
		}
		w.net.Handle("trap.test", tree("trap.test"))
		var seeds []string
		for i := range 8 {
			var links []string
			for j := range 60 {
				links = append(links, fmt.Sprintf("f%d-%d.farm.test", i, j))
			}
			seeds = append(seeds, fmt.Sprintf("farmer%d.test", i))
			w.site(seeds[i], map[string]http.Handler{summaryPath: relatedHosts(links...)})
		}
		for i := range 12 {
			w.site(fmt.Sprintf("chain%d.test", i), map[string]http.Handler{summaryPath: relatedHosts(fmt.Sprintf("chain%d.test", i+1))})
		}
		w.run()
		w.crawl(append(seeds, "trap.test", "chain0.test")...)
		time.Sleep(time.Hour)
		synctest.Wait()
		count := map[string]int{}
		for r, err := range w.store.List(t.Context(), store.HostPrefix, "") {
			if err != nil {
				t.Fatal(err)
			}
			var h crawler.Host
			if err := json.Unmarshal(r.Value, &h); err != nil {
				t.Fatal(err)
			}
			if h.Depth > 3 {
				t.Errorf("%s is %d links from a seed", h.Name, h.Depth)
			}
			count[psl.Domain(h.Name)]++
		}
		if n := count["trap.test"]; n != 101 { // the seed, and what links add below a domain
			t.Errorf("%d hosts of the tree are known, want 101", n)
		}
		if n := count["farm.test"]; n < 100 || n > 170 { // 100, and 10 for each further domain that links there
			t.Errorf("%d hosts of the farm are known, want 100 to 170", n)
		}
		chain := 0
		for i := range 12 {
			chain += count[fmt.Sprintf("chain%d.test", i)]
		}
		if chain != 4 {
			t.Errorf("%d hosts of the chain are known, want the seed and three", chain)
		}
		if s := w.crawler.Status(); s.Known > 400 {
			t.Errorf("%d hosts are known", s.Known)
		}
	})
}

// A document that names 100,000 hosts is too large to be read; the largest one
// that is read adds 16 domains, or 63 hosts of one; and one that names the host
// itself, in whatever form, adds nothing.
func TestDocumentsWithManyLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var all, domains, below []string
		for i := range 100_000 {
			all = append(all, fmt.Sprintf("h%d.test", i))
		}
		for i := range 4900 {
			domains = append(domains, fmt.Sprintf("d%d.test", i))
			below = append(below, fmt.Sprintf("h%d.one.test", i))
		}
		w.site("all.test", map[string]http.Handler{summaryPath: relatedHosts(all...)})
		w.site("domains.test", map[string]http.Handler{summaryPath: relatedHosts(domains...)})
		w.site("below.test", map[string]http.Handler{summaryPath: relatedHosts(below...)})
		w.site("self.test", map[string]http.Handler{summaryPath: relatedHosts("self.test", "SELF.test.", "self.test/", "self.test/.well-known/agis.json")})
		w.run()
		results := w.crawl("all.test", "domains.test", "below.test", "self.test")
		for host, want := range map[string]struct {
			outcome fetch.Outcome
			added   int
		}{"all.test": {fetch.TooLarge, 0}, "domains.test": {fetch.OK, 16}, "below.test": {fetch.OK, 63}, "self.test": {fetch.OK, 0}} {
			if f := w.host(host).Fetches["agis-summary"]; f.Outcome != want.outcome || len(results[host].New) != want.added {
				t.Errorf("%s: %s (%s), %d hosts added; want %s and %d", host, f.Outcome, f.Detail, len(results[host].New), want.outcome, want.added)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := w.crawler.Status(); s.Known != 4+16+63 {
			t.Errorf("%d hosts are known", s.Known)
		}
	})
}

// After robots.txt starts to forbid everything, the next visit requests nothing else, and the
// stored documents stay and are marked with the reason wherever they appear.
func TestRobotsConnectionCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A")), summaryPath: json200(summary("https://a.test/full"))})
		w.run()
		w.visit("a.test")
		s.set(robotsPath, page{body: "# go away\nUser-agent: *\nDisallow: /\n"})
		before := len(w.asked())
		time.Sleep(27 * time.Hour)
		synctest.Wait()
		w.wantAsked(before, "a.test "+robotsPath)
		r := w.visit("a.test")
		if r.State != crawler.Listed || r.Documents != 2 || !strings.Contains(r.Summary, "refused-by-robots: Disallow: / (line 3)") {
			t.Errorf("%s, %d documents: %s", r.State, r.Documents, r.Summary)
		}
		h := w.host("a.test")
		for _, kind := range []string{"ai", "agis-summary"} {
			if f := h.Fetches[kind]; f.Outcome != fetch.RefusedByRobots || f.Digest == "" || !strings.Contains(f.Detail, "Disallow: /") {
				t.Errorf("%s: %s (%s)", kind, f.Outcome, f.Detail)
			}
		}
		last := w.crawlLog("a.test")[1]
		var asked []string
		for _, q := range last.Requests {
			asked = append(asked, q.URL)
		}
		if !slices.Equal(asked, []string{"https://a.test/robots.txt"}) {
			t.Errorf("the crawl log of the second visit has %q", asked)
		}
		// When robots.txt allows them again, they are requested again.
		s.set(robotsPath, page{status: 404})
		time.Sleep(27 * time.Hour)
		synctest.Wait()
		if f := w.host("a.test").Fetches["ai"]; f.Outcome != fetch.OK {
			t.Errorf("opened again: %s (%s)", f.Outcome, f.Detail)
		}
	})
}
