package crawler_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
)

// zip packs text with gzip.
func zip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

// until writes what next returns until the client goes away.
func until(next func() string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		rc := http.NewResponseController(w)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, next()); err != nil {
				return
			}
			if pause > 0 {
				rc.Flush()
				select {
				case <-time.After(pause):
				case <-r.Context().Done():
				}
			}
		}
	}
}

// raw answers with these bytes on the connection itself and closes it.
func raw(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		io.WriteString(c, answer)
		c.Close()
	}
}

// endless answers with the head and then more and more of next.
func endless(head string, next string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := io.WriteString(c, head); err != nil {
			return
		}
		for {
			if _, err := io.WriteString(c, next); err != nil {
				return
			}
		}
	}
}

// pieces answers with the head, so many times next, and the tail.
func pieces(head, next string, times int, tail string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		for i := range times + 2 {
			piece := next
			switch i {
			case 0:
				piece = head
			case times + 1:
				piece = tail
			}
			if _, err := io.WriteString(c, piece); err != nil {
				return
			}
		}
	}
}

func silent(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

func gzipped(body string) page {
	return page{body: body, header: map[string]string{"Content-Encoding": "gzip"}}
}

func big(size int) string {
	d := ai("Big")
	return d + strings.Repeat(" ", size-len(d))
}

// closing is how long the end of a TLS connection may take whose other side does
// not read: a pipe has no room for the alert that says so.
const closing = 6 * time.Second

func TestHostileAnswers(t *testing.T) {
	bomb := zip(strings.Repeat("0", 100<<20))
	for _, c := range []struct {
		name    string
		answer  http.Handler
		outcome fetch.Outcome
		within  time.Duration // of the clock in the bubble
	}{
		{"no answer", http.HandlerFunc(silent), fetch.Timeout, 11 * time.Second},
		{"a byte a second", until(func() string { return " " }, time.Second), fetch.Timeout, 11 * time.Second},
		{"a body without end", until(func() string { return strings.Repeat("x", 1000) }, 0), fetch.TooLarge, time.Second},
		{"10 GB announced", raw(head + "Content-Length: 10000000000\r\n\r\n{"), fetch.TooLarge, time.Second},
		{"headers without end", endless("HTTP/1.1 200 OK\r\n", "X-More: "+strings.Repeat("x", 1000)+"\r\n"), fetch.TooLarge, closing},
		{"one header without end", endless("HTTP/1.1 200 OK\r\nX: ", strings.Repeat("x", 1000)), fetch.TooLarge, closing},
		{"a Location of 10 MB", pieces("HTTP/1.1 302 Found\r\nLocation: https://bad.test/", strings.Repeat("x", 1000), 10_000, "\r\nContent-Length: 0\r\n\r\n"), fetch.TooLarge, closing},
		{"a Location of 50 kB", pieces("HTTP/1.1 302 Found\r\nLocation: https://bad.test/", strings.Repeat("x", 1000), 50, "\r\nContent-Length: 0\r\n\r\n"), fetch.BadRedirect, closing},
		{"early hints without end", endless("", "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n"), "", 11 * time.Second},
		{"the size that is allowed", json200(big(262144)), fetch.OK, time.Second},
		{"one byte more", json200(big(262145)), fetch.TooLarge, time.Second},
		{"the size that is allowed, packed", gzipped(zip(big(262144))), fetch.OK, time.Second},
		{"one byte more, packed", gzipped(zip(big(262145))), fetch.TooLarge, time.Second},
		{"a gzip bomb", gzipped(bomb), fetch.TooLarge, time.Second},
		{"gzip within gzip", page{body: zip(zip(ai("A"))), header: map[string]string{"Content-Encoding": "gzip, gzip"}}, fetch.Unreadable, time.Second},
		{"gzip cut short", gzipped(zip(ai("A"))[:100]), fetch.Unreadable, time.Second},
		{"gzip with a wrong checksum", gzipped(zip(ai("A"))[:len(zip(ai("A")))-8] + "12345678"), fetch.Unreadable, time.Second},
		{"gzip with something behind it", gzipped(zip(ai("A")) + "more"), fetch.Unreadable, time.Second},
		{"no gzip at all", gzipped(ai("A")), fetch.Unreadable, time.Second},
		{"rubbish as brotli", page{body: "\x8b\x02", header: map[string]string{"Content-Encoding": "br"}}, fetch.Unreadable, time.Second},
		{"a gzip file", page{body: zip(ai("A")), header: map[string]string{"Content-Type": "application/gzip"}}, fetch.BadMediaType, time.Second},
		{"cut off in the body", raw(head + "Content-Length: 1000\r\n\r\n{\"aiendpoint\":"), fetch.Unreachable, time.Second},
		{"cut off in a chunk", raw(head + "Transfer-Encoding: chunked\r\n\r\n100\r\n{\"aiendpoint\":"), fetch.Unreachable, time.Second},
		{"a chunk size of rubbish", raw(head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n"), fetch.Unreachable, time.Second},
		{"a chunk size over 64 bits", raw(head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n"), fetch.Unreachable, time.Second},
		{"two lengths", raw(head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "), fetch.Unreachable, closing},
		{"a bad status line", raw("HTTP/1.1 OK 200\r\n\r\n"), fetch.Unreachable, closing},
		{"HTTP/0.9", raw("{}"), fetch.Unreachable, time.Second},
		{"Latin-1", page{body: strings.ReplaceAll(ai("Caf#"), "#", "\xe9"), header: map[string]string{"Content-Type": "application/json; charset=iso-8859-1"}}, fetch.Unreadable, time.Second},
		{"UTF-8 under another name", page{body: ai("Café"), header: map[string]string{"Content-Type": "application/json; charset=iso-8859-1"}}, fetch.OK, time.Second},
		{"HTML", page{body: "<html>", header: map[string]string{"Content-Type": "text/html"}}, fetch.BadMediaType, time.Second},
		{"no media type", raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), fetch.BadMediaType, closing},
		{"no JSON", json200("{not json"), fetch.Unreadable, time.Second},
		{"nothing", json200(""), fetch.Unreadable, time.Second},
		{"401", page{status: 401}, fetch.Forbidden, time.Second},
		{"418", page{status: 418}, fetch.BadStatus, time.Second},
		{"204", page{status: 204}, fetch.BadStatus, time.Second},
		{"429", page{status: 429}, fetch.Throttled, time.Second},
		{"500", page{status: 500}, fetch.ServerError, time.Second},
		{"a 404 with a body without end", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(404)
			until(func() string { return strings.Repeat("x", 1000) }, 0)(w, r)
		}), fetch.Absent, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				s := &site{pages: map[string]http.Handler{aiPath: c.answer}}
				w.net.Serve("bad.test", fakenet.Site{Handler: s, HTTP1: true})
				w.site("good.test", map[string]http.Handler{aiPath: json200(ai("Good"))})
				w.run()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				begun := time.Now()
				results := w.crawl("bad.test", "good.test")
				took := time.Since(begun)
				runtime.ReadMemStats(&after)
				if took > c.within {
					t.Errorf("took %v, want at most %v", took, c.within)
				}
				if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 16<<20 {
					t.Errorf("allocated %d bytes", grown)
				}
				if results["good.test"].Documents != 1 || results["good.test"].Took > time.Second {
					t.Errorf("the good host: %+v", results["good.test"])
				}
				f := w.host("bad.test").Fetches["ai"]
				if f.Outcome != c.outcome && c.outcome != "" || f.Outcome == fetch.OK && c.outcome != fetch.OK {
					t.Errorf("outcome %q (%s), want %q", f.Outcome, f.Detail, c.outcome)
				}
				if f.Outcome != fetch.OK && f.Detail == "" {
					t.Error("no word on what is wrong")
				}
				if kept := len(fmt.Sprint(f)); kept > 10_000 {
					t.Errorf("%d bytes are kept of the fetch", kept)
				}
				if (w.stored("bad.test", document.AI) != nil) != (c.outcome == fetch.OK) {
					t.Error("a document is stored exactly when the outcome is ok")
				}
				w.wantPolite(0)
			})
		})
	}
}

func TestUnreachableHostsAreSettledAtOnce(t *testing.T) {
	page := &site{pages: map[string]http.Handler{aiPath: json200(ai("A"))}}
	for _, c := range []struct {
		name    string
		site    *fakenet.Site // nil: the name is unknown
		outcome fetch.Outcome
	}{
		{"unknown name", nil, fetch.DNSFailed},
		{"refused", &fakenet.Site{Handler: page, Down: true}, fetch.Unreachable},
		{"expired certificate", &fakenet.Site{Handler: page, Certificate: fakenet.ExpiredCertificate}, fetch.TLSFailed},
		{"certificate of another", &fakenet.Site{Handler: page, Certificate: fakenet.WrongNameCertificate}, fetch.TLSFailed},
		{"own certificate", &fakenet.Site{Handler: page, Certificate: fakenet.SelfSignedCertificate}, fetch.TLSFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			// On loopback: a pipe has no room for the alert of a refusal.
			w := newWorldOf(t, fakenet.Options{Empty: true})
			if c.site != nil {
				w.net.Serve("bad.test", *c.site)
			}
			w.run()
			r := w.visit("bad.test")
			w.wantAsked(0)
			h := w.host("bad.test")
			for _, kind := range []string{"robots", "ai", "agis-summary"} {
				if f := h.Fetches[kind]; f.Outcome != c.outcome || f.Detail == "" {
					t.Errorf("%s is %q (%s), want %q", kind, f.Outcome, f.Detail, c.outcome)
				}
			}
			if !strings.HasPrefix(r.Summary, string(c.outcome)+": ") || h.Failures != 1 {
				t.Errorf("summary %q, failures %d", r.Summary, h.Failures)
			}
			if wait := r.NextDue.Sub(h.Visited); wait < 24*time.Hour || wait > 27*time.Hour {
				t.Errorf("due again after %v, want a day", wait)
			}
		})
	}
}

func TestSilentHostsDoNotHoldUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.Workers = 32
		var hosts []string
		for i := range 24 {
			host := fmt.Sprintf("silent%d.test", i)
			w.net.Handle(host, http.HandlerFunc(silent))
			hosts = append(hosts, host)
		}
		for i := range 100 {
			host := fmt.Sprintf("good%d.test", i)
			w.site(host, map[string]http.Handler{aiPath: json200(ai(host))})
			hosts = append(hosts, host)
		}
		w.run()
		for host, r := range w.crawl(hosts...) {
			if strings.HasPrefix(host, "good") && (r.Documents != 1 || r.Took > time.Second) {
				t.Errorf("%s: %s in %v", host, r.Summary, r.Took)
			}
		}
		w.wantPolite(0)
	})
}

// A domain with many hosts waits for its own turns; others do not.
func TestOneDomainOfManyHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.Workers, w.opts.DomainInterval = 4, 2*time.Second
		var hosts []string
		for i := range 50 {
			host := fmt.Sprintf("h%d.farm.test", i)
			w.site(host, nil)
			hosts = append(hosts, host)
		}
		for i := range 20 {
			host := fmt.Sprintf("other%d.test", i)
			w.site(host, nil)
			hosts = append(hosts, host)
		}
		begun := time.Now()
		w.run()
		w.crawl(hosts...)
		if took := time.Since(begun); took < 98*time.Second || took > 130*time.Second {
			t.Errorf("took %v, want about 50 intervals of 2 s", took)
		}
		var last, other time.Time
		for _, q := range w.net.Requests() {
			if !strings.HasSuffix(q.Host, ".farm.test") {
				other = q.Begun
			} else if q.Path == robotsPath {
				if gap := q.Begun.Sub(last); gap < 2*time.Second {
					t.Errorf("%s was visited %v after its neighbour", q.Host, gap)
				}
				last = q.Begun
			}
		}
		if late := other.Sub(begun); late > 3*time.Second {
			t.Errorf("the other hosts took %v", late)
		}
		w.wantPolite(0)
	})
}

