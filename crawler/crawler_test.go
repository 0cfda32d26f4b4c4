package crawler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// A world is a small internet in memory, a store and a crawler between them. It
// lives in a synctest bubble, so that its days pass at once.
type world struct {
	t        *testing.T
	net      *fakenet.Net
	dir      string
	store    *boltstore.Store
	crawler  *crawler.Crawler
	opts     crawler.Options
	stop     context.CancelFunc
	ended    chan error
	observed []crawler.Result
	get      func(key string) error // for runFaulty: the reads that fail
}

// newWorld begins a world in memory, whose hosts the test adds with site.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, fakenet.Options{Empty: true, Memory: true})
}

func newWorldOf(t *testing.T, o fakenet.Options) *world {
	t.Helper()
	n, err := fakenet.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, net: n, dir: t.TempDir()}
	w.opts = crawler.Options{
		Dial: n.Dial(nil), Roots: n.Roots(), Grace: time.Second,
		HostInterval: -1, DomainInterval: -1, AddressInterval: -1, Rate: -1, Workers: 16,
		Dir: filepath.Join(w.dir, "crawler"),
	}
	t.Cleanup(func() {
		w.halt()
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// run opens the store and runs a crawler, as a starting process would.
func (w *world) run() {
	w.t.Helper()
	w.open()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.stop, w.ended = cancel, make(chan error, 1)
	go func() { w.ended <- w.crawler.Run(ctx) }()
}

func (w *world) open() {
	w.t.Helper()
	var err error
	if w.store, err = boltstore.Open(w.t.Context(), w.dir, boltstore.Options{Log: slog.New(slog.DiscardHandler), MinFree: -1}); err != nil {
		w.t.Fatal(err)
	}
	o := w.opts
	if o.Store == nil {
		o.Store = w.store
	}
	o.Observe = func(r crawler.Result) { w.observed = append(w.observed, r) }
	if w.crawler, err = crawler.New(o); err != nil {
		w.t.Fatal(err)
	}
}

// rest stops the crawler: every visit is committed then.
func (w *world) rest() {
	w.t.Helper()
	if w.stop != nil {
		w.stop()
		if err := <-w.ended; err != nil {
			w.t.Errorf("Run: %v", err)
		}
		w.stop = nil
	}
}

// halt stops the crawler and closes the store, as an ending process would.
func (w *world) halt() {
	w.t.Helper()
	w.rest()
	if w.store != nil {
		if err := w.store.Close(); err != nil {
			w.t.Error(err)
		}
		w.store = nil
	}
}

// crawl returns the results for the hosts, by host.
func (w *world) crawl(hosts ...string) map[string]crawler.Result {
	w.t.Helper()
	results := map[string]crawler.Result{}
	err := w.crawler.Crawl(w.t.Context(), hosts, func(r crawler.Result) error {
		if _, twice := results[r.Host]; twice {
			w.t.Errorf("%s was yielded twice", r.Host)
		}
		results[r.Host] = r
		return nil
	})
	if err != nil {
		w.t.Fatalf("crawl %v: %v", hosts, err)
	}
	return results
}

// visit crawls one host and returns its result.
func (w *world) visit(host string) crawler.Result {
	w.t.Helper()
	return w.crawl(host)[host]
}

// host reads a host's record.
func (w *world) host(name string) crawler.Host {
	w.t.Helper()
	r, err := w.store.Get(w.t.Context(), store.HostKey(name))
	if err != nil {
		w.t.Fatal(err)
	}
	var h crawler.Host
	if err := json.Unmarshal(r.Value, &h); err != nil {
		w.t.Fatal(err)
	}
	return h
}

// stored reports the current document of a kind, nil when there is none.
func (w *world) stored(host string, kind document.Kind) *document.Document {
	w.t.Helper()
	r, err := w.store.Get(w.t.Context(), store.DocumentKey(host, string(kind)))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	var d document.Document
	if err := json.Unmarshal(r.Value, &d); err != nil {
		w.t.Fatal(err)
	}
	return &d
}

// asked lists what the servers were asked, "host path" each, in order.
func (w *world) asked() []string {
	var out []string
	for _, q := range w.net.Requests() {
		out = append(out, q.Host+" "+q.Path)
	}
	return out
}

// wantAsked compares what the servers saw since mark requests ago.
func (w *world) wantAsked(from int, want ...string) {
	w.t.Helper()
	if got := w.asked()[from:]; !slices.Equal(got, want) {
		w.t.Errorf("the servers were asked\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// A page is one answer of a site.
type page struct {
	status int
	header map[string]string
	body   string
}

// A site answers the given paths, and all others with 404.
type site struct {
	mu    sync.Mutex // guards the following fields
	pages map[string]http.Handler
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	h := s.pages[r.URL.Path]
	s.mu.Unlock()
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h.ServeHTTP(w, r)
}

func (s *site) set(path string, h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = h
}

func (p page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	for k, v := range p.header {
		w.Header().Set(k, v)
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	if p.status == 0 {
		p.status = 200
	}
	w.WriteHeader(p.status)
	io.WriteString(w, p.body)
}

// site adds a host with these pages.
func (w *world) site(host string, pages map[string]http.Handler) *site {
	s := &site{pages: pages}
	if s.pages == nil {
		s.pages = map[string]http.Handler{}
	}
	w.net.Handle(host, s)
	return s
}

func json200(body string) page { return page{body: body} }

func redirect(to string) page {
	return page{status: 302, header: map[string]string{"Location": to}}
}

func ai(name string) string {
	return fmt.Sprintf(`{"aiendpoint":"1.0","service":{"name":%q,"description":"Books tables in restaurants."},
"capabilities":[{"id":"book_table","description":"Book a table","endpoint":"/api/book","method":"POST"}]}`, name)
}

func summary(document string, related ...string) string {
	list, _ := json.Marshal(related)
	return fmt.Sprintf(`{"agis":"1.0","service":"Acme","agis_document":%q,"methods":["BOOK","FIND"],"domain":"hospitality",
"namespace":"acme","version":"1.0.0","related_services":%s}`, document, list)
}

const agisYAML = `agis: "1.0"
service: Acme
vocabulary:
  namespace: acme
  domain: hospitality
endpoints:
  - method: BOOK
    path: /reservation
    semantic:
      intent: Books a table for a number of guests at a time.
      actor: agent
      outcome: A reservation exists and its number is returned.
      capability: transaction
      confidence: 0.9
      impact: reversible
      is_idempotent: false
`

const (
	robotsPath  = "/robots.txt"
	aiPath      = "/.well-known/ai"
	aliasPath   = "/ai"
	summaryPath = "/.well-known/agis.json"
)

func TestVisitUsesOneConnectionInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("acme.test", map[string]http.Handler{
			aiPath:       json200(ai("Acme")),
			summaryPath:  json200(summary("https://acme.test/acme.agis")),
			"/acme.agis": page{body: agisYAML, header: map[string]string{"Content-Type": "application/agis"}},
		})
		w.run()
		r := w.crawl("https://ACME.test/somewhere")["acme.test"]
		if len(w.observed) != 1 || w.observed[0].Summary != r.Summary {
			t.Errorf("Observe was told %+v", w.observed)
		}
		w.wantAsked(0, "acme.test /robots.txt", "acme.test /.well-known/ai", "acme.test /.well-known/agis.json", "acme.test /acme.agis")
		for _, q := range w.net.Requests() {
			if q.Conn != 1 || q.Proto != "HTTP/1.1" || !q.TLS {
				t.Errorf("%s came on connection %d over %s, TLS %v; want all on one", q.Path, q.Conn, q.Proto, q.TLS)
			}
		}
		if c := w.host("acme.test").TLS; c == nil || c.Version != "TLS 1.3" || c.Issuer == "" || !strings.HasPrefix(c.Keys, "ECDSA") || c.Expires.IsZero() {
			t.Errorf("what is kept of the connection is %+v", c)
		} else if !reflect.DeepEqual(r.TLS, c) {
			t.Errorf("the result has the connection %+v, want %+v", r.TLS, c)
		}
		if r.Documents != 3 || r.Operations < 3 {
			t.Errorf("result %+v, want 3 documents", r)
		}
		for _, kind := range []document.Kind{document.AI, document.AGISSummary, document.AGIS} {
			d := w.stored("acme.test", kind)
			if d == nil {
				t.Fatalf("%s is not stored", kind)
			}
			blob, err := w.store.Get(t.Context(), store.BlobKey(d.Digest))
			if err != nil || document.Digest(blob.Value) != d.Digest {
				t.Errorf("%s: its bytes are not stored: %v", kind, err)
			}
			versions := 0
			for v, err := range w.store.List(t.Context(), store.VersionsOf("acme.test", string(kind)), "") {
				if err != nil {
					t.Fatal(err)
				}
				var got crawler.Version
				if err := json.Unmarshal(v.Value, &got); err != nil || got.Digest != d.Digest || got.Size != d.Size || got.Kind != kind {
					t.Errorf("version %+v, %v", got, err)
				}
				versions++
			}
			if versions != 1 {
				t.Errorf("%s has %d versions, want 1", kind, versions)
			}
		}
		if src := w.stored("acme.test", document.AGIS).Source; src != document.Linked {
			t.Errorf("the AGIS document is %s", src)
		}
	})
}

func TestRobots(t *testing.T) {
	text := func(status int, body string) page {
		return page{status: status, body: body, header: map[string]string{"Content-Type": "text/plain"}}
	}
	for _, c := range []struct {
		name    string
		robots  http.Handler
		asked   []string // after robots.txt
		outcome fetch.Outcome
	}{
		{"404 allows all", text(404, ""), []string{aiPath, summaryPath}, fetch.OK},
		{"401 allows all", text(401, ""), []string{aiPath, summaryPath}, fetch.OK},
		{"403 allows all", text(403, ""), []string{aiPath, summaryPath}, fetch.OK},
		{"HTML allows all", page{body: "<html>Disallow: /</html>", header: map[string]string{"Content-Type": "text/html"}}, []string{aiPath, summaryPath}, fetch.OK},
		{"a picture allows all", page{body: "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + strings.Repeat("\x00\xff\xfe", 1000), header: map[string]string{"Content-Type": "image/png"}}, []string{aiPath, summaryPath}, fetch.OK},
		{"500 forbids all", text(500, ""), nil, fetch.RefusedByRobots},
		{"503 forbids all", text(503, "User-agent: *\nAllow: /\n"), nil, fetch.RefusedByRobots},
		{"429 forbids all", text(429, ""), nil, fetch.RefusedByRobots},
		{"Disallow all", text(200, "User-agent: *\nDisallow: /\n"), nil, fetch.RefusedByRobots},
		{"Disallow us", text(200, "User-agent: gazetteer\nDisallow: /.well-known/\n"), nil, fetch.RefusedByRobots},
		{"Disallow others", text(200, "User-agent: other\nDisallow: /\n"), []string{aiPath, summaryPath}, fetch.OK},
		{"Disallow one", text(200, "User-agent: *\nDisallow: /.well-known/agis\n"), []string{aiPath}, fetch.OK},
		{"rules after 500 KiB do not count", text(200, "User-agent: *\n"+strings.Repeat("Allow: /x\n", 51200)+"Disallow: /\n"), []string{aiPath, summaryPath}, fetch.OK},
		{"rules before 500 KiB of a longer file count", text(200, "User-agent: *\nDisallow: /\n"+strings.Repeat("#\n", 400000)), nil, fetch.RefusedByRobots},
		{"rules at the end of 700 KiB do not count", text(200, "User-agent: *\n"+strings.Repeat("Allow: /some/path/x\n", 700<<10/20)+"Disallow: /\n"), []string{aiPath, summaryPath}, fetch.OK},
		{"rules before 500 KiB of 100 MB count", pieces("HTTP/1.1 200 OK\r\nContent-Length: 100000026\r\n\r\nUser-agent: *\nDisallow: /\n", strings.Repeat("# and so on\n", 1000), 8333, ""), nil, fetch.RefusedByRobots},
		{"10,000 groups, of which the last is for us", text(200, groups(10_000)+"User-agent: gazetteer\nDisallow: /\n"), nil, fetch.RefusedByRobots},
		{"10,000 groups, of which none is for us", text(200, groups(10_000)), []string{aiPath, summaryPath}, fetch.OK},
		{"NULs between rules", text(200, "User-agent: *\n\x00\x00\nDisallow: /\x00\nDisallow: /.well-known/agis\n"), []string{aiPath}, fetch.OK},
		{"a line of 1 MB before the rules", text(200, "# "+strings.Repeat("x", 400_000)+"\nUser-agent: *\nDisallow: /\n"), nil, fetch.RefusedByRobots},
		{"an endless file counts to 500 KiB", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "User-agent: *\nDisallow: /\n")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("# and so on\n", 1000)); err != nil {
					return
				}
			}
		}), nil, fetch.RefusedByRobots},
		{"a file in gzip is unpacked", page{body: zip("User-agent: *\nDisallow: /\n"), header: map[string]string{"Content-Encoding": "gzip"}}, nil, fetch.RefusedByRobots},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.net.Serve("a.test", fakenet.Site{HTTP1: true, Handler: &site{pages: map[string]http.Handler{
					robotsPath: c.robots, aiPath: json200(ai("A")), summaryPath: json200(summary("agtp://a.test")),
				}}})
				w.run()
				r := w.visit("a.test")
				want := []string{"a.test /robots.txt"}
				for _, p := range c.asked {
					want = append(want, "a.test "+p)
				}
				w.wantAsked(0, want...)
				if got := w.host("a.test").Fetches["ai"].Outcome; got != c.outcome {
					t.Errorf("ai is %q, want %q; %s", got, c.outcome, r.Summary)
				}
				failures := 0 // that the owner forbids a visit is none
				if strings.Contains(c.name, "forbids all") {
					failures = 1
				}
				if got := w.host("a.test").Failures; got != failures {
					t.Errorf("%d failures, want %d", got, failures)
				}
				if c.outcome == fetch.RefusedByRobots && !strings.Contains(r.Summary, "refused-by-robots: ") {
					t.Errorf("summary %q does not give the reason", r.Summary)
				}
			})
		})
	}
}

