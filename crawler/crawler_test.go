package crawler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/crawler"
	"gazetteer/document"
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
}

// newWorld begins a world whose hosts the test adds with site and doc.
func newWorld(t *testing.T) *world {
	t.Helper()
	n, err := fakenet.Open(fakenet.Options{Empty: true, Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, net: n, dir: t.TempDir()}
	w.opts = crawler.Options{
		Dial: n.Dial(nil), Roots: n.Roots(), Grace: time.Second,
		HostInterval: -1, DomainInterval: -1, Rate: -1, Workers: 16,
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

// halt stops the crawler and closes the store, as an ending process would.
func (w *world) halt() {
	w.t.Helper()
	if w.stop != nil {
		w.stop()
		if err := <-w.ended; err != nil {
			w.t.Errorf("Run: %v", err)
		}
		w.stop = nil
	}
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

// A site answers paths; what it does not have is 404.
type site struct {
	mu    sync.Mutex // guards following
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

func TestVisitFetchesEverythingInOrderOnOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("acme.test", map[string]http.Handler{
			aiPath:       json200(ai("Acme")),
			summaryPath:  json200(summary("https://acme.test/acme.agis")),
			"/acme.agis": page{body: agisYAML, header: map[string]string{"Content-Type": "application/agis"}},
		})
		w.run()
		r := w.visit("https://ACME.test/somewhere")
		r = w.observed[0]
		w.wantAsked(0, "acme.test /robots.txt", "acme.test /.well-known/ai", "acme.test /.well-known/agis.json", "acme.test /acme.agis")
		for _, q := range w.net.Requests() {
			if q.Conn != 1 || q.Proto != "HTTP/1.1" || !q.TLS {
				t.Errorf("%s came on connection %d over %s, TLS %v; want all on one", q.Path, q.Conn, q.Proto, q.TLS)
			}
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
