package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// SocketName is the name of the socket in the data directory on which the process that owns the
// directory answers local clients.
const SocketName = "gazetteer.sock"

// listenSocket listens on the socket of the data directory. This process holds the lock of the
// directory, so no process uses an existing socket.
func listenSocket(dir string) (net.Listener, error) {
	path := filepath.Join(dir, SocketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the old socket: %w", err)
	}
	address, release, err := SocketAddress(path)
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false)
	// The data directory usually has mode 0700; the mode of the socket protects it in any case.
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("restrict %s: %w", path, err)
	}
	file, err := os.Lstat(path)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("look at the socket: %w", err)
	}
	return &socketListener{Listener: l, path: path, file: file}, nil
}

// A socketListener removes its socket when it is closed, unless another file has taken the path:
// that of a server whose data directory replaced this one.
type socketListener struct {
	net.Listener
	path string
	file os.FileInfo
}

// Close stops the listener.
func (l *socketListener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.file) {
		os.Remove(l.path)
	}
	return l.Listener.Close()
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
