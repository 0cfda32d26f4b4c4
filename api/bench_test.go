package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/api"
	"gazetteer/internal/cputime"
	"gazetteer/store"
)

// discardResponse discards a response at no cost.
type discardResponse struct {
	header http.Header
	status int
}

func (w *discardResponse) Header() http.Header         { return w.header }
func (w *discardResponse) WriteHeader(status int)      { w.status = status }
func (w *discardResponse) Write(p []byte) (int, error) { return len(p), nil }

// emptyGin is what the routes are measured against: gin with one route of the
// same shape that answers nothing.
func emptyGin() *gin.Engine {
	e := gin.New()
	e.GET("/api/v1/agents/:air_id", func(c *gin.Context) { c.Status(http.StatusOK) })
	e.GET("/api/v1/agents/:air_id/did-document", func(c *gin.Context) { c.Status(http.StatusOK) })
	e.GET("/api/v1/services/:host", func(c *gin.Context) { c.Status(http.StatusOK) })
	return e
}

// benchmarkPaths times paths twice, each in turn with the empty handler in the same
// loop: over a socket as a client sees it, and in the handler alone.
func benchmarkPaths(b *testing.B, paths func(h *testServer) []string) {
	h := newTestServer(b, options{api: func(o *api.Options) {
		o.Log = slog.New(slog.NewJSONHandler(io.Discard, nil)) // the lines are made, as in service
	}})
	h.publishSamples()
	all := paths(h)
	empty := emptyGin()
	b.Run("socket", func(b *testing.B) {
		ours := newWires(b, strings.TrimPrefix(h.base, "http://"), all)
		for range len(all)/wires/perRound + 1 {
			ours.round() // what is asked for again and again is asked for once
		}
		theirs := newWires(b, startServer(b, empty, nil), all)
		inTurn(b, ours.round, theirs.round)
	})
	b.Run("handler", func(b *testing.B) {
		var requests []*http.Request
		for _, path := range all {
			r, err := http.NewRequest("GET", path, nil)
			if err != nil {
				b.Fatal(err)
			}
			r.RemoteAddr = "127.0.0.1:9"
			requests = append(requests, r)
		}
		serveOnce := func(handler http.Handler) func() time.Duration {
			w := &discardResponse{header: http.Header{}}
			i := 0
			return func() time.Duration {
				clear(w.header)
				i++
				begun := time.Now()
				handler.ServeHTTP(w, requests[i%len(requests)])
				took := time.Since(begun)
				if w.status != 200 {
					b.Fatal(w.status)
				}
				return took
			}
		}
		inTurn(b, serveOnce(h.api.Handler()), serveOnce(empty))
	})
}

// Each round asks perRound requests on each of so many connections at once.
const (
	wires    = 16
	perRound = 20
)

// benchClients is what asks a server as many clients do.
type benchClients []*benchClient

func newWires(b *testing.B, address string, paths []string) benchClients {
	requests := encodeRequests(paths)
	set := make(benchClients, wires)
	for i := range set {
		set[i] = newWire(b, address, requests)
		set[i].next = i * len(paths) / wires
	}
	return set
}

// round returns how long one request took of a round of all connections.
func (s benchClients) round() time.Duration {
	var all sync.WaitGroup
	begun := time.Now()
	for _, w := range s {
		all.Go(func() {
			for range perRound {
				w.ask()
			}
		})
	}
	all.Wait()
	return time.Since(begun) / (wires * perRound)
}

// A benchClient sends requests over one connection as cheaply as possible. A whole HTTP client
// would cost more than the server that is measured.
type benchClient struct {
	b        *testing.B
	conn     net.Conn
	in       *bufio.Reader
	requests [][]byte
	next     int
	received int // bytes of bodies
}

func newWire(b *testing.B, address string, requests [][]byte) *benchClient {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return &benchClient{b: b, conn: conn, in: bufio.NewReaderSize(conn, 64<<10), requests: requests}
}

// encodeRequests returns the requests for some paths. All clients share them, and they are made before
// the first client connects: a connection that sends nothing for five seconds is closed.
func encodeRequests(paths []string) [][]byte {
	requests := make([][]byte, len(paths))
	for i, path := range paths {
		requests[i] = []byte("GET " + path + " HTTP/1.1\r\nHost: registry.example\r\n\r\n")
	}
	return requests
}

