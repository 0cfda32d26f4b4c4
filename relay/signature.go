package relay

import (
	"crypto/ed25519"

	voi "github.com/oasisprotocol/curve25519-voi/primitives/ed25519"
	"github.com/oasisprotocol/curve25519-voi/primitives/ed25519/extra/cache"
)

// A signatureChecker verifies Ed25519 signatures as crypto/ed25519 does, in some two thirds of the time:
// the tables of the keys that were used last are kept. Its methods may be called from any goroutine.
type signatureChecker struct {
	keys    *cache.Verifier
	options voi.Options
}

// maxSignatureKeys is how many keys are kept, at 1.5 KiB each.
const maxSignatureKeys = 1024

func newSignatureChecker() *signatureChecker {
	return &signatureChecker{
		keys: cache.NewVerifier(cache.NewLRUCache(maxSignatureKeys)),
		// The equation without the cofactor, and S below the order of the base point.
		options: voi.Options{Verify: voi.VerifyOptionsStdLib},
	}
}

// checkSignature reports whether a signature is valid.
func (c *signatureChecker) checkSignature(key ed25519.PublicKey, message, signature []byte) bool {
	return c.keys.VerifyWithOptions(voi.PublicKey(key), message, signature, &c.options)
}
