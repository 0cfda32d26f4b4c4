package a2ahttp_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"gazetteer/protocol/a2a/a2ahttp"
)

// oldServer is an inbox over TLS of one version. It counts the requests that reach it.
func oldServer(t *testing.T, version uint16, reached *atomic.Int64) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		io.WriteString(w, `{"envelopes":[],"cursor":"0"}`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{MinVersion: version, MaxVersion: version}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// TestTLSVersions checks that envelopes are sent, and mail is read, over TLS 1.2 and later only (§7.1),
// with the client that a program sets and with the one that is used otherwise.
func TestTLSVersions(t *testing.T) {
	for version, accepted := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		var reached atomic.Int64
		server := oldServer(t, version, &reached)
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate())
		trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
		t.Cleanup(trusting.CloseIdleConnections)
		for _, client := range []*http.Client{trusting, nil} {
			s := newScene(t)
			s.people.publish(bob, keyOf(2), server.URL+"/inbox/bob")
			s.HTTP = client
			_, sendErr := s.send(a2ahttp.Options{})
			inbox := a2ahttp.Inbox{Address: server.URL + "/inbox/bob", Key: keyOf(2), KeyID: bob + "#key-1", HTTP: client}
			_, pullErr := inbox.Pull(t.Context(), "", 0)
			for _, err := range []error{sendErr, pullErr} {
				var unknown x509.UnknownAuthorityError
				switch {
				case client == nil && accepted: // the version is accepted, the certificate of the test is not
					if !errors.As(err, &unknown) {
						t.Errorf("%s: %v", tls.VersionName(version), err)
					}
				case accepted != (err == nil), errors.As(err, &unknown):
					t.Errorf("%s: %v", tls.VersionName(version), err)
				}
			}
		}
		if n := reached.Load(); accepted != (n == 2) || !accepted && n != 0 {
			t.Errorf("%s: %d requests arrived", tls.VersionName(version), n)
		}
	}
}
