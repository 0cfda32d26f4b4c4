package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/route"
)

// TestSlowConnectionsOverSockets holds 2,000 connections over loopback, as many as
// SOCKETS says, or as many as this process may open: while they are held, a new client
// is answered, and connections that never end their headers are closed. The limits to
// the second, and 10,000 at once, are those of TestTenThousandSlowConnections,
// whose connections are in memory.
func TestSlowConnectionsOverSockets(t *testing.T) {
	many := 2000
	if n, err := strconv.Atoi(os.Getenv("SOCKETS")); err == nil {
		many = n
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	many = max(10, min(many, (int(min(files.Cur, 1<<20))-200)/2)) // both ends are here
	at := serveOnLoopback(t, emptyRegistry(t, t.TempDir()))
	conns := make([]net.Conn, many)
	for i := range conns {
		way := slowWays[i%len(slowWays)]
		var err error
		if conns[i], err = net.Dial("tcp", at); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer conns[i].Close()
		if _, err := io.WriteString(conns[i], way.send); err != nil {
			t.Fatalf("connection %d, %s: %v", i, way.name, err)
		}
		if i%(many/10) == 0 {
			healthy(t, at)
		}
	}
	healthy(t, at)
	for i, conn := range conns {
		if way := slowWays[i%len(slowWays)]; way.within <= 5*time.Second {
			rest, err := io.ReadAll(conn)
			if err != nil && !errors.Is(err, syscall.ECONNRESET) || len(rest) > 0 && !cutWith(rest) {
				t.Fatalf("connection %d, %s: ended with %v and %q", i, way.name, err, rest)
			}
		}
	}
	healthy(t, at)
}

// cutWith reports whether an answer says that the request took too long.
func cutWith(answer []byte) bool { return len(answer) > 12 && string(answer[9:12]) == "408" }

// healthy opens a new connection and must be answered.
func healthy(t *testing.T, at string) {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	if response, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || response.StatusCode != 200 {
		t.Errorf("who comes anew: %+v, %v", response, err)
	}
}

func serveOnLoopback(t *testing.T, a *api.API) (at string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := route.NewServer(a.Handler(), nil)
	served := make(chan struct{})
	go func() { defer close(served); server.Serve(route.StrictLines(listener)) }()
	t.Cleanup(func() { server.Close(); <-served })
	return listener.Addr().String()
}
