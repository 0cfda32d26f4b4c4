package crawler_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/crawler"
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

// until writes the results of next until the client disconnects.
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

// slow answers with the head and then next, again and again, a pause apart.
func slow(head, next string, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			io.Copy(io.Discard, c)
		}()
		for _, err := io.WriteString(c, head); err == nil; _, err = io.WriteString(c, next) {
			select {
			case <-time.After(pause):
			case <-gone:
				return
			}
		}
	}
}

// growing redirects to a path that is longer each time.
func growing(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Location", r.URL.Path+"/more")
	w.WriteHeader(302)
}

// A hostileAnswer is the answer of a host to a request for its document.
type hostileAnswer struct {
	name    string
	answer  http.Handler
	outcome fetch.Outcome
	within  time.Duration // of the clock in the bubble
}

// mostTaken is the largest number of bytes that a visit reads from a host, most of them from one
// answer: the allowed document, the overhead of TLS, and the bytes in flight when the limit is
// reached.
const mostTaken = 13 << 20 / 10

// hostileAnswers are the ways to answer that the crawler must come away from.
func hostileAnswers() []hostileAnswer {
	bomb := zip(strings.Repeat("0", 100<<20))
	long := strings.Repeat("x", 1000)
	chunked := head + "Transfer-Encoding: chunked\r\n\r\n"
	plain := func(status int) page { return page{status: status} }
	typed := func(media, body string) page {
		return page{body: body, header: map[string]string{"Content-Type": media}}
	}
	encoded := func(encoding, body string) page {
		return page{body: body, header: map[string]string{"Content-Encoding": encoding}}
	}
	return []hostileAnswer{
		// slow
		{"no answer", http.HandlerFunc(silent), fetch.Timeout, 11 * time.Second},
		{"a byte a second", until(func() string { return " " }, time.Second), fetch.Timeout, 11 * time.Second},
		{"a kilobyte a second without end", until(func() string { return strings.Repeat(" ", 1<<10) }, time.Second), fetch.Timeout, 11 * time.Second},
		{"a header a second", slow("HTTP/1.1 200 OK\r\n", "X-More: x\r\n", time.Second), fetch.Timeout, 11 * time.Second},
		{"early hints, one a second", slow("", "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n", time.Second), fetch.Unreachable, 11 * time.Second},
		{"a megabyte's length and a byte a second", slow(head+"Content-Length: 200000\r\n\r\n", " ", time.Second), fetch.Timeout, 11 * time.Second},

		// endless
		{"a body without end", until(func() string { return long }, 0), fetch.TooLarge, time.Second},
		{"10 GB announced", raw(head + "Content-Length: 10000000000\r\n\r\n{"), fetch.TooLarge, time.Second},
		{"a tebibyte announced and sent", endless(head+"Content-Length: 1099511627776\r\n\r\n", long), fetch.TooLarge, closing},
		{"headers without end", endless("HTTP/1.1 200 OK\r\n", "X-More: "+long+"\r\n"), fetch.TooLarge, closing},
		{"900 kB of headers", pieces("HTTP/1.1 200 OK\r\n", "X-More: "+long+"\r\n", 900, "Content-Length: 2\r\n\r\n{}"), fetch.TooLarge, closing},
		{"one header without end", endless("HTTP/1.1 200 OK\r\nX: ", long), fetch.TooLarge, closing},
		{"one header of 20 MB", pieces(head+"X: ", long, 20_000, "\r\nContent-Length: 2\r\n\r\n{}"), fetch.TooLarge, closing},
		{"a Location of 10 MB", pieces("HTTP/1.1 302 Found\r\nLocation: https://bad.test/", long, 10_000, "\r\nContent-Length: 0\r\n\r\n"), fetch.TooLarge, closing},
		{"a Location of 64 KiB", pieces("HTTP/1.1 302 Found\r\nLocation: https://bad.test/", strings.Repeat("x", 1<<10), 64, "\r\nContent-Length: 0\r\n\r\n"), fetch.TooLarge, closing},
		{"a Location of 50 kB", pieces("HTTP/1.1 302 Found\r\nLocation: https://bad.test/", long, 50, "\r\nContent-Length: 0\r\n\r\n"), fetch.BadRedirect, closing},
		{"a path that grows with each redirect", http.HandlerFunc(growing), fetch.TooManyRedirects, closing},
		{"early hints without end", endless("", "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n"), fetch.Unreachable, 11 * time.Second},
		{"a 404 with a body without end", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(404)
			until(func() string { return long }, 0)(w, r)
		}), fetch.Absent, time.Second},
		{"500 cookies", pieces(head, "Set-Cookie: a=b; Domain=test\r\n", 500, "Content-Length: 2\r\n\r\n[]"), fetch.Unreadable, closing},
		{"trailers without end", endless(chunked+"2\r\n{}\r\n0\r\n", "X: y\r\n"), fetch.Unreachable, closing},

		// gzip
		{"a gzip bomb", gzipped(bomb), fetch.TooLarge, time.Second},
		{"a gzip bomb by the old name", encoded("x-gzip", bomb), fetch.TooLarge, time.Second},
		{"a gzip bomb within gzip", gzipped(zip(bomb)), fetch.Unreadable, time.Second},
		{"a gzip bomb under two encodings", encoded("gzip, gzip", zip(bomb)), fetch.Unreadable, time.Second},
		{"a gzip bomb as a file", typed("application/gzip", bomb), fetch.BadMediaType, time.Second},
		{"a gzip bomb under a type that lies", typed("application/json", bomb), fetch.Unreadable, time.Second},
		{"gzip within gzip", page{body: zip(zip(ai("A"))), header: map[string]string{"Content-Encoding": "gzip, gzip"}}, fetch.Unreadable, time.Second},
		{"gzip cut short", gzipped(zip(ai("A"))[:100]), fetch.Unreadable, time.Second},
		{"gzip with a wrong checksum", gzipped(zip(ai("A"))[:len(zip(ai("A")))-8] + "12345678"), fetch.Unreadable, time.Second},
		{"gzip with something behind it", gzipped(zip(ai("A")) + "more"), fetch.Unreadable, time.Second},
		{"no gzip at all", gzipped(ai("A")), fetch.Unreadable, time.Second},
		{"rubbish as brotli", encoded("br", "\x8b\x02"), fetch.Unreadable, time.Second},
		{"an encoding that nobody asked for", encoded("deflate", zip(ai("A"))), fetch.Unreadable, time.Second},
		{"a gzip file", typed("application/gzip", zip(ai("A"))), fetch.BadMediaType, time.Second},

		// ends and lengths
		{"cut off in the body", raw(head + "Content-Length: 1000\r\n\r\n{\"aiendpoint\":"), fetch.Unreachable, time.Second},
		{"a whole document and a longer length", raw(head + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(ai("A"))+1) + ai("A")), fetch.Unreachable, time.Second},
		{"a document and a shorter length", raw(head + "Content-Length: 20\r\n\r\n" + ai("A")), fetch.Unreadable, closing},
		{"cut off in a chunk", raw(chunked + "100\r\n{\"aiendpoint\":"), fetch.Unreachable, time.Second},
		{"no last chunk", raw(chunked + fmt.Sprintf("%x\r\n%s\r\n", len(ai("A")), ai("A"))), fetch.Unreachable, time.Second},
		{"a chunk size of rubbish", raw(chunked + "xyz\r\n{}\r\n0\r\n\r\n"), fetch.Unreachable, time.Second},
		{"a chunk size over 64 bits", raw(chunked + "fffffffffffffffff\r\n{}\r\n0\r\n\r\n"), fetch.Unreachable, time.Second},
		{"a chunk extension of 1 MiB", pieces(chunked+"2;", strings.Repeat("x", 1<<10), 1<<10, "\r\n{}\r\n0\r\n\r\n"), fetch.Unreachable, closing},
		{"chunks of one byte without end", endless(chunked, strings.Repeat("1\r\nx\r\n", 100)), fetch.TooLarge, closing},
		{"two lengths", raw(head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "), fetch.Unreachable, closing},
		{"a length below zero", raw(head + "Content-Length: -2\r\n\r\n{}"), fetch.Unreachable, closing},
		{"chunks and a length", raw(head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), fetch.Unreachable, closing},
		{"a length and chunks, in capitals", raw(head + "TRANSFER-ENCODING: chunked\r\nCONTENT-LENGTH: 12\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), fetch.Unreachable, closing},
		{"a second answer behind the first", raw(head + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(ai("A"))) + ai("A") + head + "Content-Length: 2\r\n\r\n{}"), fetch.OK, closing},

		// no HTTP
		{"a bad status line", raw("HTTP/1.1 OK 200\r\n\r\n"), fetch.Unreachable, closing},
		{"HTTP/0.9", raw(ai("A")), fetch.Unreachable, closing},
		{"LF alone", raw("HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 2\n\n{}"), fetch.Unreachable, closing},
		{"LF alone once", raw(head + "X: y\nContent-Length: 2\r\n\r\n{}"), fetch.Unreachable, closing},
		{"another protocol", raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + ai("A")), fetch.Unreachable, closing},
		{"nothing at all", raw(""), fetch.Unreachable, closing},

		// no document
		{"Latin-1", typed("application/json; charset=iso-8859-1", strings.ReplaceAll(ai("Caf#"), "#", "\xe9")), fetch.Unreadable, time.Second},
		{"UTF-8 under another name", typed("application/json; charset=iso-8859-1", ai("Café")), fetch.OK, time.Second},
		{"HTML", typed("text/html", "<html>"), fetch.BadMediaType, time.Second},
		{"no media type", raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), fetch.BadMediaType, closing},
		{"no JSON", json200("{not json"), fetch.Unreadable, time.Second},
		{"nothing", json200(""), fetch.Unreadable, time.Second},
		{"120,000 brackets", json200(strings.Repeat("[", 120_000)), fetch.Unreadable, time.Second},
		{"401", plain(401), fetch.Forbidden, time.Second},
		{"418", plain(418), fetch.BadStatus, time.Second},
		{"204", plain(204), fetch.BadStatus, time.Second},
		{"305", page{status: 305, header: map[string]string{"Location": "https://good.test/"}}, fetch.BadStatus, time.Second},
		{"429", plain(429), fetch.Throttled, time.Second},
		{"500", plain(500), fetch.ServerError, time.Second},
	}
}

