package route

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"gazetteer/limit"
)

// StrictLines returns l with connections on which a request with header lines that break RFC 9112
// gets 400, and the connection is closed: lines must end in CR LF (section 2.2), and none may
// continue on the next line (section 5.2). net/http accepts both, and other servers before or
// behind us may not, so that they and we would see different requests in the same bytes.
func StrictLines(l net.Listener) net.Listener { return strictListener{l} }

type strictListener struct{ net.Listener }

func (l strictListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &strictConn{WrappedConn: limit.WrappedConn{Conn: c}}, nil
}

// A strictConn checks the lines of each header as net/http reads them. Of a body it knows only the
// length. After a chunked body it checks nothing more, and [NewServer] closes such a connection
// after the answer.
//
// It does not answer a refused request itself, because the answer to an earlier request may be on
// its way. It passes on a header that net/http refuses.
type strictConn struct {
	limit.WrappedConn
	// The goroutine that reads for net/http owns the fields below.
	body    int64  // bytes of a body still to come, endless: all that comes
	length  int64  // Content-Length of the header that is being read
	sized   bool   // it has a Content-Length
	chunks  bool   // it has a Transfer-Encoding
	old     bool   // it is of HTTP/1.0
	begun   bool   // the request line is behind us
	line    []byte // what was read of the current line, cut at maxStoredLine
	end     []byte // the last bytes of the request line
	last    byte   // what was read last, 0 at the beginning of a line
	refused bool
	// upgraded is set once the connection belongs to another protocol, by the goroutine that took
	// it over from net/http.
	upgraded atomic.Bool
	rest     []byte // of what is read in the place of what was refused
}

const (
	oldVersion    = " HTTP/1.0\r"
	unknownLength = math.MaxInt64
	maxStoredLine = 64 // no line that matters here is longer
)

// invalidHeader is a header that net/http refuses with 400 at any place.
const invalidHeader = "\x00\r\n\r\n"

// Read reads for net/http, until a header is invalid.
func (c *strictConn) Read(p []byte) (int, error) {
	if c.upgraded.Load() {
		return c.Conn.Read(p)
	}
	if !c.refused {
		n, err := c.Conn.Read(p)
		good := c.scanBytes(p[:n])
		if good == n {
			return n, err
		}
		c.refused, c.rest = true, []byte(invalidHeader)
		if good > 0 {
			return good, nil
		}
	}
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// scanBytes follows the bytes that are read, and returns how many of them are good.
func (c *strictConn) scanBytes(p []byte) int {
	for at := 0; at < len(p); {
		if c.body > 0 {
			skip := int(min(c.body, int64(len(p)-at)))
			if c.body != unknownLength {
				c.body -= int64(skip)
			}
			at += skip
			continue
		}
		if c.last == 0 && c.begun && (p[at] == ' ' || p[at] == '\t') {
			return at // the line before goes on
		}
		part, _, ended := bytes.Cut(p[at:], []byte("\n"))
		if room := maxStoredLine - len(c.line); room > 0 {
			c.line = append(c.line, part[:min(room, len(part))]...)
		}
		if len(part) > 0 {
			c.last = part[len(part)-1]
		}
		if !c.begun {
			c.end = append(c.end, part[max(0, len(part)-len(oldVersion)):]...)
			c.end = c.end[max(0, len(c.end)-len(oldVersion)):]
		}
		at += len(part)
		if !ended {
			return at
		}
		if c.last != '\r' {
			return at
		}
		if !c.endLine() {
			return at
		}
		at++
	}
	return len(p)
}

// endLine processes a whole line. It returns false for a refused one.
func (c *strictConn) endLine() bool {
	line := strings.TrimSuffix(string(c.line), "\r")
	c.line, c.last = c.line[:0], 0
	switch {
	case line != "" && c.begun:
		return c.readLengthField(line)
	case line != "":
		c.begun, c.old = true, string(c.end) == oldVersion
	case c.begun: // the end of the header
		// RFC 9112, section 6.1: two lengths that a proxy may read differently, or a coding that net/http
		// ignores, so that it reads the body as the next request.
		if c.chunks && (c.sized || c.old) {
			return false
		}
		c.body = c.length
		if c.chunks {
			c.body = unknownLength
		}
		c.begun, c.length, c.sized, c.chunks, c.end = false, 0, false, false, c.end[:0]
	}
	// An empty line before a request is for net/http to judge.
	return true
}

// readLengthField reads the length of a body. net/http refuses a length that it cannot read. A
// Content-Length longer than the stored part of a line is refused here: net/http would read it, and
// we would not know where the next header begins.
func (c *strictConn) readLengthField(line string) bool {
	name, value, _ := strings.Cut(line, ":")
	switch {
	case strings.EqualFold(name, "Transfer-Encoding"):
		c.chunks = true
	case strings.EqualFold(name, "Content-Length"):
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 63)
		if len(line) >= maxStoredLine {
			return false
		}
		if err != nil || n < 0 {
			n = unknownLength
		}
		c.length, c.sized = n, true
	}
	return true
}

// AllowUpgrades returns handler with the right to take connections over for another protocol, such
// as WebSocket, when it is served on a listener of [StrictLines]: what follows is not read as
// header lines. Handlers of a [Mux] have that right already.
func AllowUpgrades(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			w = upgradeWriter{w}
		}
		handler.ServeHTTP(w, r)
	})
}

type upgradeWriter struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (w upgradeWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		markUpgraded(conn)
	}
	return conn, buffered, err
}

// Unwrap lets http.ResponseController find the connection's deadlines.
func (w upgradeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// markUpgraded lets everything that follows on a connection pass.
func markUpgraded(conn net.Conn) {
	for {
		if strict, ok := conn.(*strictConn); ok {
			strict.upgraded.Store(true)
			return
		}
		wrapper, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return
		}
		conn = wrapper.NetConn()
	}
}
