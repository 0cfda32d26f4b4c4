package hosthttp_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gazetteer/altarkit"
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

// serveTLS serves a host on a TLS listener that asks clients for a certificate.
func serveTLS(t *testing.T, h *testHost) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(hosthttp.New(hosthttp.Options{Host: h.host}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// A client certificate is known by its hash, and an expired or unknown one is none.
func TestClientCertificates(t *testing.T) {
	h := newTestHost(t, nil)
	server := serveTLS(t, h)
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

// TestRuntimeWithACertificate checks that a runtime connects and executes calls with a client
// certificate, and that the certificate of a client is refused there.
func TestRuntimeWithACertificate(t *testing.T) {
	h := newTestHost(t, nil)
	server := serveTLS(t, h)
	newRuntime := func(id, kind string) (*altarkit.Runtime, func()) {
		certificate, leaf := newCertificate(t, time.Now().Add(time.Hour))
		if err := h.host.AddIdentity(context.Background(), toolhost.Identity{ID: id, Kind: kind, Certificate: toolhost.HashCertificate(leaf)}); err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{certificate}}} // the test's own server
		r := &altarkit.Runtime{URL: "wss" + strings.TrimPrefix(server.URL, "https") + "/altar/v1/runtimes", ID: id, HTTP: &http.Client{Transport: transport}}
		r.Handle("echo", func(_ context.Context, c *altarkit.Call) (any, error) { return c.Parameters, nil })
		return r, transport.CloseIdleConnections
	}
	refused, release := newRuntime("a-client", toolhost.ClientIdentity)
	defer release()
	if _, ok := errors.AsType[*altarkit.RefusedError](refused.Run(context.Background())); !ok {
		t.Error("the certificate of a client connects a runtime")
	}
	known, release := newRuntime("with-certificate", toolhost.RuntimeIdentity)
	defer release()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- known.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	h.waitFor("the tools", func() bool { list := h.host.Runtimes(); return len(list) == 1 && len(list[0].Tools) == 1 })
	if a := h.call(h.session("me-token", `{}`), "i", "with-certificate/echo", `{"n":7}`); a.status != 200 || string(a.Payload) != `{"n":7}` {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestReplacedCredential checks that a new token ends the connections that the old one has opened,
// also one that has not announced its runtime yet, and leaves those of other identities and kinds.
func TestReplacedCredential(t *testing.T) {
	h := newTestHost(t, nil)
	p := h.connect("rt", "echo")
	h.connect("rt2", "echo")
	silent := h.dial("rt-token")
	session := h.session("me-token", `{}`)
	for _, add := range []toolhost.Identity{
		{ID: "rt", Kind: toolhost.RuntimeIdentity, Token: toolhost.HashToken("rt-new")},
		{ID: "rt2", Kind: toolhost.RuntimeIdentity, Token: toolhost.HashToken("rt2-token")}, // the same again
		{ID: "me", Kind: toolhost.ClientIdentity, Token: toolhost.HashToken("me-new")},
	} {
		if err := h.host.AddIdentity(context.Background(), add); err != nil {
			t.Fatal(err)
		}
	}
	p.wantClosed(1008)
	silent.sendText(`{"type":"AnnounceRuntime","runtime_id":"rt","language":"go","protocol_version":"1.0.0","capabilities":[]}`)
	silent.wantClosed(1008)
	h.waitFor("the end of the connection", func() bool {
		list := h.host.Runtimes()
		return len(list) == 1 && list[0].ID == "rt2"
	})
	if a := h.call(session, "i", "echo", `{}`); a.status != 401 {
		t.Errorf("the old token of the client: %d %s", a.status, a.body)
	}
}

// TestRemovedIdentity checks that removing an identity ends its open connections.
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