// A robots.txt that cannot be had forbids everything for as long as that lasts,
// and costs the host a few requests a day.
func TestRobotsThatCannotBeHadForEver(t *testing.T) {
	for name, c := range map[string]struct {
		robots http.Handler
		asked  int // requests in 60 days at the most
	}{
		"503":                              {page{status: 503}, 62},
		"503, come again in a second":      {page{status: 503, header: map[string]string{"Retry-After": "1"}}, 62},
		"429, come again in the year 2099": {page{status: 429, header: map[string]string{"Retry-After": "Fri, 01 Jan 2099 00:00:00 GMT"}}, 62},
		"no answer":                        {http.HandlerFunc(silent), 62},
		"a body without end":               {until(func() string { return "Disallow: /\n" }, time.Second), 62},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.site("a.test", map[string]http.Handler{robotsPath: c.robots, aiPath: json200(ai("A")), summaryPath: json200(summary("https://a.test/full"))})
				w.run()
				if err := w.crawler.Add(t.Context(), "a.test"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(60 * day)
				synctest.Wait()
				for _, asked := range w.asked() {
					if asked != "a.test "+robotsPath {
						t.Fatalf("asked %s", asked)
					}
				}
				if n := len(w.asked()); n < 3 || n > c.asked {
					t.Errorf("%d requests in 60 days, want at most %d", n, c.asked)
				}
				h := w.host("a.test")
				if h.Fetches["ai"].Outcome == fetch.OK || h.Listed() {
					t.Errorf("the host is %+v", h.Fetches["ai"])
				}
			})
		})
	}
}
