package server

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestSocketOfReplacedDirectory checks that a server whose data directory was moved away leaves the
// socket of the server that now has the path.
func TestSocketOfReplacedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	listen := func() net.Listener {
		t.Helper()
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := listenSocket(dir)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := listen()
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	second := listen()
	first.Close()
	if _, err := net.Dial("unix", filepath.Join(dir, SocketName)); err != nil {
		t.Errorf("the socket of the second server: %v", err)
	}
	second.Close()
	if _, err := os.Lstat(filepath.Join(dir, SocketName)); !os.IsNotExist(err) {
		t.Errorf("the socket after the stop: %v", err)
	}
}
