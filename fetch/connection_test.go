package fetch_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
)

// raw writes the pieces of an answer straight to the connection, with pauses between them, and
// closes it or leaves it open until the client disconnects.
type raw struct {
	pieces []string
	pause  time.Duration
	stay   bool
}

func (a raw) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	for i, piece := range a.pieces {
		if i > 0 {
			time.Sleep(a.pause)
		}
		if _, err := io.WriteString(c, piece); err != nil {
			return
		}
	}
	if a.stay {
		_, _ = io.Copy(io.Discard, c)
	}
}

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: max-age=9999\r\n"

// slowly cuts a text into pieces of n bytes.
func slowly(text string, n int) []string {
	var out []string
	for ; len(text) > n; text = text[n:] {
		out = append(out, text[:n])
	}
	return append(out, text)
}

func TestFragmentedResponses(t *testing.T) {
	small := okHead + "Content-Length: 2\r\n\r\n{}"
	interim := "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"
	for _, c := range []struct {
		name    string
		answer  raw
		outcome fetch.Outcome
		took    time.Duration
	}{
		{"half a minute before the first byte", raw{pieces: []string{"", small}, pause: 30 * time.Second}, fetch.Timeout, 10 * time.Second},
		{"nine seconds before the first byte", raw{pieces: []string{"", small}, pause: 9 * time.Second}, fetch.OK, 9 * time.Second},
		{"six seconds within the header", raw{pieces: slowly(small, 60), pause: 6 * time.Second, stay: true}, fetch.Timeout, 5 * time.Second},
		{"six seconds within the body", raw{pieces: []string{small[:len(small)-1], "}"}, pause: 6 * time.Second, stay: true}, fetch.Timeout, 5 * time.Second},
		{"four seconds within the body", raw{pieces: []string{small[:len(small)-1], "}"}, pause: 4 * time.Second}, fetch.OK, 4 * time.Second},
		{"a byte a second", raw{pieces: slowly(small, 1), pause: time.Second}, fetch.Timeout, 10 * time.Second},
		{"a header a second", raw{pieces: append([]string{"HTTP/1.1 200 OK\r\n"}, slowly(strings.Repeat("X: y\r\n", 60), 6)...), pause: time.Second}, fetch.Timeout, 10 * time.Second},
		{"eight interim answers", raw{pieces: []string{strings.Repeat(interim, 8) + small}}, fetch.OK, 0},
		{"nine interim answers", raw{pieces: []string{strings.Repeat(interim, 9) + small}}, fetch.Unreachable, 0},
		{"another protocol", raw{pieces: []string{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + small}}, fetch.Unreachable, 0},
		{"nothing", raw{pieces: []string{""}}, fetch.Unreachable, 0},
		{"trailers", raw{pieces: []string{okHead + "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n"}}, fetch.OK, 0},
		{"trailers without end", raw{pieces: []string{okHead + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + strings.Repeat("X: y\r\n", 200_000)}}, fetch.Unreachable, 0},
		{"a length below zero", raw{pieces: []string{okHead + "Content-Length: -2\r\n\r\n{}"}}, fetch.Unreachable, 0},
		{"a body as long as the connection", raw{pieces: []string{okHead + "\r\n{}"}}, fetch.OK, 0},
		{"300 cookies", raw{pieces: []string{okHead + strings.Repeat("Set-Cookie: a=b\r\n", 300) + "Content-Length: 2\r\n\r\n{}"}}, fetch.OK, 0},
		{"a chunk extension of a megabyte", raw{pieces: []string{okHead + "Transfer-Encoding: chunked\r\n\r\n2;" + strings.Repeat("x", 1<<20) + "\r\n{}\r\n0\r\n\r\n"}}, fetch.Unreachable, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				internet, client := open(t, memory, fetch.Options{})
				internet.Serve("a.test", fakenet.Site{Handler: site{"/doc": c.answer}, HTTP1: true})
				begun := time.Now()
				a, err := client.Document(t.Context(), document.AI, "https://a.test/doc")
				if err != nil {
					t.Fatal(err)
				}
				// The end of a pipe that is not read takes the server five seconds more.
				if took := time.Since(begun); a.Outcome != c.outcome || took < c.took || took > c.took+6*time.Second {
					t.Errorf("%s (%s) after %v, want %s after %v", a.Outcome, a.Detail, took, c.outcome, c.took)
				}
				if a.Outcome != fetch.OK && a.Detail == "" {
					t.Error("no word on what was wrong")
				}
				if a.Outcome == fetch.OK && string(a.Body) != "{}" {
					t.Errorf("the body is %q", a.Body)
				}
			})
		})
	}
}

// An unsolicited answer is not used for the next request, whether it arrives together with the
// previous answer or a moment later.
func TestUnsolicitedResponses(t *testing.T) {
	fine := okHead + "Content-Length: 15\r\n\r\n{\"smuggled\":no}"
	smuggled := okHead + "Content-Length: 16\r\n\r\n{\"smuggled\":yes}"
	for _, answer := range []raw{
		{pieces: []string{fine + smuggled}, stay: true},
		{pieces: []string{fine, smuggled}, stay: true},
	} {
		// The second kind has come by the time the delay is over.
		internet, client := open(t, empty, fetch.Options{MaxCrawlDelay: 100 * time.Millisecond})
		internet.Serve("a.test", fakenet.Site{Handler: site{
			"/robots.txt": text("User-agent: *\nCrawl-delay: 1\n"), "/.well-known/ai": answer, "/ai": ai("A"),
		}, HTTP1: true})
		answers, err := client.Host(t.Context(), "a.test")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range answers {
			if strings.Contains(string(a.Body), "yes") {
				t.Errorf("%s is what another answer smuggled in", a.Kind)
			}
		}
		conns := map[uint64]bool{}
		for _, q := range internet.Requests() {
			conns[q.Conn] = true
		}
		if len(conns) < 2 {
			t.Error("the connection was used again")
		}
	}
}

// A host that closes its connection after each answer, without a word or with
// one, is asked over another; a request is never made twice for it.
func TestClosedConnections(t *testing.T) {
	for name, header := range map[string]string{"without a word": "", "with a word": "Connection: close\r\n"} {
		t.Run(name, func(t *testing.T) {
			internet, client := open(t, empty, fetch.Options{})
			var times atomic.Int32
			robots := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				times.Add(1)
				raw{pieces: []string{"HTTP/1.1 404 Not Found\r\n" + header + "Content-Length: 0\r\n\r\n"}}.ServeHTTP(w, r)
			})
			internet.Serve("a.test", fakenet.Site{Handler: site{"/robots.txt": robots, "/.well-known/ai": ai("A")}, HTTP1: true})
			a, err := client.Document(t.Context(), document.AI, "https://a.test/.well-known/ai")
			if err != nil || a.Outcome != fetch.OK || times.Load() != 1 || len(asked(internet)) != 2 {
				t.Errorf("%s %s, %v; asked %q", a.Outcome, a.Detail, err, asked(internet))
			}
		})
	}
}
