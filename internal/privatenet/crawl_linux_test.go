package privatenet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gazetteer/internal/fakenet"
)

// config is what an operator sets who is at home in the whole network: shorter
// intervals. The rest is as it ships.
const config = `listen = "127.0.0.1:0"
shutdown_grace = "2s"

[crawler]
rate = 500.0
host_interval = "1ms"
domain_interval = "1ms"
address_interval = "1ms"
`

// patient gives hosts more time than the program does by itself.
const patient = "crawler.timeout=60s"

// A program is a run of the program that has begun.
type program struct {
	t       *testing.T
	command *exec.Cmd
	stdout  output
	stderr  bytes.Buffer
	begun   time.Time
}

// output is what the program has printed so far.
type output struct {
	lines chan struct{} // holds one element for each line, up to its room

	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for range bytes.Count(p, []byte("\n")) {
		select {
		case o.lines <- struct{}{}:
		default:
		}
	}
	return o.text.Write(p)
}

// A result is one line of what crawl --json prints: the members that are promised.
type result struct {
	Host    string `json:"host"`
	State   string `json:"state"`
	Fetches []struct {
		Kind    string `json:"kind"`
		URL     string `json:"url"`
		Outcome string `json:"outcome"`
		Detail  string `json:"detail"`
		Status  int    `json:"status"`
	} `json:"fetches"`
	Requests *int      `json:"requests"`
	NextDue  time.Time `json:"next_due"`
	NotDue   bool      `json:"not_due"`
	New      []string  `json:"new"`
}

// of returns the outcome and the status for a kind of document.
func (r result) of(kind string) (outcome string, status int) {
	for _, f := range r.Fetches {
		if f.Kind == kind {
			outcome, status = f.Outcome, f.Status
		}
	}
	return outcome, status
}

// begin starts "gazetteer crawl --once --json" on a data directory. Nothing of
// the environment of the tests reaches it.
func (w *world) begin(data, stdin string, args ...string) *program {
	w.t.Helper()
	dir := os.Getenv(insideDir)
	root, settings := filepath.Join(dir, "root.pem"), filepath.Join(dir, "config.toml")
	for name, text := range map[string][]byte{root: w.net.RootPEM(), settings: []byte(config)} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	if end, ok := w.t.Deadline(); ok {
		ctx, cancel = context.WithDeadline(w.t.Context(), end.Add(-10*time.Second))
	}
	w.t.Cleanup(cancel)
	p := &program{t: w.t, begun: time.Now(), stdout: output{lines: make(chan struct{}, 10)}}
	p.command = exec.CommandContext(ctx, filepath.Join(dir, "gazetteer"),
		append([]string{"crawl", "--once", "--json", "--data", data, "--config", settings}, args...)...)
	const proxy = "http://127.0.0.1:3128"
	p.command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SSL_CERT_FILE=" + root, "SSL_CERT_DIR=" + filepath.Join(dir, "none"),
		"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy, "ALL_PROXY=" + proxy, "http_proxy=" + proxy, "https_proxy=" + proxy, "all_proxy=" + proxy}
	p.command.Stdin, p.command.Stdout, p.command.Stderr = strings.NewReader(stdin), &p.stdout, &p.stderr
	// One that hangs shows where.
	p.command.Cancel = func() error { return p.command.Process.Signal(syscall.SIGQUIT) }
	p.command.WaitDelay = 5 * time.Second
	if err := p.command.Start(); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// end waits for the program and returns its output.
func (p *program) end(code int) []result {
	p.t.Helper()
	p.command.Wait() // the exit code says all
	if got := p.command.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d: %s", got, code, p.stderr.String())
	}
	if strings.Contains(p.stderr.String(), "panic") || strings.Contains(p.stderr.String(), `"level":"ERROR"`) {
		p.t.Errorf("the program complains: %s", p.stderr.String())
	}
	var all []result
	lines := bufio.NewScanner(&p.stdout.text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			p.t.Errorf("%v in the line %q", err, lines.Bytes())
			continue
		}
		if r.Host == "" || r.State == "" || r.Fetches == nil || r.Requests == nil {
			p.t.Errorf("a member is missing: %s", lines.Bytes())
			continue
		}
		all = append(all, r)
	}
	p.t.Logf("%s for %d results", time.Since(p.begun).Round(100*time.Millisecond), len(all))
	return all
}

// file writes a list.
func (w *world) file(lines []string) string {
	name := filepath.Join(w.t.TempDir(), "hosts.txt")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return name
}

// byHost wants one result for each line of the list.
func (w *world) byHost(list []string, results []result) map[string]result {
	w.t.Helper()
	all := map[string]result{}
	for _, r := range results {
		if _, twice := all[r.Host]; twice {
			w.t.Errorf("%s has two results", r.Host)
		}
		all[r.Host] = r
	}
	for _, name := range list {
		if _, ok := all[name]; !ok {
			w.t.Errorf("%s has no result", name)
		}
	}
	if len(all) != len(list) {
		w.t.Errorf("%d results for %d lines", len(all), len(list))
	}
	return all
}

