package crawler_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
)

// times returns the times at which a path of a host was requested, relative to the first.
func (w *world) times(host, path string) []time.Duration {
	var out []time.Duration
	var first time.Time
	for _, q := range w.net.Requests() {
		if q.Host != host || q.Path != path {
			continue
		}
		if first.IsZero() {
			first = q.Begun
		}
		out = append(out, q.Begun.Sub(first))
	}
	return out
}

// wantTimes compares the gaps between requests: each at least as long as
// wanted, and at most a tenth (the jitter) and some minutes longer.
func (w *world) wantTimes(host, path string, gaps ...time.Duration) {
	w.t.Helper()
	times := w.times(host, path)
	for i, want := range gaps {
		if i+1 >= len(times) {
			w.t.Errorf("%s%s was asked for %d times, want more than %d", host, path, len(times), i+1)
			return
		}
		if gap := times[i+1] - times[i]; gap < want || gap > want+want/10+11*time.Minute {
			w.t.Errorf("%s%s: gap %d is %v, want %v", host, path, i+1, gap, want)
		}
	}
}

const oneDay = 24 * time.Hour

func TestRevisitTimes(t *testing.T) {
	limited := func(seconds string) page {
		return page{status: 429, header: map[string]string{"Retry-After": seconds}}
	}
	cached := func(cc string) page {
		return page{body: ai("A"), header: map[string]string{"Cache-Control": cc}}
	}
	for _, c := range []struct {
		name   string
		answer http.Handler
		gaps   []time.Duration
	}{
		{"404 waits a day, a week, a month, a quarter", page{status: 404}, []time.Duration{oneDay, 7 * oneDay, 30 * oneDay, 90 * oneDay, 90 * oneDay}},
		{"410 too", page{status: 410}, []time.Duration{oneDay, 7 * oneDay}},
		{"no JSON too", json200("{"), []time.Duration{oneDay, 7 * oneDay}},
		{"a wrong media type too", page{header: map[string]string{"Content-Type": "text/html"}}, []time.Duration{oneDay, 7 * oneDay}},
		{"a document is asked for daily, and less often when it never changes", json200(ai("A")), []time.Duration{oneDay, oneDay, oneDay, 2*oneDay + 4*time.Hour}},
		{"a document that changes always is asked for more often", changing(0), []time.Duration{oneDay, oneDay, oneDay, 13 * time.Hour}},
		{"or as often as it says", cached("public, max-age=7200"), []time.Duration{2 * time.Hour, 2 * time.Hour}},
		{"but not more than hourly", cached("max-age=5"), []time.Duration{time.Hour, time.Hour}},
		{"no-cache is hourly", cached("no-cache"), []time.Duration{time.Hour, time.Hour}},
		{"nor less than monthly", cached("max-age=999999999999"), []time.Duration{30 * oneDay, 30 * oneDay}},
		{"500 is tried three times, then daily", page{status: 500}, []time.Duration{time.Minute, 5 * time.Minute, oneDay, oneDay}},
		{"429 names its time", limited("120"), []time.Duration{2 * time.Minute, 2 * time.Minute, oneDay, oneDay}},
		{"429 for a second is a second, for three tries", limited("1"), []time.Duration{time.Second, time.Second, oneDay}},
		{"429 for a week is a week", limited("604800"), []time.Duration{7 * oneDay, 7 * oneDay, 7 * oneDay}},
		{"429 with a huge Retry-After is a month", limited("99999999999999999999"), []time.Duration{30 * oneDay, 30 * oneDay}},
		{"429 below zero is a minute", limited("-5"), []time.Duration{time.Minute}},
		{"429 in words is a minute", limited("soon"), []time.Duration{time.Minute}},
		{"429 without a word is a minute", page{status: 429}, []time.Duration{time.Minute, 5 * time.Minute, oneDay, oneDay}},
		{"429 until 2099 is a month", limited("Fri, 01 Jan 2099 00:00:00 GMT"), []time.Duration{30 * oneDay, 30 * oneDay}},
		{"429 until yesterday is a second", limited("Fri, 01 Jan 1999 00:00:00 GMT"), []time.Duration{time.Second, time.Second, oneDay}},
		{"429 for no time is a second", limited("0"), []time.Duration{time.Second, time.Second, oneDay}},
		{"503 for 10^20 seconds is a month", page{status: 503, header: map[string]string{"Retry-After": "100000000000000000000"}}, []time.Duration{30 * oneDay, 30 * oneDay}},
		{"404 that would like to be asked soon waits a day all the same", page{status: 404, header: map[string]string{"Retry-After": "1", "Cache-Control": "max-age=1"}}, []time.Duration{oneDay, 7 * oneDay}},
		{"silence waits a day, a week, a month", http.HandlerFunc(silent), []time.Duration{oneDay, 7 * oneDay, 30 * oneDay, 30 * oneDay}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.site("a.test", map[string]http.Handler{
					aiPath: c.answer,
					// Fresh for long, so that it does not bring us back.
					summaryPath: page{body: summary("agtp://a.test"), header: map[string]string{"Cache-Control": "max-age=2592000"}},
				})
				w.run()
				w.visit("a.test")
				total := time.Duration(0)
				for _, g := range c.gaps {
					total += g + g/10 + 11*time.Minute
				}
				time.Sleep(total)
				synctest.Wait()
				w.wantTimes("a.test", aiPath, c.gaps...)
				w.wantPolite(0)
			})
		})
	}
}

