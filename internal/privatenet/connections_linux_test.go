package privatenet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gazetteer/internal/need"
)

// TestConnectionsOfOneAddress checks that the server holds 256 connections of one address, resets
// one when there are more, and answers another network meanwhile.
func TestConnectionsOfOneAddress(t *testing.T) {
	if why := os.Getenv(impossible); why != "" {
		need.Missing(t, "no private network, which takes root or user namespaces: %s", why)
	}
	s := newSiege(t, chooseSiege())
	s.start()
	const held = 256
	from := s.strangerAddress()
	var opened, openedAtReset atomic.Int64
	reset := make(chan struct{}, 1)
	note := func(err error) {
		// The end of a request that takes too long is no reset.
		if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
			openedAtReset.CompareAndSwap(0, opened.Load())
			select {
			case reset <- struct{}{}:
			default:
			}
		}
	}
	follow := func(conn net.Conn) {
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\n"); err != nil {
			note(err)
			return
		}
		go func() {
			_, err := conn.Read(make([]byte, 1))
			note(err)
		}()
	}
	// On a slow machine the first ones end before the last ones come, so that it takes more.
	for end := time.Now().Add(time.Minute); len(reset) == 0; {
		if time.Now().After(end) || opened.Load() == 8*held {
			t.Fatalf("%d connections of one address, and none was reset", opened.Load())
		}
		opened.Add(1)
		conn, err := s.dialFrom(t.Context(), from)
		switch {
		case err == nil:
			follow(conn)
		case errors.Is(err, syscall.ECONNRESET): // by a server that is quicker than Dial
			note(err)
		default:
			t.Fatal(err)
		}
	}
	if n := openedAtReset.Load(); n <= held {
		t.Errorf("one of %d connections was reset, want %d held", n, held)
	}
	if answer, err := s.send(t.Context(), honestAddress(2), "GET", "/healthz", nil, nil); err != nil || answer.status != 200 {
		t.Errorf("another network: %d, %v", answer.status, err)
	}
}