// wantNobodyLed fails if a connection was begun to an address of no host, whether or not it
// was answered, or to another port than 443.
func (w *world) wantNobodyLed() {
	w.t.Helper()
	seen := w.watch.to()
	names := netip.MustParseAddrPort("127.0.0.1:53")
	hosts := 0
	for place, n := range seen {
		switch {
		case place == names:
		case isHosts(place.Addr()) && place.Port() == 443:
			hosts += n
		default:
			w.t.Errorf("%d connections were begun to %s", n, place)
		}
	}
	if hosts == 0 {
		w.t.Errorf("the watch saw no connection to any host")
	}
	for _, place := range w.doors.trapped() {
		w.t.Errorf("somebody connected to %s", place)
	}
}

// wantRobotsFirst fails if a host got a request before the one for its robots.txt, two requests for
// a path within a day, a request without TLS, or one from another client. The crawler remembers the
// robots.txt of a host for visits of other hosts to it, but of at most a thousand hosts: with more,
// it may request one again.
func (w *world) wantRobotsFirst(requests []fakenet.Request) {
	w.t.Helper()
	asked := map[string][]string{}
	crowded := len(w.list) > 1000
	for _, q := range requests {
		if len(asked[q.Host]) == 0 && q.Path != robotsPath {
			w.t.Errorf("%s was asked for %s before its robots.txt", q.Host, q.Path)
		}
		again := slices.Contains(asked[q.Host], q.Path)
		if again && crowded && q.Path == robotsPath {
			again = slices.Contains(asked[q.Host][1:], q.Path)
		}
		if again && q.Host != "away.test" && q.Host != "redirect-loop.test" {
			w.t.Errorf("%s was asked for %s twice", q.Host, q.Path)
		}
		asked[q.Host] = append(asked[q.Host], q.Path)
		if !q.TLS || q.Method != "GET" || !strings.HasPrefix(q.Header.Get("User-Agent"), "Gazetteer/") {
			w.t.Errorf("%s was asked with %s, TLS %t, by %q", q.Host, q.Method, q.TLS, q.Header.Get("User-Agent"))
		}
	}
}

// wantOutcomes compares results with what must come of the hosts.
func (w *world) wantOutcomes(of ...map[string]result) {
	w.t.Helper()
	results := map[string]result{}
	for _, some := range of {
		maps.Copy(results, some)
	}
	for _, host := range slices.Sorted(maps.Keys(w.want)) {
		want, r := w.want[host], results[host]
		outcome, status := r.of(want.kind)
		if r.State != want.state || !slices.Contains(want.outcomes, outcome) {
			w.t.Errorf("%s is %s, %s %s; want %s, %s %s: %+v", host, r.State, want.kind, outcome, want.state, want.kind, want.outcomes, r.Fetches[max(len(r.Fetches)-3, 0):])
		}
		if outcome == "ok" && status != 200 {
			w.t.Errorf("%s: %s is ok with status %d", host, want.kind, status)
		}
		if r.NextDue.IsZero() {
			w.t.Errorf("%s has no next due", host)
		}
	}
}

// wantStandard compares results with the labels of the standard hosts.
func (w *world) wantStandard(results map[string]result) {
	w.t.Helper()
	for _, h := range w.net.Hosts() {
		r, asked := results[h.Name]
		if !asked {
			continue
		}
		for kind, want := range h.Expect {
			if outcome, _ := r.of(kind); outcome != want {
				w.t.Errorf("%s: %s is %q, want %q (%s): %+v", h.Name, kind, outcome, want, h.Note, r.Fetches)
			}
		}
	}
}

// hostsOf is a number of good hosts that the environment may raise.
func hostsOf(t *testing.T, short int) int {
	text := os.Getenv("PRIVATE_HOSTS")
	if text == "" {
		return short
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("PRIVATE_HOSTS: %v", err)
	}
	return n
}

