package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gazetteer/internal/wait"
	"gazetteer/store"
)

// SocketName is the name of the socket in the data directory on which the process that owns the
// directory answers local clients.
const SocketName = "gazetteer.sock"

// socketInterval is the time between two checks that the socket is in the data directory.
const socketInterval = time.Second

// A socketListener listens on the socket of the data directory. It removes the socket when it is
// closed, unless another file has taken the path: that of a server whose data directory replaced this
// one.
type socketListener struct {
	path string

	mu       sync.Mutex // guards the following fields
	listener *net.UnixListener
	file     os.FileInfo
	closed   bool
}

// listenSocket listens on the socket of the data directory. This process holds the lock of the
// directory, so no process uses an existing socket.
func listenSocket(dir string) (*socketListener, error) {
	path := filepath.Join(dir, SocketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	s := &socketListener{path: path}
	return s, s.listen()
}

// listen creates the socket. The caller holds s.mu, unless nobody else knows s.
func (s *socketListener) listen() error {
	address, release, err := SocketAddress(s.path)
	if err != nil {
		return err
	}
	defer release()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.path, err)
	}
	l.SetUnlinkOnClose(false)
	// The data directory usually has mode 0700; the mode of the socket protects it in any case.
	if err := os.Chmod(s.path, 0o600); err != nil {
		l.Close()
		return fmt.Errorf("restrict %s: %w", s.path, err)
	}
	file, err := os.Lstat(s.path)
	if err != nil {
		l.Close()
		return fmt.Errorf("look at the socket: %w", err)
	}
	s.listener, s.file = l, file
	return nil
}

// restore creates the socket again if it was removed. It reports whether it did.
func (s *socketListener) restore() (restored bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Lstat(s.path); s.closed || !errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	before := s.listener
	if err := s.listen(); err != nil {
		return false, err
	}
	before.Close()
	return true, nil
}

// Accept returns the next connection.
func (s *socketListener) Accept() (net.Conn, error) {
	for {
		l := s.current()
		conn, err := l.Accept()
		if err == nil || s.current() == l {
			return conn, err
		}
	}
}

// Addr returns the address of the socket.
func (s *socketListener) Addr() net.Addr { return s.current().Addr() }

func (s *socketListener) current() *net.UnixListener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listener
}

// Close stops the listener.
func (s *socketListener) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.file) {
		os.Remove(s.path)
	}
	return s.listener.Close()
}

// keepSocket creates a removed socket of the data directory again, until ctx ends. Without it no command
// of the operator would find the server. It does nothing in a directory that is no longer that of this
// process.
func (h *Server) keepSocket(ctx context.Context, socket *socketListener) error {
	failing := false
	for wait.For(ctx, socketInterval) == nil {
		if _, err := os.Lstat(socket.path); err == nil || errors.Is(h.Store.CheckWrites(), store.ErrReplaced) {
			continue
		}
		restored, err := socket.restore()
		switch {
		case err != nil && !failing:
			h.log.Error("the socket of the data directory was removed and cannot be created again: commands do not find this server", "socket", socket.path, "error", err)
		case restored:
			h.log.Warn("the socket of the data directory was removed, and is there again: commands find this server by it", "socket", socket.path)
		}
		failing = err != nil
	}
	return nil
}

// SocketAddress returns an address that fits into the roughly 100 bytes that systems allow for the
// path of a socket. A longer path is replaced by one through the open directory.
func SocketAddress(path string) (string, func(), error) {
	if len(path) < 100 {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, fmt.Errorf("open the data directory: %w", err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil
}
