package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/internal/fakenet/corpus"
	"gazetteer/store"
)

// searchClients is how many connections search at the same time, searchOperations how many operations
// there are, and searchesPerRound how many searches each client sends in a round.
const (
	searchClients    = 32
	searchOperations = 5000
	searchesPerRound = 10
)

// BenchmarkSearchOverHTTP measures searches of 32 clients, each query another one, ten hits each, as a
// share of the rate of the empty handler in the same run ("of-empty", by processor time
// "of-empty-cpu"), and how evenly they are served ("p99-of-p50", for the empty handler
// "empty-p99-of-p50": what the machine alone makes uneven).
func BenchmarkSearchOverHTTP(b *testing.B) {
	h := newTestServer(b, options{})
	h.answers.Index = answer.NewLimitedSearcher(h.index, answer.SearchLimits{})
	h.publishRealServices(searchOperations)
	engine := gin.New()
	engine.GET("/api/v1/search", func(c *gin.Context) { c.Status(http.StatusOK) })

	var paths []string
	for _, q := range distinctIntents(b, 20_000) {
		paths = append(paths, "/api/v1/search?limit=10&q="+url.QueryEscape(q))
	}
	requests := encodeRequests(paths)
	ours := newSearchClients(b, strings.TrimPrefix(h.base, "http://"), requests)
	theirs := newSearchClients(b, startServer(b, engine, nil), requests)
	ours.took, theirs.took = nil, nil // what warmed up
	inTurn(b, ours.round, theirs.round)
	p50, p99 := percentiles(ours.took)
	b.ReportMetric(float64(p50.Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(p99)/float64(p50), "p99-of-p50")
	emptyP50, emptyP99 := percentiles(theirs.took)
	b.ReportMetric(float64(emptyP99)/float64(emptyP50), "empty-p99-of-p50")
	b.ReportMetric(float64(ours.bytes())/float64(len(ours.took)), "body-bytes")
}

// percentiles returns the median and the 99th percentile.
func percentiles(took []time.Duration) (p50, p99 time.Duration) {
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// searchClientSet is what asks a server as searchClients clients do, and how long each request took.
type searchClientSet struct {
	clients []*benchClient
	mu      sync.Mutex
	took    []time.Duration
}

func newSearchClients(b *testing.B, address string, requests [][]byte) *searchClientSet {
	set := &searchClientSet{}
	for i := range searchClients {
		c := newWire(b, address, requests)
		c.next = i * len(requests) / searchClients
		set.clients = append(set.clients, c)
	}
	set.round() // at once: a connection without a request is closed after a while
	return set
}

// round returns how long one request took of a round of all clients at once.
func (s *searchClientSet) round() time.Duration {
	var all sync.WaitGroup
	begun := time.Now()
	for _, c := range s.clients {
		all.Go(func() {
			took := make([]time.Duration, 0, searchesPerRound)
			for range searchesPerRound {
				asked := time.Now()
				c.ask()
				took = append(took, time.Since(asked))
			}
			s.mu.Lock()
			s.took = append(s.took, took...)
			s.mu.Unlock()
		})
	}
	all.Wait()
	return time.Since(begun) / (searchClients * searchesPerRound)
}

func (s *searchClientSet) bytes() (n int) {
	for _, c := range s.clients {
		n += c.received
	}
	return n
}

// distinctIntents returns so many queries, no two of them the same: intents of testdata of the index,
// each with a word of another.
func distinctIntents(b *testing.B, n int) []string {
	text, err := os.ReadFile("../index/testdata/intents.txt")
	if err != nil {
		b.Fatal(err)
	}
	intents := strings.Split(strings.TrimSpace(string(text)), "\n")
	queries := make([]string, 0, n)
	for i := 0; len(queries) < n; i++ {
		words := strings.Fields(intents[(i*7+i/len(intents))%len(intents)])
		queries = append(queries, intents[i%len(intents)]+" "+words[len(words)-1])
	}
	return queries
}

// publishRealServices stores documents of real services (OpenAPI descriptions that were converted)
// until they have so many operations.
func (h *testServer) publishRealServices(operations int) {
	h.t.Helper()
	var all []store.Write
	n, i := 0, -1
	for s, err := range corpus.Services(corpus.Directory("..")) {
		if err != nil {
			h.t.Fatal(err)
		}
		if n >= operations {
			break
		}
		i++
		var capabilities []map[string]any
		for k, o := range s.Operations {
			params := map[string]any{}
			for _, p := range o.Parameters {
				params[p] = "string"
			}
			capabilities = append(capabilities, map[string]any{
				"id": fmt.Sprintf("op_%d", k), "description": o.Intent, "endpoint": o.Endpoint, "method": o.Method, "params": params,
			})
		}
		body := encodeJSON(h.t, map[string]any{
			"aiendpoint": "1.0", "service": map[string]any{"name": s.Name, "description": s.Description}, "capabilities": capabilities,
		})
		if len(body) > 60<<10 {
			continue // more than the draft allows
		}
		_, writes := h.prepareDocument(fmt.Sprintf("s%d.real.example", i), document.AI, "application/json", string(body), seen)
		all = append(all, writes...)
		n += len(s.Operations)
	}
	h.applyWrites(all...)
}
