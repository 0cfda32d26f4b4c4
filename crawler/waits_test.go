package crawler_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/document"
)

// manySites adds hosts that publish a document and returns their names.
func (w *world) manySites(n int) []string {
	var hosts []string
	for i := range n {
		host := fmt.Sprintf("h%d.test", i)
		w.site(host, map[string]http.Handler{aiPath: json200(ai("Site"))})
		hosts = append(hosts, host)
	}
	return hosts
}

// TestRateWaitsAreNotFailures runs more workers than the rate can start within the time of a
// session: every host is visited in its turn, and none is recorded as refusing.
func TestRateWaitsAreNotFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.Rate, w.opts.Workers = 2, 2048
		hosts := w.manySites(400)
		w.run()
		begun := time.Now()
		for host, r := range w.crawl(hosts...) {
			if r.Documents != 1 {
				t.Errorf("%s: %s", host, r.Summary)
			}
		}
		if took := time.Since(begun); took < 199*time.Second || took > 220*time.Second {
			t.Errorf("400 visits at 2 a second took %v", took)
		}
	})
}

// TestBusyMachineVisitsFewHostsAtOnce checks that on a machine that has too much to do, a few
// visits run at a time, and every host is visited nevertheless.
func TestBusyMachineVisitsFewHostsAtOnce(t *testing.T) {
	for _, busy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.opts.Workers, w.opts.Busy = 2048, func() bool { return busy }
			var running, most atomic.Int64
			var hosts []string
			for i := range 200 {
				host := fmt.Sprintf("h%d.test", i)
				w.site(host, map[string]http.Handler{aiPath: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					most.Store(max(most.Load(), running.Add(1)))
					time.Sleep(time.Second)
					running.Add(-1)
					json200(ai("Site")).ServeHTTP(rw, r)
				})})
				hosts = append(hosts, host)
			}
			w.run()
			for host, r := range w.crawl(hosts...) {
				if r.Documents != 1 {
					t.Errorf("%s: %s", host, r.Summary)
				}
			}
			if few := most.Load() <= 32; few != busy {
				t.Errorf("busy %v: %d hosts were visited at once", busy, most.Load())
			}
		})
	}
}

// TestNoRequestAfterStop checks that sessions that wait for the rate when the crawler stops contact
// no hosts and do not delay the stop.
func TestNoRequestAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.Rate, w.opts.Workers, w.opts.Grace = 10, 500, 10*time.Second
		hosts := w.manySites(400)
		w.run()
		if err := w.crawler.Add(t.Context(), hosts...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		before := w.net.Requests()
		contacted := map[string]bool{}
		for _, q := range before {
			contacted[q.Host] = true
		}
		stopped := time.Now()
		w.rest()
		if took := time.Since(stopped); took > time.Second {
			t.Errorf("the stop took %v", took)
		}
		for _, q := range w.net.Requests()[len(before):] {
			if !contacted[q.Host] { // a session that has begun may end
				t.Errorf("%s was contacted after the stop", q.Host)
			}
		}
		visited := 0
		for _, host := range hosts {
			h := w.host(host)
			visited += h.Visits
			if h.Visits == 0 && (h.Due.After(time.Now()) || len(h.Fetches) > 0) {
				t.Errorf("%s was not visited, and is not due: %+v", host, h)
			}
		}
		if visited < 40 || visited > 60 {
			t.Errorf("%d hosts were visited in 5 seconds at 10 a second", visited)
		}
	})
}

// TestBusyHubIsNotAnOutcome checks that a host whose document is at another host without a free
// turn is visited again soon, and that nothing is recorded against either.
func TestBusyHubIsNotAnOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.HostInterval, w.opts.Workers = 10*time.Second, 16
		w.site("hub.test", map[string]http.Handler{"/doc": json200(ai("Hub"))})
		var hosts []string
		for i := range 8 {
			host := fmt.Sprintf("h%d.test", i)
			w.site(host, map[string]http.Handler{aiPath: redirect("https://hub.test/doc")})
			hosts = append(hosts, host)
		}
		w.run()
		if err := w.crawler.Add(t.Context(), hosts...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		for _, host := range hosts {
			if w.stored(host, document.AI) == nil {
				t.Errorf("%s: its document was not fetched: %+v", host, w.host(host).Fetches)
			}
		}
		for _, r := range w.observed {
			for _, f := range r.Fetches {
				if f.Outcome == "throttled" || f.Outcome == "refused-by-robots" {
					t.Errorf("%s: %s %s: %s", r.Host, f.Kind, f.Outcome, f.Detail)
				}
			}
		}
	})
}

