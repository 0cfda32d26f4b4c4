package api_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/store"
)

// publishMany publishes so many services with some operations each, in words of their
// own that overlap.
func (h *testServer) publishMany(services int) {
	h.t.Helper()
	verbs := []string{"Book", "List", "Cancel", "Send", "Translate", "Order", "Find", "Compare"}
	things := strings.Fields("table room flight invoice letter parcel photo ticket car song recipe weather map contract lesson doctor loan meeting")
	how := strings.Fields("cheap nearby quick tomorrow abroad online shared private monthly verified")
	random := rand.New(rand.NewPCG(3, 5))
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	var all []store.Write
	for n := range services {
		var operations []string
		for m := range 6 {
			operations = append(operations, fmt.Sprintf(`{"id": "op_%d", "description": "%s a %s %s for a %s, with a %s", "endpoint": "/api/%d", "method": "POST"}`,
				m, pick(verbs), pick(how), pick(things), pick(things), pick(things), m))
		}
		text := fmt.Sprintf(`{"aiendpoint": "1.0", "service": {"name": "Service %d", "description": "All about every %s and %s."}, "capabilities": [%s]}`,
			n, pick(things), pick(things), strings.Join(operations, ", "))
		_, writes := h.prepareDocument(fmt.Sprintf("c%d.crowd.example", n), document.AI, "application/json", text, seen)
		if all = append(all, writes...); len(all) > 2000 || n == services-1 {
			h.applyWrites(all...)
			all = nil
		}
	}
}

// normalQueries are what people ask, worstQueries the dearest that are answered:
// as many words, texts in quotes and filters as a query may have.
var normalQueries = []string{"book a table for tomorrow", "translate a letter", "find a cheap flight", "order a parcel online", "list invoices", "cancel my meeting", "compare loans", "send a photo to the doctor"}

func worstQueries() []string {
	things := strings.Fields("table room flight invoice letter parcel photo ticket car song recipe weather map contract lesson doctor loan meeting")
	random := rand.New(rand.NewPCG(8, 1))
	var words, quotes, filters strings.Builder
	for n := range 195 {
		fmt.Fprintf(&words, "%s ", things[random.IntN(len(things))])
		if n < 50 {
			fmt.Fprintf(&quotes, `"a %s" `, things[n%len(things)])
		}
		fmt.Fprintf(&filters, "ns:n%d ", n)
	}
	return []string{
		words.String(), quotes.String(), filters.String() + "book", `"for a" book`,
		strings.Repeat("예약 テーブル 订座 книга ", 40), `(a+)+$ /.*/ [a-z]{1,1000} b* *ook ????`, strings.Repeat("a", 2000),
		strings.Repeat("x ", 190) + "-table",
	}
}

// timeSearch asks one query over HTTP and returns how long its answer took and its status.
func (h *testServer) timeSearch(ctx context.Context, client *http.Client, q string) (time.Duration, int, error) {
	r, err := http.NewRequestWithContext(ctx, "GET", h.base+"/api/v1/search?limit=10&q="+url.QueryEscape(q), nil)
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	answer, err := client.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return time.Since(begun), answer.StatusCode, err
}

// percentile99 of times.
func percentile99(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[(len(all)-1)*99/100]
}

// newLargeServer is a server of 12,000 operations whose searches are bounded as in the
// program.
func newLargeServer(b *testing.B) *testServer {
	h := newTestServer(b, options{})
	h.publishMany(2000)
	h.answers.Index = answer.NewLimitedSearcher(h.index, answer.SearchLimits{})
	return h
}

// BenchmarkHostileQueries asks normal queries and the worst in turn, over HTTP:
// how many times longer the worst take, by their 99th percentiles.
func BenchmarkHostileQueries(b *testing.B) {
	h := newLargeServer(b)
	worst := worstQueries()
	var normal, hostile []time.Duration
	take := func(q string, to *[]time.Duration) {
		took, status, err := h.timeSearch(b.Context(), plain, q)
		if err != nil || status != 200 && status != 400 {
			b.Fatalf("%.60q: %d, %v", q, status, err)
		}
		*to = append(*to, took)
	}
	for n := 0; b.Loop(); n++ {
		take(normalQueries[n%len(normalQueries)], &normal)
		take(worst[n%len(worst)], &hostile)
	}
	b.ReportMetric(float64(percentile99(hostile))/float64(percentile99(normal)), "of-normal-p99")
	b.ReportMetric(percentile99(normal).Seconds()*1000, "normal-p99-ms")
}

// BenchmarkBesideTheWorst asks normal queries alone, and then while 50 clients ask
// nothing but the dearest: how many times longer the others wait, by the 99th
// percentile.
func BenchmarkBesideTheWorst(b *testing.B) {
	h := newLargeServer(b)
	worst := append(worstQueries()[:2], `"a table"`, `"flight for a"`)
	const each = 400
	take := func() (all []time.Duration) {
		for n := range each {
			took, status, err := h.timeSearch(b.Context(), plain, normalQueries[n%len(normalQueries)])
			if err != nil || status != 200 {
				b.Fatalf("a normal query: %d, %v", status, err)
			}
			all = append(all, took)
		}
		return all
	}
	take() // to warm up
	for b.Loop() {
		alone := percentile99(take())
		ctx, stop := context.WithCancel(b.Context())
		var clients sync.WaitGroup
		asks := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 50}}
		for n := range 50 {
			clients.Go(func() {
				for ; ctx.Err() == nil; n++ {
					_, status, err := h.timeSearch(ctx, asks, worst[n%len(worst)])
					if status == 503 { // as Retry-After asks
						select {
						case <-time.After(time.Second):
						case <-ctx.Done():
						}
					} else if status != 200 && ctx.Err() == nil {
						b.Errorf("one of the worst: %d, %v", status, err)
						return
					}
				}
			})
		}
		beside := percentile99(take())
		stop()
		clients.Wait()
		asks.CloseIdleConnections()
		b.ReportMetric(float64(beside)/float64(alone), "of-alone-p99")
		b.ReportMetric(alone.Seconds()*1000, "alone-p99-ms")
	}
}