// groups are so many groups for other crawlers.
func groups(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "User-agent: bot%d\nDisallow: /\n", i)
	}
	return b.String()
}

// TestRobotsElsewhere checks that rules found by a redirect of robots.txt apply to the requested
// host (RFC 9309 §2.3.1.2): over five redirects, and on another host. Six redirects or a loop count
// as no robots.txt; an unreachable one forbids everything.
func TestRobotsElsewhere(t *testing.T) {
	shut := page{body: "User-agent: *\nDisallow: /\n"}
	chain := func(redirects int) map[string]http.Handler {
		pages, from := map[string]http.Handler{}, robotsPath
		for i := range redirects {
			to := fmt.Sprintf("/robots%d", i)
			pages[from], from = redirect(to), to
		}
		pages[from] = shut
		return pages
	}
	for _, c := range []struct {
		name    string
		pages   map[string]http.Handler
		outcome fetch.Outcome
		asked   int // requests to a.test
	}{
		{"five redirects", chain(5), fetch.RefusedByRobots, 6},
		{"six redirects", chain(6), fetch.OK, 8},
		{"a loop", map[string]http.Handler{robotsPath: redirect(robotsPath)}, fetch.OK, 8},
		{"a file of another host that forbids", map[string]http.Handler{robotsPath: redirect("https://b.test/rules")}, fetch.RefusedByRobots, 1},
		{"a file of another host that allows", map[string]http.Handler{robotsPath: redirect("https://b.test/none")}, fetch.OK, 3},
		{"a path whose file forbids", map[string]http.Handler{robotsPath: redirect("/rules"), "/rules": shut}, fetch.RefusedByRobots, 2},
		{"http", map[string]http.Handler{robotsPath: redirect("http://a.test/rules"), "/rules": page{status: 404}}, fetch.RefusedByRobots, 1},
		{"loopback", map[string]http.Handler{robotsPath: redirect("https://127.0.0.1/robots.txt")}, fetch.RefusedByRobots, 1},
		{"a host whose certificate has ended", map[string]http.Handler{robotsPath: redirect("https://late.test/robots.txt")}, fetch.RefusedByRobots, 1},
		{"a host that is not there", map[string]http.Handler{robotsPath: redirect("https://nowhere.test/robots.txt")}, fetch.RefusedByRobots, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				c.pages[aiPath] = json200(ai("A"))
				w.site("a.test", c.pages)
				w.site("b.test", map[string]http.Handler{"/rules": shut})
				w.net.Serve("late.test", fakenet.Site{Handler: &site{}, Certificate: fakenet.ExpiredCertificate})
				w.run()
				w.visit("a.test")
				if f := w.host("a.test").Fetches["ai"]; f.Outcome != c.outcome {
					t.Errorf("outcome %q (%s), want %q", f.Outcome, f.Detail, c.outcome)
				}
				asked := 0
				for _, q := range w.net.Requests() {
					if q.Host == "a.test" {
						asked++
					}
					if !q.TLS {
						t.Errorf("%s%s was requested over plain HTTP", q.Host, q.Path)
					}
				}
				if asked != c.asked {
					t.Errorf("%d requests, want %d: %q", asked, c.asked, w.asked())
				}
			})
		})
	}
}

