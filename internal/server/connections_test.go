package server

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"gazetteer/internal/config"
	"gazetteer/limit"
)

// TestToolAddressSharesConnections checks that altar.tls_listen has no connections of its own beside
// those of the public address, and that its idle ones make room.
func TestToolAddressSharesConnections(t *testing.T) {
	const most = 4
	c := config.Default()
	c.DataDir = t.TempDir()
	c.API.Connections = most
	c.Altar.TLSListen = "127.0.0.1:0"
	c.Altar.TLSCertificate, c.Altar.TLSKey = writeCertificate(t)
	h, err := Open(t.Context(), c, Environment{}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	if err := h.openToolsCertificate(); err != nil {
		t.Fatal(err)
	}
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listeners, err := Listen(h.Config, public)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := listenSocket(h.Config.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	group, ctx := errgroup.WithContext(t.Context()) // which ends before the cleanups
	for _, p := range h.listParts(socket, listeners, false) {
		if p.enabled {
			group.Go(func() error { return p.run(ctx) })
		}
	}
	t.Cleanup(func() {
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
		listeners.Close()
	})

	ask := func(conn net.Conn, in *bufio.Reader) int {
		t.Helper()
		conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(conn, "GET /altar/v1/sessions HTTP/1.1\r\nHost: registry.test\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		return response.StatusCode
	}
	awaitStats := func(what string, ok func(limit.ConnectionStats) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !ok(h.limits.ConnectionStats()); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %+v", what, h.limits.ConnectionStats())
			}
		}
	}
	var first *bufio.Reader
	for range most {
		conn, err := tls.Dial("tcp", listeners.tools.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		in := bufio.NewReader(conn)
		if first == nil {
			first = in
		}
		if status := ask(conn, in); status < 400 || status > 499 {
			t.Fatalf("without a certificate: %d", status)
		}
	}
	awaitStats("idle connections of the tool host's address", func(s limit.ConnectionStats) bool {
		return s.All == most && s.Open == most && s.Idle == most
	})
	conn, err := net.Dial("tcp", public.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if status := ask(conn, bufio.NewReader(conn)); status < 200 || status > 499 {
		t.Errorf("the public address answered %d", status)
	}
	if _, err := first.ReadByte(); err == nil {
		t.Error("the oldest idle connection sent something")
	}
	awaitStats("after a connection to the public address", func(s limit.ConnectionStats) bool {
		return s.Open == most && s.Dropped == 1 && s.Refused == 0
	})
}

// writeCertificate writes a certificate and its key to files.
func writeCertificate(t *testing.T) (certificate, key string) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	pair := server.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"server.pem": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "server.key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", name, err))
		}
	}
	return filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")
}
