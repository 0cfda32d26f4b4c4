package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/fakenet"
)

// TestStopFinishesRunningRequests interrupts the server in the middle of a crawl, with a client
// that follows the status and a hundred registrations whose bodies have not arrived yet. All of
// these are answered, new clients are refused, the exit code is 0, and the acknowledged data is
// stored.
func TestStopFinishesRunningRequests(t *testing.T) {
	t.Parallel()
	const requests = 100
	internet, err := fakenet.Open(fakenet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer internet.Close()
	seeds := internet.Seeds()
	p := startProgram(t, "shutdown_grace=30s", "crawler.workers=4", "crawler.rate=4", "crawler.seeds="+strings.Join(seeds, ","), "crawler.host_interval=10ms", "crawler.domain_interval=10ms")
	address := strings.TrimPrefix(p.base, "http://")
	dial := func() net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(3 * time.Minute))
		return conn
	}
	stream, err := http.Get(p.base + "/api/v1/status/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	<-p.seen.visited // the crawl is under way

	body := `{"name":"stop test","public_key":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`
	conns := make([]net.Conn, requests)
	readers := make([]*bufio.Reader, requests)
	for i := range conns {
		conns[i] = dial()
		readers[i] = bufio.NewReader(conns[i])
		fmt.Fprintf(conns[i], "POST /api/v1/agents/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body))
	}
	for i := range conns { // the handler asks for the body: the request has begun
		if line, err := readers[i].ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
			t.Fatalf("request %d: %q, %v", i, line, err)
		}
		readers[i].ReadString('\n')
	}
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, stream.Body); err != nil {
		t.Errorf("the end of the stream: %v", err)
	}
	// The stream has ended, so the server is stopping.
	statuses := map[int]int{}
	for i, conn := range conns {
		if _, err := io.WriteString(conn, body); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	for i := range conns {
		response, err := http.ReadResponse(readers[i], nil)
		if err != nil {
			t.Fatalf("request %d was not answered: %v", i, err)
		}
		var answer struct {
			AirID string `json:"air_id"`
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			t.Fatalf("request %d was not answered whole: %v", i, err)
		}
		if statuses[response.StatusCode]++; response.StatusCode == http.StatusCreated {
			p.seen.note(p.seen.agents, answer.AirID)
		}
	}
	if statuses[http.StatusCreated]+statuses[http.StatusServiceUnavailable] != requests || statuses[http.StatusCreated] == 0 {
		t.Errorf("the answers: %v", statuses)
	}
	p.work.Wait() // its log has ended
	if err := p.command.Wait(); err != nil {
		t.Errorf("the exit: %v\n%s", err, p.log)
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("somebody still listens")
	}
	if done := len(p.seen.visits); done == 0 || done >= len(reachable(internet)) {
		t.Errorf("%d hosts were visited: the crawl was not in its middle", done)
	}
	p.seen.check(t, p.data())
}
