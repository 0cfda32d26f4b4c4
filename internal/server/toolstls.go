package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"gazetteer/api/route"
	"gazetteer/internal/exit"
	"gazetteer/limit"
)

// soonExpiring is the rest of a certificate's validity from which the log warns. Programs that renew
// certificates do so earlier.
const soonExpiring = 7 * 24 * time.Hour

// A certificateFile is the certificate that a listener shows. It can be read again while the
// listener serves.
type certificateFile struct {
	certificate, key string // paths, PEM
	now              func() time.Time
	log              *slog.Logger
	current          atomic.Pointer[tls.Certificate]
}

// openToolsCertificate reads the certificate of the tool host's own address, if it has one.
func (h *Server) openToolsCertificate() error {
	c := h.Config.Altar
	if h.tools == nil || c.TLSListen == "" {
		return nil
	}
	h.toolsCertificate = &certificateFile{certificate: c.TLSCertificate, key: c.TLSKey, now: h.clock.Now, log: h.log}
	if err := h.toolsCertificate.read(); err != nil {
		return &exit.Error{Code: exit.Usage, Err: err}
	}
	return nil
}

// read reads the files. After an error the listener shows the previous certificate.
func (f *certificateFile) read() error {
	pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
	if err != nil {
		return fmt.Errorf("altar.tls_certificate %s and altar.tls_key %s: %w", f.certificate, f.key, err)
	}
	f.current.Store(&pair)
	end := pair.Leaf.NotAfter
	switch rest := end.Sub(f.now()); {
	case rest <= 0:
		f.log.Warn("the certificate of the tool host has expired, and clients refuse it: renew it and send SIGHUP", "file", f.certificate, "expired", end)
	case rest < soonExpiring:
		f.log.Warn("the certificate of the tool host expires soon: renew it and send SIGHUP", "file", f.certificate, "expires", end)
	default:
		f.log.Info("certificate read", "file", f.certificate, "expires", end)
	}
	return nil
}

func (f *certificateFile) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.current.Load(), nil
}

// serveToolsTLS serves only the tool host over TLS and requests client certificates. The tool host
// recognizes a certificate by its hash, so no certificate authority is needed. The pool counts the
// connections.
func (h *Server) serveToolsTLS(ctx context.Context, l net.Listener, pool *limit.ConnectionPool) error {
	server := route.NewServer(route.AllowUpgrades(h.toolsHTTP), h.log)
	server.TLSConfig = &tls.Config{GetCertificate: h.toolsCertificate.get, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	connections := pool.Listen(l)
	return h.runServer(ctx, server, connections, func() error { return route.ServeTLS(server, connections) })
}
