package fakenet

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options for Open. The zero value is the standard small internet on loopback.
type Options struct {
	// Empty leaves the standard hosts out; Handle and Serve add others.
	Empty bool
	// Memory joins client and server by pipes in memory instead of loopback
	// sockets. TLS and HTTP stay real. A testing/synctest bubble can then hold
	// the whole Net, and its clock goes on while both sides wait.
	Memory bool
	// HTTPS and HTTP, when set, are where ports 443 and 80 of all hosts are
	// reached, in place of loopback sockets of their own: by a program that
	// finds them with a name server, in a network where that is possible.
	HTTPS, HTTP net.Listener
	// Log receives what went wrong in a handshake or a handler, at level
	// debug; nil discards it.
	Log *slog.Logger
}

// A Site is how one host behaves.
type Site struct {
	// Handler answers on port 443, and on port 80 too: a client that lets
	// itself be led to plain HTTP gets a document and is seen to have asked.
	Handler     http.Handler
	Certificate Certificate
	// HTTP1 keeps the host from offering HTTP/2. A handler that hijacks its
	// connection (with http.NewResponseController) needs it.
	HTTP1 bool
	// Down refuses every connection, although the name resolves.
	Down bool
}

// A Net is a small internet. Its methods may be called by several goroutines.
type Net struct {
	ca     *authority
	roots  *x509.CertPool
	https  *port
	plain  *port
	served sync.WaitGroup // the two servers and every handler

	// standard returns the standard hosts. The first call builds them: most programs that open a Net
	// never dial.
	standard func() standardHosts

	mu       sync.Mutex          // guards the following fields
	sites    map[string]Site     // by Serve; these go before the standard hosts
	texts    map[string][]string // TXT records by name
	requests []Request
	conns    map[net.Conn]struct{} // open, hijacked ones included
	lastConn uint64
	closed   bool
}

// A port is a listener with its server, and how to dial it.
type port struct {
	server   *http.Server
	listener net.Listener
	dial     func(ctx context.Context) (net.Conn, error)
}

// Open starts a small internet. Close stops it.
func Open(o Options) (*Net, error) {
	ca, err := newAuthority(time.Now())
	if err != nil {
		return nil, fmt.Errorf("make certificate authority: %w", err)
	}
	n := &Net{ca: ca, roots: x509.NewCertPool(), sites: map[string]Site{}, texts: map[string][]string{}, conns: map[net.Conn]struct{}{}}
	n.roots.AddCert(ca.root)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	n.standard = func() standardHosts { return standardHosts{} }
	if !o.Empty {
		n.standard = sync.OnceValue(newStandardHosts)
	}
	errorLog := slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)
	if n.https, err = n.openPort(o.HTTPS, o.Memory, errorLog); err != nil {
		return nil, err
	}
	if n.plain, err = n.openPort(o.HTTP, o.Memory, errorLog); err != nil {
		return nil, errors.Join(err, n.https.listener.Close())
	}
	n.https.server.TLSConfig = &tls.Config{GetCertificate: n.certificateFor, GetConfigForClient: n.configFor}
	n.served.Go(func() { _ = n.https.server.ServeTLS(n.https.listener, "", "") })
	n.served.Go(func() { _ = n.plain.server.Serve(n.plain.listener) })
	return n, nil
}

func (n *Net) openPort(l net.Listener, memory bool, errorLog *log.Logger) (*port, error) {
	server := &http.Server{
		Handler:     n,
		ErrorLog:    errorLog,
		ConnState:   n.trackConn,
		ConnContext: n.numberConn,
	}
	if memory {
		l := newPipeListener()
		return &port{server: server, listener: l, dial: l.dial}, nil
	}
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("listen on loopback: %w", err)
		}
	}
	dial := func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", l.Addr().String())
	}
	return &port{server: server, listener: l, dial: dial}, nil
}

// Close ends every connection, waits for the handlers to return, and frees the
// ports. Handlers see the end of the request's context.
func (n *Net) Close() error {
	n.mu.Lock()
	n.closed = true
	open := maps.Clone(n.conns)
	n.mu.Unlock()
	err := errors.Join(n.https.server.Close(), n.plain.server.Close())
	for c := range open {
		_ = c.Close() // closed already, unless it was hijacked
	}
	n.served.Wait()
	return err
}

// Handle adds a host with a good certificate, or replaces it. The name is a
// name under .test, for example "shop.test".
func (n *Net) Handle(host string, h http.Handler) { n.Serve(host, Site{Handler: h}) }

// Serve adds a host that behaves as s says, or replaces it. It panics when the
// name is not under .test: that is a mistake in the test.
func (n *Net) Serve(host string, s Site) {
	host = foldHost(host)
	if !strings.HasSuffix(host, ".test") {
		panic("fakenet: " + host + " is not a name under .test")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sites[host] = s
}

// Roots returns the pool with the root certificate of this Net. Nothing else
// trusts it.
func (n *Net) Roots() *x509.CertPool { return n.roots.Clone() }

// Address is where port 443 of all hosts is, for the dialler of another process,
// and RootPEM the certificate that it has to trust. There is none with
// Options.Memory.
func (n *Net) Address() string { return n.https.listener.Addr().String() }

// RootPEM returns the root certificate of this Net in PEM.
func (n *Net) RootPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: n.ca.root.Raw})
}

// Dial returns a function for http.Transport.DialContext that leads names under
// .test here and hands all other addresses to next; with next nil those are
// refused. An unknown name under .test is a *net.DNSError that says not found.
// Ports other than 443 and 80 are refused, as a closed port would.
func (n *Net) Dial(next func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
		if host = foldHost(host); !strings.HasSuffix(host, ".test") {
			if next == nil {
				return nil, refusedError(network, addr)
			}
			return next(ctx, network, addr)
		}
		site, ok := n.siteOf(host)
		if !ok {
			return nil, &net.OpError{Op: "dial", Net: network,
				Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
		}
		switch {
		case port == "443" && !site.Down:
			return n.https.dial(ctx)
		case port == "80" && !site.Down:
			return n.plain.dial(ctx)
		default:
			return nil, refusedError(network, addr)
		}
	}
}

// refusedError is what dialing a closed port gives; errors.Is finds ECONNREFUSED.
func refusedError(network, addr string) error {
	return &net.OpError{Op: "dial", Net: network, Addr: place(addr), Err: syscall.ECONNREFUSED}
}

// place is the address of a connection that was not made.
type place string

func (place) Network() string  { return "tcp" }
func (p place) String() string { return string(p) }

// foldHost brings a host name to the one form that sites are filed under.
func foldHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

func (n *Net) siteOf(host string) (Site, bool) {
	n.mu.Lock()
	s, ok := n.sites[host]
	n.mu.Unlock()
	if !ok {
		s, ok = n.standard().sites[host]
	}
	return s, ok
}

// certificateFor returns the certificate for the name that the client requested.
func (n *Net) certificateFor(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	host := foldHost(hello.ServerName)
	site, ok := n.siteOf(host)
	if !ok {
		return nil, fmt.Errorf("no host %q here", host)
	}
	return n.ca.leafFor(host, site.Certificate, time.Now())
}

// configFor takes HTTP/2 out of the offer where the site wants that.
func (n *Net) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if site, _ := n.siteOf(foldHost(hello.ServerName)); !site.HTTP1 {
		return nil, nil
	}
	return &tls.Config{GetCertificate: n.certificateFor, NextProtos: []string{"http/1.1"}}, nil
}
