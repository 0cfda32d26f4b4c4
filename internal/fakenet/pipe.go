package fakenet

import (
	"context"
	"net"
	"sync"
)

// A pipeListener accepts connections that are pipes in memory.
type pipeListener struct {
	accept chan net.Conn
	done   chan struct{}
	once   sync.Once // closes done
}

func newPipeListener() *pipeListener {
	return &pipeListener{accept: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.accept <- server:
		return client, nil
	case <-l.done:
		return nil, refusedError("pipe", "pipe")
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: ctx.Err()}
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (*pipeListener) Addr() net.Addr { return place("pipe") }
