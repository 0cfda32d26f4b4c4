package server

import (
	"context"
	"net"
	"os"

	"gazetteer/internal/exit"
)

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ListenTCP listens on an address. by names the setting that changes the address. The error
// mentions it.
func ListenTCP(addr, by string) (net.Listener, error) {
	// Keep-alive probes need four system calls per connection. Connections that send a request get
	// them later.
	listen := net.ListenConfig{KeepAlive: -1}
	l, err := listen.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, exit.Networkf("listen on %s: %w; choose another with %s", addr, err, by)
	}
	return l, nil
}
