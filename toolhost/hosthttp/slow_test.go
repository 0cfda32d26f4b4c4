package hosthttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/altarkit"
	"gazetteer/api/route"
	"gazetteer/protocol/altar"
	"gazetteer/store/boltstore"
	"gazetteer/toolhost"
	"gazetteer/toolhost/hosthttp"
	"gazetteer/toolhost/hostmcp"
)

// pipes is a listener in memory, whose connections a test with its own clock can wait for.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

// Accept implements net.Listener.
func (l *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipes) Close() error {
	close(l.closed)
	return nil
}

// Addr implements net.Listener.
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (l *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	l.accepted <- theirs
	return ours
}

// serveInMemory serves a host with the limits of the program and the clock of the test.
func serveInMemory(t *testing.T) (*toolhost.Host, *pipes) {
	t.Helper()
	ctx := context.Background()
	db, err := boltstore.Open(ctx, t.TempDir(), boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	host, err := toolhost.Open(ctx, toolhost.Options{Store: db, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []toolhost.Identity{{ID: "rt", Kind: toolhost.RuntimeIdentity}, {ID: "me", Kind: toolhost.ClientIdentity}} {
		i.Token = toolhost.HashToken(i.ID + "-token")
		if err := host.AddIdentity(ctx, i); err != nil {
			t.Fatal(err)
		}
	}
	list, err := toolhost.ReadContracts([]byte(contractList))
	if err != nil {
		t.Fatal(err)
	}
	if err := host.AddContracts(ctx, list); err != nil {
		t.Fatal(err)
	}
	server := route.NewServer(route.AllowUpgrades(hosthttp.New(hosthttp.Options{Host: host, MCP: hostmcp.New(hostmcp.Options{Host: host, PublicURL: "http://host.test"})})), nil)
	listener := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- host.Run(running, 0) }()
	go func() { ended <- server.Serve(route.StrictLines(listener)) }()
	t.Cleanup(func() {
		stop()
		server.Close()
		for range 2 {
			if err := <-ended; err != nil && !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}
		if err := errors.Join(host.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return host, listener
}

// TestSlowClients checks that a client that sends its body slowly is answered and cut off at its limit,
// at each address and with the clock of the test.
func TestSlowClients(t *testing.T) {
	const me = " HTTP/1.1\r\nHost: host.test\r\nAuthorization: Bearer me-token\r\nContent-Type: application/json\r\n"
	const length = "Content-Length: 100\r\n\r\n{"
	for name, test := range map[string]struct {
		send, drip string
		within     time.Duration
		status     int // 0: the connection just ends
		text       string
	}{
		"a header that does not end": {"POST /altar/v1/sessions" + me + "A: ", "a", 5 * time.Second, 0, ""},
		"a new session":              {"POST /altar/v1/sessions" + me + length, "1", 11 * time.Second, 408, `{"code":"INVALID_PARAMETERS"`},
		"chunks of a new session":    {"POST /altar/v1/sessions" + me + "Transfer-Encoding: chunked\r\n\r\n1\r\n{", "\r\n1\r\n1", 11 * time.Second, 408, `{"code":"INVALID_PARAMETERS"`},
		"the end of a session":       {"DELETE /altar/v1/sessions/s" + me + length, "1", 11 * time.Second, 408, `{"code":"INVALID_PARAMETERS"`},
		"a call":                     {"POST /altar/v1/sessions/s/calls" + me + length, "1", 11 * time.Second, 408, `{"invocation_id":"","status":"error","error":{"code":"INVALID_PARAMETERS"`},
		"a call over MCP":            {"POST /altar/v1/mcp" + me + "Accept: application/json, text/event-stream\r\n" + length, "1", 11 * time.Second, 408, ""},
		"a list of tools":            {"GET /altar/v1/sessions/s/tools" + me + length, "1", 11 * time.Second, 410, "SESSION_INVALID"},
		"no identity":                {"POST /altar/v1/sessions HTTP/1.1\r\nHost: host.test\r\n" + length, "1", 11 * time.Second, 401, "AUTHORIZATION_FAILED"},
		"a WebSocket":                {"GET /altar/v1/runtimes HTTP/1.1\r\nHost: host.test\r\nAuthorization: Bearer rt-token\r\n" + length, "1", 11 * time.Second, 426, "INVALID_PARAMETERS"},
	} {
		for _, drip := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, drip %t", name, drip), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					_, listener := serveInMemory(t)
					conn := listener.dial()
					begun := time.Now()
					sent := make(chan struct{})
					go func() {
						defer close(sent)
						text := test.send
						for {
							if _, err := io.WriteString(conn, text); err != nil || !drip {
								return
							}
							time.Sleep(900 * time.Millisecond)
							text = test.drip
						}
					}()
					answer, err := io.ReadAll(conn)
					if took := time.Since(begun); took > test.within || took < test.within-time.Second {
						t.Errorf("cut off after %s, want %s", took, test.within)
					}
					conn.Close()
					<-sent
					status, text, _ := strings.Cut(string(answer), "\r\n")
					if test.status == 0 && len(answer) > 0 || test.status > 0 && !strings.HasPrefix(status, fmt.Sprintf("HTTP/1.1 %d ", test.status)) || !strings.Contains(text, test.text) {
						t.Errorf("%s, %v", answer, err)
					}
				})
			})
		}
	}
}