func TestRedirects(t *testing.T) {
	doc := json200(ai("A"))
	for _, c := range []struct {
		name    string
		pages   map[string]http.Handler
		outcome fetch.Outcome
		asked   []string // beyond robots.txt and the AI path of a.test
	}{
		{"within the host", map[string]http.Handler{aiPath: redirect("/new"), "/new": doc}, fetch.OK, []string{"a.test /new"}},
		{"five are followed", map[string]http.Handler{aiPath: redirect("/1"), "/1": redirect("/2"), "/2": redirect("/3"), "/3": redirect("/4"), "/4": redirect("/5"), "/5": doc}, fetch.OK,
			[]string{"a.test /1", "a.test /2", "a.test /3", "a.test /4", "a.test /5"}},
		{"six are not", map[string]http.Handler{aiPath: redirect("/1"), "/1": redirect("/2"), "/2": redirect("/3"), "/3": redirect("/4"), "/4": redirect("/5"), "/5": redirect("/6"), "/6": doc}, fetch.TooManyRedirects,
			[]string{"a.test /1", "a.test /2", "a.test /3", "a.test /4", "a.test /5"}},
		{"a loop ends", map[string]http.Handler{aiPath: redirect(aiPath)}, fetch.TooManyRedirects,
			[]string{"a.test " + aiPath, "a.test " + aiPath, "a.test " + aiPath, "a.test " + aiPath, "a.test " + aiPath}},
		{"to another host", map[string]http.Handler{aiPath: redirect("https://b.test/b?x=1")}, fetch.OK, []string{"b.test /robots.txt", "b.test /b?x=1"}},
		{"to a host that forbids it", map[string]http.Handler{aiPath: redirect("https://shut.test/b")}, fetch.RefusedByRobots, []string{"shut.test /robots.txt"}},
		{"to http", map[string]http.Handler{aiPath: redirect("http://a.test/new"), "/new": doc}, fetch.InsecureRedirect, nil},
		{"to an unknown host", map[string]http.Handler{aiPath: redirect("https://nowhere.test/")}, fetch.DNSFailed, nil},
		{"without Location", map[string]http.Handler{aiPath: page{status: 301}}, fetch.BadRedirect, nil},
		{"to an unreadable Location", map[string]http.Handler{aiPath: redirect("https://a.test:x/%zz")}, fetch.BadRedirect, nil},
		{"to loopback", map[string]http.Handler{aiPath: redirect("https://127.0.0.1/")}, fetch.BlockedAddress, nil},
		{"to loopback in decimal", map[string]http.Handler{aiPath: redirect("https://2130706433/")}, fetch.BlockedAddress, nil},
		{"to loopback in hex", map[string]http.Handler{aiPath: redirect("https://0x7f.1/")}, fetch.BlockedAddress, nil},
		{"to loopback in octal", map[string]http.Handler{aiPath: redirect("https://0177.0.0.1/")}, fetch.BlockedAddress, nil},
		{"to loopback in full width", map[string]http.Handler{aiPath: redirect("https://１２７．０．０．１/")}, fetch.BlockedAddress, nil},
		{"to loopback in IPv6", map[string]http.Handler{aiPath: redirect("https://[::1]/")}, fetch.BlockedAddress, nil},
		{"to a zone", map[string]http.Handler{aiPath: redirect("https://[fe80::1%25lo]/")}, fetch.BlockedAddress, nil},
		{"to the metadata host", map[string]http.Handler{aiPath: redirect("https://169.254.169.254/latest")}, fetch.BlockedAddress, nil},
		{"to localhost", map[string]http.Handler{aiPath: redirect("https://localhost/")}, fetch.BlockedAddress, nil},
		{"to a single label", map[string]http.Handler{aiPath: redirect("https://intranet/")}, fetch.BlockedAddress, nil},
		{"to the port of shells", map[string]http.Handler{aiPath: redirect("https://a.test:22/new"), "/new": doc}, fetch.BadRedirect, nil},
		{"to the port of plain http", map[string]http.Handler{aiPath: redirect("https://a.test:80/new"), "/new": doc}, fetch.BadRedirect, nil},
		{"to the port of a database", map[string]http.Handler{aiPath: redirect("https://a.test:6379/new"), "/new": doc}, fetch.BadRedirect, nil},
		{"to a port that is none", map[string]http.Handler{aiPath: redirect("https://a.test:443443/new"), "/new": doc}, fetch.BadRedirect, nil},
		{"with a tab", map[string]http.Handler{aiPath: redirect("https://a.test/\tnew"), "/new": doc}, fetch.BadRedirect, nil},
		{"with an escape of terminals", map[string]http.Handler{aiPath: raw("HTTP/1.1 302 Found\r\nLocation: /\x1b[2Jnew\r\nContent-Length: 0\r\n\r\n"), "/new": doc}, fetch.Unreachable, nil},
		{"with percent escapes in the host", map[string]http.Handler{aiPath: redirect("https://%61.test/new"), "/new": doc}, fetch.BadRedirect, nil},
		{"to loopback in percent escapes", map[string]http.Handler{aiPath: redirect("https://%31%32%37.0.0.1/new")}, fetch.BadRedirect, nil},
		{"with a NUL in percent escapes", map[string]http.Handler{aiPath: redirect("https://a.test%00.b.test/new")}, fetch.BadRedirect, nil},
		{"to gopher", map[string]http.Handler{aiPath: redirect("gopher://a.test/new"), "/new": doc}, fetch.BadRedirect, nil},
		{"to data", map[string]http.Handler{aiPath: redirect("data:application/json,{}")}, fetch.BadRedirect, nil},
		{"to a socket", map[string]http.Handler{aiPath: redirect("unix:/var/run/docker.sock")}, fetch.BadRedirect, nil},
		{"to http, which leads back", map[string]http.Handler{aiPath: redirect("http://b.test/back")}, fetch.InsecureRedirect, nil},
		{"to https, then to http, then back", map[string]http.Handler{aiPath: redirect("/1"), "/1": redirect("http://b.test/back")}, fetch.InsecureRedirect, []string{"a.test /1"}},
		{"305 is none", map[string]http.Handler{aiPath: page{status: 305, header: map[string]string{"Location": "/new"}}, "/new": doc}, fetch.BadStatus, nil},
		{"with user information", map[string]http.Handler{aiPath: redirect("https://me:pw@a.test/new"), "/new": doc}, fetch.BadRedirect, nil},
		{"to another port", map[string]http.Handler{aiPath: redirect("https://a.test:8443/new"), "/new": doc}, fetch.BadRedirect, nil},
		{"to port 443 by name", map[string]http.Handler{aiPath: redirect("https://a.test:443/new"), "/new": doc}, fetch.OK, []string{"a.test /new"}},
		{"with a backslash", map[string]http.Handler{aiPath: redirect(`https://a.test\@b.test/`)}, fetch.BadRedirect, nil},
		{"to a file", map[string]http.Handler{aiPath: redirect("file:///etc/passwd")}, fetch.BadRedirect, nil},
		{"to a script", map[string]http.Handler{aiPath: redirect("javascript:alert(1)")}, fetch.BadRedirect, nil},
		{"to nothing", map[string]http.Handler{aiPath: redirect("https:///x")}, fetch.BadRedirect, nil},
		{"of a huge Location", map[string]http.Handler{aiPath: redirect("/" + strings.Repeat("x", 60000))}, fetch.BadRedirect, nil},
		{"300 is none", map[string]http.Handler{aiPath: page{status: 300, header: map[string]string{"Location": "/new"}}, "/new": doc}, fetch.BadStatus, nil},
		{"304 without a question", map[string]http.Handler{aiPath: page{status: 304}}, fetch.BadStatus, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				c.pages[summaryPath] = page{status: 404}
				w.net.Serve("a.test", fakenet.Site{Handler: &site{pages: c.pages}, HTTP1: true})
				w.site("b.test", map[string]http.Handler{"/b": doc, "/back": redirect("https://a.test/new")})
				w.site("shut.test", map[string]http.Handler{robotsPath: page{body: "user-agent: *\ndisallow: /b\n"}, "/b": doc})
				w.run()
				w.visit("a.test")
				var got []string
				for _, q := range w.asked()[2:] {
					if q != "a.test "+summaryPath {
						got = append(got, q)
					}
				}
				if !slices.Equal(got, c.asked) {
					t.Errorf("asked %q, want %q", got, c.asked)
				}
				f := w.host("a.test").Fetches["ai"]
				if f.Outcome != c.outcome {
					t.Errorf("outcome %q (%s), want %q", f.Outcome, f.Detail, c.outcome)
				}
				if strings.ContainsFunc(f.Detail, unicode.IsControl) || len(f.Detail) > 500 {
					t.Errorf("it is told as %q", f.Detail)
				}
				for _, q := range w.net.Requests() {
					if !q.TLS {
						t.Errorf("%s%s was requested over plain HTTP", q.Host, q.Path)
					}
				}
				d := w.stored("a.test", document.AI)
				if (d != nil) != (c.outcome == fetch.OK) {
					t.Fatalf("stored %v with outcome %s", d != nil, c.outcome)
				}
				if d != nil && (d.Host != "a.test" || len(f.Redirects) == 0) {
					t.Errorf("the document is filed under %s, redirects %v", d.Host, f.Redirects)
				}
				if d := w.stored("b.test", document.AI); d != nil {
					t.Error("a redirect's target was taken for the owner")
				}
			})
		})
	}
}

