package limit_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/limit"
)

// A namedConn is a pipe that reports an address as its client.
type namedConn struct {
	net.Conn
	from net.Addr
}

func (c namedConn) RemoteAddr() net.Addr { return c.from }

// A crowd is a listener to which connections come from any address.
type crowd struct {
	t        *testing.T
	come     chan net.Conn
	closed   chan struct{}
	shortage atomic.Int32 // how many accepts fail for want of descriptors
}

func newCrowd(t *testing.T) *crowd {
	return &crowd{t: t, come: make(chan net.Conn), closed: make(chan struct{})}
}

func (c *crowd) Accept() (net.Conn, error) {
	if c.shortage.Load() > 0 {
		c.shortage.Add(-1)
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	select {
	case conn := <-c.come:
		return conn, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}
func (c *crowd) Close() error   { close(c.closed); return nil }
func (c *crowd) Addr() net.Addr { return &net.TCPAddr{} }

// A visitor is the client's end of a connection.
type visitor struct {
	net.Conn
	ended atomic.Bool // by the server
	reply chan string // lines that came
}

// connect opens a connection from an address, and sends text on it.
func (c *crowd) connect(from, text string) *visitor {
	c.t.Helper()
	ours, theirs := net.Pipe()
	v := &visitor{Conn: ours, reply: make(chan string, 64)}
	c.come <- namedConn{theirs, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 4000))}
	go func() {
		in := bufio.NewReader(ours)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				v.ended.Store(true)
				return
			}
			v.reply <- line
		}
	}()
	if text != "" {
		go io.WriteString(ours, text) // it may be closed before
	}
	c.t.Cleanup(func() { ours.Close() })
	synctest.Wait()
	return v
}

// serve runs a server with a rule in the bubble of a test. Its handler answers /slow only after an
// hour.
func serve(t *testing.T, rule limit.ConnectionRule) (*crowd, *limit.ConnectionPool) {
	t.Helper()
	c := newCrowd(t)
	pool := new(limit.Set).ConnectionPool(rule)
	serveOn(t, c, pool)
	return c, pool
}

// serveOn is serve for any listener and a pool.
func serveOn(t *testing.T, from net.Listener, pool *limit.ConnectionPool) {
	t.Helper()
	l := pool.Listen(from)
	server := &http.Server{ConnState: l.ConnState, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			select {
			case <-time.After(time.Hour):
			case <-r.Context().Done():
			}
		}
	})}
	served := make(chan struct{})
	go func() { defer close(served); server.Serve(l) }()
	t.Cleanup(func() { server.Close(); <-served })
}

const (
	quickRequest = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	slowRequest  = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
)

// A neglectedCrowd is a listener of whose connections Go learns only when Accept begins, as while
// all processors are busy.
type neglectedCrowd struct {
	*crowd
	deadlines chan time.Time
}

func (c neglectedCrowd) SetDeadline(t time.Time) error { c.deadlines <- t; return nil }

func (c neglectedCrowd) Accept() (net.Conn, error) {
	select {
	case conn := <-c.come:
		return conn, nil
	default:
	}
	select {
	case deadline := <-c.deadlines:
		if deadline.IsZero() {
			return c.Accept()
		}
		return nil, os.ErrDeadlineExceeded
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

// TestAcceptWhileBusy checks that a request on one connection has the others accepted that wait,
// although no event of the operating system reports them.
func TestAcceptWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := neglectedCrowd{newCrowd(t), make(chan time.Time, 16)}
		c.come = make(chan net.Conn, 16)
		first := c.connect("192.0.2.1", "") // before the listener looks for the first time
		pool := new(limit.Set).ConnectionPool(limit.ConnectionRule{All: 100, Each: 10, Wide: 10, Idle: 100})
		serveOn(t, c, pool)
		time.Sleep(time.Second)
		waiting := c.connect("192.0.2.2", quickRequest)
		time.Sleep(time.Second)
		if s := pool.Stats(); s.Open != 1 {
			t.Fatalf("%d connections are open before the request", s.Open)
		}
		io.WriteString(first, quickRequest)
		for _, v := range []*visitor{first, waiting} {
			select {
			case got := <-v.reply:
				if got != "HTTP/1.1 200 OK\r\n" {
					t.Errorf("the answer began with %q", got)
				}
			case <-time.After(time.Minute): // of the bubble
				t.Fatal("a connection was not answered")
			}
		}
	})
}

