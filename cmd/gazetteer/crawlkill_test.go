package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
	"gazetteer/internal/server"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// farNet and farRoot lead the program to a small internet that another process
// holds: one that outlives it.
const (
	farNet  = "FARNET_ADDRESS"
	farRoot = "FARNET_ROOT"
)

// farWorld is that internet.
func farWorld(address string, root []byte) server.Environment {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(root)
	return server.Environment{Roots: roots, Dial: func(server.DialFunc) server.DialFunc {
		return func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}}
}

// fromEnvironment is a number of the environment, or what the short form has.
func fromEnvironment(t *testing.T, name string, short int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return short
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestKillDuringACrawl kills "gazetteer crawl" again and again while it works
// through a list, now and then as soon as the servers have seen a few requests,
// and judges by what the servers saw: no host and no document is lost, and each
// kill costs at most one batch of visits again. KILLS and HOSTS set the numbers.
func TestKillDuringACrawl(t *testing.T) {
	t.Parallel()
	kills, hosts := fromEnvironment(t, "KILLS", 4), fromEnvironment(t, "HOSTS", 150)
	w := newFarCrawl(t, hosts)
	each := hosts / max(kills, 1) // so that the crawl lasts for all kills
	before := 0
	stuck, longest := 0, 0
	for n := range kills {
		life := w.begin(max(50, each))
		switch {
		case n == 1: // there is something to lose, whatever chance brings
			life.untilTold()
		case n%3 == 0: // as fast as kills can come: the first visits are hardly over
			life.after(1 + rand.IntN(20))
		default:
			life.after(1 + rand.IntN(2*each))
		}
		life.kill()
		committed := w.check()
		if t.Failed() {
			return
		}
		if stuck++; committed > before {
			stuck = 0
		}
		before, longest = committed, max(longest, stuck)
	}
	life := w.begin(max(200, each))
	life.reading.Wait() // before Wait, which closes what is read
	if err := life.command.Wait(); err != nil {
		t.Errorf("the last crawl: %v\n%s", err, life.errors.String())
	}
	committed, held := w.check(), w.wantOutcomes(life)
	if committed+held != hosts || held > max(64, hosts/100) {
		t.Errorf("%d of %d hosts were visited in the end, %d wait", committed, hosts, held)
	}
	again, worst := w.again()
	if worst > 500 {
		t.Errorf("after one kill %d hosts were asked again, want a batch of 500 at most", worst)
	}
	if gap, host := w.shortestGap(); gap < 2*time.Second {
		t.Errorf("%s was visited again after %v, by the next process; want the 2 s of its domain", host, gap)
	}
	w.checkAcknowledged()
	if before == 0 {
		t.Errorf("%d kills, and nothing was committed between them", kills)
	}
	t.Logf("%d kills during a crawl of %d hosts: %d visited when the kills ended, at most %d kills in a row without progress; %d asked again in all, %d after one kill at most; %d wait",
		kills, hosts, before, longest, again, worst, held)
}

// A farCrawl is a list of hosts, the servers behind it, and a data directory.
type farCrawl struct {
	t        *testing.T
	internet *fakenet.Net
	names    []string
	dir      string
	list     string
	env      []string // of the program, besides that of the test

	mu    sync.Mutex        // guards the following fields
	life  int               // of the program, from 1
	asked map[string][]int  // in which lives a host's document was asked for
	told  map[string]bool   // hosts whose visit was acknowledged
	since map[string]int    // the life in which a visit to a host was first acknowledged
	begun []time.Time       // when each life began
	event chan struct{}     // holds one element when a document was asked for
	ready chan struct{}     // the same when a visit was acknowledged
	lines map[string][]byte // the last result of each host, in this life
	hold  chan struct{}     // unless nil, no document is answered before it is closed
}

func newFarCrawl(t *testing.T, hosts int) *farCrawl {
	t.Helper()
	internet, err := fakenet.Open(fakenet.Options{Empty: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { internet.Close() })
	dir := t.TempDir()
	w := &farCrawl{t: t, internet: internet, dir: filepath.Join(dir, "data"), list: filepath.Join(dir, "hosts.txt"),
		asked: map[string][]int{}, told: map[string]bool{}, since: map[string]int{}, event: make(chan struct{}, 1), ready: make(chan struct{}, 1)}
	for i := range hosts {
		name := fmt.Sprintf("www.h%05d.test", i)
		w.names = append(w.names, name)
		internet.Handle(name, http.HandlerFunc(w.serve))
	}
	if err := os.WriteFile(w.list, []byte(strings.Join(w.names, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// serve is each of the hosts.
func (w *farCrawl) serve(out http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/.well-known/ai" {
		http.NotFound(out, r)
		return
	}
	w.mu.Lock()
	w.asked[r.Host] = append(w.asked[r.Host], w.life)
	hold := w.hold
	w.mu.Unlock()
	notify(w.event)
	if hold != nil {
		<-hold
	}
	out.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(out, `{"aiendpoint": "1.0", "service": {"name": %q, "description": "Tables."}, "capabilities": [{"id": "book_table", "description": "Book a table", "endpoint": "/api", "method": "POST"}]}`, r.Host)
}

// notify leaves an element in a channel that has room for one.
func notify(event chan struct{}) {
	select {
	case event <- struct{}{}:
	default:
	}
}

// A life is one run of the program.
type life struct {
	crawl   *farCrawl
	command *exec.Cmd
	number  int
	errors  bytes.Buffer
	reading sync.WaitGroup
}

// begin starts the program.
func (w *farCrawl) begin(rate int, settings ...string) *life {
	w.t.Helper()
	w.mu.Lock()
	w.life++
	w.begun = append(w.begun, time.Now())
	w.lines = map[string][]byte{}
	l := &life{crawl: w, number: w.life}
	w.mu.Unlock()
	l.command = exec.Command(os.Args[0], "crawl", "--file", w.list, "--data", w.dir, "--once", "--json", "--set", "crawler.rate="+strconv.Itoa(rate), "--set", "crawler.workers=32")
	for _, s := range settings {
		l.command.Args = append(l.command.Args, "--set", s)
	}
	l.command.Args[0] = "gazetteer" // testscript.Main picks the program by its name
	l.command.Env = append(append(os.Environ(), farNet+"="+w.internet.Address(), farRoot+"="+string(w.internet.RootPEM()), "GAZETTEER_LOG_LEVEL=error"), w.env...)
	l.command.Stderr = &l.errors
	out, err := l.command.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := l.command.Start(); err != nil {
		w.t.Fatal(err)
	}
	l.reading.Go(func() { w.read(out) })
	return l
}

// read notes each host whose result the program has told of: it is committed.
func (w *farCrawl) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var result crawler.Result
		if json.Unmarshal(lines.Bytes(), &result) != nil {
			continue // cut by the kill
		}
		w.mu.Lock()
		// One that waits, because too many kills met it, was told of as that.
		if result.State != crawler.Unvisited && !w.told[result.Host] {
			w.told[result.Host], w.since[result.Host] = true, w.life
		}
		w.lines[result.Host] = bytes.Clone(lines.Bytes())
		w.mu.Unlock()
		if result.State != crawler.Unvisited {
			notify(w.ready)
		}
	}
}

// after waits until the process has requested a number of documents, or has ended.
func (l *life) after(requests int) {
	ended := make(chan struct{})
	go func() { defer close(ended); l.reading.Wait() }()
	for seen := 0; seen < requests; seen++ {
		select {
		case <-l.crawl.event:
		case <-ended:
			return
		}
	}
}

// untilTold waits until the program has acknowledged a visit, or ended.
func (l *life) untilTold() {
	ended := make(chan struct{})
	go func() { defer close(ended); l.reading.Wait() }()
	select {
	case <-l.crawl.ready:
	case <-ended:
	}
}

func (l *life) kill() {
	l.command.Process.Kill()
	l.reading.Wait()
	// It may have come to the end before the kill came.
	if l.command.Wait(); l.command.ProcessState.Exited() && !l.command.ProcessState.Success() {
		l.crawl.t.Errorf("the program failed: %s", l.errors.String())
	}
}

// check reads the store after a kill: it contains every acknowledged host, with its document. It
// returns the number of visited hosts.
func (w *farCrawl) check() int {
	w.t.Helper()
	s, err := boltstore.Open(w.t.Context(), w.dir, boltstore.Options{Log: slog.New(slog.DiscardHandler), MinFree: -1})
	if errors.Is(err, os.ErrNotExist) && len(w.told) == 0 {
		return 0
	}
	if err != nil {
		w.t.Fatalf("the store does not open after a kill: %v", err)
	}
	defer s.Close()
	visited := 0
	for r, err := range s.List(w.t.Context(), store.HostPrefix, "") {
		if err != nil {
			w.t.Fatal(err)
		}
		var h crawler.Host
		if err := json.Unmarshal(r.Value, &h); err != nil {
			w.t.Fatal(err)
		}
		switch f := h.Fetches["ai"]; {
		case h.Visits == 0:
			if w.told[h.Name] {
				w.t.Errorf("the visit to %s was acknowledged and is gone", h.Name)
			}
			continue
		case f.Outcome == fetch.Timeout: // the machine is busy: it is asked again, and not lost
		case f.Digest == "":
			w.t.Errorf("%s was visited without its document: %s %s", h.Name, f.Outcome, f.Detail)
		default:
			if _, err := s.Get(w.t.Context(), store.DocumentKey(h.Name, "ai")); err != nil {
				w.t.Errorf("the document of %s is lost: %v", h.Name, err)
			}
			if _, err := s.Get(w.t.Context(), store.BlobKey(f.Digest)); err != nil {
				w.t.Errorf("the bytes of %s are lost: %v", h.Name, err)
			}
		}
		visited++
	}
	return visited
}

// wantOutcomes asks for one result a host of the life that came to the end. It
// returns how many of them wait for a later time, since visits to them were cut
// off again and again: they are known, and have a time.
func (w *farCrawl) wantOutcomes(l *life) (held int) {
	w.t.Helper()
	for _, name := range w.names {
		var r crawler.Result
		err := json.Unmarshal(w.lines[name], &r)
		if err == nil && r.State == crawler.Unvisited && r.NotDue && !r.NextDue.IsZero() {
			held++
			continue
		}
		if err != nil || r.Documents != 1 && r.Outcome() != fetch.Timeout {
			w.t.Errorf("%s has the result %s", name, w.lines[name])
			return held
		}
	}
	if len(w.lines) != len(w.names) {
		w.t.Errorf("%d results for %d hosts", len(w.lines), len(w.names))
	}
	return held
}

// shortestGap is the shortest time between the beginnings of two connections to
// one host, as the servers saw them: the interval holds across a kill.
func (w *farCrawl) shortestGap() (gap time.Duration, host string) {
	type contact struct {
		conn  uint64
		begun time.Time
	}
	last := map[string]contact{}
	gap = time.Hour
	for _, q := range w.internet.Requests() {
		before, known := last[q.Host]
		if known && before.conn == q.Conn {
			continue
		}
		if known && q.Begun.Sub(before.begun) < gap {
			gap, host = q.Begun.Sub(before.begun), q.Host
		}
		last[q.Host] = contact{q.Conn, q.Begun}
	}
	return gap, host
}

// checkAcknowledged checks that a host whose visit was acknowledged is not asked in a later life, for no
// path: those that answered 404 have to be left alone for a day. Only the last batch before a kill, of
// which nothing was acknowledged, is asked again.
func (w *farCrawl) checkAcknowledged() {
	w.t.Helper()
	if len(w.since) == 0 {
		w.t.Error("no visit was acknowledged")
	}
	missing := map[string]bool{} // paths that answered 404
	for _, q := range w.internet.Requests() {
		missing[q.Path] = missing[q.Path] || q.Status == http.StatusNotFound
		life, told := w.since[q.Host]
		if told && life < len(w.begun) && q.Begun.After(w.begun[life]) {
			w.t.Errorf("%s%s was requested again after a kill, with status %d, although the visit was acknowledged", q.Host, q.Path, q.Status)
		}
	}
	if !missing["/.well-known/agis.json"] {
		w.t.Errorf("no path answered 404: %v", missing)
	}
}

// again counts the hosts whose document was requested more than once: in all, and at most in the
// process after a kill.
func (w *farCrawl) again() (all, worst int) {
	lives := map[int]int{}
	for name, asked := range w.asked {
		for i := 1; i < len(asked); i++ {
			if asked[i] == asked[i-1] {
				w.t.Errorf("%s was asked twice in one life", name)
			}
			lives[asked[i]]++
			all++
		}
	}
	for _, n := range lives {
		worst = max(worst, n)
	}
	return all, worst
}