// recoveringNames is a name server that fails until a time, and notes when it was asked.
type recoveringNames struct {
	until time.Time
	asked []time.Time // one for each visit
}

func (n *recoveringNames) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	now := time.Now()
	n.asked = append(n.asked, now)
	if now.Before(n.until) {
		return nil, &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
	}
	return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
}

// TestFailuresOfNameServersAreRetriedSoon checks that a host whose name servers fail is visited again
// within minutes and within an hour, and then as rarely as one without an address.
func TestFailuresOfNameServersAreRetriedSoon(t *testing.T) {
	for name, c := range map[string]struct {
		fails time.Duration
		gaps  []time.Duration
	}{
		"for half an hour": {30 * time.Minute, []time.Duration{5 * time.Minute, time.Hour}},
		"for months":       {90 * oneDay, []time.Duration{5 * time.Minute, time.Hour, oneDay, 7 * oneDay, 30 * oneDay, 30 * oneDay}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
				names := &recoveringNames{until: time.Now().Add(c.fails)}
				w.opts.Resolver = names
				w.run()
				if r := w.visit("a.test"); !strings.HasPrefix(r.Summary, "dns: ") {
					t.Errorf("the first visit: %s", r.Summary)
				}
				total := time.Duration(0)
				for _, g := range c.gaps {
					total += g + g/10 + time.Minute
				}
				time.Sleep(total)
				synctest.Wait()
				for i, want := range c.gaps {
					if i+1 >= len(names.asked) {
						t.Fatalf("asked %d times, want more than %d", len(names.asked), i+1)
					}
					if gap := names.asked[i+1].Sub(names.asked[i]); gap < want || gap > want+want/10+time.Minute {
						t.Errorf("gap %d is %v, want %v", i+1, gap, want)
					}
				}
				if found := w.stored("a.test", document.AI) != nil; found != (c.fails < time.Hour) {
					t.Errorf("the document is found: %v", found)
				}
			})
		})
	}
}

// missingNames is a name server that cannot be reached until a time.
type missingNames struct{ until time.Time }

func (n missingNames) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if time.Now().Before(n.until) {
		return nil, &net.DNSError{Err: "read udp 127.0.0.1:40000->127.0.0.53:53: read: connection refused", Name: host, IsTemporary: true}
	}
	return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
}

// TestMissingNameServerIsNoFailureOfHosts checks that hosts stay due, without a failure, while our own name
// server cannot be reached, and that callers who wait for a visit learn why there is none.
func TestMissingNameServerIsNoFailureOfHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
		w.opts.Resolver = missingNames{time.Now().Add(20 * time.Minute)}
		w.run()
		if r := w.visit("a.test"); r.State != crawler.Unvisited || !strings.Contains(r.Summary, "the name server of this machine") {
			t.Errorf("the first visit: %q, %s", r.State, r.Summary)
		}
		time.Sleep(19 * time.Minute)
		synctest.Wait()
		if h := w.host("a.test"); h.Failures != 0 || len(h.Fetches) != 0 || len(w.turns("a.test")) != 0 {
			t.Errorf("after 19 minutes: %d failures, fetches %+v, states %+v", h.Failures, h.Fetches, w.turns("a.test"))
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if w.stored("a.test", document.AI) == nil {
			t.Error("the document is not found after the name server is there again")
		}
	})
}