// TestConnectionsPerNetwork checks the limits of connections of an address, a /64 and a /48. Other
// networks are not affected, and a silent connection makes room for a new one of its own network.
func TestConnectionsPerNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pool := serve(t, limit.ConnectionRule{All: 100, Each: 4, Wide: 8, Idle: 100})
		for range 4 {
			c.connect("192.0.2.1", slowRequest)
		}
		if v := c.connect("192.0.2.1", slowRequest); !v.ended.Load() {
			t.Error("the fifth connection of an address was held")
		}
		for i := range 8 {
			c.connect(fmt.Sprintf("2001:db8:1:%x::1", i), slowRequest)
		}
		if v := c.connect("2001:db8:1:ff::1", slowRequest); !v.ended.Load() {
			t.Error("the ninth connection of a /48 was held")
		}
		if v := c.connect("2001:db8:2::1", quickRequest); v.ended.Load() || <-v.reply != "HTTP/1.1 200 OK\r\n" {
			t.Error("another network was not answered")
		}
		silent := make([]*visitor, 4)
		for i := range silent {
			silent[i] = c.connect("198.51.100.1", "")
		}
		if v := c.connect("198.51.100.1", quickRequest); v.ended.Load() || !silent[0].ended.Load() || silent[1].ended.Load() {
			t.Error("the oldest silent connection did not make room for one of its network")
		}
		if s := pool.Stats(); s.Refused != 2 || s.Dropped != 1 {
			t.Errorf("counted %+v", s)
		}
	})
}

// TestTotalConnections checks the limit of all connections: silent connections are closed first,
// then idle ones, then the longest of the network that has most, and a new client is answered.
func TestTotalConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pool := serve(t, limit.ConnectionRule{All: 12, Each: 6, Wide: 6, Idle: 100})
		var active, idle, silent []*visitor
		for i := range 4 {
			active = append(active, c.connect("192.0.2.1", slowRequest))
			idle = append(idle, c.connect(fmt.Sprintf("198.51.%d.1", i), quickRequest))
			silent = append(silent, c.connect(fmt.Sprintf("203.0.%d.1", i), ""))
		}
		newcomers := 0
		come := func() *visitor {
			newcomers++
			v := c.connect(fmt.Sprintf("10.0.%d.1", newcomers), slowRequest)
			if v.ended.Load() {
				t.Fatalf("newcomer %d was not let in: %+v", newcomers, pool.Stats())
			}
			return v
		}
		for name, group := range map[string][]*visitor{"silent": silent} {
			for range group {
				come()
			}
			for i, v := range group {
				if !v.ended.Load() {
					t.Errorf("%s connection %d is still open", name, i)
				}
			}
		}
		for range idle {
			come()
		}
		for i, v := range idle {
			if !v.ended.Load() {
				t.Errorf("idle connection %d is still open", i)
			}
		}
		for i, v := range active {
			if v.ended.Load() {
				t.Errorf("active connection %d was closed before there was need", i)
			}
		}
		come()
		if !active[0].ended.Load() || active[1].ended.Load() {
			t.Error("the longest active connection of the largest network did not go first")
		}
		if s := pool.Stats(); s.Open != 12 {
			t.Errorf("%d connections are open, want 12", s.Open)
		}
	})
}