// counted leads to hosts and counts the bytes that are taken from those whose name
// begins with bad.
func counted(dial func(ctx context.Context, network, addr string) (net.Conn, error), taken *atomic.Int64) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err == nil && strings.HasPrefix(addr, "bad") {
			c = countedConn{c, taken}
		}
		return c, err
	}
}

type countedConn struct {
	net.Conn
	taken *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.taken.Add(int64(n))
	return n, err
}

func TestHostileAnswers(t *testing.T) {
	for _, c := range hostileAnswers() {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var taken atomic.Int64
				w.opts.Dial = counted(w.opts.Dial, &taken)
				// Whatever the document was answered with, the next request has its
				// own answer.
				s := &site{pages: map[string]http.Handler{aiPath: c.answer, summaryPath: json200(summary("agtp://bad.test"))}}
				if c.name == "a path that grows with each redirect" {
					for path, end := aiPath+"/more", 0; end < 9; path, end = path+"/more", end+1 {
						s.pages[path] = c.answer
					}
				}
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
				if taken.Load() > mostTaken {
					t.Errorf("%d bytes were taken, want at most %d", taken.Load(), mostTaken)
				}
				if results["good.test"].Documents != 1 || results["good.test"].Took > time.Second {
					t.Errorf("the good host: %+v", results["good.test"])
				}
				f := w.host("bad.test").Fetches["ai"]
				if f.Outcome != c.outcome {
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
				// A host that gave no answer at all gets no further requests.
				next := w.host("bad.test").Fetches["agis-summary"]
				if next.Outcome != fetch.OK && (f.Status != 0 || next.Outcome != f.Outcome) {
					t.Errorf("the request after it is %q (%s)", next.Outcome, next.Detail)
				}
				asked := 0
				for _, e := range w.crawlLog("bad.test") {
					asked += len(e.Requests)
				}
				if seen := len(w.asked()) - 3; asked != seen { // good.test was asked three times
					t.Errorf("the host saw %d requests, its crawl log has %d", seen, asked)
				}
				w.wantPolite(0)
			})
		})
	}
}

