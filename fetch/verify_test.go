package fetch

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A signer is a certificate with its key.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue signs a certificate; parent nil is the certificate itself.
func issue(t *testing.T, name string, parent *signer, shape func(*x509.Certificate)) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if shape != nil {
		shape(c)
	}
	by := parent
	if by == nil {
		by = &signer{c, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by.cert, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{cert, key}
}

// authority shapes a certificate that signs others.
func authority(more func(*x509.Certificate)) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.DNSNames, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil, nil
		if more != nil {
			more(c)
		}
	}
}

func certs(signers ...*signer) []*x509.Certificate {
	var out []*x509.Certificate
	for _, s := range signers {
		out = append(out, s.cert)
	}
	return out
}

// A remembered intermediate lets nothing through that the whole check would not:
// each chain is judged by a memory that knows its intermediate, if it ever may,
// and by one that knows nothing.
func TestCachedIntermediatesDoNotWeakenVerification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := issue(t, "root", nil, authority(nil))
		stranger := issue(t, "root", nil, authority(nil)) // same name, another key
		mid := issue(t, "mid", root, authority(nil))
		impostor := issue(t, "mid", stranger, authority(nil))
		narrow := issue(t, "narrow", root, authority(func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"good.test"} }))
		fenced := issue(t, "fenced", root, authority(func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"good.test"} }))
		below := issue(t, "below", fenced, authority(nil))
		brief := issue(t, "brief", root, authority(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(2 * time.Hour) }))
		mail := issue(t, "mail", root, authority(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection} }))
		leaf := func(name string, by *signer, shape func(*x509.Certificate)) *signer { return issue(t, name, by, shape) }
		expired := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
		early := func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }
		client := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }

		pool := x509.NewCertPool()
		pool.AddCert(root.cert)
		warm := &chainCache{roots: pool, known: map[[32]byte]intermediate{}}
		state := func(chain ...*signer) tls.ConnectionState {
			return tls.ConnectionState{ServerName: "a.good.test", PeerCertificates: certs(chain...)}
		}
		for _, chain := range [][]*signer{
			{leaf("a.good.test", mid, nil), mid}, {leaf("a.good.test", narrow, nil), narrow},
			{leaf("a.good.test", below, nil), below, fenced}, {leaf("a.good.test", brief, nil), brief},
		} {
			if err := warm.verifyChain(state(chain...)); err != nil {
				t.Fatalf("a good chain is refused: %v", err)
			}
		}
		if warm.verifyChain(state(leaf("a.good.test", mail, nil), mail)) == nil {
			t.Fatal("a chain over an authority for mail is accepted")
		}
		remembered := func(by *signer) bool {
			return warm.recallIntermediate(leaf("a.good.test", by, nil).cert, certs(by), time.Now()) != nil
		}
		if !remembered(mid) || !remembered(narrow) || !remembered(brief) {
			t.Error("an intermediate that was verified is not remembered")
		}
		if remembered(below) {
			t.Error("an intermediate below one that constrains names is remembered: the constraint would be forgotten")
		}
		if remembered(mail) || remembered(impostor) {
			t.Error("an intermediate that was never verified is remembered")
		}
		bad := leaf("b.bad.test", below, nil)
		for _, c := range []struct {
			name  string
			state tls.ConnectionState
			good  bool
		}{
			{"another good leaf", state(leaf("a.good.test", mid, nil), mid), true},
			{"the root sent along", state(leaf("a.good.test", mid, nil), mid, root), true},
			{"a leaf of the root itself", state(leaf("a.good.test", root, nil)), true},
			{"an expired leaf", state(leaf("a.good.test", mid, expired), mid), false},
			{"a leaf of the future", state(leaf("a.good.test", mid, early), mid), false},
			{"a leaf for clients", state(leaf("a.good.test", mid, client), mid), false},
			{"a leaf of another name", state(leaf("b.good.test", mid, nil), mid), false},
			{"a name outside the intermediate's constraint", tls.ConnectionState{ServerName: "b.bad.test", PeerCertificates: certs(leaf("b.bad.test", narrow, nil), narrow)}, false},
			{"a name outside the constraint above", tls.ConnectionState{ServerName: "b.bad.test", PeerCertificates: certs(bad, below, fenced)}, false},
			{"an intermediate of the same name and another key", state(leaf("a.good.test", impostor, nil), impostor), false},
			{"a leaf of the impostor, with the true intermediate sent along", state(leaf("a.good.test", impostor, nil), mid), false},
			{"both of that name sent", state(leaf("a.good.test", impostor, nil), mid, impostor), false},
			{"an authority for mail only", state(leaf("a.good.test", mail, nil), mail), false},
			{"no intermediate sent, though one is remembered", state(leaf("a.good.test", mid, nil)), false},
			{"a leaf that signed a leaf", state(leaf("a.good.test", leaf("x.good.test", mid, nil), nil), leaf("x.good.test", mid, nil), mid), false},
			{"itself", state(leaf("a.good.test", nil, nil)), false},
			{"nothing", tls.ConnectionState{ServerName: "a.good.test"}, false},
		} {
			cold := &chainCache{roots: pool, known: map[[32]byte]intermediate{}}
			if err := cold.verifyChain(c.state); (err == nil) != c.good {
				t.Errorf("%s: the whole check says %v", c.name, err)
			}
			if err := warm.verifyChain(c.state); (err == nil) != c.good {
				t.Errorf("%s: with memory %v", c.name, err)
			}
		}

		of := leaf("a.good.test", brief, nil)
		time.Sleep(3 * time.Hour)
		if remembered(brief) || warm.verifyChain(state(of, brief)) == nil {
			t.Error("an expired intermediate is still taken as verified")
		}
		time.Sleep(22 * time.Hour)
		if remembered(mid) {
			t.Error("an intermediate is taken as verified for more than a day")
		}
		if err := warm.verifyChain(state(leaf("a.good.test", mid, nil), mid)); err != nil || !remembered(mid) {
			t.Errorf("verified again: %v", err)
		}
	})
}

