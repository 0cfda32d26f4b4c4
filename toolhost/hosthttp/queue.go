package hosthttp

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// keptQueue is the capacity of a buffer that is used again; a larger one is given back.
	keptQueue = 128 << 10
	// lastWrite is how long a connection that is closed may take to send what waits.
	lastWrite = 100 * time.Millisecond
)

// A queuedConn is a connection whose Write never waits for the peer. Written bytes wait for
// [queuedConn.sendQueued], which sends all of them in one system call. While lone is set, the
// system gets the bytes at once, and only those that it does not accept wait.
type queuedConn struct {
	net.Conn
	raw  syscall.RawConn // nil where a write without waiting is not possible
	lone atomic.Bool
	wake chan struct{} // receives when something waits

	writing sync.Mutex // held while a batch is sent; taken before mu

	mu       sync.Mutex // guards the following fields
	queue    []byte     // waits to be sent
	spare    []byte     // the buffer of the last batch
	sending  int        // bytes of the batch that is being sent
	reserved int        // bytes of frames that are about to be written
	err      error      // of the first write that failed
}

func newQueuedConn(conn net.Conn) *queuedConn {
	return &queuedConn{Conn: conn, raw: rawConnOf(conn), wake: make(chan struct{}, 1)}
}

// rawConnOf returns the connection of the system, nil where there is none or it is encrypted.
func rawConnOf(conn net.Conn) syscall.RawConn {
	for {
		switch c := conn.(type) {
		case *tls.Conn:
			return nil
		case syscall.Conn:
			raw, err := c.SyscallConn()
			if err != nil {
				return nil
			}
			return raw
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// Write implements net.Conn. If bytes wait, a later call returns their error.
func (c *queuedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	rest := p
	if c.raw != nil && c.lone.Load() && len(c.queue) == 0 && c.sending == 0 {
		n, err := tryWrite(c.raw, p)
		if err != nil {
			c.err = err
			return n, err
		}
		if rest = p[n:]; len(rest) == 0 {
			return n, nil
		}
	}
	c.queue = append(c.queue, rest...)
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return len(p), nil
}

// reserve reports whether another frame may wait, and keeps its room until [queuedConn.release]:
// frames of several callers are written one after the other.
func (c *queuedConn) reserve(size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || len(c.queue)+c.sending+c.reserved+size > maxQueueBytes {
		return false
	}
	c.reserved += size
	return true
}

// release ends a reservation, when the frame is written.
func (c *queuedConn) release(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved -= size
}

// sendQueued sends what waits until ctx ends or a write fails.
func (c *queuedConn) sendQueued(ctx context.Context) error {
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return nil
		}
		runtime.Gosched() // callers that are about to write go into the same batch
		if err := c.sendBatch(); err != nil {
			return err
		}
	}
}

// sendBatch sends what waits.
func (c *queuedConn) sendBatch() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	batch, err := c.queue, c.err
	c.queue, c.spare, c.sending = c.spare[:0], nil, len(batch)
	c.mu.Unlock()
	if err == nil && len(batch) > 0 {
		_, err = c.Conn.Write(batch)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sending = 0
	if c.err == nil {
		c.err = err
	}
	if cap(batch) <= keptQueue {
		c.spare = batch
	}
	return err
}

// Close implements net.Conn. It sends what waits, such as a close frame, in a bounded time.
func (c *queuedConn) Close() error {
	c.Conn.SetWriteDeadline(time.Now().Add(lastWrite))
	c.sendBatch()
	return c.Conn.Close()
}

// queuingHijacker hands the connection of a request out as a queuedConn.
// A refusal of the handshake, which the library writes as text, is kept for the caller.
type queuingHijacker struct {
	http.ResponseWriter
	conn    *queuedConn // set by Hijack
	refused int         // the status of a refusal; 0 for none
	reason  []byte
}

// WriteHeader implements http.ResponseWriter.
func (w *queuingHijacker) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.refused = status
}

// Write implements http.ResponseWriter.
func (w *queuingHijacker) Write(text []byte) (int, error) {
	w.reason = append(w.reason, text...)
	return len(text), nil
}

// Hijack implements http.Hijacker.
func (w *queuingHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.conn = newQueuedConn(conn)
	buffers.Writer.Reset(w.conn)
	return w.conn, buffers, nil
}
