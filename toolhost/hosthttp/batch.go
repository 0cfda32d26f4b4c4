package hosthttp

import (
	"bufio"
	"net"
	"net/http"
	"sync"
)

// maxHeld is how many bytes a batchConn holds back at most.
const maxHeld = 64 << 10

// A batchConn is a connection that can hold back what is written, so that several frames go out in one
// system call.
type batchConn struct {
	net.Conn

	mu      sync.Mutex // guards the following; held while the connection is written
	holding bool
	held    []byte
}

// Write implements net.Conn. While the connection holds back, an error comes with a later call.
func (c *batchConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.holding {
		return c.Conn.Write(p)
	}
	c.held = append(c.held, p...)
	if len(c.held) < maxHeld {
		return len(p), nil
	}
	return len(p), c.writeHeld()
}

// hold begins to hold back what is written.
func (c *batchConn) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holding = true
}

// release writes what was held back, and writes directly from now on.
func (c *batchConn) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holding = false
	return c.writeHeld()
}

// writeHeld writes what was held back. c.mu is held.
func (c *batchConn) writeHeld() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.held)
	if c.held = c.held[:0]; cap(c.held) > maxHeld*2 {
		c.held = nil
	}
	return err
}

// batchHijacker hands the connection of a request out as a batchConn.
type batchHijacker struct {
	http.ResponseWriter
	conn *batchConn // set by Hijack
}

// Hijack implements http.Hijacker.
func (w *batchHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.conn = &batchConn{Conn: conn}
	buffers.Writer.Reset(w.conn)
	return w.conn, buffers, nil
}
