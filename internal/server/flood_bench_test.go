package server

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"gazetteer/internal/config"
	"gazetteer/internal/cputime"
	"gazetteer/protocol/did"
)

// floodAgents is the number of registered agents that the requests of a flood name.
const floodAgents = 300

// BenchmarkFloodRequest measures what one request of each kind of flood of the siege costs the
// server, without the connection. Each comes from another network, as in the siege. The processor
// time includes that of all goroutines; the rest of the time of an operation is spent waiting.
func BenchmarkFloodRequest(b *testing.B) {
	gin.SetMode(gin.ReleaseMode)
	c := config.Default()
	c.DataDir, c.Listen, c.Registry.CheckpointCopy = filepath.Join(b.TempDir(), "data"), "", noCheckpointCopy
	c.Registry.NameServer, c.MinFreeBytes = "127.0.0.1:1", -1 // an error at once
	s, err := Open(b.Context(), c, Environment{}, slog.New(slog.NewJSONHandler(io.Discard, nil)), nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.Run(ctx, nil, true, func() { close(ready) }) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	<-ready
	f := flood{handler: s.api.Handler()}
	for range floodAgents {
		if status, answer := f.register(); status == http.StatusCreated {
			f.agents = append(f.agents, answer[strings.Index(answer, "AIR-"):][:len("AIR-0000-0000-0000")])
		}
	}
	if len(f.agents) < floodAgents/2 {
		b.Fatalf("only %d agents could be registered", len(f.agents))
	}
	secret := func() string { return fmt.Sprintf("%032x", rand.Uint64()) }
	for _, kind := range []struct {
		name string
		send func() (status int, answer string)
	}{
		{"read", func() (int, string) { return f.send("GET", "/api/v1/agents/"+f.agent(), "") }},
		{"did-document", func() (int, string) { return f.send("GET", "/api/v1/agents/"+f.agent()+"/did-document", "") }},
		{"unknown-agent", func() (int, string) {
			return f.send("PUT", "/api/v1/agents/AIR-0000-0000-0000", `{"description":"x"}`, "X-Agent-Secret", "x")
		}},
		{"wrong-secret", func() (int, string) {
			return f.send("PUT", "/api/v1/agents/"+f.agent(), `{"description":"x"}`, "X-Agent-Secret", secret())
		}},
		{"domain", func() (int, string) {
			return f.send("POST", "/api/v1/agents/"+f.agent()+"/domains", `{"domain":"victim.example"}`, "X-Agent-Secret", "x")
		}},
		{"challenge", func() (int, string) { return f.send("POST", "/api/v1/challenges", "{}") }},
		{"search", func() (int, string) { return f.send("GET", "/api/v1/search?q="+strings.Repeat("every+word+", 20), "") }},
		{"check-of-log", func() (int, string) { return f.send("GET", "/api/v1/audit/verify", "") }},
		{"validation", func() (int, string) { return f.send("POST", "/api/v1/validate", floodDocument()) }},
		{"opt-out", func() (int, string) { return f.send("POST", "/api/v1/services/"+floodHost()+"/opt-out", "{}") }},
		{"foreign-did", func() (int, string) {
			status, answer := f.send("GET", "/1.0/identifiers/did:wba:"+floodHost(), "")
			if status == http.StatusBadGateway || status == http.StatusGatewayTimeout { // of the foreign host
				status = http.StatusOK
			}
			return status, answer
		}},
		{"report", func() (int, string) {
			return f.send("POST", "/api/v1/agents/"+f.agent()+"/reports", `{"reason":"spam","text":"x"}`)
		}},
		{"registration", f.register},
		// The last one: the visits to the submitted hosts, which are counted, go on for a while.
		{"submission", func() (int, string) {
			return f.send("POST", "/api/v1/submissions", fmt.Sprintf(`{"hosts":[%q,%q,%q]}`, floodHost(), floodHost(), floodHost()))
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			b.ReportAllocs()
			refused, before := 0, cputime.Used()
			for b.Loop() {
				status, answer := kind.send()
				switch {
				case status == http.StatusTooManyRequests:
					refused++
				case status >= 500 || status == http.StatusBadRequest || status == http.StatusUnprocessableEntity:
					b.Fatalf("%d %.300s", status, answer)
				}
			}
			b.ReportMetric(float64((cputime.Used()-before).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(100*float64(refused)/float64(b.N), "%refused")
		})
	}
}

// A flood sends requests to a handler.
type flood struct {
	handler http.Handler
	agents  []string
}

func (f *flood) agent() string { return f.agents[rand.IntN(len(f.agents))] }

// send sends a request from a random network.
func (f *flood) send(method, path, body string, headers ...string) (status int, answer string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost"
	r.RemoteAddr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(20 + rand.IntN(60)), byte(rand.IntN(256)), byte(rand.IntN(256)), 1}), 1234).String()
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (f *flood) register() (status int, answer string) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		return 0, err.Error()
	}
	return f.send("POST", "/api/v1/agents/register", fmt.Sprintf(`{"name":"stranger","public_key":%q}`, did.FormatPublicKey(public)))
}

func floodHost() string { return fmt.Sprintf("host%d.site%d.example", rand.IntN(20), rand.IntN(500)) }

// floodDocument is a document with fifty operations.
func floodDocument() string {
	var operations []string
	for i := range 50 {
		operations = append(operations, fmt.Sprintf(`{"id":"book_table_%d","description":"Books a table for some guests at a time","endpoint":"/api/tables/%d","method":"POST","returns":"a number"}`, i, i))
	}
	return `{"aiendpoint":"1.0","service":{"name":"Restaurant","description":"Books tables."},"capabilities":[` + strings.Join(operations, ",") + `]}`
}
