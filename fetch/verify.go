package fetch

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"slices"
	"sync"
	"time"
)

// Most of the cost of a first fetch is checking signatures, and most of that is the signature on
// the intermediate certificate, which thousands of hosts share. So an intermediate that was
// verified once is trusted for a while.
const (
	intermediateAge  = 24 * time.Hour
	maxIntermediates = 512
	nameConstraints  = "2.5.29.30" // RFC 5280 §4.2.1.10
)

// useChainCache makes a configuration check certificates with a [chainCache] in place of
// crypto/tls's own check.
func useChainCache(config *tls.Config) {
	c := &chainCache{roots: config.RootCAs, known: map[[sha256.Size]byte]intermediate{}}
	config.InsecureSkipVerify = true // its own check; VerifyConnection does it
	config.VerifyConnection = c.verifyChain
}

// chainCache verifies certificates and remembers intermediates.
type chainCache struct {
	roots *x509.CertPool // nil: those of the system

	mu    sync.Mutex // guards the following fields
	known map[[sha256.Size]byte]intermediate
}

// An intermediate is a certificate whose own chain was verified.
type intermediate struct {
	pool  *x509.CertPool // with it alone
	until time.Time
}

// verifyChain does what crypto/tls does by itself, with less work for a leaf whose intermediate is
// cached. When the short way does not lead to a valid chain, the full check decides.
func (c *chainCache) verifyChain(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the server sent no certificate")
	}
	leaf, others := state.PeerCertificates[0], state.PeerCertificates[1:]
	now := time.Now()
	if pool := c.recallIntermediate(leaf, others, now); pool != nil {
		_, err := leaf.Verify(x509.VerifyOptions{DNSName: state.ServerName, Roots: pool, CurrentTime: now})
		if err == nil {
			return nil
		}
	}
	between := x509.NewCertPool()
	for _, other := range others {
		between.AddCert(other)
	}
	found, err := leaf.Verify(x509.VerifyOptions{DNSName: state.ServerName, Roots: c.roots, Intermediates: between, CurrentTime: now})
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	c.storeIntermediate(found, now)
	return nil
}

// recallIntermediate returns a pool with the cached certificate that the leaf names as its issuer,
// or nil when it is not among those sent.
func (c *chainCache) recallIntermediate(leaf *x509.Certificate, sent []*x509.Certificate, now time.Time) *x509.CertPool {
	for _, other := range sent {
		if string(other.RawSubject) != string(leaf.RawIssuer) {
			continue
		}
		key := sha256.Sum256(other.Raw)
		c.mu.Lock()
		known, ok := c.known[key]
		if ok && !now.Before(known.until) {
			delete(c.known, key)
			ok = false
		}
		c.mu.Unlock()
		if ok {
			return known.pool
		}
	}
	return nil
}

// storeIntermediate caches the intermediate of the first chain for which that is safe: for as long
// as every certificate above it is valid, and only if all name constraints are in the intermediate
// itself, where they are checked each time.
func (c *chainCache) storeIntermediate(found [][]*x509.Certificate, now time.Time) {
	for _, chain := range found {
		if len(chain) < 3 || slices.ContainsFunc(chain[2:], hasNameConstraints) {
			continue
		}
		until := now.Add(intermediateAge)
		for _, above := range chain[1:] {
			if above.NotAfter.Before(until) {
				until = above.NotAfter
			}
		}
		pool := x509.NewCertPool()
		pool.AddCert(chain[1])
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.known) >= maxIntermediates {
			for other := range c.known { // any one: it can be verified again
				delete(c.known, other)
				break
			}
		}
		c.known[sha256.Sum256(chain[1].Raw)] = intermediate{pool, until}
		return
	}
}

// hasNameConstraints reports that a certificate limits the names below it.
func hasNameConstraints(c *x509.Certificate) bool {
	return slices.ContainsFunc(c.Extensions, func(e pkix.Extension) bool { return e.Id.String() == nameConstraints })
}
