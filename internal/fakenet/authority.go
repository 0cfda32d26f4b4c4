package fakenet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// Certificate says what a host shows for itself in the TLS handshake.
type Certificate int

// The certificates a host may show. All but GoodCertificate must be refused by
// a client that verifies.
const (
	GoodCertificate Certificate = iota
	ExpiredCertificate
	WrongNameCertificate  // for another host under .test
	SelfSignedCertificate // not from the authority
	StrangerCertificate   // from an authority that nobody has heard of
)

// certificateLife is long, so that a test which lets months of simulated time
// pass does not trip over it.
const certificateLife = 5 * 365 * 24 * time.Hour

// An authority is a root, an intermediate and the leaves they signed. Its keys
// never leave the process.
type authority struct {
	root *x509.Certificate
	mid  *x509.Certificate
	key  *ecdsa.PrivateKey // of mid

	mu     sync.Mutex // guards the following fields
	leaves map[leafName]*tls.Certificate
}

type leafName struct {
	host string
	show Certificate
}

// newAuthority makes a root and an intermediate that may sign for .test only.
func newAuthority(now time.Time) (*authority, error) {
	rootKey, err := newKey()
	if err != nil {
		return nil, err
	}
	midKey, err := newKey()
	if err != nil {
		return nil, err
	}
	rootTemplate := caTemplate("Gazetteer fakenet root", 1, now)
	root, err := signCertificate(rootTemplate, rootTemplate, rootKey, rootKey)
	if err != nil {
		return nil, fmt.Errorf("sign root: %w", err)
	}
	mid, err := signCertificate(caTemplate("Gazetteer fakenet intermediate", 0, now), root, midKey, rootKey)
	if err != nil {
		return nil, fmt.Errorf("sign intermediate: %w", err)
	}
	return &authority{root: root, mid: mid, key: midKey, leaves: map[leafName]*tls.Certificate{}}, nil
}

func caTemplate(name string, pathLen int, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(certificateLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLen:            pathLen,
		MaxPathLenZero:        pathLen == 0,
		// A client that trusts this root by mistake trusts it for .test names and
		// nothing else: a permitted DNS name does not limit addresses, so
		// those are excluded.
		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         []string{"test"},
		ExcludedIPRanges: []*net.IPNet{
			{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
			{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)},
		},
	}
}

// leafFor returns what host shows, made on first use.
func (a *authority) leafFor(host string, show Certificate, now time.Time) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := leafName{host, show}
	if c, ok := a.leaves[name]; ok {
		return c, nil
	}
	c, err := a.issueLeaf(host, show, now)
	if err != nil {
		return nil, fmt.Errorf("certificate for %s: %w", host, err)
	}
	a.leaves[name] = c
	return c, nil
}

func (a *authority) issueLeaf(host string, show Certificate, now time.Time) (*tls.Certificate, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: host},
		DNSNames:    []string{host},
		NotBefore:   now.Add(-time.Hour),
		NotAfter:    now.Add(certificateLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	parent, parentKey := a.mid, a.key
	switch show {
	case ExpiredCertificate:
		template.NotBefore, template.NotAfter = now.Add(-72*time.Hour), now.Add(-24*time.Hour)
	case WrongNameCertificate:
		template.DNSNames = []string{"somebody-else.test"}
	case SelfSignedCertificate:
		parent, parentKey = template, key
	case StrangerCertificate:
		stranger, err := newAuthority(now)
		if err != nil {
			return nil, err
		}
		parent, parentKey = stranger.mid, stranger.key
	}
	cert, err := signCertificate(template, parent, key, parentKey)
	if err != nil {
		return nil, err
	}
	chain := [][]byte{cert.Raw}
	if show != SelfSignedCertificate {
		chain = append(chain, parent.Raw)
	}
	return &tls.Certificate{Certificate: chain, PrivateKey: key, Leaf: cert}, nil
}

// signCertificate returns template signed by parent, with a random serial number.
func signCertificate(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}