// changing answers with another document each time.
func changing(from int) http.Handler {
	var n atomic.Int64
	n.Store(int64(from))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		json200(ai(fmt.Sprint("A ", n.Add(1)))).ServeHTTP(w, r)
	})
}

func TestRetryAfterDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", time.Now().Add(3*time.Hour).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		})})
		w.run()
		w.visit("a.test")
		time.Sleep(4 * time.Hour)
		synctest.Wait()
		w.wantTimes("a.test", aiPath, 3*time.Hour-time.Second)
	})
}

func TestRobots503IsRetriedThenPausedForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.site("a.test", map[string]http.Handler{robotsPath: page{status: 503}, aiPath: json200(ai("A"))})
		w.run()
		w.visit("a.test")
		time.Sleep(40 * time.Hour)
		synctest.Wait()
		w.wantTimes("a.test", robotsPath, time.Minute, 5*time.Minute, oneDay)
		if n := len(w.times("a.test", aiPath)); n != 0 {
			t.Errorf("the document was asked for %d times", n)
		}
		s.set(robotsPath, page{status: 404})
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		if w.stored("a.test", document.AI) == nil {
			t.Error("the document was not fetched when robots.txt came back")
		}
	})
}

// TestRobotsRetryAfterOfAWeekIsWaitedOut checks that the time which a host names with its robots.txt
// counts, although a robots.txt is otherwise asked for each day.
func TestRobotsRetryAfterOfAWeekIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{robotsPath: page{status: 429, header: map[string]string{"Retry-After": "604800"}}, aiPath: json200(ai("A"))})
		w.run()
		w.visit("a.test")
		time.Sleep(16 * oneDay)
		synctest.Wait()
		w.wantTimes("a.test", robotsPath, 7*oneDay, 7*oneDay)
		if n := len(w.asked()); n != 3 {
			t.Errorf("%d requests, want 3 for robots.txt: %q", n, w.asked())
		}
	})
}

func TestNoRequestBeforeDueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
		w.site("none.test", nil)
		w.run()
		w.crawl("a.test", "none.test")
		before := len(w.asked())

		r := w.visit("a.test")
		if !r.NotDue || r.Documents != 1 || !strings.HasPrefix(r.Summary, "not due before ") || r.NextDue.Before(time.Now().Add(23*time.Hour)) {
			t.Errorf("asked again within the time: %+v", r)
		}
		if r := w.visit("none.test"); !r.NotDue || !strings.Contains(r.Summary, "last: absent") {
			t.Errorf("asked again within the time: %+v", r)
		}
		for range 3 { // restarts do not change that
			w.halt()
			w.run()
			w.crawl("a.test", "none.test")
			time.Sleep(5 * time.Hour)
			synctest.Wait()
		}
		w.wantAsked(before)
		time.Sleep(12 * time.Hour)
		synctest.Wait()
		if len(w.asked()) == before {
			t.Error("nothing was asked when the time had come")
		}
	})
}

func TestUnchangedDocumentsAreNotTransferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var sent atomic.Int32
		var tagged atomic.Value
		tagged.Store(`"one"`)
		w.site("a.test", map[string]http.Handler{aiPath: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tag := tagged.Load().(string)
			w.Header().Set("ETag", tag)
			w.Header().Set("Content-Type", "application/json")
			if r.Header.Get("If-None-Match") == tag {
				w.WriteHeader(304)
				return
			}
			sent.Add(1)
			fmt.Fprint(w, ai("A "+tag))
		})})
		w.run()
		w.visit("a.test")
		first := w.stored("a.test", document.AI)
		time.Sleep(27 * time.Hour)
		synctest.Wait()
		second := w.stored("a.test", document.AI)
		f := w.host("a.test").Fetches["ai"]
		if sent.Load() != 1 || f.Outcome != fetch.Unchanged || f.Digest != first.Digest {
			t.Errorf("sent %d times, fetch %+v", sent.Load(), f)
		}
		if !second.FetchedAt.After(first.FetchedAt) || !second.ChangedAt.Equal(first.ChangedAt) || len(second.Operations) != 1 {
			t.Errorf("after a 304 the document is %+v", second)
		}
		tagged.Store(`"two"`)
		time.Sleep(27 * time.Hour)
		synctest.Wait()
		third := w.stored("a.test", document.AI)
		if third.Digest == first.Digest || !third.ChangedAt.After(first.ChangedAt) {
			t.Errorf("the change was not seen: %+v", third)
		}
		versions := 0
		for range w.store.List(t.Context(), "ver/", "") {
			versions++
		}
		if versions != 2 {
			t.Errorf("%d versions, want 2", versions)
		}
	})
}