// TestMutualRedirects checks that hosts that redirect to each other do not wait for each other.
func TestMutualRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opts.HostInterval, w.opts.DomainInterval = time.Second, time.Second
		w.site("a.test", map[string]http.Handler{aiPath: redirect("https://b.test/doc"), "/doc": json200(ai("A"))})
		w.site("b.test", map[string]http.Handler{aiPath: redirect("https://a.test/doc"), "/doc": json200(ai("B"))})
		w.run()
		for host, r := range w.crawl("a.test", "b.test") {
			if r.Documents != 1 || r.Took > 20*time.Second {
				t.Errorf("%s: %s, took %v", host, r.Summary, r.Took)
			}
		}
		w.wantPolite(time.Second)
	})
}

// wantPolite judges by the servers' log: robots.txt first, never two
// connections to one host at a time, and the gap between them kept.
func (w *world) wantPolite(gap time.Duration) {
	w.t.Helper()
	type seen struct {
		robots bool
		conn   uint64
		begun  time.Time
		ended  time.Time
	}
	hosts := map[string]*seen{}
	for _, q := range w.net.Requests() {
		if !q.TLS {
			w.t.Errorf("%s%s was requested over plain HTTP", q.Host, q.Path)
		}
		s := hosts[q.Host]
		if s == nil {
			s = &seen{conn: q.Conn, begun: q.Begun}
			hosts[q.Host] = s
		}
		s.robots = s.robots || q.Path == robotsPath
		if !s.robots {
			w.t.Errorf("%s%s was requested before robots.txt", q.Host, q.Path)
		}
		if q.Begun.Before(s.ended) {
			w.t.Errorf("%s%s was asked while another request ran", q.Host, q.Path)
		}
		if q.Conn != s.conn {
			if q.Begun.Sub(s.begun) < gap {
				w.t.Errorf("%s was visited again after %v, want %v", q.Host, q.Begun.Sub(s.begun), gap)
			}
			s.conn, s.begun = q.Conn, q.Begun
		}
		if q.Ended.After(s.ended) {
			s.ended = q.Ended
		}
	}
}

func TestApexRedirectsToWWW(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		apex := w.site("shop.test", nil)
		for _, p := range []string{robotsPath, aiPath, summaryPath} {
			apex.set(p, redirect("https://www.shop.test"+p))
		}
		w.site("www.shop.test", map[string]http.Handler{
			robotsPath: page{body: "User-agent: *\nDisallow: /private\n"},
			aiPath:     json200(ai("Shop")), summaryPath: json200(summary("https://www.shop.test/full.json")),
			"/full.json": page{status: 404},
		})
		w.run()
		r := w.visit("shop.test")
		if r.Documents != 2 {
			t.Errorf("result %s", r.Summary)
		}
		if d := w.stored("shop.test", document.AI); d == nil || d.URL != "https://www.shop.test"+aiPath {
			t.Errorf("stored %+v", d)
		}
		// The rules of the apex also hold for www, but only after they were requested for www.
		w.wantPolite(0)
		conns := map[uint64]bool{}
		for _, q := range w.net.Requests() {
			conns[q.Conn] = true
		}
		if len(conns) > 4 {
			t.Errorf("%d connections for one host and its www", len(conns))
		}
	})
}