// TestHostileInternet crawls a list with everything on it that reliability asks
// for and that a name server or an address can do to a crawler. PRIVATE_HOSTS
// sets how many good hosts are among them.
func TestHostileInternet(t *testing.T) {
	w := openWorld(t, true)
	w.away("away.test")
	w.good(hostsOf(t, 50))
	w.addresses()
	w.records()
	w.nameServers()
	w.connections()
	w.waits()
	data := filepath.Join(t.TempDir(), "data")
	twice := w.file(slices.Concat(w.list, w.list)) // what is named twice is one host

	// Those who wait and those who have much to do are two programs: one has the
	// limits that it ships with, the other time enough on the busiest machine.
	waiting := w.begin(filepath.Join(t.TempDir(), "data"), "", "--file", w.file(w.silent))
	first := w.byHost(w.list, w.begin(data, "", "--file", twice, "--set", patient).end(0))
	silent := w.byHost(w.silent, waiting.end(0))
	w.wantStandard(silent)
	w.wantOutcomes(first, silent)
	w.wantStandard(first)
	for _, line := range w.list {
		outcome, _ := first[line].of("")
		if _, name := w.want[line]; !name && strings.HasSuffix(line, ".test") == (outcome == "bad-host") && len(line) < 60 {
			t.Errorf("%s has the outcome %q", line, outcome)
		}
	}
	for host := range w.want {
		if n := w.names.questions(host); strings.HasPrefix(host, "rebind-") && n != 1 {
			t.Errorf("the address of %s was looked up %d times in one visit", host, n)
		}
	}
	asked := w.net.Requests()
	w.wantNobodyLed()
	w.wantRobotsFirst(asked)

	// A second run requests nothing that is not due; it visits newly discovered hosts that it has
	// not visited.
	again := slices.Clone(w.list)
	for _, h := range w.net.Hosts() {
		if h.Reachable && !h.Seed {
			again = append(again, h.Name)
		}
	}
	second := w.byHost(again, w.begin(data, "", "--file", w.file(again), "--set", patient).end(0))
	w.wantStandard(second)
	for host, before := range first {
		now := second[host]
		if before.NextDue.IsZero() || now.NextDue.After(before.NextDue) && time.Now().After(before.NextDue) {
			continue // it names no host, or was due again
		}
		// The frontier counts in whole seconds, upwards.
		later := now.NextDue.Sub(before.NextDue)
		if now.State != before.State || !now.NotDue || *now.Requests != 0 || later < 0 || later > time.Second {
			t.Errorf("%s was %s, due at %s, and is %s, due at %s, after %d requests", host, before.State, before.NextDue, now.State, now.NextDue, *now.Requests)
		}
	}
	for _, q := range w.net.Requests()[len(asked):] {
		if due := first[q.Host].NextDue; q.Begun.Before(due) {
			t.Errorf("%s was asked for %s again at %s, before %s", q.Host, q.Path, q.Begun, due)
		}
	}
	w.wantNobodyLed()
}

// TestInterrupted ends the program by SIGTERM in the middle of a visit. What it has
// told of is not asked again, and the next run brings the rest to its end.
func TestInterrupted(t *testing.T) {
	w := openWorld(t, false)
	w.good(20)
	asked, first := make(chan struct{}), atomic.Bool{}
	first.Store(true)
	w.serve("held.test", pages{robotsPath: func(out http.ResponseWriter, r *http.Request) {
		if !first.CompareAndSwap(true, false) {
			http.NotFound(out, r)
			return
		}
		close(asked)
		never(out, r)
	}, aiPath: discovery("/api")})
	w.add("held.test", at(w.address()), "listed", "ai", "ok")
	list, data := w.file(w.list), filepath.Join(t.TempDir(), "data")

	p := w.begin(data, "", "--file", list, "--set", patient)
	ended := make(chan struct{})
	go func() { defer close(ended); p.command.Wait() }()
	wait := func(event <-chan struct{}) {
		t.Helper()
		select {
		case <-event:
		case <-ended:
			t.Fatalf("the program ended by itself: %s", p.stderr.String())
		}
	}
	wait(asked)
	for range cap(p.stdout.lines) {
		wait(p.stdout.lines)
	}
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	told := map[string]result{}
	<-ended
	for _, r := range p.end(130) {
		told[r.Host] = r
	}
	if _, ok := told["held.test"]; ok || len(told) < cap(p.stdout.lines) {
		t.Errorf("%d results before the end, among them that of the visit that was cut off: %+v", len(told), told["held.test"])
	}
	before := len(w.net.Requests())
	w.wantOutcomes(w.byHost(w.list, w.begin(data, "", "--file", list, "--set", patient).end(0)))
	for _, q := range w.net.Requests()[before:] {
		if r, ok := told[q.Host]; ok && q.Begun.Before(r.NextDue) {
			t.Errorf("%s was told of, and asked for %s again", q.Host, q.Path)
		}
	}
	w.wantNobodyLed()
}

// TestStandardInput takes hosts from the command line and from standard input.
func TestStandardInput(t *testing.T) {
	w := openWorld(t, false)
	w.good(6)
	lines := "rank,domain\n1," + w.list[0] + "\n2," + w.list[1] + "\n# comment\nhttps://" + strings.ToUpper(w.list[2]) + "/path\n127.0.0.1\n" + w.list[3] + ".\n"
	results := w.byHost(append(w.list, "127.0.0.1"), w.begin(filepath.Join(t.TempDir(), "data"), lines, "-", w.list[4], w.list[5], "--set", patient).end(0))
	w.wantOutcomes(results)
	if outcome, _ := results["127.0.0.1"].of(""); outcome != "bad-host" || results["127.0.0.1"].State != "refused" {
		t.Errorf("127.0.0.1: %+v", results["127.0.0.1"])
	}
	w.wantNobodyLed()
	w.wantRobotsFirst(w.net.Requests())
}
