package demo

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/crawler"
	"gazetteer/internal/cli"
	"gazetteer/internal/fakenet"
	"gazetteer/protocol/a2a"
)

func newWaitingDemo(out *bytes.Buffer, hosts ...string) *demo {
	d := &demo{progress: cli.NewProgress(out), settled: make(chan struct{}), waiting: make(map[string]struct{})}
	for _, h := range hosts {
		d.waiting[h] = struct{}{}
	}
	return d
}

// A crawl that takes minutes because the machine is busy is waited for.
func TestSlowCrawlIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := []string{"a.test", "b.test", "c.test", "d.test", "e.test", "f.test"}
		var out bytes.Buffer
		d := newWaitingDemo(&out, hosts...)
		go func() {
			for _, h := range hosts {
				time.Sleep(45 * time.Second)
				d.recordVisit(crawler.Result{Host: h})
			}
		}()
		began := time.Now()
		if err := d.awaitVisits(t.Context(), func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 4*time.Minute || out.Len() > 0 {
			t.Errorf("it waited %s and printed %q", took, out.String())
		}
	})
}

// A crawl that stands still is given up.
func TestStalledCrawlIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := newWaitingDemo(&out, "a.test", "b.test")
		d.recordVisit(crawler.Result{Host: "a.test"})
		began := time.Now()
		if err := d.awaitVisits(t.Context(), func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 2*stallTimeout || !strings.Contains(out.String(), "Not every host has a result") {
			t.Errorf("it waited %s and printed %q", took, out.String())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.awaitVisits(ctx, func() error { return nil }); err == nil {
			t.Error("an interrupted crawl is not an error")
		}
	})
}

// A failed check with hundreds of differences does not push the rest off the screen.
func TestFailedCheckIsShort(t *testing.T) {
	long := "622 differ:\n" + strings.Repeat("  api.test: ai is timeout\n", 622)
	if got := firstLines(long); strings.Count(got, "\n") != maxLines || !strings.Contains(got, "and 620 more") {
		t.Errorf("%d lines: %s", strings.Count(got, "\n"), got)
	}
	if short := "2 differ:\n  a\n  b"; firstLines(short) != short {
		t.Errorf("%q", firstLines(short))
	}
}

// Each representative serves a host of the small internet and answers an offer of what it does, in
// whatever language, until both agree.
func TestRepresentativesNegotiate(t *testing.T) {
	internet, err := fakenet.Open(fakenet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer internet.Close()
	reachable := map[string]bool{}
	for _, h := range internet.Hosts() {
		reachable[h.Name] = h.Reachable
	}
	offers := map[string]string{
		demoHandle: "a table for two", "parcel_desk": "Send a parcel to Leeds", "rosa_the_florist": "a bouquet of tulips", "taxi_sol": "un taxi al aeropuerto",
	}
	all := representatives()
	if len(all) != len(offers) {
		t.Fatalf("%d representatives, %d offers", len(all), len(offers))
	}
	for _, r := range all {
		if !reachable[r.host] {
			t.Errorf("%s serves %s, which no crawl reaches", r.handle, r.host)
		}
		counter, ok := r.composeReply(a2a.Offer{Description: offers[r.handle]}, time.Now()).(a2a.Counter)
		if !ok || counter.Price.AmountCents != r.fullPrice {
			t.Errorf("%s answers %q with %+v", r.handle, offers[r.handle], counter)
		}
		lower := a2a.Counter{Price: a2a.Money{AmountCents: r.lowestPrice, Currency: "EUR"}}
		if accept, ok := r.composeReply(lower, time.Now()).(a2a.Accept); !ok || accept.AcceptedPrice != lower.Price {
			t.Errorf("%s does not accept its lowest price", r.handle)
		}
		lower.Price.AmountCents--
		if _, ok := r.composeReply(lower, time.Now()).(a2a.Decline); !ok {
			t.Errorf("%s accepts less than its lowest price", r.handle)
		}
		if _, ok := r.composeReply(a2a.Offer{Description: "a loan of a million"}, time.Now()).(a2a.Decline); !ok {
			t.Errorf("%s answers an offer of something else", r.handle)
		}
	}
}

// The counts of hosts in the first line add up, so that a reader can relate later lines to them.
func TestHostCountsAddUp(t *testing.T) {
	hosts := []fakenet.Host{{Name: "a.test", Seed: true, Reachable: true}, {Name: "b.test", Seed: true, Reachable: true}, {Name: "c.test", Reachable: true}, {Name: "d.test"}}
	want := "A small internet of 4 hosts is up. The crawl begins at 2 of them and follows links to 1 more; the other 1 are out of reach."
	if got := describeNet(hosts); got != want {
		t.Errorf("%s", got)
	}
	var out bytes.Buffer
	d := newWaitingDemo(&out, "a.test", "b.test")
	d.expected = 2
	for _, h := range []string{"a.test", "b.test", "a.test"} {
		d.recordVisit(crawler.Result{Host: h})
	}
	if d.countFirstVisits() != 2 || d.countVisits() != 3 {
		t.Errorf("%d first visits of %d", d.countFirstVisits(), d.countVisits())
	}
}

// TestListenOfConfiguration checks that the demo listens where listen of the configuration says, unless
// --listen says otherwise.
func TestListenOfConfiguration(t *testing.T) {
	for listen, want := range map[string]string{"": "127.0.0.2:0", "127.0.0.3:0": "127.0.0.3:0"} {
		d := &demo{App: &cli.App{Settings: []string{"listen=127.0.0.2:0"}}, listen: listen, keep: t.TempDir()}
		if _, _, err := d.loadConfig(); err != nil {
			t.Fatal(err)
		}
		if d.listen != want {
			t.Errorf("--listen %q: it listens on %q, want %q", listen, d.listen, want)
		}
	}
}
