package crawler

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/crawler/frontier"
	"gazetteer/fetch"
	"gazetteer/internal/cputime"
	"gazetteer/internal/fakenet"
	"gazetteer/internal/teststore"
)

// BenchmarkReschedule puts visited hosts back with their new times, durably, in
// batches as a crawl commits them, with 100,000 others in the store: records are
// read, changed, and written in one Apply a batch.
func BenchmarkReschedule(b *testing.B) {
	s := teststore.New(b)
	now := time.Unix(1e9, 0)
	c, err := New(Options{Store: s, Rate: -1, HostInterval: -1, DomainInterval: -1, Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	const known = 100_000
	names := make([]string, known)
	for i := range names {
		names[i] = hostNumber(i)
	}
	if err := c.Add(b.Context(), names...); err != nil {
		b.Fatal(err)
	}
	f := frontier.New(0, 1, known)
	for _, name := range names {
		f.AddHost(name, now, now)
	}
	rescheduled := 0
	begun, worked := time.Now(), cputime.Used()
	for b.Loop() {
		now = now.Add(time.Minute)
		visits := make([]*visit, 0, batchVisits)
		for range batchVisits {
			e, ok := f.NextHost(now)
			if !ok {
				b.Fatal("nothing is due")
			}
			h, seq, err := c.readHost(b.Context(), e.Name)
			if err != nil {
				b.Fatal(err)
			}
			h.Visits++
			h.Visited, h.Due = now, now.Add(time.Hour)
			h.Fetches = map[string]fetch.Fetch{"ai": {Kind: "ai", Outcome: fetch.Absent, Status: 404, At: now}}
			visits = append(visits, &visit{entry: e, host: h, seq: seq})
		}
		if err := c.commitBatch(b.Context(), nil, visits); err != nil {
			b.Fatal(err)
		}
		for _, v := range visits {
			f.FinishSession(v.entry, now, v.host.Due)
		}
		rescheduled += len(visits)
	}
	b.ReportMetric(float64(rescheduled)/time.Since(begun).Seconds(), "hosts/s")
	b.ReportMetric(float64(rescheduled)/(cputime.Used()-worked).Seconds(), "hosts/cpu-s")
}

func middleOf(figures []float64) float64 {
	slices.Sort(figures)
	return figures[len(figures)/2]
}

// BenchmarkSilentHosts crawls the same hosts with and without 2,000 others under
// way that take a connection and say nothing, in turn, and says how much longer
// it takes with them, and what each of them costs.
func BenchmarkSilentHosts(b *testing.B) {
	internet, err := fakenet.Open(fakenet.Options{Empty: true})
	if err != nil {
		b.Fatal(err)
	}
	defer internet.Close()
	var good, silent []string
	for i := range 400 {
		good = append(good, fmt.Sprintf("good%d.test", i))
		internet.Handle(good[i], http.HandlerFunc(benchHost))
	}
	for i := range 2000 {
		silent = append(silent, fmt.Sprintf("silent%d.test", i))
	}
	crawlRound(b, internet, good, nil) // certificates are made
	var alone, together, bytes []float64
	for b.Loop() {
		first := len(alone) % 2 // who goes first must not matter
		for i := range 2 {
			if i == first {
				took, _ := crawlRound(b, internet, good, nil)
				alone = append(alone, took.Seconds())
				continue
			}
			took, each := crawlRound(b, internet, good, silent)
			together, bytes = append(together, took.Seconds()), append(bytes, each)
		}
	}
	b.ReportMetric(middleOf(together)/middleOf(alone), "with/without")
	b.ReportMetric(middleOf(bytes), "B/silent-host")
}

// crawlRound crawls hosts once by a new crawler, while visits to silent ones are
// under way, and returns the processor time that took, and the bytes that each of
// the silent ones holds.
func crawlRound(b *testing.B, internet *fakenet.Net, good, silent []string) (took time.Duration, each float64) {
	s := teststore.New(b)
	dial, reached := internet.Dial(nil), make(chan struct{}, len(silent)+1)
	c, err := New(Options{
		Store: s, Roots: internet.Roots(), Rate: -1, HostInterval: -1, DomainInterval: -1,
		// Longer than a round, so that no request times out meanwhile.
		Timeout: time.Hour, TLSTimeout: time.Hour, ConnectTimeout: time.Hour, SessionTimeout: 2 * time.Hour, Grace: time.Millisecond,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if !strings.HasPrefix(addr, "silent") {
				return dial(ctx, network, addr)
			}
			ours, theirs := net.Pipe()
			go func() { // the greeting is read, and nothing is said
				theirs.Read(make([]byte, 4<<10))
				reached <- struct{}{}
			}()
			return ours, nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}()
	before := held()
	if err := c.Add(ctx, silent...); err != nil {
		b.Fatal(err)
	}
	for range silent {
		<-reached
	}
	if len(silent) > 0 {
		each = float64(held()-before) / float64(len(silent))
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as a program made for crawling has it
	worked := cputime.Used()
	err = c.Crawl(ctx, good, func(r Result) error {
		if r.Documents == 0 {
			return fmt.Errorf("%s: %s", r.Host, r.Summary)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return cputime.Used() - worked, each
}

// held is the memory in use, stacks included.
func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