func (w *benchClient) ask() {
	w.next++
	if _, err := w.conn.Write(w.requests[w.next%len(w.requests)]); err != nil {
		w.b.Error(err)
		return
	}
	length := 0
	for line := 0; ; line++ {
		text, err := w.in.ReadSlice('\n')
		if err != nil {
			w.b.Error(err)
			return
		}
		if line == 0 && !bytes.HasPrefix(text, []byte("HTTP/1.1 200 ")) {
			w.b.Errorf("%s: %s", w.requests[w.next%len(w.requests)], text)
		}
		if value, ok := bytes.CutPrefix(text, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
		if len(text) <= 2 {
			break
		}
	}
	if _, err := w.in.Discard(length); err != nil {
		w.b.Error(err)
	}
	w.received += length
}

// inTurn reports the mean time of our requests and of the reference's, and the ratio of our rate to
// the reference's, both by the clock and by the processor time of client and server together, which
// other processes on the machine do not affect.
func inTurn(b *testing.B, ours, theirs func() time.Duration) {
	b.ReportAllocs()
	var a, e, workedA, workedE time.Duration
	for b.Loop() {
		begun := cputime.Used()
		a += ours()
		between := cputime.Used()
		e += theirs()
		workedA, workedE = workedA+between-begun, workedE+cputime.Used()-between
	}
	if workedA > 0 {
		b.ReportMetric(float64(workedE)/float64(workedA), "of-empty-cpu")
	}
	b.ReportMetric(float64(a.Nanoseconds())/float64(b.N), "ours-ns/op")
	b.ReportMetric(float64(e.Nanoseconds())/float64(b.N), "empty-ns/op")
	b.ReportMetric(float64(e)/float64(a), "of-empty")
}

// agentsStored is how many agents the benchmarks of agents have.
const agentsStored = 100_000

// storeAgents stores that many agents like one that was registered, and returns
// an address for each of the first so many.
func storeAgents(b *testing.B, h *testServer, shown int, suffix string) []string {
	like, err := h.store.Get(b.Context(), store.AgentKey(registerAgent(b, h).AirID))
	if err != nil {
		b.Fatal(err)
	}
	var agent map[string]any
	if err := json.Unmarshal(like.Value, &agent); err != nil {
		b.Fatal(err)
	}
	var paths []string
	var writes []store.Write
	for i := range agentsStored {
		id := fmt.Sprintf("AIR-%04d-%04d-BNCH", i/10_000, i%10_000)
		agent["air_id"], agent["name"] = id, fmt.Sprintf("Agent %d", i)
		writes = append(writes, store.Put(store.AgentKey(id), encodeJSON(b, agent)))
		if len(paths) < shown {
			paths = append(paths, "/api/v1/agents/"+id+suffix)
		}
		if len(writes) == 1000 {
			if _, err := h.store.Apply(b.Context(), writes...); err != nil {
				b.Fatal(err)
			}
			writes = nil
		}
	}
	// The measurement excludes the followers of the store and the work left over from the setup.
	head := h.store.Head().Seq
	if err := errors.Join(h.index.WaitFor(b.Context(), head), h.answers.Directory.WaitFor(b.Context(), head)); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	return paths
}

// The documents of 10,000 of 100,000 agents, in turn.
func BenchmarkDIDDocument(b *testing.B) {
	benchmarkPaths(b, func(h *testServer) []string { return storeAgents(b, h, 10_000, "/did-document") })
}

func BenchmarkAgentRecord(b *testing.B) {
	benchmarkPaths(b, func(h *testServer) []string { return storeAgents(b, h, 10_000, "") })
}

// BenchmarkDIDDocumentOfAll requests the documents of all agents in turn.
func BenchmarkDIDDocumentOfAll(b *testing.B) {
	benchmarkPaths(b, func(h *testServer) []string { return storeAgents(b, h, agentsStored, "/did-document") })
}

func BenchmarkService(b *testing.B) {
	benchmarkPaths(b, func(*testServer) []string { return []string{"/api/v1/services/ristorante.example"} })
}
