package hosthttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

const (
	callBuffer = 4 << 10 // bytes of a call and its head that need no larger buffer
	maxDigits  = 7       // of the length of a body
)

// A callConn is a keep-alive connection on which one call follows another. net/http wakes several
// goroutines for each request, which costs more than the call. Here one goroutine reads the calls
// and no goroutine waits for results: the goroutine that ends a call writes the answer.
//
//	net/http ── the first call succeeded ──▶ callConn ── anything but another call ──▶ net/http
//
// A request is a call here if its head is that of the first one, with another Content-Length at
// most: net/http has parsed that head, and what it and the handler decided about it holds again.
// All other bytes go back to net/http unread, which then keeps the connection.
type callConn struct {
	h       *Handler
	server  *http.Server
	conn    net.Conn
	raw     syscall.RawConn // nil where a write without waiting is not possible
	request *http.Request   // the first call, without its body
	session string
	header  []byte // the header lines of all answers

	// serve owns the following.
	in            []byte // was read and not handled
	before, after []byte // the head of a request around its Content-Length; nil until the second
	deadline      time.Time
	late          bool // the rest of a body did not arrive in time

	idle     chan struct{} // holds a value while no call runs and no answer is being sent
	idleAt   atomic.Int64  // when the last answer was sent, in ns
	stopping atomic.Bool

	mu       sync.Mutex       // guards the following fields
	caller   *toolhost.Caller // waits for the running call; the code that removes it calls Leave
	returned bool             // the connection belongs to net/http again
	sending  bool             // the rest of an answer is being sent
}

// takeOver takes the connection of a call over before the answer is written. It returns nil where
// that is not possible.
func (h *Handler) takeOver(w http.ResponseWriter, r *http.Request, session string) *callConn {
	server := serverOf(r)
	if server == nil || r.ProtoMajor != 1 || r.ProtoMinor != 1 || r.TLS != nil || r.Close || r.ContentLength <= 0 || len(r.TransferEncoding) > 0 ||
		r.Header.Get("Expect") != "" || r.Header.Get("Upgrade") != "" || w.Header().Get("Connection") != "" {
		return nil
	}
	if _, back := h.returned.Load(r.RemoteAddr); back {
		return nil
	}
	conn, buffers, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	c := &callConn{h: h, server: server, conn: conn, raw: rawConnOf(conn), session: session, idle: make(chan struct{}, 1)}
	c.request = (&http.Request{Method: r.Method, RequestURI: r.RequestURI, Host: r.Host, Header: r.Header.Clone(), RemoteAddr: r.RemoteAddr}).WithContext(context.WithoutCancel(r.Context()))
	c.request.Header.Del("Content-Length")
	header := w.Header().Clone()
	header["Content-Type"] = jsonType
	var lines bytes.Buffer
	header.Write(&lines)
	c.header = lines.Bytes()
	early, _ := buffers.Reader.Peek(buffers.Reader.Buffered())
	c.in = append(make([]byte, 0, max(callBuffer, len(early))), early...)
	return c
}

// begin sends the answer to the first call and handles the following ones.
func (c *callConn) begin(result *altar.ToolResult) {
	done, ok := c.h.Host.AddConnection(c.stop)
	if !ok {
		c.stopping.Store(true)
		done = func() {}
	}
	c.send(http.StatusOK, result)
	go c.serve(done)
}

// serve handles calls until the connection ends or goes back to net/http.
func (c *callConn) serve(done func()) {
	defer done()
	defer c.closeOnPanic()
	for {
		err := c.awaitBytes()
		if err != nil && !c.stopping.Load() {
			c.conn.Close()
			if c.leaveCall() {
				return
			}
		}
		<-c.idle
		if err != nil || c.stopping.Load() {
			c.conn.Close()
			return
		}
		size, body := c.readCall()
		if size == 0 {
			c.handBack()
			return
		}
		c.setState(http.StateActive)
		if !c.startCall(body) {
			c.handBack()
			return
		}
		rest := c.in[size:]
		if cap(c.in) > keptBuffer {
			c.in = make([]byte, 0, max(callBuffer, len(rest)))
		}
		c.in = append(c.in[:0], rest...)
	}
}

// closeOnPanic lets a panic end the connection and not the process, as net/http does.
func (c *callConn) closeOnPanic() {
	if v := recover(); v != nil {
		c.h.Panics.Add(1)
		c.h.Log.Error("a call ended in a panic", "panic", v, "stack", string(debug.Stack()))
		c.conn.Close()
		select {
		case c.idle <- struct{}{}: // serve may wait for it
		default:
		}
	}
}

func (c *callConn) setState(state http.ConnState) {
	if c.server.ConnState != nil {
		c.server.ConnState(c.conn, state)
	}
}