func TestRemovedDocuments(t *testing.T) {
	for _, c := range []struct {
		name  string
		then  http.Handler
		stays bool
	}{
		{"404", page{status: 404}, false},
		{"410", page{status: 410}, false},
		{"another format", json200(`{"openapi":"3.1.0"}`), false},
		{"HTML", page{body: "<html>", header: map[string]string{"Content-Type": "text/html"}}, false},
		{"500", page{status: 500}, true},
		{"401", page{status: 401}, true},
		{"silence", http.HandlerFunc(silent), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				s := w.site("a.test", map[string]http.Handler{aiPath: json200(ai("A"))})
				w.run()
				w.visit("a.test")
				s.set(aiPath, c.then)
				time.Sleep(27 * time.Hour)
				synctest.Wait()
				if got := w.stored("a.test", document.AI) != nil; got != c.stays {
					t.Errorf("stored %v, want %v", got, c.stays)
				}
				if h := w.host("a.test"); h.Listed() != c.stays {
					t.Errorf("listed %v, want %v: %+v", h.Listed(), c.stays, h.Fetches["ai"])
				}
				for r, err := range w.store.List(t.Context(), "ver/", "") {
					if err != nil || !strings.Contains(r.Key, "sha256:") {
						t.Error(r.Key, err)
					}
					return
				}
				t.Error("the version is gone")
			})
		})
	}
}

func TestAlias(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.site("a.test", map[string]http.Handler{aliasPath: json200(ai("A"))})
		w.run()
		w.visit("a.test")
		w.wantAsked(0, "a.test /robots.txt", "a.test /.well-known/ai", "a.test /.well-known/agis.json", "a.test /ai")
		if w.stored("a.test", document.AIAlias) == nil || w.stored("a.test", document.AI) != nil {
			t.Error("the alias is stored as the alias, and only so")
		}
		if h := w.host("a.test"); h.Listed() {
			t.Error("a host with an alias alone is listed")
		}
		s.set(aiPath, json200(ai("A")))
		time.Sleep(27 * time.Hour)
		synctest.Wait()
		if w.stored("a.test", document.AIAlias) != nil || w.stored("a.test", document.AI) == nil {
			t.Error("the authoritative document takes the alias's place")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("b.test", map[string]http.Handler{aiPath: page{status: 500}, aliasPath: json200(ai("B"))})
		w.run()
		w.visit("b.test")
		if slices.Contains(w.asked(), "b.test /ai") {
			t.Error("/ai was asked for although /.well-known/ai did not say 404")
		}
	})
}

func TestAGISDocumentElsewhere(t *testing.T) {
	agis := page{body: agisYAML, header: map[string]string{"Content-Type": "text/plain; charset=utf-8"}}
	for _, c := range []struct {
		name, link string
		outcome    fetch.Outcome // "": not asked for
	}{
		{"on another host", "https://docs.test/a.agis", fetch.OK},
		{"as plain text without a telling name", "https://docs.test/a", fetch.BadMediaType},
		{"on a host that forbids it", "https://docs.test/secret.agis", fetch.RefusedByRobots},
		{"by agtp", "agtp://docs.test", ""},
		{"by http", "http://docs.test/a.agis", ""},
		{"on loopback", "https://127.0.0.1/a.agis", fetch.BlockedAddress},
		{"on a port", "https://docs.test:8443/a.agis", fetch.BadAddress},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.site("a.test", map[string]http.Handler{summaryPath: json200(summary(c.link))})
				w.site("docs.test", map[string]http.Handler{
					robotsPath: page{body: "User-agent: *\nDisallow: /secret\n"},
					"/a.agis":  agis, "/a": agis, "/secret.agis": agis,
				})
				w.run()
				w.visit("a.test")
				f := w.host("a.test").Fetches["agis"]
				if f.Outcome != c.outcome {
					t.Errorf("outcome %q (%s), want %q", f.Outcome, f.Detail, c.outcome)
				}
				d := w.stored("a.test", document.AGIS)
				if (d != nil) != (c.outcome == fetch.OK) {
					t.Fatalf("stored: %v", d)
				}
				if d != nil && (d.Host != "a.test" || d.Source != document.Linked) {
					t.Errorf("filed under %s as %s", d.Host, d.Source)
				}
				w.wantPolite(0)
			})
		})
	}
}
