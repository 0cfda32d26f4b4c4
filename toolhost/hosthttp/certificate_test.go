package hosthttp_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gazetteer/toolhost"
	"gazetteer/toolhost/hosthttp"
)

// newCertificate makes a self-signed client certificate.
func newCertificate(t *testing.T, until time.Time) (tls.Certificate, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: until, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, leaf
}

// A client certificate is known by its hash, and an expired or unknown one is none.
func TestClientCertificates(t *testing.T) {
	h := newTestHost(t, nil)
	server := httptest.NewUnstartedServer(hosthttp.New(hosthttp.Options{Host: h.host}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()
	later := time.Now().Add(time.Hour)
	known, leaf := newCertificate(t, later)
	unknown, _ := newCertificate(t, later)
	old, expired := newCertificate(t, time.Now().Add(-time.Minute))
	for id, c := range map[string]*x509.Certificate{"with-certificate": leaf, "expired": expired} {
		if err := h.host.AddIdentity(context.Background(), toolhost.Identity{ID: id, Kind: toolhost.ClientIdentity, Certificate: toolhost.HashCertificate(c)}); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		certificates []tls.Certificate
		status       int
	}{"known": {[]tls.Certificate{known}, 201}, "unknown": {[]tls.Certificate{unknown}, 401}, "expired": {[]tls.Certificate{old}, 401}, "none": {nil, 401}} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: test.certificates}} // the test's own server
		client := &http.Client{Transport: transport}
		response, err := client.Post(server.URL+"/altar/v1/sessions", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		transport.CloseIdleConnections()
		if response.StatusCode != test.status {
			t.Errorf("%s: %s, want %d", name, response.Status, test.status)
		}
	}
}

// Removing an identity ends what it has open.
func TestRemovedIdentity(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	session := h.session("me-token", `{}`)
	for _, id := range []string{"rt", "me"} {
		if err := h.host.RemoveIdentity(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
	p.wantClosed(1008)
	if a := h.call(session, "i", "echo", `{}`); a.status != 401 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if f := h.host.Figures(); f.Sessions != 0 {
		t.Errorf("%+v", f)
	}
	if err := h.host.RemoveIdentity(context.Background(), "rt"); err == nil {
		t.Error("it was removed twice")
	}
}
