package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gazetteer/crawler"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// addHost adds a host whose paths answer as the handlers say, and all others 404. listed says whether
// the crawl is told of it.
func (w *farCrawl) addHost(name string, listed bool, paths map[string]http.HandlerFunc) {
	w.t.Helper()
	w.internet.Handle(name, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if answer := paths[r.URL.Path]; answer != nil {
			answer(out, r)
			return
		}
		http.NotFound(out, r)
	}))
	if !listed {
		return
	}
	w.names = append(w.names, name)
	if err := os.WriteFile(w.list, []byte(strings.Join(w.names, "\n")), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// requested returns the paths that were requested of a host, in order.
func (w *farCrawl) requested(host string) (paths []string) {
	for _, q := range w.internet.Requests() {
		if q.Host == host {
			paths = append(paths, q.Path)
		}
	}
	return paths
}

// TestCrawlObeysAnswers crawls hosts that say how they want to be asked: no other path of the visit
// follows a 410 at the authoritative path, or a 503 or 429 with Retry-After. A related service that is
// no host gets a finding, and one with the port of https names its host, which is visited.
func TestCrawlObeysAnswers(t *testing.T) {
	t.Parallel()
	const ai, alias, summary = "/.well-known/ai", "/ai", "/.well-known/agis.json"
	w := newFarCrawl(t, 0)
	document := func(out http.ResponseWriter, r *http.Request) {
		r.URL.Path = ai
		w.serve(out, r)
	}
	status := func(code int, retryAfter string) http.HandlerFunc {
		return func(out http.ResponseWriter, _ *http.Request) {
			if retryAfter != "" {
				out.Header().Set("Retry-After", retryAfter)
			}
			out.WriteHeader(code)
		}
	}
	w.addHost("gone.test", true, map[string]http.HandlerFunc{ai: status(410, ""), alias: document})
	w.addHost("moved.test", true, map[string]http.HandlerFunc{alias: document})
	w.addHost("busy429.test", true, map[string]http.HandlerFunc{ai: status(429, "7200"), alias: document})
	w.addHost("busy503.test", true, map[string]http.HandlerFunc{ai: status(503, "7200"), alias: document})
	w.addHost("related.test", true, map[string]http.HandlerFunc{summary: func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		io.WriteString(out, `{"agis": "1.0", "service": "Related", "agtp": "agtp://related.test", "agis_document": "https://related.test/full.agis", "methods": ["BOOK"],
"related_services": ["agtp://fine.test", "https://good.test:443/x",
"agtp://[::ffff:7f00:1]/x"]}`)
	}})
	w.addHost("good.test", false, map[string]http.HandlerFunc{ai: document})

	life := w.begin(100)
	life.reading.Wait() // before Wait, which closes what is read
	if err := life.command.Wait(); err != nil {
		t.Errorf("the crawl: %v\n%s", err, life.errors.String())
	}
	for host, want := range map[string][]string{
		"gone.test":    {"/robots.txt", ai, summary},
		"moved.test":   {"/robots.txt", ai, alias, summary},
		"busy429.test": {"/robots.txt", ai},
		"busy503.test": {"/robots.txt", ai},
	} {
		got := w.requested(host)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s was asked for %q, want %q", host, got, want)
		}
	}
	if !slices.Contains(w.requested("good.test"), ai) {
		t.Error("the host that a related service names was not visited")
	}
	p := &program{t: t, dir: t.TempDir()}
	out, code := p.cli("--data-dir", w.dir, "show", "--json", "related.test")
	var shown struct {
		Documents []struct {
			Findings []struct{ Code, Pointer string }
		}
		Related []string
	}
	if err := json.Unmarshal([]byte(out), &shown); code != 0 || err != nil {
		t.Fatalf("exit code %d: %s", code, out)
	}
	var found []string
	for _, d := range shown.Documents {
		for _, f := range d.Findings {
			if f.Code == "WK107" {
				found = append(found, f.Pointer)
			}
		}
	}
	if !slices.Equal(found, []string{"/related_services/2"}) || !slices.Equal(shown.Related, []string{"fine.test", "good.test"}) {
		t.Errorf("findings of related services %q, and their hosts %q: %s", found, shown.Related, out)
	}
}

// TestStopWhileHostsWait stops a crawl whose hosts wait for its rate, with many more workers than the
// rate begins visits within the time of a visit. A host that was not asked stays due, and nothing is
// stored of it; none of those that wait is asked after the signal. The next crawl visits them all.
func TestStopWhileHostsWait(t *testing.T) {
	t.Parallel()
	const rate, hosts, before = 5, 100, 20
	w := newFarCrawl(t, hosts)
	w.env = []string{visitTimeout + "=2s"} // so that the last ones wait ten times as long
	life := w.begin(rate, "crawler.workers=500", "crawler.timeout=1m")
	asked := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.asked)
	}
	for deadline := time.Now().Add(2 * time.Minute); asked() < before; {
		select {
		case <-w.event:
		case <-time.After(time.Until(deadline)):
			t.Fatalf("only %d hosts were asked", asked())
		}
	}
	if err := life.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	stopped := asked()
	life.reading.Wait()
	life.command.Wait()
	// The signal needs a moment. Without the rule, the rate goes on for the grace of 8 s.
	if more := asked() - stopped; more > 4*rate {
		t.Errorf("%d of the hosts that waited were asked after the signal", more)
	}
	s, err := boltstore.Open(t.Context(), w.dir, boltstore.Options{Log: slog.New(slog.DiscardHandler), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, name := range w.names {
		if len(w.requested(name)) > 0 {
			continue
		}
		var h crawler.Host
		r, err := s.Get(t.Context(), store.HostKey(name))
		if err == nil {
			err = json.Unmarshal(r.Value, &h)
		}
		if err != nil || h.Visits > 0 || len(h.Fetches) > 0 || h.Due.After(time.Now()) {
			t.Errorf("%s was not asked, and is stored with %d visits, due %v, %v (%v)", name, h.Visits, h.Due, h.Fetches, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	life = w.begin(1000, "crawler.timeout=1m")
	life.reading.Wait()
	if err := life.command.Wait(); err != nil {
		t.Errorf("the next crawl: %v\n%s", err, life.errors.String())
	}
	for _, name := range w.names {
		if !slices.Contains(w.requested(name), "/.well-known/ai") {
			t.Errorf("%s was never asked: %s", name, w.lines[name])
		}
	}
}