// TestHostileAndGoodHosts visits all of them at once, with fewer workers than hosts, and again when
// they are due: the good hosts finish soon, and in the end no work, no goroutine (the bubble checks
// that) and no memory is left.
func TestHostileAndGoodHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.Workers = 128
		var hosts []string
		for i, c := range hostileAnswers() {
			host := fmt.Sprintf("bad%d.test", i)
			w.net.Serve(host, fakenet.Site{Handler: &site{pages: map[string]http.Handler{aiPath: c.answer}}, HTTP1: true})
			hosts = append(hosts, host)
		}
		bad := len(hosts)
		for i := range 200 {
			host := fmt.Sprintf("good%d.test", i)
			w.site(host, map[string]http.Handler{aiPath: json200(ai(host))})
			hosts = append(hosts, host)
		}
		w.run()
		begun, most := held(), int64(0)
		err := w.crawler.Crawl(t.Context(), hosts, func(r crawler.Result) error {
			if strings.HasPrefix(r.Host, "good") && (r.Documents != 1 || r.Took > time.Second) {
				t.Errorf("%s: %s in %v", r.Host, r.Summary, r.Took)
			}
			if strings.HasPrefix(r.Host, "bad") {
				most = max(most, held()-begun)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if s := w.crawler.Status(); s.InFlight != 0 || s.Visits != len(hosts) {
			t.Errorf("status %+v", s)
		}
		t.Logf("%d hostile hosts among 200: at most %d bytes held", bad, most)
		if most > 64<<20 {
			t.Errorf("%d bytes were held at a time", most)
		}
		time.Sleep(30 * time.Hour)
		synctest.Wait()
		if s := w.crawler.Status(); s.InFlight != 0 || s.Visits < 2*len(hosts) {
			t.Errorf("a day later: %+v", s)
		}
		if grown := held() - begun; grown > 64<<20 {
			t.Errorf("%d bytes are held in the end", grown)
		}
		w.rest()
		w.wantPolite(0)
	})
}