// awaitBytes waits until there is input. While a call runs it notices that the
// client leaves.
func (c *callConn) awaitBytes() error {
	if len(c.in) > 0 {
		return nil
	}
	idle := c.server.IdleTimeout
	if idle == 0 {
		idle = c.server.ReadTimeout
	}
	for {
		if now := time.Now(); idle > 0 && c.deadline.Sub(now) < idle { // setting it at each call would cost time
			c.deadline = now.Add(idle + time.Second)
			c.conn.SetReadDeadline(c.deadline)
		}
		if c.stopping.Load() {
			return http.ErrServerClosed
		}
		n, err := c.conn.Read(c.in[:cap(c.in)])
		c.in = c.in[:n]
		if n > 0 {
			return nil
		}
		waits := errors.Is(err, os.ErrDeadlineExceeded) && (len(c.idle) == 0 || time.Since(time.Unix(0, c.idleAt.Load())) < idle)
		if !waits {
			return err
		}
		c.deadline = time.Time{}
	}
}

// leaveCall leaves the running call. It returns false when there is none, or its answer is being
// sent.
func (c *callConn) leaveCall() bool {
	caller := c.takeCaller()
	if caller != nil {
		caller.Leave()
	}
	return caller != nil
}

func (c *callConn) takeCaller() *toolhost.Caller {
	c.mu.Lock()
	defer c.mu.Unlock()
	caller := c.caller
	c.caller = nil
	return caller
}

// readCall returns the size of the call that was read, and its body. The size is 0 when something
// else was read, or the body does not come.
func (c *callConn) readCall() (size int, body []byte) {
	if c.before == nil && !c.learnHead() {
		return 0, nil
	}
	rest, ok := bytes.CutPrefix(c.in, c.before)
	if !ok {
		return 0, nil
	}
	length, rest, ok := cutNumber(rest)
	if !ok || length == 0 || length > maxCallBody {
		return 0, nil
	}
	if rest, ok = bytes.CutPrefix(rest, c.after); !ok {
		return 0, nil
	}
	head, have := len(c.in)-len(rest), len(c.in)
	size = head + length
	if have < size {
		c.deadline = time.Time{}
		c.conn.SetReadDeadline(time.Now().Add(bodyTime))
		if c.stopping.Load() { // or the new deadline would delay the stop
			return 0, nil
		}
		c.in = slices.Grow(c.in, size-have)
		n, err := io.ReadFull(c.conn, c.in[have:size])
		if c.in = c.in[:have+n]; err != nil {
			c.late = errors.Is(err, os.ErrDeadlineExceeded) && !c.stopping.Load()
			return 0, nil
		}
	}
	return size, c.in[head:size]
}

// cutNumber returns the decimal number that text begins with.
func cutNumber(text []byte) (n int, rest []byte, ok bool) {
	i := 0
	for i < len(text) && i < maxDigits && '0' <= text[i] && text[i] <= '9' {
		n = 10*n + int(text[i]-'0')
		i++
	}
	return n, text[i:], i > 0
}

// learnHead keeps the head of the request that was read, if it is that of the first call.
func (c *callConn) learnHead() bool {
	const end = "\r\n\r\n"
	size := bytes.Index(c.in, []byte(end))
	if size < 0 {
		return false
	}
	head := bytes.Clone(c.in[:size+len(end)])
	fields, ok := bytes.CutPrefix(head, []byte("POST "+c.request.RequestURI+" HTTP/1.1\r\n"))
	if !ok || bytes.Count(head, []byte("\n")) != bytes.Count(head, []byte("\r\n")) {
		return false
	}
	header, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields))).ReadMIMEHeader()
	if err != nil || !slices.Equal(header["Host"], []string{c.request.Host}) || len(header["Content-Length"]) != 1 {
		return false
	}
	header.Del("Host")
	header.Del("Content-Length")
	if !maps.EqualFunc(http.Header(header), c.request.Header, slices.Equal[[]string]) {
		return false
	}
	at := 0
	for line := range bytes.SplitAfterSeq(head, []byte("\r\n")) {
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Content-Length")) {
			at += len(line) - len(bytes.TrimLeft(value, " "))
			break
		}
		at += len(line)
	}
	_, after, ok := cutNumber(head[at:])
	c.before, c.after = head[:at], after
	return ok && bytes.HasPrefix(after, []byte("\r\n"))
}

// startCall begins a call. It returns false when the client is not known any more.
func (c *callConn) startCall(body []byte) bool {
	who, ok := c.h.identifyRequest(c.request)
	if !ok || who.Kind != toolhost.ClientIdentity {
		return false
	}
	caller, failed, status := c.h.beginCall(c.request.Context(), who, c.session, body, false)
	if failed != nil {
		c.send(status, failed)
		return true
	}
	c.mu.Lock()
	c.caller = caller
	c.mu.Unlock()
	caller.Notify(c.answerCall)
	return true
}

