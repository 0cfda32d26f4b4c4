package privatenet

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
)

// Hosts are at these addresses alone; a client that connects to another one was misled.
var (
	hosts4 = netip.MustParsePrefix("11.0.0.0/8")
	hosts6 = netip.MustParsePrefix("2a00:11::/32")
)

// nobody4 are addresses of hosts that cannot be reached.
var nobody4 = netip.MustParsePrefix("11.255.0.0/16")

// isHosts reports whether hosts may be at an address.
func isHosts(a netip.Addr) bool { return hosts4.Contains(a) || hosts6.Contains(a) }

// doors accepts connections to port 443 of every address and hands them to the host at that address:
// one of a fakenet.Net, which accepts them from it as from a listener, or an odd one.
type doors struct {
	listeners []net.Listener
	inside    chan net.Conn
	closed    chan struct{}
	once      sync.Once // closes closed
	work      sync.WaitGroup

	mu    sync.Mutex // guards the following fields
	odd   map[netip.Addr]func(net.Conn)
	open  map[net.Conn]bool // those of odd ones
	traps []netip.AddrPort  // where somebody connected to who had no business there
}

func openDoors() (*doors, error) {
	d := &doors{inside: make(chan net.Conn), closed: make(chan struct{}), odd: map[netip.Addr]func(net.Conn){}, open: map[net.Conn]bool{}}
	for network, address := range map[string]string{"tcp4": "0.0.0.0:443", "tcp6": "[::]:443"} {
		if network == "tcp6" && os.Getenv(ipv4Only) == "1" {
			continue
		}
		l, err := net.Listen(network, address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the doors: %w", err), d.Close())
		}
		d.listeners = append(d.listeners, l)
		d.work.Go(func() { d.accept(l) })
	}
	return d, nil
}

func (d *doors) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		place := netip.MustParseAddrPort(c.LocalAddr().String())
		d.mu.Lock()
		odd := d.odd[place.Addr()]
		if odd != nil {
			d.open[c] = true
		}
		if !isHosts(place.Addr()) {
			d.traps = append(d.traps, place)
		}
		d.mu.Unlock()
		switch {
		case odd != nil:
			d.work.Go(func() {
				defer c.Close()
				odd(c)
				d.mu.Lock()
				delete(d.open, c)
				d.mu.Unlock()
			})
		default: // in a trap there is somebody, too, so that it is a good one
			select {
			case d.inside <- c:
			case <-d.closed:
				c.Close()
			}
		}
	}
}

// put somebody odd at an address.
func (d *doors) put(a netip.Addr, odd func(net.Conn)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.odd[a] = odd
}

// trapped returns the forbidden places that somebody connected to.
func (d *doors) trapped() []netip.AddrPort {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.traps
}

// Accept implements net.Listener for the hosts.
func (d *doors) Accept() (net.Conn, error) {
	select {
	case c := <-d.inside:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (d *doors) Addr() net.Addr { return d.listeners[0].Addr() }

// Close ends everything, odd connections too.
func (d *doors) Close() error {
	var err error
	d.once.Do(func() {
		close(d.closed)
		for _, l := range d.listeners {
			err = errors.Join(err, l.Close())
		}
		d.mu.Lock()
		for c := range d.open {
			c.Close()
		}
		d.mu.Unlock()
		d.work.Wait()
	})
	return err
}

// What odd ones do with a connection.

// mute takes everything and says nothing.
func mute(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// plain speaks HTTP without TLS.
func plain(c net.Conn) {
	fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	mute(c)
}

// hangUp closes the connection as soon as something is said.
func hangUp(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }

// reset breaks the connection off.
func reset(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }

// old speaks TLS 1.1 at most.
func old(c net.Conn) {
	_ = tls.Server(c, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, Certificates: []tls.Certificate{{Certificate: [][]byte{{}}}}}).Handshake()
}

// alert says that it cannot shake hands (RFC 8446, section 6).
func alert(c net.Conn) {
	_, _ = c.Read(make([]byte, 1<<10))
	_, _ = c.Write([]byte{21, 3, 3, 0, 2, 2, 40})
	mute(c)
}

// noise is not a TLS record.
func noise(c net.Conn) {
	_, _ = c.Write([]byte("\x00\xff\x00\xffnoise noise noise noise"))
	mute(c)
}
