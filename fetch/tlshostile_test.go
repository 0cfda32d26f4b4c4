package fetch

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/document"
)

// A tlsHost is a host on loopback that speaks TLS as a test says.
type tlsHost struct {
	listen net.Listener
	work   sync.WaitGroup
}

// openTLSHost begins a host; serve has each connection to itself.
func openTLSHost(t *testing.T, serve func(net.Conn)) *tlsHost {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &tlsHost{listen: l}
	h.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			h.work.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(20 * time.Second))
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		h.work.Wait()
	})
	return h
}

// newTLSClient returns a client whose every host is where address says.
func newTLSClient(t *testing.T, roots *x509.CertPool, whole bool, patience time.Duration, address *string) *Client {
	t.Helper()
	client, err := New(Options{Roots: roots, VerifyFullChains: whole, TLSTimeout: patience, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, *address)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// fetched is the result of a request for a document, and the number of bytes that it read.
func fetched(t *testing.T, client *Client) (a Answer, allocated uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a, err := client.Document(t.Context(), document.AI, "https://a.example.test/.well-known/ai")
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	return a, after.TotalAlloc - before.TotalAlloc
}

// chainOf is what a server shows: the leaf's key, and these certificates.
func chainOf(leaf *signer, others ...*x509.Certificate) tls.Certificate {
	c := tls.Certificate{Certificate: [][]byte{leaf.cert.Raw}, PrivateKey: leaf.key}
	for _, o := range others {
		c.Certificate = append(c.Certificate, o.Raw)
	}
	return c
}

// speak answers every request with an empty object.
func speak(config *tls.Config) func(net.Conn) {
	return func(c net.Conn) {
		s := tls.Server(c, config)
		in := make([]byte, 4096)
		for {
			if _, err := s.Read(in); err != nil {
				return
			}
			io.WriteString(s, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		}
	}
}

func TestHostileTLS(t *testing.T) {
	root := issue(t, "root", nil, authority(nil))
	mid := issue(t, "mid", root, authority(nil))
	leaf := issue(t, "a.example.test", mid, nil)
	roots := x509.NewCertPool()
	roots.AddCert(root.cert)

	// Certificates that have nothing to do with the leaf.
	var junk []*x509.Certificate
	for i := range 120 {
		junk = append(junk, issue(t, fmt.Sprintf("other%d.test", i), nil, nil).cert)
	}
	// Authorities of one name that sign each other, each a step of very many ways
	// that all lead nowhere.
	var maze []*x509.Certificate
	var walls []*signer
	for range 12 {
		walls = append(walls, issue(t, "maze", nil, authority(nil)))
	}
	for _, by := range walls {
		for _, below := range walls {
			maze = append(maze, crossSigned(t, below, by))
		}
	}
	lost := issue(t, "a.example.test", walls[0], nil)
	fat := issue(t, "fat", mid, func(c *x509.Certificate) {
		for i := range 2000 {
			c.DNSNames = append(c.DNSNames, fmt.Sprintf("%d.%s.test", i, strings.Repeat("a", 50)))
		}
	})
	huge := chainOf(leaf, mid.cert)
	for len(huge.Certificate)*len(fat.cert.Raw) < 1<<20 {
		huge.Certificate = append(huge.Certificate, fat.cert.Raw)
	}
	manyNames := issue(t, "a.example.test", mid, func(c *x509.Certificate) {
		for i := range 3000 {
			c.DNSNames = append(c.DNSNames, fmt.Sprintf("n%d.test", i))
		}
	})
	config := func(c tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{c}} }
	old := config(chainOf(leaf, mid.cert))
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
	notSoOld := config(chainOf(leaf, mid.cert))
	notSoOld.MinVersion, notSoOld.MaxVersion = tls.VersionTLS11, tls.VersionTLS11

	shown := func(name string, by *signer, shape func(*x509.Certificate)) func(net.Conn) {
		c := chainOf(issue(t, name, by, shape), mid.cert)
		return speak(config(c))
	}
	names := func(names ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.DNSNames = names }
	}
	stranger := issue(t, "mid", issue(t, "root", nil, authority(nil)), authority(nil))

	var address string
	clients := map[bool]*Client{
		false: newTLSClient(t, roots, false, 0, &address), // the first case makes it know the authority
		true:  newTLSClient(t, roots, true, 0, &address),
	}
	for _, c := range []struct {
		name    string
		serve   func(net.Conn)
		outcome Outcome
		detail  string
	}{
		{"a good chain", speak(config(chainOf(leaf, mid.cert))), OK, ""},
		{"a wildcard of one label", shown("*.example.test", mid, nil), OK, ""},
		{"expired", shown("a.example.test", mid, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), TLSFailed, "the certificate expired on"},
		{"not yet valid", shown("a.example.test", mid, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }), TLSFailed, "valid only from"},
		{"of another name", shown("b.example.test", mid, nil), TLSFailed, "the certificate is for"},
		{"with the name as its common name alone", shown("a.example.test", mid, names()), TLSFailed, "the certificate"},
		{"of an address", shown("a.example.test", mid, func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = nil, []net.IP{net.IPv4(127, 0, 0, 1)} }), TLSFailed, "the certificate is for"},
		{"a wildcard of the whole domain", shown("*.test", mid, nil), TLSFailed, "the certificate is for"},
		{"two wildcards", shown("*.*.test", mid, nil), TLSFailed, "the certificate is for"},
		{"a wildcard within a label", shown("a*.example.test", mid, nil), TLSFailed, "the certificate is for"},
		{"signed by itself", speak(config(chainOf(issue(t, "a.example.test", nil, nil)))), TLSFailed, "signed by itself"},
		{"of an authority that nobody knows", speak(config(chainOf(issue(t, "a.example.test", stranger, nil), stranger.cert))), TLSFailed, "no trusted authority"},
		{"an alert", func(c net.Conn) {
			c.Read(make([]byte, 1000))
			c.Write([]byte{21, 3, 3, 0, 2, 2, 40}) // fatal, handshake_failure
			io.Copy(io.Discard, c)
		}, TLSFailed, "handshake failure"},
		{"a reset", func(c net.Conn) {
			c.Read(make([]byte, 100))
			c.(*net.TCPConn).SetLinger(0)
		}, TLSFailed, "handshake"},
		{"silence", func(c net.Conn) { io.Copy(io.Discard, c) }, Timeout, "no connection in time (tls)"},
		{"120 certificates too many", speak(config(chainOf(leaf, append(junk, mid.cert)...))), OK, ""},
		{"144 authorities that sign each other", speak(config(chainOf(lost, maze...))), TLSFailed, "certificate"},
		{"a chain of 1 MB", speak(config(huge)), TLSFailed, "handshake"},
		{"3,000 names", speak(config(chainOf(manyNames, mid.cert))), OK, ""},
		{"TLS 1.0 alone", speak(old), TLSFailed, "version"},
		{"TLS 1.1 alone", speak(notSoOld), TLSFailed, "version"},
		{"plain HTTP", func(c net.Conn) {
			c.Read(make([]byte, 1000))
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}, TLSFailed, "handshake"},
		{"the end in the middle of the handshake", func(c net.Conn) { c.Read(make([]byte, 100)) }, TLSFailed, "handshake"},
		{"renegotiation in place of an answer", renegotiating(chainOf(leaf, mid.cert), 1), TLSFailed, "renegotiation"},
		{"renegotiation without end", renegotiating(chainOf(leaf, mid.cert), 10_000), TLSFailed, "renegotiation"},
	} {
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, whole chains %v", c.name, whole), func(t *testing.T) {
				address = openTLSHost(t, c.serve).listen.Addr().String()
				client := clients[whole]
				if c.outcome == Timeout {
					client = newTLSClient(t, roots, whole, 50*time.Millisecond, &address)
				}
				a, allocated := fetched(t, client)
				if a.Outcome != c.outcome || !strings.Contains(a.Detail, c.detail) {
					t.Errorf("outcome %q (%s), want %q (%s)", a.Outcome, a.Detail, c.outcome, c.detail)
				}
				if strings.Contains(a.Detail, "127.0.0.1") {
					t.Errorf("it tells of our own address: %s", a.Detail)
				}
				if allocated > 16<<20 { // both sides of the connection
					t.Errorf("%d bytes were allocated", allocated)
				}
				if a.TLS != nil && len(a.TLS.Names) > maxNames {
					t.Errorf("%d names are kept", len(a.TLS.Names))
				}
			})
		}
	}
}

