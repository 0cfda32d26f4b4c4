package crawler_test

import (
	"context"
	"errors"
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
	"gazetteer/store"
)

// relatedHosts is a summary that names these hosts.
func relatedHosts(hosts ...string) http.Handler {
	links := make([]string, len(hosts))
	for i, h := range hosts {
		links[i] = "agtp://" + h
	}
	return json200(summary("agtp://nowhere.test", links...))
}

// TestLinksAreFollowedToDepthThree checks that links are followed to depth 3 from a seed, by the
// shortest path, in any order of visits.
func TestLinksAreFollowedToDepthThree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("s.test", map[string]http.Handler{summaryPath: relatedHosts("a1.test", "slow.test")})
		w.site("a1.test", map[string]http.Handler{summaryPath: relatedHosts("a2.test")})
		w.site("a2.test", map[string]http.Handler{summaryPath: relatedHosts("x.test")})
		w.site("x.test", map[string]http.Handler{summaryPath: relatedHosts("y.test")}) // at 3 by a1, at 2 by slow
		w.site("y.test", map[string]http.Handler{summaryPath: relatedHosts("z.test")}) // at 3
		w.site("z.test", nil)                                                          // at 4
		w.site("slow.test", map[string]http.Handler{summaryPath: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(9 * time.Second)
			relatedHosts("x.test").ServeHTTP(rw, r)
		})})
		w.run()
		r := w.visit("s.test")
		if !slices.Equal(r.New, []string{"a1.test", "slow.test"}) {
			t.Errorf("new hosts %v", r.New)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for host, depth := range map[string]int{"s.test": 0, "a1.test": 1, "slow.test": 1, "a2.test": 2, "x.test": 2, "y.test": 3} {
			if h := w.host(host); h.Depth != depth || h.Visits != 1 {
				t.Errorf("%s: depth %d, visits %d; want depth %d, one visit", host, h.Depth, h.Visits, depth)
			}
		}
		if h := w.host("x.test"); h.FoundOn != "slow.test" {
			t.Errorf("x.test was found on %s", h.FoundOn)
		}
		if _, err := w.store.Get(t.Context(), store.HostKey("z.test")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("z.test is four links away and known: %v", err)
		}
	})
}

func TestLinksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var domains, hosts []string
		for i := range 40 {
			domains = append(domains, fmt.Sprintf("d%d.test", i))
		}
		for i := range 100 {
			hosts = append(hosts, fmt.Sprintf("h%d.one.test", i))
		}
		w.site("domains.test", map[string]http.Handler{summaryPath: relatedHosts(domains...)})
		w.site("hosts.test", map[string]http.Handler{summaryPath: relatedHosts(hosts...)})
		w.site("bad.test", map[string]http.Handler{summaryPath: json200(summary("agtp://x.test",
			"agtp://127.0.0.1", "https://localhost/", "agtp://[::1]", "agtp://2130706433", "http://intranet", "agtp://u@h.test", "agtp://h.test:22"))})
		w.run()
		results := w.crawl("domains.test", "hosts.test", "bad.test")
		if n := len(results["domains.test"].New); n != 16 {
			t.Errorf("one document added %d domains, want 16", n)
		}
		if n := len(results["hosts.test"].New); n != 63 {
			t.Errorf("one document added %d hosts, want 63: its 64th link is its AGIS document", n)
		}
		if n := results["bad.test"].New; len(n) != 0 {
			t.Errorf("addresses that are no hosts were added: %v", n)
		}
	})
}

func TestAddAndCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
		w.site("b.test", nil)
		w.open() // not running yet
		var wrong *fetch.HostError
		if err := w.crawler.Add(t.Context(), "b.test", "127.0.0.1"); !errors.As(err, &wrong) || wrong.Host != "127.0.0.1" {
			t.Errorf("Add: %v, want a HostError", err)
		}
		if _, err := w.store.Get(t.Context(), store.HostKey("b.test")); !errors.Is(err, store.ErrNotFound) {
			t.Error("one name was added although another was refused")
		}
		if err := w.crawler.Add(t.Context(), "b.test", "B.test.", "https://b.test/"); err != nil {
			t.Fatal(err)
		}
		added := w.host("b.test")
		if added.Due.After(time.Now()) || added.Visits != 0 {
			t.Errorf("an added host is not due: %+v", added)
		}
		w.store.Close()
		w.store = nil
		w.run()
		time.Sleep(time.Second)
		synctest.Wait()
		if h := w.host("b.test"); h.Visits != 1 {
			t.Errorf("the added host was visited %d times", h.Visits)
		}
		results := w.crawl("A.test", "a.test", "not a host", "::1")
		if len(results) != 3 || results["a.test"].Documents != 1 {
			t.Errorf("results %+v", results)
		}
		for _, bad := range []string{"not a host", "::1"} {
			if r := results[bad]; r.Outcome() != fetch.BadHost || !strings.Contains(r.Summary, "bad-host: ") {
				t.Errorf("%q: %+v", bad, r)
			}
		}
		synctest.Wait() // a visit is told of before its place is free again
		s := w.crawler.Status()
		if s.Known != 2 || s.Visits != 2 || s.Documents != 1 || s.Errors != 1 || s.InFlight != 0 || s.Due != 0 || s.Waiting != 2 || s.Rate == 0 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestCrawlEndsWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.net.Handle("silent.test", http.HandlerFunc(silent))
		w.run()
		ended := make(chan error, 1)
		go func() {
			ended <- w.crawler.Crawl(t.Context(), []string{"silent.test"}, func(crawler.Result) error { return nil })
		}()
		time.Sleep(2 * time.Second)
		begun := time.Now()
		w.stop()
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
		w.stop = nil
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("Run took %v to end; the grace is a second", took)
		}
		if err := <-ended; !errors.Is(err, crawler.ErrStopped) {
			t.Errorf("Crawl: %v, want ErrStopped", err)
		}
		if h := w.host("silent.test"); h.Visits != 0 || h.Due.After(time.Now()) {
			t.Errorf("a visit that was cut short counts: %+v", h)
		}
	})
}

func TestRunFinishesCurrentVisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.Grace = 5 * time.Second
		w.site("slow.test", map[string]http.Handler{aiPath: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(3 * time.Second)
			json200(ai("Slow")).ServeHTTP(rw, r)
		})})
		w.site("next.test", nil)
		w.opts.Workers = 1
		w.run()
		if err := w.crawler.Add(t.Context(), "slow.test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := w.crawler.Add(t.Context(), "next.test"); err != nil {
			t.Fatal(err)
		}
		w.stop()
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
		w.stop = nil
		if w.stored("slow.test", document.AI) == nil {
			t.Error("the visit under way was not finished")
		}
		if h := w.host("next.test"); h.Visits != 0 {
			t.Error("a visit was begun after the end")
		}
	})
}

// faulty is a real store some of whose calls fail.
type faulty struct {
	store.Store
	fail func(writes []store.Write) error
	get  func(key string) error // may be nil
}

func (f *faulty) Get(ctx context.Context, key string) (store.Record, error) {
	if f.get != nil {
		if err := f.get(key); err != nil {
			return store.Record{}, err
		}
	}
	return f.Store.Get(ctx, key)
}

func (f *faulty) Apply(ctx context.Context, writes ...store.Write) (uint64, error) {
	if err := f.fail(writes); err != nil {
		return 0, err
	}
	return f.Store.Apply(ctx, writes...)
}

// isResult reports whether the writes hold the result of a visit.
func isResult(writes []store.Write) bool {
	return slices.ContainsFunc(writes, func(w store.Write) bool { return strings.HasPrefix(w.Key, store.DocumentPrefix) })
}

// runFaulty runs the world on a store that fails so.
func (w *world) runFaulty(fail func(w *world, writes []store.Write) error) {
	w.t.Helper()
	w.open()
	w.opts.Store = &faulty{Store: w.store, get: w.get, fail: func(writes []store.Write) error { return fail(w, writes) }}
	o := w.opts
	var err error
	if w.crawler, err = crawler.New(o); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	w.stop, w.ended = cancel, make(chan error, 1)
	go func() { w.ended <- w.crawler.Run(ctx) }()
}

func TestFullDiskPausesAndResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 30 {
			w.site(fmt.Sprintf("h%d.test", i), map[string]http.Handler{aiPath: json200(ai("A"))})
		}
		var full atomic.Bool
		full.Store(true)
		w.opts.Workers = 4
		w.runFaulty(func(_ *world, writes []store.Write) error {
			if isResult(writes) && full.Load() {
				return fmt.Errorf("apply: %w", store.ErrFull)
			}
			return nil
		})
		for i := range 30 {
			if err := w.crawler.Add(t.Context(), fmt.Sprintf("h%d.test", i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if s := w.crawler.Status(); s.Paused == "" || s.Visits != 0 {
			t.Errorf("status %+v, want paused", s)
		}
		if n := len(w.times("h0.test", robotsPath)); n > 1 {
			t.Errorf("h0.test was asked %d times while nothing could be stored", n)
		}
		full.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if s := w.crawler.Status(); s.Paused != "" || s.Visits != 30 {
			t.Errorf("status %+v, want all visited", s)
		}
		for i := range 30 {
			if n := len(w.times(fmt.Sprintf("h%d.test", i), aiPath)); n != 1 {
				t.Errorf("h%d.test was asked %d times", i, n)
			}
		}
	})
}

func TestFullDiskDoesNotDelayStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
		w.runFaulty(func(_ *world, writes []store.Write) error {
			if isResult(writes) {
				return store.ErrFull
			}
			return nil
		})
		if err := w.crawler.Add(t.Context(), "a.test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		w.halt()
		w.opts.Store = nil
		w.run()
		time.Sleep(time.Minute)
		synctest.Wait()
		if w.stored("a.test", document.AI) == nil {
			t.Error("the host did not stay due")
		}
	})
}

func TestConflictAffectsItsHostOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("s.test", map[string]http.Handler{summaryPath: relatedHosts("a.test", "b.test", "new.test")})
		w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
		w.site("b.test", map[string]http.Handler{aiPath: json200(ai("B"))})
		w.site("new.test", nil)
		raced := false
		w.runFaulty(func(w *world, writes []store.Write) error {
			if !isResult(writes) || raced {
				return nil
			}
			raced = true
			// Somebody else adds a host that this batch is about to add.
			h := fmt.Appendf(nil, `{"name":"new.test","due":%q,"depth":0,"added":%q,"visits":0}`,
				time.Now().Add(time.Hour).Format(time.RFC3339), time.Now().Format(time.RFC3339))
			_, err := w.store.Apply(t.Context(), store.PutIf(store.HostKey("new.test"), h, 0))
			return err
		})
		results := w.crawl("s.test", "a.test", "b.test")
		if !raced {
			t.Fatal("nothing was raced")
		}
		for host, r := range results {
			if r.Documents != 1 || w.host(host).Visits != 1 {
				t.Errorf("%s: %s", host, r.Summary)
			}
		}
		if h := w.host("new.test"); h.Depth != 0 || h.Visits != 0 {
			t.Errorf("the host that another added was overwritten: %+v", h)
		}
	})
}

// A host that is submitted while its visit is under way keeps both.
func TestSubmissionDuringAVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("s.test", map[string]http.Handler{summaryPath: relatedHosts("a.test")})
		w.site("a.test", map[string]http.Handler{summaryPath: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if err := w.crawler.Add(r.Context(), "a.test"); err != nil {
				t.Error(err)
			}
			relatedHosts("b.test").ServeHTTP(rw, r)
		})})
		w.site("b.test", nil)
		w.run()
		w.visit("s.test")
		time.Sleep(time.Minute)
		synctest.Wait()
		a, b := w.host("a.test"), w.host("b.test")
		if a.Depth != 0 || a.Visits != 1 || a.FoundOn != "" {
			t.Errorf("a.test: %+v", a)
		}
		if b.Depth != 1 || b.Visits != 1 {
			t.Errorf("b.test: %+v", b)
		}
	})
}

func TestStoreFailureEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
		w.runFaulty(func(_ *world, writes []store.Write) error {
			if isResult(writes) {
				return fmt.Errorf("commit: %w", store.ErrUnknown)
			}
			return nil
		})
		err := w.crawler.Crawl(t.Context(), []string{"a.test"}, func(crawler.Result) error { return nil })
		if !errors.Is(err, crawler.ErrStopped) {
			t.Errorf("Crawl: %v, want ErrStopped", err)
		}
		if err := <-w.ended; !errors.Is(err, store.ErrUnknown) {
			t.Errorf("Run: %v, want ErrUnknown", err)
		}
		w.stop()
		w.stop = nil
	})
}

func TestUnstorableDocumentAffectsItsHostOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
		w.site("b.test", map[string]http.Handler{aiPath: json200(ai("B"))})
		w.runFaulty(func(_ *world, writes []store.Write) error {
			if slices.ContainsFunc(writes, func(w store.Write) bool { return w.Key == store.DocumentKey("a.test", "ai") }) {
				return store.ErrInvalid
			}
			return nil
		})
		w.crawl("a.test", "b.test")
		if h := w.host("a.test"); h.Visits != 1 || h.Fetches["ai"].Outcome != fetch.Unreadable || !h.Due.After(time.Now()) {
			t.Errorf("a.test: %+v", h)
		}
		if w.stored("b.test", document.AI) == nil {
			t.Error("b.test is not stored")
		}
	})
}

// A visit of which nothing at all can be stored does not end the others.
func TestUnstorableVisitAffectsItsHostOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
		w.site("b.test", map[string]http.Handler{aiPath: json200(ai("B"))})
		w.runFaulty(func(_ *world, writes []store.Write) error {
			if slices.ContainsFunc(writes, func(w store.Write) bool { return strings.HasPrefix(w.Key, store.CrawlLogOf("a.test")) }) {
				return store.ErrInvalid
			}
			return nil
		})
		r := w.crawl("a.test", "b.test")
		if a := r["a.test"]; a.State != crawler.Unvisited || !a.NextDue.After(time.Now()) {
			t.Errorf("a.test: %+v", a)
		}
		if b := r["b.test"]; b.State != crawler.Listed || w.stored("b.test", document.AI) == nil {
			t.Errorf("b.test: %+v", b)
		}
	})
}

// The longest names there are fit into every key of the store, two at once, too:
// the crawl log of a host has the name of the host whose visit led there.
func TestLongestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		below := strings.Repeat(strings.Repeat("a", 61)+".", 3)
		one, other := below+strings.Repeat("b", 62)+".test", below+strings.Repeat("c", 62)+".test"
		w.site(one, map[string]http.Handler{aiPath: redirect("https://" + other + "/ai.json")})
		w.site(other, map[string]http.Handler{"/ai.json": json200(ai("A"))})
		w.run()
		if r := w.visit(one); len(one) != 253 || r.State != crawler.Listed {
			t.Errorf("%d bytes: %+v", len(one), r)
		}
	})
}

// A damaged record is the trouble of its host alone, and a damaged document is
// fetched again.
func TestDamagedRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: page{body: ai("A"), header: map[string]string{"ETag": `"1"`}}})
		w.site("s.test", map[string]http.Handler{summaryPath: relatedHosts("a.test", "damaged.test", "b.test"), aiPath: redirect("https://damaged.test/")})
		w.site("b.test", nil)
		w.site("damaged.test", nil)
		var damaged atomic.Value
		damaged.Store("")
		w.get = func(key string) error {
			if key == damaged.Load() {
				return fmt.Errorf("get %q: %w", key, store.ErrCorrupt)
			}
			return nil
		}
		w.runFaulty(func(*world, []store.Write) error { return nil })
		w.crawl("a.test", "damaged.test")

		damaged.Store(store.DocumentKey("a.test", "ai"))
		before := len(w.times("a.test", aiPath))
		time.Sleep(27 * time.Hour)
		synctest.Wait()
		if f := w.host("a.test").Fetches["ai"]; f.Outcome != fetch.OK || len(w.times("a.test", aiPath)) != before+1 {
			t.Errorf("the damaged document was not replaced: %+v", f)
		}

		damaged.Store(store.HostKey("damaged.test"))
		r := w.visit("s.test")
		if r.Documents != 1 || !slices.Equal(r.New, []string{"b.test"}) {
			t.Errorf("s.test: %+v", r)
		}
		time.Sleep(10 * 24 * time.Hour) // damaged.test comes due meanwhile
		synctest.Wait()
		if h := w.host("b.test"); h.Visits == 0 {
			t.Error("b.test was not visited")
		}
	})
}
