package api_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/internal/teststore"
	"gazetteer/registry/registrar"
)

// pipes is a listener whose connections live in memory, so that hours of
// silence pass at once.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.accepted <- theirs
	return ours
}

// serveInMemory serves an API over pipes until the test ends.
func serveInMemory(t *testing.T, a *api.API) *pipes {
	t.Helper()
	server := route.NewServer(a.Handler(), nil)
	listener := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
	served := make(chan struct{})
	go func() { defer close(served); server.Serve(route.StrictLines(listener)) }()
	t.Cleanup(func() { server.Close(); <-served })
	return listener
}

// emptyRegistry is an API over a store in dir that has nothing in it.
func emptyRegistry(t *testing.T, dir string) *api.API {
	t.Helper()
	s := teststore.Open(t, dir)
	r, err := registrar.New(registrar.Options{Store: s, DIDHost: "registry.example"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := api.New(api.Options{Options: route.Options{Answers: &answer.Answers{Store: s, Registry: r}}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestSlowClients checks that each kind of slow client is disconnected at its own limit.
func TestSlowClients(t *testing.T) {
	for name, c := range map[string]struct {
		send   string // and then nothing, or a byte now and then
		drip   string
		read   bool // whether what the server sends is read
		within time.Duration
		status int // 0: the connection just ends
	}{
		"says nothing":             {within: 5 * time.Second, read: true},
		"never ends its headers":   {send: "GET /healthz HTTP/1.1\r\nHost: x\r\n", within: 5 * time.Second, read: true},
		"drips its headers":        {send: "GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", drip: "a", within: 5 * time.Second, read: true},
		"never sends its body":     {send: "POST /api/v1/agents/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n", within: 11 * time.Second, read: true, status: 408},
		"drips its body":           {send: "POST /api/v1/agents/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n", drip: " ", within: 11 * time.Second, read: true, status: 408},
		"sends half of no body":    {send: "POST /api/v1/challenges HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{", within: 11 * time.Second, read: true, status: 408},
		"drips chunks of no body":  {send: "POST /api/v1/challenges HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", drip: "0", within: 11 * time.Second, read: true, status: 408},
		"promises a body for none": {send: "POST /api/v1/challenges HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", within: time.Second, read: true, status: 400},
		"drips a body to a read":   {send: "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n", drip: " ", within: 11 * time.Second, read: true, status: 200},
		"drips a body to nothing":  {send: "POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n", drip: " ", within: 11 * time.Second, read: true, status: 404},
		"stays after its answer":   {send: "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", within: 60 * time.Second, read: true, status: 200},
		"does not read its answer": {send: "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n", within: 60 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				listener := serveInMemory(t, emptyRegistry(t, dir))

				conn := listener.dial()
				defer conn.Close()
				begun := time.Now()
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					io.WriteString(conn, c.send)
					for c.drip != "" {
						if _, err := io.WriteString(conn, c.drip); err != nil {
							return
						}
						time.Sleep(100 * time.Millisecond)
					}
				}()
				if !c.read {
					time.Sleep(c.within + time.Second/2) // nothing is read for that long
				}
				status, ended := readUntilEnd(conn)
				if took := ended.Sub(begun); status != c.status || took > c.within+time.Second {
					t.Errorf("status %d after %s, want %d within %s", status, took, c.status, c.within)
				}
				conn.Close()
				<-sent
			})
		})
	}
}

// readUntilEnd returns the status of the first whole answer, 0 for none, and
// when the connection ended.
func readUntilEnd(conn net.Conn) (int, time.Time) {
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, time.Now()
	}
	_, err = io.Copy(io.Discard, response.Body)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, time.Now()
	}
	io.Copy(io.Discard, in)
	return response.StatusCode, time.Now()
}

// TestSlowAnswer checks that work that takes too long is stopped and reported.
func TestSlowAnswer(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := teststore.Open(t, dir)
		a, err := api.New(api.Options{Options: route.Options{Answers: &answer.Answers{Store: s}}})
		if err != nil {
			t.Fatal(err)
		}
		a.Engine().GET("/api/v1/test-slow", func(c *gin.Context) {
			<-c.Request.Context().Done()
			c.String(http.StatusOK, "late")
		})
		listener := serveInMemory(t, a)
		conn := listener.dial()
		defer conn.Close()
		begun := time.Now()
		go io.WriteString(conn, "GET /api/v1/test-slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if status, ended := readUntilEnd(conn); status != 200 || ended.Sub(begun) > 16*time.Second {
			t.Errorf("status %d after %s", status, ended.Sub(begun))
		}
	})
}