// TestRetryAfterHostIsNotVisited checks that after a 503 or 429 with Retry-After, at whichever path,
// nothing more is asked of the host before the time has come.
func TestRetryAfterHostIsNotVisited(t *testing.T) {
	paths := []string{aiPath, summaryPath, aliasPath}
	answers := map[string]http.Handler{aliasPath: json200(ai("Busy")), summaryPath: json200(summary(""))}
	for _, status := range []int{429, 503} {
		for i, busy := range paths {
			t.Run(fmt.Sprint(status, " at ", busy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					var free atomic.Bool
					site := maps.Clone(answers)
					answer := site[busy]
					site[busy] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
						switch {
						case !free.Load():
							page{status: status, header: map[string]string{"Retry-After": "7200"}}.ServeHTTP(rw, r)
						case answer != nil:
							answer.ServeHTTP(rw, r)
						default:
							http.NotFound(rw, r)
						}
					})
					w.site("busy.test", site)
					w.run()
					w.visit("busy.test")
					want := []string{"busy.test /robots.txt"}
					for _, path := range paths[:i+1] {
						want = append(want, "busy.test "+path)
					}
					free.Store(true)
					time.Sleep(2*time.Hour - time.Second)
					synctest.Wait()
					w.wantAsked(0, want...)
					time.Sleep(27 * time.Hour) // the path that answered 404 is asked once a day
					synctest.Wait()
					if !slices.Contains(w.asked()[len(want):], "busy.test "+busy) || w.stored("busy.test", document.AIAlias) == nil {
						t.Errorf("asked %q in the next day", w.asked()[len(want):])
					}
				})
			})
		}
	}
}

// TestPermanentlyGoneHost checks that after a 410 at the authoritative path the other one is not
// asked (AI Discovery §4.1 allows it after a 404).
func TestPermanentlyGoneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("gone.test", map[string]http.Handler{aiPath: page{status: 410}, "/ai": json200(ai("Gone"))})
		w.run()
		if r := w.visit("gone.test"); r.Documents != 0 {
			t.Errorf("result %s", r.Summary)
		}
		w.wantAsked(0, "gone.test /robots.txt", "gone.test /.well-known/ai", "gone.test /.well-known/agis.json")
	})
}

// TestClockThatWasAhead checks that hosts that were visited while the clock was years ahead are due
// again once it is right, and asked again.
func TestClockThatWasAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ahead := 8 * 365 * 24 * time.Hour
		w.opts.Now = func() time.Time { return time.Now().Add(ahead) }
		hosts := w.manySites(5)
		w.run()
		w.crawl(hosts...)
		w.halt()
		asked := len(w.asked())

		var log strings.Builder
		w.opts.Now, w.opts.Log = nil, slog.New(slog.NewTextHandler(&log, nil))
		w.run()
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, host := range hosts {
			if h := w.host(host); h.Visits != 2 || h.Due.After(time.Now().Add(100*24*time.Hour)) {
				t.Errorf("%s: %d visits, due %v", host, h.Visits, h.Due)
			}
		}
		if more := len(w.asked()) - asked; more != 15 {
			t.Errorf("%d requests after the correction, want 15", more)
		}
		w.halt()
		if !strings.Contains(log.String(), "they are due now\" hosts=5\n") {
			t.Errorf("the log does not have the hosts that were due later:\n%s", &log)
		}
	})
}

// TestClockSetBackWhileRunning checks the same without a restart.
func TestClockSetBackWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var ahead atomic.Int64
		ahead.Store(int64(8 * 365 * 24 * time.Hour))
		w.opts.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		var log strings.Builder
		w.opts.Log = slog.New(slog.NewTextHandler(&log, nil))
		hosts := w.manySites(5)
		w.run()
		w.crawl(hosts...)
		ahead.Store(0)
		time.Sleep(time.Hour)
		synctest.Wait()
		for _, host := range hosts {
			if h := w.host(host); h.Visits != 2 {
				t.Errorf("%s: %d visits, due %v", host, h.Visits, h.Due)
			}
		}
		w.halt()
		for _, line := range []string{`msg="the clock jumped" by=-70080h0m0s`, "they are due now\" hosts=5"} {
			if strings.Count(log.String(), line+"\n") != 1 {
				t.Errorf("the log does not have one line %s:\n%s", line, &log)
			}
		}
	})
}