// TestSlowRuntimes checks, with the times of the program, when the connection of a runtime ends that
// does not say who it is, does not finish a frame or answers no ping.
func TestSlowRuntimes(t *testing.T) {
	announce := frame(0x81, []byte(`{"type":"AnnounceRuntime","runtime_id":"rt","protocol_version":"1.0.0"}`))
	for name, test := range map[string]struct {
		send     []byte
		from, to time.Duration // when it ends
		reason   string
	}{
		"says nothing":         {nil, 10 * time.Second, 15 * time.Second, "the runtime did not announce itself in time"},
		"says something else":  {frame(0x81, []byte(`{"type":"FulfillTools","tool_names":["echo"]}`)), 10 * time.Second, 15 * time.Second, "the runtime did not announce itself in time"},
		"does not end a frame": {append(announce, frame(0x81, make([]byte, 100))[:50]...), 10 * time.Second, 12 * time.Second, "a frame takes too long"},
		"answers no ping":      {announce, 10 * time.Second, 30 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, listener := serveInMemory(t)
				conn := listener.dial()
				defer conn.Close()
				fmt.Fprint(conn, "GET /altar/v1/runtimes HTTP/1.1\r\nHost: host.test\r\nAuthorization: Bearer rt-token\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
				in := bufio.NewReader(conn)
				if response, err := http.ReadResponse(in, nil); err != nil || response.StatusCode != http.StatusSwitchingProtocols {
					t.Fatalf("%v, %v", response, err)
				}
				begun := time.Now()
				ended := make(chan string, 1)
				sent := make(chan struct{})
				go func() { defer close(sent); conn.Write(test.send) }()
				go func() {
					_, reason, _ := nextClose(in)
					io.Copy(io.Discard, in)
					ended <- reason
				}()
				synctest.Wait()
				want := 0
				if strings.HasPrefix(string(test.send), string(announce[:20])) {
					want = 1
				}
				if n := host.Figures().Runtimes; n != want {
					t.Errorf("%d runtimes are connected, want %d", n, want)
				}
				if reason := <-ended; test.reason != "" && reason != test.reason {
					t.Errorf("closed with %q, want %q", reason, test.reason)
				}
				if took := time.Since(begun); took < test.from || took > test.to {
					t.Errorf("ended after %s, want %s to %s", took, test.from, test.to)
				}
				conn.Close()
				<-sent
				synctest.Wait()
				if n := host.Figures().Runtimes; n != 0 {
					t.Errorf("%d runtimes are still connected", n)
				}
			})
		})
	}
}

// TestSlowCallAfterACall checks that a call on a connection which left net/http has a time, too.
func TestSlowCallAfterACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, listener := serveInMemory(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		r := &altarkit.Runtime{URL: "ws://host.test/altar/v1/runtimes", Token: "rt-token", ID: "rt", HTTP: &http.Client{Transport: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) { return listener.dial(), nil },
		}}}
		r.Handle("echo", func(_ context.Context, c *altarkit.Call) (any, error) { return c.Parameters, nil })
		go func() { ended <- r.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		created, refused := host.CreateSession("me", altar.CreateSession{})
		if refused != nil {
			t.Fatal(refused)
		}
		conn := listener.dial()
		defer conn.Close()
		in := bufio.NewReader(conn)
		head := "POST " + callPath(created.SessionID) + " HTTP/1.1\r\nHost: host.test\r\nAuthorization: Bearer me-token\r\nContent-Length: "
		for i := range 3 {
			body := callBody(fmt.Sprint(i), "echo", `{"n":1}`)
			go fmt.Fprintf(conn, "%s%d\r\n\r\n%s", head, len(body), body)
			response, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != 200 {
				t.Fatalf("%s %s, %v", response.Status, text, err)
			}
		}
		begun := time.Now()
		go fmt.Fprintf(conn, "%s100\r\n\r\n{", head)
		answer, err := io.ReadAll(in)
		if took := time.Since(begun); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("cut off after %s", took)
		}
		if !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
			t.Errorf("%s, %v", answer, err)
		}
	})
}
