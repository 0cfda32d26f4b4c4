package fetch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

const (
	headerBytes = 64 << 10 // of one answer, interim ones included; Go's own limit is 10 MB
	maxInterim  = 8        // interim (1xx) answers before the one that counts
	bufferBytes = 4 << 10
)

// A Connection is one connection to one host, opened by its first request, and reopened when the
// host closes it between two requests. It belongs to one goroutine: an HTTP/1.1 client that starts
// goroutines takes twice the memory for a silent host, and none of its other features are needed
// here.
type Connection struct {
	host      string
	transport *Transport
	addr      netip.Addr    // the one to dial; invalid: the name is dialed
	raw       net.Conn      // connected by Connect and not used yet
	spent     time.Duration // by Connect: a part of the next request
	line      *openConn     // nil before the first request
	exchange  *exchange     // the request under way
}

// NewConnection returns a connection to the host. Nothing is dialed yet. The caller closes it.
func (t *Transport) NewConnection(host string) *Connection {
	return &Connection{host: host, transport: t}
}

// Connect connects to one of the addresses that [Transport.Resolve] returned, and the connection
// then stays with it. It may take a share of the connect timeout. The result is set on failure.
func (w *Connection) Connect(ctx context.Context, addr netip.Addr, share int) AskResult {
	ctx, cancel := context.WithTimeout(ctx, w.transport.o.ConnectTimeout/time.Duration(max(share, 1)))
	defer cancel()
	w.addr = addr
	begun := time.Now()
	raw, err := w.dialPort(ctx, "443")
	w.spent += time.Since(begun)
	if err != nil {
		return judgeError(err)
	}
	w.raw = raw
	return AskResult{}
}

// Host returns the host at the other end.
func (w *Connection) Host() string { return w.host }

// Close closes the connection, if it is open.
func (w *Connection) Close() {
	if w.raw != nil {
		w.raw.Close()
		w.raw = nil
	}
	if w.line != nil {
		w.line.closeGracefully()
		w.line = nil
	}
}

// roundTrip makes one request and reads the whole answer. A connection that the host closed since
// the last request is replaced once.
func (w *Connection) roundTrip(ctx context.Context, asked *http.Request) (*http.Response, []byte, error) {
	x, begun := w.exchange, time.Now()
	for {
		l, err := w.connect(ctx, asked)
		if err != nil {
			return nil, nil, err
		}
		fresh := l.answers == 0
		x.remote = addressOf(l.raw)
		resp, body, err := w.readAnswer(ctx, l, asked)
		if err != nil {
			l.closeNow()
			w.line = nil
			if !fresh && x.status == 0 && l.in.got == 0 && ctx.Err() == nil && !isTimeout(err) {
				if !l.sent {
					continue // the host has seen nothing of it
				}
				took := time.Since(begun)
				x.lost = &Made{At: w.transport.o.Now().Add(-took), URL: asked.URL.String(), Remote: x.remote, Took: Millis(took.Milliseconds())}
				continue
			}
			return nil, nil, err
		}
		if resp.Close || !x.ended || l.reader.Buffered()+l.head.Buffered() > 0 {
			l.closeNow() // what is left of this answer must not be taken for the next
			w.line = nil
		}
		return resp, body, nil
	}
}

// readAnswer sends a request over an open connection and reads the answer.
func (w *Connection) readAnswer(ctx context.Context, l *openConn, asked *http.Request) (*http.Response, []byte, error) {
	if err := l.prepare(ctx); err != nil {
		return nil, nil, err
	}
	defer interruptOn(ctx, l.raw)()
	resp, err := l.sendRequest(asked)
	if err != nil {
		return nil, nil, err
	}
	x, state := w.exchange, l.conn.ConnectionState()
	x.status, x.header, x.tls = resp.StatusCode, resp.Header, &state
	l.in.limitPart(2*int64(x.limit)+headerBytes, "the body with the sizes of its chunks")
	body, err := x.readBody(resp)
	if err == nil {
		// Closing the connection on timeout may make the other side end its body cleanly: the body
		// is still incomplete.
		err = ctx.Err()
	}
	return resp, body, err
}

// connect returns the open connection to the host and port of the request.
func (w *Connection) connect(ctx context.Context, asked *http.Request) (*openConn, error) {
	port := cmp.Or(asked.URL.Port(), "443")
	if w.line != nil && (w.line.port != port || w.line.hasUnexpectedBytes()) {
		w.line.closeNow()
		w.line = nil
	}
	if w.line != nil {
		return w.line, nil
	}
	raw := w.raw
	w.raw = nil
	if raw != nil && port != "443" {
		raw.Close()
		raw = nil
	}
	if raw == nil {
		var err error
		if raw, err = w.dialPort(ctx, port); err != nil {
			return nil, err
		}
	}
	conn, err := w.transport.handshakeTLS(ctx, raw, w.host)
	if err != nil {
		raw.Close()
		return nil, &phaseError{"tls", err}
	}
	l := &openConn{conn: conn, raw: raw, port: port}
	l.in = &idleReader{from: conn, raw: raw, idle: w.transport.o.IdleTimeout}
	l.head = &headReader{in: bufio.NewReaderSize(l.in, headBytes)}
	l.reader = bufio.NewReaderSize(l.head, bufferBytes)
	w.line = l
	return l, nil
}

// dialPort connects within the timeout.
func (w *Connection) dialPort(ctx context.Context, port string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, w.transport.o.ConnectTimeout)
	defer cancel()
	dial, name := w.transport.o.Dial, w.host
	if w.addr.IsValid() && w.transport.o.Guard != nil {
		dial, name = w.transport.o.Guard.dialer.DialContext, w.addr.String()
	}
	raw, err := dial(ctx, "tcp", net.JoinHostPort(name, port))
	if err != nil {
		return nil, &phaseError{"connect", err}
	}
	return raw, nil
}

