package server

import (
	"context"
	"net"
	"os"

	"gazetteer/internal/config"
	"gazetteer/internal/exit"
)

// Listeners are the listeners of a server with a public address. Those that are not configured are nil.
type Listeners struct {
	public, metrics, operator, tools net.Listener
}

// Listen opens the configured listeners beside the public one. It reads the certificate of the tool host
// and writes nothing, so that a start that fails here leaves no file.
func Listen(c config.Config, public net.Listener) (*Listeners, error) {
	if err := checkToolCertificate(c); err != nil {
		return nil, c.Locate(err)
	}
	l := &Listeners{public: public}
	for _, row := range []struct {
		key, address string
		to           *net.Listener
	}{{"metrics_listen", c.MetricsListen, &l.metrics}, {"admin_listen", c.AdminListen, &l.operator}, {"altar.tls_listen", c.Altar.TLSListen, &l.tools}} {
		if row.address == "" {
			continue
		}
		var err error
		if *row.to, err = ListenTCP(row.address, row.key+" in the configuration"); err != nil {
			l.Close()
			return nil, err
		}
	}
	return l, nil
}

// Close closes the listeners. Those that have served are already closed.
func (l *Listeners) Close() {
	for _, opened := range []net.Listener{l.public, l.metrics, l.operator, l.tools} {
		if opened != nil {
			opened.Close()
		}
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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
