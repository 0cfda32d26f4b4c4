package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/internal/cli/demo"
	"gazetteer/internal/fakenet"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// TestKillLosesNothing kills the server at random moments of its start and of a crawl, while agents
// are registered. After every kill each acknowledged visit and each acknowledged agent exists; in
// the end no host is lost and the index agrees with the store. KILLS sets the number of kills.
func TestKillLosesNothing(t *testing.T) {
	t.Parallel()
	kills := killsOr(t, 5)
	// The long form needs the crawl to last: the rate spreads it over the kills.
	internet, err := fakenet.Open(fakenet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer internet.Close()
	dir := filepath.Join(t.TempDir(), "data")
	ledger := newLedger()
	for range kills {
		child := startServer(t, dir, internet.Seeds(), 40, ledger)
		child.killAfter(t, []int{rand.IntN(4), 4 + rand.IntN(40)}[rand.IntN(2)])
		ledger.check(t, dir)
		if t.Failed() {
			return
		}
	}
	child := startServer(t, dir, internet.Seeds(), 100, ledger)
	child.finish(t, ledger, reachable(internet))
	ledger.check(t, dir)
	compareIndex(t, dir)
	if len(ledger.visits) == 0 || len(ledger.agents) == 0 {
		t.Errorf("nothing was acknowledged: %d visits, %d agents", len(ledger.visits), len(ledger.agents))
	}
	t.Logf("%d kills, %d visits and %d agents acknowledged", kills, len(ledger.visits), len(ledger.agents))
}

// killsOr is how many times a test kills: KILLS, or so many.
func killsOr(t *testing.T, n int) int {
	t.Helper()
	text := os.Getenv("KILLS")
	if text == "" {
		return n
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ledger is what the server acknowledged: a visit by its log line, which is
// written after the commit, an agent by its 201.
type ledger struct {
	errorsExpected bool // the test is about what the server logs as an error

	visited chan struct{} // one token for visits since it was looked at

	mu             sync.Mutex // guards the following fields
	visits, agents map[string]bool
}

func newLedger() *ledger {
	return &ledger{visited: make(chan struct{}, 1), visits: map[string]bool{}, agents: map[string]bool{}}
}

func (l *ledger) note(set map[string]bool, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	set[name] = true
}

// check reads the data directory that the killed server left behind.
func (l *ledger) check(t *testing.T, dir string) {
	t.Helper()
	ctx := t.Context()
	s, err := boltstore.Open(ctx, dir, boltstore.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		if len(l.visits)+len(l.agents) == 0 && errors.Is(err, os.ErrNotExist) {
			return
		}
		t.Fatalf("the store does not open after a kill: %v", err)
	}
	defer s.Close()
	for host := range l.visits {
		state, err := demo.ReadHost(ctx, s, host)
		if err != nil {
			t.Fatal(err)
		}
		if state.Visits == 0 {
			t.Errorf("the visit to %s was acknowledged and is gone", host)
		}
		for kind, f := range state.Fetches {
			if f.Digest == "" {
				continue
			}
			if _, err := s.Get(ctx, store.DocumentKey(host, kind)); err != nil {
				t.Errorf("%s has a digest for %s and no document: %v", host, kind, err)
			}
			if blob, err := s.Get(ctx, store.BlobKey(f.Digest)); err != nil || document.Digest(blob.Value) != f.Digest {
				t.Errorf("%s: the bytes of %s are missing or others (%v)", host, kind, err)
			}
		}
	}
	for id := range l.agents {
		if _, err := s.Get(ctx, store.AgentKey(id)); err != nil {
			t.Errorf("agent %s was acknowledged and is gone: %v", id, err)
		}
	}
}

// child is a running server that can be killed.
type child struct {
	command *exec.Cmd
	base    string
	stop    context.CancelFunc
	work    sync.WaitGroup

	serving chan struct{} // closed when the server says that it serves
	ended   chan struct{} // closed when it says nothing any more
	told    chan struct{} // one token for lines of its log since it was looked at
	lines   atomic.Int64  // of its log so far
}

func startServer(t *testing.T, dir string, seeds []string, rate int, l *ledger) *child {
	t.Helper()
	c, stderr := launch(t, dir, "crawler.rate="+strconv.Itoa(rate), "crawler.seeds="+strings.Join(seeds, ","),
		"crawler.host_interval=10ms", "crawler.domain_interval=10ms",
		// A host that a busy machine answers too late names no other hosts, which then seem to be lost.
		"crawler.timeout=20s")
	ctx, stop := context.WithCancel(t.Context())
	c.stop = stop
	c.work.Go(func() { c.readLog(t, stderr, l) })
	c.work.Go(func() { c.register(ctx, l) })
	return c
}

// launch starts the program on a data directory, without limits on registrations and changes. The
// caller reads its log.
func launch(t *testing.T, dir string, settings ...string) (*child, io.Reader) {
	t.Helper()
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0], "serve", "--data-dir", dir, "--listen", address)
	// Addresses stay the same after a restart on another port.
	settings = append([]string{"public_url=http://127.0.0.1:8080"}, settings...)
	for _, limit := range []string{"registrations_per_hour", "registrations_global_per_hour", "changes_per_hour", "changes_global_per_hour", "changes_per_agent_per_hour"} {
		settings = append([]string{"api." + limit + "=-1"}, settings...)
	}
	for _, s := range settings {
		command.Args = append(command.Args, "--set", s)
	}
	command.Args[0] = "gazetteer" // testscript.Main picks the program by its name
	command.Env = append(os.Environ(), "GAZETTEER_LOG_LEVEL=info")
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return &child{command: command, base: "http://" + address, serving: make(chan struct{}), ended: make(chan struct{}), told: make(chan struct{}, 1)}, stderr
}

// remind leaves a token for the goroutine that waits for one.
func remind(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// readLog takes every visit that the server logs into the ledger.
func (c *child) readLog(t *testing.T, r io.Reader, l *ledger) {
	defer close(c.ended)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		c.lines.Add(1)
		remind(c.told)
		var line struct {
			Msg   string `json:"msg"`
			Level string `json:"level"`
			Host  string `json:"host"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Logf("server: %s", lines.Text()) // cut by the kill, or a crash to look at
			continue
		}
		switch {
		case line.Msg == "visit":
			l.note(l.visits, line.Host)
			remind(l.visited)
		case line.Msg == "serving":
			close(c.serving)
		case line.Level == "ERROR" && !l.errorsExpected:
			t.Errorf("server: %s", lines.Text())
		}
	}
}

// up waits until the server serves; false says that it has ended before that, or
// that ctx has.
func (c *child) up(ctx context.Context) bool {
	select {
	case <-c.serving:
		return true
	case <-c.ended:
	case <-ctx.Done():
	}
	return false
}

// register registers agents, one after the other, until ctx ends. It leaves time for everything else.
func (c *child) register(ctx context.Context, l *ledger) {
	if !c.up(ctx) {
		return
	}
	body := `{"name":"kill test","public_key":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/api/v1/agents/register", strings.NewReader(body))
		if err != nil {
			return
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			continue // killed: ctx ends
		}
		var answer struct {
			AirID string `json:"air_id"`
		}
		err = json.NewDecoder(response.Body).Decode(&answer)
		response.Body.Close()
		if err == nil && response.StatusCode == http.StatusCreated {
			l.note(l.agents, answer.AirID)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// killAfter kills the server when it has logged so many lines.
func (c *child) killAfter(t *testing.T, lines int) {
	t.Helper()
	for c.lines.Load() < int64(lines) {
		select {
		case <-c.told:
		case <-c.ended:
			t.Error("the server ended by itself")
			lines = 0
		case <-time.After(3 * time.Minute): // since the last one
			t.Error("the server says nothing any more")
			lines = 0
		}
	}
	c.end(os.Kill)
}

func (c *child) end(signal os.Signal) error {
	c.command.Process.Signal(signal)
	c.stop()
	c.work.Wait()
	return c.command.Wait()
}

// finish lets the server crawl to the end, and stops it as an operator would.
func (c *child) finish(t *testing.T, l *ledger, hosts []string) {
	t.Helper()
	if !c.up(t.Context()) {
		t.Fatal("the server does not serve")
	}
	for missing := c.unvisited(hosts); len(missing) > 0; missing = c.unvisited(missing) {
		select {
		case <-l.visited:
			continue
		case <-c.ended:
		case <-time.After(3 * time.Minute): // since the last one
		}
		t.Errorf("%d hosts were lost, among them %s", len(missing), missing[0])
		break
	}
	if err := c.end(os.Interrupt); err != nil {
		t.Errorf("the server did not end cleanly: %v", err)
	}
}

// unvisited asks the server which of the hosts have no visit yet.
func (c *child) unvisited(hosts []string) []string {
	var missing []string
	for _, host := range hosts {
		response, err := http.Get(c.base + "/api/v1/services/" + host)
		if err != nil {
			return hosts
		}
		var s struct {
			State struct{ Visited time.Time }
		}
		err = json.NewDecoder(response.Body).Decode(&s)
		response.Body.Close()
		if err != nil || s.State.Visited.IsZero() {
			missing = append(missing, host)
		}
	}
	return missing
}

func reachable(n *fakenet.Net) []string {
	var hosts []string
	for _, h := range n.Hosts() {
		if h.Reachable {
			hosts = append(hosts, h.Name)
		}
	}
	return hosts
}

// compareIndex compares the index that survived the kills with one that is built from the store:
// every service must have the same operations in both, and searches must give the same answers,
// byte for byte.
func compareIndex(t *testing.T, dir string) {
	t.Helper()
	ctx, log := t.Context(), slog.New(slog.DiscardHandler)
	s, err := boltstore.Open(ctx, dir, boltstore.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	hosts := map[string]bool{}
	for r, err := range s.List(ctx, store.DocumentPrefix, "") {
		if err != nil {
			t.Fatal(err)
		}
		hosts[store.SplitKey(r.Key)[1]] = true
	}
	queries := []string{"payment", "send a message", "list of files", "verb:CREATE"}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		queries = append(queries, "host:"+host)
	}
	survived := answers(t, s, filepath.Join(dir, "index"), queries)
	fresh := answers(t, s, filepath.Join(t.TempDir(), "fresh"), queries)
	for q, want := range fresh {
		if got := survived[q]; !bytes.Equal(got, want) {
			t.Errorf("%s: the surviving index answers\n%.300s\nand a fresh one\n%.300s", q, got, want)
		}
	}
}

func answers(t *testing.T, s store.Store, dir string, queries []string) map[string][]byte {
	t.Helper()
	x, err := index.Open(t.Context(), index.Options{Dir: dir, Store: s, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- x.Run(ctx) }()
	defer func() {
		cancel()
		if err := errors.Join(<-ran, x.Close()); err != nil {
			t.Error(err)
		}
	}()
	if err := x.WaitFor(ctx, s.Head().Seq); err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, text := range queries {
		q, err := query.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		q.Limit = 100
		r, err := x.Search(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if out[text], err = json.Marshal(r); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