// TestSharedPool checks that two listeners of one pool hold no more connections than one: a new
// connection of one takes the room of a waiting one of the other, and the limit of a network holds
// for both. The end of one listener closes only its own connections.
func TestSharedPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pool := serve(t, limit.ConnectionRule{All: 6, Each: 4, Wide: 4, Idle: 100})
		other := newCrowd(t)
		l := pool.Listen(other)
		silent := make([]*visitor, 4)
		for i := range silent {
			silent[i] = other.connect("203.0.113.1", "")
		}
		for range 4 {
			if v := c.connect("192.0.2.1", slowRequest); v.ended.Load() {
				t.Error("a connection did not take the room of a silent one of the other listener")
			}
		}
		if v := other.connect("192.0.2.1", ""); !v.ended.Load() {
			t.Error("the fifth connection of an address was held")
		}
		if s := pool.Stats(); s.Open != 6 || s.All != 6 || s.Dropped != 2 || s.Refused != 1 || !silent[1].ended.Load() {
			t.Errorf("counted %+v; the second silent one ended: %t", s, silent[1].ended.Load())
		}
		own := c.connect("198.51.100.1", "") // instead of the third silent one
		l.Close()
		synctest.Wait()
		if s := pool.Stats(); s.Open != 5 || !silent[3].ended.Load() || own.ended.Load() {
			t.Errorf("after the end of a listener: %+v; its connection ended: %t, another's: %t", s, silent[3].ended.Load(), own.ended.Load())
		}
	})
}

// TestSilentConnections checks that a connection that says nothing ends, and idle ones beyond the
// bound end, the oldest first.
func TestSilentConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pool := serve(t, limit.ConnectionRule{All: 100, Each: 100, Wide: 100, Idle: 2})
		v := c.connect("192.0.2.1", "")
		time.Sleep(5*time.Second - time.Nanosecond)
		synctest.Wait()
		if v.ended.Load() {
			t.Error("a silent connection ended too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if !v.ended.Load() {
			t.Error("a silent connection was held for more than 5 seconds")
		}
		var idle []*visitor
		for range 3 {
			idle = append(idle, c.connect("192.0.2.1", quickRequest))
		}
		if !idle[0].ended.Load() || idle[1].ended.Load() || idle[2].ended.Load() {
			t.Error("it was not the oldest idle connection alone that made room")
		}
		if s := pool.Stats(); s.Open != 2 || s.Idle != 2 {
			t.Errorf("counted %+v", s)
		}
	})
}

// TestIdleConnectionsOfManyGoFirst checks that only a quarter of the idle connections may wait while many
// connections are open.
func TestIdleConnectionsOfManyGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pool := serve(t, limit.ConnectionRule{All: 100, Each: 100, Wide: 100, Idle: 8, Many: 20, FirstByte: time.Minute})
		for range 8 {
			c.connect("192.0.2.1", quickRequest)
		}
		for range 12 {
			c.connect("192.0.2.1", "")
		}
		if s := pool.Stats(); s.Open != 20 || s.Dropped != 0 {
			t.Fatalf("%+v of as many as may be", s)
		}
		// Of the idle ones, the oldest go until two are left.
		for i, want := range []int{20, 20, 20, 20, 20, 20, 21, 22} {
			c.connect("192.0.2.1", "")
			c.connect("192.0.2.1", quickRequest)
			if s := pool.Stats(); s.Open != want {
				t.Errorf("%d connections are open after %d answers, want %d", s.Open, i+1, want)
			}
		}
	})
}

// TestAcceptWithoutDescriptors checks that a process without descriptors pauses, closes a waiting
// connection, and continues.
func TestAcceptWithoutDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pool := serve(t, limit.ConnectionRule{All: 100, Each: 100, Wide: 100, Idle: 100})
		first := c.connect("192.0.2.1", "")
		c.shortage.Store(3)
		c.connect("192.0.2.2", "") // accepted before the shortage is met
		time.Sleep(time.Second)
		synctest.Wait()
		if v := c.connect("192.0.2.3", quickRequest); v.ended.Load() || <-v.reply != "HTTP/1.1 200 OK\r\n" {
			t.Error("nobody is answered after a shortage")
		}
		if s := pool.Stats(); s.Paused != 3 || !first.ended.Load() {
			t.Errorf("counted %+v; first ended: %t", s, first.ended.Load())
		}
	})
}
