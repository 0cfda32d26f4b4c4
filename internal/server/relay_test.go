package server

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"gazetteer/internal/config"
)

// privateHosts are hosts that no stranger may have requested, in several notations.
var privateHosts = []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "10.0.0.1", "169.254.169.254"}

// An untrusted wake-up address does not reach this machine in any notation.
func TestWakeUpsRefusePrivateAddresses(t *testing.T) {
	var reached atomic.Int64
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	operator := httptest.NewServer(inside.Config.Handler)
	t.Cleanup(operator.Close)
	ask := func(h *Server, address string) {
		t.Helper()
		transport, err := h.newWakeTransport(Environment{})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodPost, address, http.NoBody)
		if response, err := transport.RoundTrip(request.WithContext(t.Context())); err == nil {
			response.Body.Close()
			t.Errorf("%s answers %s", address, response.Status)
		}
	}
	_, port, _ := net.SplitHostPort(inside.Listener.Addr().String())
	for _, host := range privateHosts {
		ask(&Server{Config: config.Default()}, "https://"+host+":"+port+"/")
	}
	// Where loopback is allowed, the operator's listener still gets no wake-up.
	local := &Server{Config: config.Default()}
	local.Config.Registry.AllowLoopback = true
	local.Config.AdminListen = strings.TrimPrefix(operator.URL, "http://")
	ask(local, operator.URL+"/admin/compact")
	local.Config.AdminListen, local.Config.MetricsListen = "", local.Config.AdminListen
	ask(local, operator.URL+"/metrics")
	if n := reached.Load(); n != 0 {
		t.Errorf("this machine was reached %d times", n)
	}
}

// TestWakeUpTLSVersions checks that wake-ups are sent over TLS 1.2 and later only (A2A §7.1).
func TestWakeUpTLSVersions(t *testing.T) {
	for version, accepted := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		var reached atomic.Int64
		recipient := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
		recipient.Config.ErrorLog = log.New(io.Discard, "", 0)
		recipient.TLS = &tls.Config{MinVersion: version, MaxVersion: version}
		recipient.StartTLS()
		t.Cleanup(recipient.Close)
		roots := x509.NewCertPool()
		roots.AddCert(recipient.Certificate())
		h := &Server{Config: config.Default()}
		h.Config.Registry.AllowLoopback = true
		transport, err := h.newWakeTransport(Environment{Roots: roots})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodPost, recipient.URL, http.NoBody)
		response, err := transport.RoundTrip(request.WithContext(t.Context()))
		if err == nil {
			response.Body.Close()
		}
		if (err == nil) != accepted || accepted != (reached.Load() == 1) {
			t.Errorf("%s: %v, %d requests arrived", tls.VersionName(version), err, reached.Load())
		}
	}
}
