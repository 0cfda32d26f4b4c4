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

// ListenTCP listens on an address, which by names the way to change.
func ListenTCP(addr, by string) (net.Listener, error) {
	// Probes that keep connections alive take four system calls for each; those that speak get them later.
	listen := net.ListenConfig{KeepAlive: -1}
	l, err := listen.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, exit.Networkf("listen on %s: %v; choose another with %s", addr, err, by)
	}
	return l, nil
}
