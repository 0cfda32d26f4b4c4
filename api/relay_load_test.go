package api_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/protocol/a2a"
	"gazetteer/registry/registrar"
	"gazetteer/relay"
	"gazetteer/relay/relayhttp"
)

// TestTenThousandMailStreams checks that 10,000 open streams of mail need less than 64 KiB each,
// client included; mail reaches all that wait for it, and the end of the server ends them. The race
// detector has room for fewer goroutines: fewer come then.
func TestTenThousandMailStreams(t *testing.T) {
	many := 10_000
	if raceDetector {
		many = 500
	}
	const inboxes = 10
	var handler *relayhttp.Handler
	h := newTestServer(t, options{
		relay: func(_ *relay.Options, o *relayhttp.Options) { o.OpenDeployed = true },
		api:   func(o *api.Options) { handler = o.Relay },
	})
	alice := registerProved(t, h, 100, "")
	var recipients []owner
	for i := range inboxes {
		recipients = append(recipients, registerProved(t, h, i+1, ""))
	}
	listener := serveInMemory(t, h.api)
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := used()
	conns, lines := make([]net.Conn, many), make([]*bufio.Reader, many)
	for i := range conns {
		conns[i] = listener.dial()
		defer conns[i].Close()
		fmt.Fprintf(conns[i], "GET /pull/%s?stream=1 HTTP/1.1\r\nHost: x\r\n\r\n", recipients[i%inboxes].AirID)
		lines[i] = bufio.NewReaderSize(conns[i], 512)
		awaitLine(t, lines[i], ": ready")
	}
	each := (used() - before) / uint64(many)
	t.Logf("%d streams, %d bytes each", many, each)
	if each >= 64<<10 && !raceDetector {
		t.Errorf("a stream needs %d bytes", each)
	}
	e, err := a2a.Sign(a2a.Message{From: alice.CreatorDID, To: recipients[3].CreatorDID, Body: a2a.Withdraw{}}, a2a.Wire, alice.key)
	if err != nil {
		t.Fatal(err)
	}
	if r := h.request("POST", "/inbox/"+recipients[3].AirID, string(e.Text)); r.StatusCode != http.StatusAccepted {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	var readers sync.WaitGroup
	for i := 3; i < many; i += inboxes {
		readers.Go(func() { awaitLine(t, lines[i], "event: envelope") })
	}
	readers.Wait()
	handler.End()
	for i := range conns {
		readers.Go(func() {
			conns[i].SetReadDeadline(time.Now().Add(patience))
			if _, err := io.Copy(io.Discard, endOfChunks{lines[i]}); err != nil {
				t.Errorf("stream %d did not end: %v", i, err)
			}
		})
	}
	readers.Wait()
}

// TestCrowdsLeaveMailStreams checks that the addresses of one wide network, with one agent, do not hold
// all streams of mail: a newcomer from another network reads its mail. The race detector has room for
// fewer goroutines: fewer come then.
func TestCrowdsLeaveMailStreams(t *testing.T) {
	addresses := 160
	if raceDetector {
		addresses = 8
	}
	for name, address := range wideNetworks {
		t.Run(name, func(t *testing.T) {
			h := newTestServer(t, options{relay: func(_ *relay.Options, o *relayhttp.Options) {
				o.OpenDeployed = true
				o.Client = func(r *http.Request) netip.Addr { return netip.MustParseAddr(r.Header.Get("Client")) }
			}})
			attacker, reader := registerProved(t, h, 1, ""), registerProved(t, h, 2, "")
			listener := serveInMemory(t, h.api)
			open := func(a owner, from string) bool {
				t.Helper()
				conn := listener.dial()
				t.Cleanup(func() { conn.Close() })
				fmt.Fprintf(conn, "GET /pull/%s?stream=1 HTTP/1.1\r\nHost: x\r\nClient: %s\r\n\r\n", a.AirID, from)
				status, err := bufio.NewReaderSize(conn, 512).ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				return strings.Contains(status, "200")
			}
			held := 0
			for i := range addresses {
				for open(attacker, address(i)) {
					held++
				}
			}
			if !open(reader, newcomer) {
				t.Errorf("a newcomer reads no mail beside %d streams of one network", held)
			}
		})
	}
}

// endOfChunks reads until the last chunk of a body in chunks.
type endOfChunks struct{ lines *bufio.Reader }

func (e endOfChunks) Read(p []byte) (int, error) {
	line, err := e.lines.ReadString('\n')
	if err == nil && line == "0\r\n" {
		err = io.EOF
	}
	return copy(p, line), err
}

func awaitLine(t *testing.T, lines *bufio.Reader, want string) {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Errorf("waiting for %q: %v", want, err)
			return
		}
		if strings.HasPrefix(line, want) {
			return
		}
	}
}

// BenchmarkDIDDocumentBesidePushes times the DID documents of 10,000 agents in turn with the empty
// handler, while 1,000 envelopes a second are pushed to the same server.
func BenchmarkDIDDocumentBesidePushes(b *testing.B) {
	h := newTestServer(b, options{
		api:      func(o *api.Options) { o.Log = slog.New(slog.NewJSONHandler(io.Discard, nil)) },
		registry: registrar.Options{},
		relay: func(o *relay.Options, _ *relayhttp.Options) {
			o.SenderPerMinute, o.NetworkPerMinute, o.SenderPerWindow, o.MaxMail = -1, -1, -1, 1<<30
		},
	})
	h.publishSamples()
	alice, bob := registerProved(b, h, 1, ""), registerProved(b, h, 2, "")
	all := storeAgents(b, h, 10_000, "/did-document")
	ours := newWires(b, strings.TrimPrefix(h.base, "http://"), all)
	for range len(all)/wires/perRound + 1 {
		ours.round()
	}
	theirs := newWires(b, startServer(b, emptyGin(), nil), all)
	stop, notReady := make(chan struct{}), 0
	var pushers sync.WaitGroup
	pushed := 0
	begun := time.Now()
	pushers.Go(func() {
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
		slots := make(chan struct{}, 64)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			for range 10 {
				e, err := a2a.Sign(a2a.Message{From: alice.CreatorDID, To: bob.CreatorDID, Body: a2a.Withdraw{}}, a2a.Wire, alice.key)
				if err != nil {
					b.Error(err)
					return
				}
				slots <- struct{}{}
				pushed++
				pushers.Go(func() {
					defer func() { <-slots }()
					r, err := client.Post(h.base+"/inbox/"+bob.AirID, jsonType, strings.NewReader(string(e.Text)))
					if err != nil {
						b.Error(err)
						return
					}
					defer r.Body.Close()
					if text, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusAccepted {
						b.Errorf("%s %s", r.Status, text)
					}
				})
			}
			if r := h.request("GET", "/readyz", ""); r.StatusCode != http.StatusOK {
				notReady++
			}
		}
	})
	inTurn(b, ours.round, theirs.round)
	close(stop)
	pushers.Wait()
	b.ReportMetric(float64(pushed)/time.Since(begun).Seconds(), "pushes/s")
	if notReady > 0 {
		b.Errorf("/readyz was not 200 %d times", notReady)
	}
}