// answerCall sends the result of the call that has ended.
func (c *callConn) answerCall() {
	defer c.closeOnPanic()
	caller := c.takeCaller()
	if caller == nil {
		return // the client has left
	}
	result := caller.Result()
	caller.Leave()
	c.send(statusOfResult(&result), &result)
}

// send sends an answer without waiting for the client. A client that does not read it has its time.
func (c *callConn) send(status int, result *altar.ToolResult) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	body := buffers.Get().(*[]byte)
	defer buffers.Put(body)
	payload := append(altar.AppendToolResult((*body)[:0], result), '\n')
	text := append(c.appendHead((*buffer)[:0], status, len(payload), result.Error), payload...)
	if cap(text) <= keptBuffer && cap(payload) <= keptBuffer {
		*buffer, *body = text, payload
	}
	sent := 0
	if c.raw != nil {
		var err error
		if sent, err = tryWrite(c.raw, text); err != nil {
			c.conn.Close()
			sent = len(text)
		}
	}
	if sent == len(text) {
		c.endAnswer()
		return
	}
	rest := bytes.Clone(text[sent:])
	go func() {
		c.setSending(true)
		if _, err := c.conn.Write(rest); err != nil {
			c.conn.Close()
		}
		c.setSending(false)
		c.endAnswer()
	}()
}

// setSending sets the time for the rest of an answer.
func (c *callConn) setSending(sending bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sending = sending
	switch {
	case !sending:
		c.conn.SetWriteDeadline(time.Time{})
	case c.stopping.Load():
		c.conn.SetWriteDeadline(time.Now().Add(closeTime))
	default:
		c.conn.SetWriteDeadline(time.Now().Add(writeTime))
	}
}

// endAnswer lets the next call begin.
func (c *callConn) endAnswer() {
	c.setState(http.StateIdle)
	c.idleAt.Store(time.Now().UnixNano())
	c.idle <- struct{}{}
}

// appendHead appends the status line and the header of an answer.
func (c *callConn) appendHead(text []byte, status, length int, failure *altar.Error) []byte {
	text = strconv.AppendInt(append(text, "HTTP/1.1 "...), int64(status), 10)
	text = append(append(append(text, ' '), http.StatusText(status)...), "\r\n"...)
	text = append(text, c.header...)
	if failure != nil {
		if wait := retryAfter(failure); wait != "" {
			text = append(append(append(text, "Retry-After: "...), wait...), "\r\n"...)
		}
	}
	if c.stopping.Load() {
		text = append(text, "Connection: close\r\n"...)
	}
	text = time.Now().UTC().AppendFormat(append(text, "Date: "...), http.TimeFormat)
	text = strconv.AppendInt(append(text, "\r\nContent-Length: "...), int64(length), 10)
	return append(text, "\r\n\r\n"...)
}

// stop ends the connection after the answer to the running call.
func (c *callConn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping.Store(true)
	if !c.returned {
		c.conn.SetReadDeadline(time.Unix(1, 0))
	}
	if c.sending {
		c.conn.SetWriteDeadline(time.Now().Add(closeTime))
	}
}

// handBack gives the connection back to net/http, with what was read.
func (c *callConn) handBack() {
	c.mu.Lock()
	c.returned = true
	c.mu.Unlock()
	c.conn.SetReadDeadline(time.Time{})
	c.h.returned.Store(c.request.RemoteAddr, true)
	l := &singleListener{conn: &returnedConn{WrappedConn: limit.WrappedConn{Conn: c.conn}, rest: c.in, late: c.late, h: c.h}}
	c.server.Serve(l)
	if l.conn != nil {
		l.conn.Close() // the server stops
	}
}

// A singleListener is a listener of one connection.
type singleListener struct{ conn net.Conn }

// Accept implements net.Listener.
func (l *singleListener) Accept() (net.Conn, error) {
	conn := l.conn
	if conn == nil {
		return nil, io.EOF
	}
	l.conn = nil
	return conn, nil
}

// Close implements net.Listener.
func (l *singleListener) Close() error { return nil }

// Addr implements net.Listener.
func (l *singleListener) Addr() net.Addr { return &net.TCPAddr{} }

// A returnedConn is a connection of which some bytes were read and not handled.
type returnedConn struct {
	limit.WrappedConn
	h    *Handler
	rest []byte // owned by the goroutine that reads
	late bool   // nothing is read beyond rest: its time is over
}

// Read implements net.Conn.
func (c *returnedConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 && c.late {
		return 0, os.ErrDeadlineExceeded
	}
	if len(c.rest) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.rest)
	if c.rest = c.rest[n:]; len(c.rest) == 0 {
		c.rest = nil
	}
	return n, nil
}

// Close implements net.Conn.
func (c *returnedConn) Close() error {
	c.h.returned.Delete(c.RemoteAddr().String())
	return c.Conn.Close()
}
