package main

import (
	"encoding/json"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"gazetteer/crawler"
	"gazetteer/fetch"
)

// TestStoppedCrawl stops a crawl with SIGSTOP while hosts have not answered yet. They answer while it
// is stopped. After SIGCONT it blames no host for the time in which it did not run, and does not begin
// more visits than its rate allows from then on, and those of one second. PAUSE sets how long it is stopped: from 6s on, each
// visit that waited would have timed out.
func TestStoppedCrawl(t *testing.T) {
	t.Parallel()
	const rate, hosts, before, waiting = 40, 85, 15, 5
	pause, timeout := 1500*time.Millisecond, "1m"
	if text := os.Getenv("PAUSE"); text != "" {
		var err error
		if pause, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		timeout = "3s"
	}
	w := newFarCrawl(t, hosts)
	life := w.begin(rate, "crawler.workers=500", "crawler.timeout="+timeout)
	ended := make(chan struct{})
	go func() { defer close(ended); life.reading.Wait() }()
	await := func(documents int) {
		t.Helper()
		for asked := 0; asked < documents; {
			select {
			case <-w.event:
			case <-ended:
				t.Fatalf("the crawl has ended: %s", life.errors.String())
			case <-time.After(time.Minute):
				t.Fatalf("only %d of %d hosts were asked in a minute", asked, documents)
			}
			w.mu.Lock()
			asked = len(w.asked)
			w.mu.Unlock()
		}
	}
	await(before)
	w.mu.Lock()
	w.hold = make(chan struct{})
	answers := w.hold
	w.mu.Unlock()
	await(before + waiting)
	signal := func(s os.Signal) {
		t.Helper()
		if err := life.command.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	w.mu.Lock()
	w.hold = nil
	w.mu.Unlock()
	close(answers)
	time.Sleep(pause)
	begun := len(w.firstRequests())
	continued := time.Now()
	signal(syscall.SIGCONT)
	<-ended
	if err := life.command.Wait(); err != nil {
		t.Errorf("the crawl: %v\n%s", err, life.errors.String())
	}
	for _, name := range w.names {
		var r crawler.Result
		if err := json.Unmarshal(w.lines[name], &r); err != nil || r.Outcome() != fetch.OK {
			t.Errorf("%s has the result %s (%v)", name, w.lines[name], err)
		}
	}
	// A visit is seen when it begins or later, so a slow machine makes none too early.
	const burst = rate + rate/10 // also those that had begun before the stop and were not seen yet
	for i, at := range w.firstRequests()[begun:] {
		if least := time.Duration(i-burst) * time.Second / rate; at.Sub(continued) < least {
			t.Fatalf("%d hosts were asked within %v after the stop, at a rate of %d a second", i+1, at.Sub(continued), rate)
		}
	}
}

// firstRequests returns when each host that was asked was asked first, in that order.
func (w *farCrawl) firstRequests() (times []time.Time) {
	seen := map[string]bool{}
	for _, q := range w.internet.Requests() {
		if !seen[q.Host] {
			seen[q.Host] = true
			times = append(times, q.Begun)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}