func TestMemoryOfIntermediatesIsBounded(t *testing.T) {
	root := issue(t, "root", nil, authority(nil))
	c := &chainCache{roots: x509.NewCertPool(), known: map[[32]byte]intermediate{}}
	mid := issue(t, "mid", root, authority(nil))
	for i := range maxIntermediates + 10 {
		other := *mid.cert
		other.Raw = append([]byte{byte(i), byte(i >> 8)}, mid.cert.Raw...)
		c.storeIntermediate([][]*x509.Certificate{{mid.cert, &other, root.cert}}, time.Now())
	}
	if len(c.known) != maxIntermediates {
		t.Errorf("%d are remembered, want %d", len(c.known), maxIntermediates)
	}
}

// TestHandshake checks the offer of the client in a handshake: one classical key share, HTTP/1.1,
// no version below 1.2; and that the verdicts are the same with the switch.
func TestHandshake(t *testing.T) {
	root := issue(t, "root", nil, authority(nil))
	mid := issue(t, "mid", root, authority(nil))
	good, late := issue(t, "a.test", mid, nil), issue(t, "a.test", mid, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	pool := x509.NewCertPool()
	pool.AddCert(root.cert)
	for _, whole := range []bool{false, true} {
		transport, err := NewTransport(Options{Roots: pool, VerifyFullChains: whole})
		if err != nil {
			t.Fatal(err)
		}
		for _, leaf := range []*signer{good, good, late} {
			client, server := net.Pipe()
			hellos := make(chan tls.ClientHelloInfo, 1)
			config := &tls.Config{
				NextProtos:         []string{"h2", "http/1.1"},
				Certificates:       []tls.Certificate{{Certificate: [][]byte{leaf.cert.Raw, mid.cert.Raw}, PrivateKey: leaf.key}},
				GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) { hellos <- *h; return nil, nil },
			}
			ended := make(chan error, 1)
			go func() { ended <- tls.Server(server, config).Handshake() }()
			conn, err := transport.handshakeTLS(t.Context(), client, "a.test")
			if (err == nil) != (leaf == good) {
				t.Fatalf("whole chains %v, good %v: %v", whole, leaf == good, err)
			}
			if h := <-hellos; len(h.SupportedCurves) != 3 || h.SupportedCurves[0] != tls.X25519 || h.SupportedProtos[0] != "http/1.1" || len(h.SupportedProtos) != 1 {
				t.Errorf("offered the curves %v and the protocols %v", h.SupportedCurves, h.SupportedProtos)
			}
			if err == nil {
				if s := conn.ConnectionState(); s.CurveID != tls.X25519 || s.NegotiatedProtocol != "http/1.1" || s.Version != tls.VersionTLS13 {
					t.Errorf("agreed on curve %v, %q, %s", s.CurveID, s.NegotiatedProtocol, tls.VersionName(s.Version))
				}
			} else if detail, certificate := tlsProblem(err); !certificate || detail[:27] != "the certificate expired on " {
				t.Errorf("refused as %q", detail)
			}
			client.Close()
			<-ended
		}
	}
}
