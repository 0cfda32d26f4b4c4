package relay

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/sha512"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oasisprotocol/curve25519-voi/curve"
	"github.com/oasisprotocol/curve25519-voi/curve/scalar"
	voi "github.com/oasisprotocol/curve25519-voi/primitives/ed25519"
	"github.com/oasisprotocol/curve25519-voi/primitives/ed25519/extra/cache"
)

// A signatureChecker verifies Ed25519 signatures as crypto/ed25519 does, in some two thirds of the
// time: the expanded keys that were used last are cached. For keys that are used often it has
// larger tables, with which a signature takes a third of the time. Its methods may be called from
// any goroutine.
type signatureChecker struct {
	keys    *cache.Verifier
	options voi.Options

	mu sync.Mutex // guards the two below
	// recent has the keys of the current generation, previous those of the one before.
	recent, previous map[string]*frequentKey
}

const (
	maxSignatureKeys = 1024 // expanded keys in the cache, 1.5 KiB each
	// maxFrequentKeys is how many keys a generation has, 40 KiB each if they all have a table.
	maxFrequentKeys = 64
	// usesForTable is after how many signatures a key gets a table. It takes as long to make as some
	// ten signatures are quicker with it.
	usesForTable = 16
)

// A frequentKey counts the signatures that were verified under a key. Once they are many it has a table
// of the key's multiples.
type frequentKey struct {
	uses  atomic.Int32
	table atomic.Pointer[curve.EdwardsBasepointTable]
}

func newSignatureChecker() *signatureChecker {
	return &signatureChecker{
		keys: cache.NewVerifier(cache.NewLRUCache(maxSignatureKeys)),
		// The equation without the cofactor, and S below the order of the base point.
		options: voi.Options{Verify: voi.VerifyOptionsStdLib},
		recent:  map[string]*frequentKey{},
	}
}

// checkSignature reports whether a signature is valid.
func (c *signatureChecker) checkSignature(key ed25519.PublicKey, message, signature []byte) bool {
	frequent := c.findFrequent(key)
	if table := frequent.table.Load(); table != nil {
		return checkWithTable(table, key, message, signature)
	}
	valid := c.keys.VerifyWithOptions(voi.PublicKey(key), message, signature, &c.options)
	if valid && frequent.uses.Add(1) == usesForTable {
		frequent.table.Store(newKeyTable(key))
	}
	return valid
}

// findFrequent returns the entry of a key, a new one for a key that was not used lately.
func (c *signatureChecker) findFrequent(key ed25519.PublicKey) *frequentKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.recent[string(key)]; known != nil {
		return known
	}
	if len(c.recent) >= maxFrequentKeys {
		c.recent, c.previous = map[string]*frequentKey{}, c.recent
	}
	known := c.previous[string(key)]
	if known == nil {
		known = new(frequentKey)
	}
	c.recent[string(key)] = known
	return known
}

// newKeyTable returns the multiples of a key, nil if it is no point of the curve.
func newKeyTable(key ed25519.PublicKey) *curve.EdwardsBasepointTable {
	var encoded curve.CompressedEdwardsY
	var point curve.EdwardsPoint
	if _, err := encoded.SetBytes(key); err != nil {
		return nil
	}
	if _, err := point.SetCompressedY(&encoded); err != nil {
		return nil
	}
	return curve.NewEdwardsBasepointTable(&point)
}

// checkWithTable verifies a signature as RFC 8032 §5.1.7 has it, without the cofactor: R is the
// encoding of [S]B - [k]A.
func checkWithTable(table *curve.EdwardsBasepointTable, key ed25519.PublicKey, message, signature []byte) bool {
	if len(signature) != ed25519.SignatureSize || !scalar.ScMinimalVartime(signature[32:]) {
		return false
	}
	digest := sha512.New()
	digest.Write(signature[:32])
	digest.Write(key)
	digest.Write(message)
	var sum [sha512.Size]byte
	var s, k scalar.Scalar
	if _, err := k.SetBytesModOrderWide(digest.Sum(sum[:0])); err != nil {
		return false
	}
	if _, err := s.SetBits(signature[32:]); err != nil {
		return false
	}
	var r, multiple curve.EdwardsPoint
	r.MulBasepoint(curve.ED25519_BASEPOINT_TABLE, &s)
	r.Sub(&r, multiple.MulBasepoint(table, &k))
	var encoded curve.CompressedEdwardsY
	encoded.SetEdwardsPoint(&r)
	return bytes.Equal(encoded[:], signature[:32])
}

// usedNonces remembers the nonces of signed reads while their signatures are valid, so that a captured
// request cannot be repeated. It is no store: after a restart, or when an inbox has used its share, a
// repetition is answered again, which changes nothing.
type usedNonces struct {
	mu sync.Mutex // guards the fields below
	// recent has the nonces since a time, previous those of the period before.
	recent, previous map[[sha256.Size]byte]bool
	counts           map[string]int // recent nonces by inbox
	since            time.Time
}

const (
	keepNonces      = 6 * time.Minute // longer than a signature is valid
	maxNonces       = 100_000         // of a period, some 100 bytes each
	maxNoncesOfName = 5000
)

// addNonce records a nonce and reports whether it is new. now is the steady time, so that a clock that
// was ahead for a moment makes no nonce forgotten.
func (u *usedNonces) addNonce(inbox, nonce string, now time.Time) bool {
	key := sha256.Sum256([]byte(inbox + "\x00" + nonce))
	u.mu.Lock()
	defer u.mu.Unlock()
	if age := now.Sub(u.since); u.recent == nil || age >= keepNonces {
		u.previous = u.recent
		if age >= 2*keepNonces {
			u.previous = nil
		}
		u.recent, u.counts, u.since = map[[sha256.Size]byte]bool{}, map[string]int{}, now
	}
	if u.recent[key] || u.previous[key] {
		return false
	}
	if u.counts[inbox] < maxNoncesOfName && len(u.recent) < maxNonces {
		u.recent[key] = true
		u.counts[inbox]++
	}
	return true
}