// handshakeTLS makes the TLS handshake within the timeout.
func (t *Transport) handshakeTLS(ctx context.Context, raw net.Conn, host string) (*tls.Conn, error) {
	config := t.tls.Clone()
	config.ServerName = host
	deadline := time.Now().Add(t.o.TLSTimeout)
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	if err := raw.SetDeadline(deadline); err != nil {
		return nil, err
	}
	defer interruptOn(ctx, raw)()
	conn := tls.Client(raw, config)
	if err := conn.Handshake(); err != nil {
		return nil, err
	}
	return conn, nil
}

// interruptOn makes calls on a connection fail when ctx ends, until the returned function is
// called.
func interruptOn(ctx context.Context, raw net.Conn) (stop func()) {
	s := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) })
	return func() { s() }
}

// addressOf returns the IP address of the other side, "" when it has none.
func addressOf(c net.Conn) string {
	host, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		return ""
	}
	return host
}

// An openConn is an established connection.
type openConn struct {
	conn    *tls.Conn
	raw     net.Conn
	port    string
	in      *idleReader
	head    *headReader
	reader  *bufio.Reader
	answers int
	sent    bool // the request under way
}

// closeGracefully closes the connection with a TLS close notification, which marks the close as
// intended.
func (l *openConn) closeGracefully() { l.conn.Close() }

// closeNow closes the connection at once: a host that does not read would delay the close
// notification.
func (l *openConn) closeNow() { l.raw.Close() }

// hasUnexpectedBytes reports that something arrived without a request: the end of the connection,
// or bytes that must not be read as the next answer.
func (l *openConn) hasUnexpectedBytes() bool {
	// The deadline of the last answer may have passed, and then nothing could be seen.
	if l.raw.SetReadDeadline(time.Time{}) != nil || hasPendingBytes(l.raw) || l.raw.SetReadDeadline(time.Unix(1, 0)) != nil {
		return true
	}
	var one [1]byte
	n, err := l.conn.Read(one[:]) // what was read ahead needs no time
	return n > 0 || !isTimeout(err)
}

// prepare gets the connection ready for a request that ends with ctx. Each read sets the read
// deadline again.
func (l *openConn) prepare(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	l.sent = false
	l.in.ended, l.in.deadline, l.in.got, l.in.failed = ctx.Err, deadline, 0, nil
	l.in.limitPart(headerBytes, "the response header")
	return l.raw.SetDeadline(deadline)
}

// sendRequest sends a request and returns the answer with its body unread. The body must not be
// closed: that would read it to its end.
func (l *openConn) sendRequest(asked *http.Request) (*http.Response, error) {
	if _, err := l.conn.Write(formatRequest(asked)); err != nil {
		return nil, fmt.Errorf("send the request: %w", err)
	}
	l.sent = true
	for range maxInterim + 1 {
		l.head.expectHeader()
		resp, err := http.ReadResponse(l.reader, asked)
		switch {
		case err != nil && l.in.failed != nil: // what was read so far looks malformed
			return nil, l.in.failed
		case errors.Is(err, io.ErrUnexpectedEOF) && l.in.got == 0:
			return nil, errors.New("the connection was closed without an answer")
		case err != nil:
			return nil, err
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return nil, errors.New("answered 101 Switching Protocols without a request for it")
		case resp.StatusCode >= 200:
			l.answers++
			return resp, nil
		}
	}
	return nil, fmt.Errorf("more than %d interim answers and no final one", maxInterim)
}

// formatRequest returns a request as it is sent.
func formatRequest(asked *http.Request) []byte {
	var b bytes.Buffer
	b.Grow(512)
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: %s\r\n", asked.URL.RequestURI(), asked.URL.Host)
	// Writing to memory cannot fail.
	_ = asked.Header.WriteSubset(&b, map[string]bool{"Host": true, "Accept-Encoding": true})
	b.WriteString("Accept-Encoding: gzip\r\n\r\n")
	return b.Bytes()
}

// idleReader reads one answer from a connection. Once it has begun, each piece must arrive within
// the idle timeout, everything before the deadline, and header and body must each stay within their
// size limits.
type idleReader struct {
	from io.Reader
	raw  net.Conn
	idle time.Duration

	// State of the current request:
	ended    func() error // says when it is over
	deadline time.Time
	got      int64  // bytes so far
	part     string // of the answer that is being read
	most     int64  // bytes of that part
	room     int64  // of them that may still come
	failed   error  // why reading ended before the connection did
}

// limitPart limits the following reads.
func (r *idleReader) limitPart(most int64, part string) { r.most, r.room, r.part = most, most, part }

func (r *idleReader) Read(p []byte) (int, error) {
	if r.failed != nil {
		return 0, r.failed
	}
	n, err := r.readPiece(p)
	r.got += int64(n)
	r.room -= int64(n)
	if err != io.EOF {
		r.failed = err
	}
	return n, err
}

func (r *idleReader) readPiece(p []byte) (int, error) {
	if r.room <= 0 {
		return 0, &tooLargeError{fmt.Sprintf("%s is over %d bytes", r.part, r.most)}
	}
	deadline := r.deadline
	if r.got > 0 {
		if next := time.Now().Add(r.idle); next.Before(deadline) {
			deadline = next
		}
	}
	if err := r.raw.SetReadDeadline(deadline); err != nil {
		return 0, err
	}
	if err := r.ended(); err != nil { // perhaps before the deadline was set
		return 0, err
	}
	return r.from.Read(p)
}
