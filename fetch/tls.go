package fetch

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"gazetteer/protocol"
)

// A TLS describes the TLS side of a connection.
type TLS struct {
	Version string    `json:"version"` // "TLS 1.3"
	Expires time.Time `json:"expires"` // the certificate of the host
	Issuer  string    `json:"issuer"`  // who signed it; untrusted text
	// Keys lists the kinds of the keys of the host and of its issuers, as far as the server sent
	// them: "ECDSA P-256, RSA 2048". One kind that all have is named once.
	Keys  string   `json:"keys"`
	Names []string `json:"names"`      // at most 10 it is good for; untrusted text
	Chain int      `json:"chain_sent"` // certificates the server sent
}

// String describes it in one line for a person, without the time of expiry; the text is untrusted.
func (t *TLS) String() string {
	return fmt.Sprintf("%s, certificate of %s (%s)", t.Version, cmp.Or(t.Issuer, "nobody that it names"), t.Keys)
}

const maxNames = 10

// describeTLS returns nil without a connection.
func describeTLS(s *tls.ConnectionState) *TLS {
	if s == nil || len(s.PeerCertificates) == 0 {
		return nil
	}
	leaf := s.PeerCertificates[0]
	t := &TLS{Version: tls.VersionName(s.Version), Expires: leaf.NotAfter, Issuer: issuerName(leaf), Chain: len(s.PeerCertificates)}
	for _, c := range s.PeerCertificates[:min(2, len(s.PeerCertificates))] {
		if kind := keyKind(c.PublicKey); kind != t.Keys { // named once if all are of one kind
			t.Keys = strings.TrimPrefix(t.Keys+", "+kind, ", ")
		}
	}
	for _, name := range leaf.DNSNames[:min(len(leaf.DNSNames), maxNames)] {
		t.Names = append(t.Names, protocol.ClipBytes(name, 253))
	}
	return t
}

// keyKind names the kind of a public key, which decides what checking its
// signatures costs.
func keyKind(key any) string {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		return "ECDSA " + k.Curve.Params().Name
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d", k.N.BitLen())
	case ed25519.PublicKey:
		return "Ed25519"
	}
	return "unknown"
}

// issuerName returns how the issuer of a certificate is called.
func issuerName(c *x509.Certificate) string {
	name := c.Issuer.CommonName
	if len(c.Issuer.Organization) > 0 && !strings.Contains(name, c.Issuer.Organization[0]) {
		name = strings.TrimSpace(c.Issuer.Organization[0] + " " + name)
	}
	return protocol.ClipBytes(name, 100)
}

// tlsProblem describes the failure of a handshake, and reports whether the certificate caused it.
func tlsProblem(err error) (detail string, certificate bool) {
	var (
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		authority x509.UnknownAuthorityError
		other     *tls.CertificateVerificationError
	)
	const date = "2 January 2006"
	switch {
	case errors.As(err, &name):
		return fmt.Sprintf("the certificate is for %s, not for %s", certificateNames(name.Certificate), protocol.Quote(name.Host)), true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		if time.Now().Before(invalid.Cert.NotBefore) {
			return "the certificate is valid only from " + invalid.Cert.NotBefore.UTC().Format(date), true
		}
		return "the certificate expired on " + invalid.Cert.NotAfter.UTC().Format(date), true
	case errors.As(err, &authority):
		if c := authority.Cert; c != nil && string(c.RawIssuer) == string(c.RawSubject) {
			return "the certificate is signed by itself, not by a public authority", true
		}
		return "no trusted authority has signed the certificate, or the server does not send the intermediate certificates", true
	case errors.As(err, &other):
		return "the certificate cannot be verified: " + protocol.ClipBytes(other.Err.Error(), 150), true
	}
	return "the TLS handshake failed: " + protocol.ClipBytes(withoutAddresses(err), 150), false
}

// certificateNames lists the first names that a certificate is valid for.
func certificateNames(c *x509.Certificate) string {
	if c == nil || len(c.DNSNames) == 0 {
		return "no host name"
	}
	const most = 3
	var names []string
	for _, name := range c.DNSNames[:min(len(c.DNSNames), most)] {
		names = append(names, protocol.Quote(name))
	}
	list := strings.Join(names, ", ")
	if more := len(c.DNSNames) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
