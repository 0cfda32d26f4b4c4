package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowWays are ways to hold a connection, with when the server cuts each.
var slowWays = []struct {
	name, send string
	within     time.Duration
	reads      bool
}{
	{"idle from the start", "", 5 * time.Second, true},
	{"slow headers", "GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", 5 * time.Second, true},
	{"slow bodies", "POST /api/v1/agents/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{", 11 * time.Second, true},
	{"idle behind an answer", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 60 * time.Second, true},
	{"slow readers", "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n", 60 * time.Second, false},
}

// TestTenThousandSlowConnections checks that a new client is answered at once however many
// connections are held open, and each held connection is closed at its own limit. Under the race
// detector the test uses fewer connections, because it has room for fewer goroutines.
func TestTenThousandSlowConnections(t *testing.T) {
	many := 10_000
	if raceDetector {
		many = 500
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		listener := serveInMemory(t, emptyRegistry(t, dir))

		begun := time.Now()
		conns := make([]net.Conn, many)
		for i := range conns {
			conns[i] = listener.dial()
			defer conns[i].Close()
			if _, err := io.WriteString(conns[i], slowWays[i%len(slowWays)].send); err != nil {
				t.Fatal(err)
			}
			if slowWays[i%len(slowWays)].name == "idle behind an answer" {
				if response, err := http.ReadResponse(bufio.NewReader(conns[i]), nil); err != nil || response.StatusCode != 200 {
					t.Fatal(err)
				}
			}
		}
		synctest.Wait()
		fresh := func() {
			t.Helper()
			at, conn := time.Now(), listener.dial()
			defer conn.Close()
			fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || response.StatusCode != 200 || time.Since(at) > 0 {
				t.Errorf("a new client: %v, after %s", err, time.Since(at))
			}
		}
		fresh()
		if took := time.Since(begun); took > 0 {
			t.Fatalf("%s have passed: some connections are closed already", took)
		}
		// In the order of their limits. A client that does not read notices the end by the bytes
		// that are missing.
		for k, c := range slowWays {
			time.Sleep(time.Until(begun.Add(c.within - time.Second)))
			synctest.Wait()
			if k == len(slowWays)-1 {
				time.Sleep(2 * time.Second) // this client reads nothing before its limit is over
				synctest.Wait()
			}
			for i := k; i < many; i += len(slowWays) {
				conns[i].SetReadDeadline(begun.Add(c.within + 2*time.Second))
				rest, err := io.ReadAll(conns[i])
				if isTimeout(err) {
					t.Fatalf("%s: not cut within %s", c.name, c.within)
				}
				if !c.reads && strings.HasSuffix(strings.TrimSpace(string(rest)), "}") {
					t.Fatalf("%s: the whole answer came", c.name)
				}
			}
			fresh()
		}
	})
}