// crossSigned is the certificate of one authority, signed by another.
func crossSigned(t *testing.T, below, by *signer) *x509.Certificate {
	t.Helper()
	template := *below.cert
	template.Subject = pkix.Name{CommonName: "maze"}
	template.AuthorityKeyId = nil
	der, err := x509.CreateCertificate(nil, &template, by.cert, &below.key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// renegotiating shakes hands in TLS 1.2, reads the request, and asks so many
// times for another handshake. crypto/tls does not do that, so the records are
// sealed here, with the keys of the connection (RFC 5246 §6.3, RFC 5288 §3).
func renegotiating(certificate tls.Certificate, times int) func(net.Conn) {
	return func(c net.Conn) {
		var secrets bytes.Buffer
		seen := &tap{Conn: c}
		s := tls.Server(seen, &tls.Config{
			Certificates: []tls.Certificate{certificate}, KeyLogWriter: &secrets, SessionTicketsDisabled: true,
			MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		})
		if _, err := s.Read(make([]byte, 4096)); err != nil {
			return
		}
		line := strings.Fields(secrets.String()) // CLIENT_RANDOM <random> <master secret>
		if len(line) < 3 || len(seen.written) < 43 {
			return
		}
		clientRandom, err1 := hex.DecodeString(line[1])
		master, err2 := hex.DecodeString(line[2])
		if err1 != nil || err2 != nil {
			return
		}
		serverRandom := seen.written[11:43] // after the headers of record and message, and the version
		keys := expand(master, append([]byte("key expansion"), append(bytes.Clone(serverRandom), clientRandom...)...), 40)
		block, err := aes.NewCipher(keys[16:32])
		if err != nil {
			return
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return
		}
		helloRequest := []byte{0, 0, 0, 0}
		for i := range times {
			sequence := binary.BigEndian.AppendUint64(nil, uint64(i+1)) // the first was that of Finished
			nonce := append(bytes.Clone(keys[36:40]), sequence...)
			about := append(bytes.Clone(sequence), 22, 3, 3, 0, byte(len(helloRequest)))
			sealed := aead.Seal(bytes.Clone(sequence), nonce, helloRequest, about)
			if _, err := c.Write(append([]byte{22, 3, 3, 0, byte(len(sealed))}, sealed...)); err != nil {
				return
			}
		}
		io.Copy(io.Discard, c)
	}
}

// A tap keeps the first bytes that are written.
type tap struct {
	net.Conn
	written []byte
}

func (c *tap) Write(p []byte) (int, error) {
	if len(c.written) < 100 {
		c.written = append(c.written, p...)
	}
	return c.Conn.Write(p)
}

// expand is P_SHA256 of RFC 5246 §5.
func expand(secret, seed []byte, size int) []byte {
	sum := func(parts ...[]byte) []byte {
		h := hmac.New(sha256.New, secret)
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	var out []byte
	for a := sum(seed); len(out) < size; a = sum(a) {
		out = append(out, sum(a, seed)...)
	}
	return out[:size]
}