// held is the memory in use, stacks included.
func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// A document of the sizes at the limits, with its length and in chunks: up to
// 65,536 bytes it is good, up to 262,144 it is taken with a warning, and no longer
// one is.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		size    int
		outcome fetch.Outcome
		warned  bool
	}{
		{65_536, fetch.OK, false}, {65_537, fetch.OK, true}, {262_144, fetch.OK, true},
		{262_145, fetch.TooLarge, false}, {263_168, fetch.TooLarge, false},
	} {
		length := map[string]string{"Content-Length": fmt.Sprint(c.size)}
		for name, answer := range map[string]page{
			"with its length": {body: big(c.size), header: length},
			"in chunks":       {body: big(c.size)}, // more than net/http would measure itself
			"packed":          gzipped(zip(big(c.size))),
		} {
			t.Run(fmt.Sprintf("%d %s", c.size, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.site("a.test", map[string]http.Handler{aiPath: answer})
					w.run()
					w.visit("a.test")
					f, d := w.host("a.test").Fetches["ai"], w.stored("a.test", document.AI)
					if f.Outcome != c.outcome || (d != nil) != (c.outcome == fetch.OK) {
						t.Fatalf("outcome %q (%s), want %q; stored %v", f.Outcome, f.Detail, c.outcome, d != nil)
					}
					if d != nil && (slices.Contains(codesOf(d.Findings), "AI115") != c.warned || d.Size != c.size) {
						t.Errorf("%d bytes, codes %q; warned: want %v", d.Size, codesOf(d.Findings), c.warned)
					}
					if d == nil && !slices.Contains(codesOf(f.Findings), "AI116") {
						t.Errorf("codes %q", codesOf(f.Findings))
					}
				})
			})
		}
	}
}

// A connection that is reset in the middle of a body leaves nothing behind.
func TestResetInBody(t *testing.T) {
	w := newWorldOf(t, fakenetEmpty)
	w.net.Serve("a.test", fakenet.Site{HTTP1: true, Handler: &site{pages: map[string]http.Handler{
		aiPath: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			io.WriteString(c, head+"Content-Length: 1000\r\n\r\n"+ai("A")[:100])
			if c, ok := c.(*tls.Conn).NetConn().(*net.TCPConn); ok {
				c.SetLinger(0)
				c.Close()
			}
		}),
		summaryPath: json200(summary("agtp://a.test")),
	}}})
	w.run()
	w.visit("a.test")
	h := w.host("a.test")
	if f := h.Fetches["ai"]; f.Outcome != fetch.Unreachable || f.Bytes != 0 || f.Digest != "" || w.stored("a.test", document.AI) != nil {
		t.Errorf("%s (%s), %d bytes", f.Outcome, f.Detail, f.Bytes)
	}
	if f := h.Fetches["agis-summary"]; f.Outcome != fetch.OK {
		t.Errorf("the request after it is %q (%s)", f.Outcome, f.Detail)
	}
}

func TestUnreachableHostsEndAtOnce(t *testing.T) {
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

func TestSilentHostsDoNotDelayOthers(t *testing.T) {
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
					t.Errorf("%s was visited %v after its neighbor", q.Host, gap)
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
func TestPermanentlyUnavailableRobots(t *testing.T) {
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
				time.Sleep(60 * oneDay)
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
