package did

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"

	"filippo.io/edwards25519"
	"github.com/mr-tron/base58"
)

// The codes of errors about keys.
const (
	CodeKeyLength     = "key-length"      // not 32 bytes, or not the length that 32 bytes take in text
	CodeKeyEncoding   = "key-encoding"    // not base64url, base58 or the multicodec of Ed25519
	CodeKeyCurve      = "key-curve"       // no point of the curve has this encoding
	CodeKeyCanonical  = "key-canonical"   // a second spelling of a point
	CodeKeyMissing    = "key-missing"     // a document has no current key
	CodeKeySmallOrder = "key-small-order" // one of the eight points under which anybody can sign
)

const newKeyHelp = "generate a new Ed25519 key pair and send its public key"

// CheckKey reports whether 32 bytes are an Ed25519 public key that is safe to use. It refuses bytes
// that encode no point of the curve, second encodings of a point (so that each key has one text),
// and points of small order: crypto/ed25519 accepts the neutral point as a key, and anyone can make
// a signature that verifies under it. The error is an [*Error].
func CheckKey(key []byte) error {
	if len(key) != ed25519.PublicKeySize {
		return &Error{CodeKeyLength, fmt.Sprintf("decoded key must be exactly 32 bytes (got %d)", len(key)),
			"an Ed25519 public key has 32 bytes; a private key has 64 and stays with you"}
	}
	point, err := new(edwards25519.Point).SetBytes(key)
	if err != nil {
		return &Error{CodeKeyCurve, "the bytes are not a point of the Ed25519 curve", newKeyHelp}
	}
	if !isCanonical(key) {
		return &Error{CodeKeyCanonical, "the key is not canonically encoded", newKeyHelp}
	}
	// Eight times a point of small order is the neutral point.
	if new(edwards25519.Point).MultByCofactor(point).Equal(edwards25519.NewIdentityPoint()) == 1 {
		return &Error{CodeKeySmallOrder, "the key is a low-order point: anybody could sign for it", newKeyHelp}
	}
	return nil
}

// isCanonical reports whether an encoding is the one that RFC 8032 §5.1.2 produces: y is less than
// p, 2^255-19, and the sign bit is not set where x is 0, which is where y is 1 or -1.
func isCanonical(key []byte) bool {
	y := bytes.Clone(key)
	slices.Reverse(y) // to the order in which numbers are written
	negative := y[0]&0x80 != 0
	y[0] &= 0x7f
	return bytes.Compare(y, fieldPrime) < 0 && !(negative && (bytes.Equal(y, fieldOne) || bytes.Equal(y, fieldMinusOne)))
}

// p, 1 and p-1, the most significant byte first.
var (
	fieldPrime    = slices.Concat([]byte{0x7f}, bytes.Repeat([]byte{0xff}, 30), []byte{0xed})
	fieldOne      = slices.Concat(make([]byte, 31), []byte{1})
	fieldMinusOne = slices.Concat([]byte{0x7f}, bytes.Repeat([]byte{0xff}, 30), []byte{0xec})
)

// ParsePublicKey reads a key in the form used at registration: base64url of 32 bytes, 43 characters
// or 44 with padding. The error is an [*Error].
func ParsePublicKey(text string) (ed25519.PublicKey, error) {
	if len(text) != 43 && len(text) != 44 {
		if key, err := ParseMultikey(text); err == nil {
			return nil, &Error{CodeKeyLength, "must be 43 or 44 base64url chars (Ed25519 is 32 bytes)",
				"this is a multikey; the same key in base64url is " + base64.RawURLEncoding.EncodeToString(key)}
		}
		return nil, &Error{CodeKeyLength, "must be 43 or 44 base64url chars (Ed25519 is 32 bytes)",
			"encode the 32 bytes of the public key with the URL-safe alphabet of RFC 4648 §5"}
	}
	bare := strings.TrimSuffix(text, "=")
	if len(bare) == 44 && !strings.ContainsFunc(bare, notBase64url) {
		return nil, &Error{CodeKeyLength, "holds 33 bytes (Ed25519 is 32 bytes)",
			"remove the bytes before or after the 32 bytes of the public key"}
	}
	// The decoder skips line ends, so the alphabet is checked first.
	if len(bare) != 43 || strings.ContainsFunc(bare, notBase64url) {
		return nil, &Error{CodeKeyEncoding, "contains invalid base64url characters",
			"base64url uses A-Z, a-z, 0-9, '-' and '_', and at most one '=' at the end"}
	}
	key, err := base64.RawURLEncoding.Strict().DecodeString(bare)
	if err != nil {
		return nil, &Error{CodeKeyEncoding, "is not valid base64url",
			"the last character has bits that belong to no byte; encode the 32 bytes again"}
	}
	return checkPublicKey(key)
}

// FormatPublicKey writes a key as [ParsePublicKey] reads it, without padding.
func FormatPublicKey(key ed25519.PublicKey) string {
	return base64.RawURLEncoding.EncodeToString(key)
}

// A multikey is "z", then base58btc of the multicodec prefix of an Ed25519
// public key and its 32 bytes (A2A draft-1 §5.1). Because the first byte is
// 0xed, it is always 48 characters long (the draft says "approximately 50").
const multikeyLength = 48

var (
	multicodecEd25519 = []byte{0xed, 0x01}
	multicodecX25519  = []byte{0xec, 0x01}
)

// FormatMultikey writes a key as "z6Mk…", the publicKeyMultibase of a DID
// document. The key must have 32 bytes.
func FormatMultikey(key ed25519.PublicKey) string {
	var b [34]byte
	copy(b[:], multicodecEd25519)
	copy(b[2:], key)
	return "z" + base58.Encode(b[:])
}

// ParseMultikey reads what [FormatMultikey] writes. The length is checked
// before anything is decoded. The error is an [*Error].
func ParseMultikey(text string) (ed25519.PublicKey, error) {
	key, err := decodeMultikey(text, multicodecEd25519, "Ed25519", "ed 01")
	if err != nil {
		return nil, err
	}
	return checkPublicKey(key)
}

// A KeyCache remembers multikeys that [ParseMultikey] accepted: to decode and check one takes as
// long as to verify half a signature. The zero value is empty. Its methods may be called from any
// goroutine.
type KeyCache struct {
	mu   sync.Mutex
	keys map[string]ed25519.PublicKey
}

// maxCachedKeys is how many keys a KeyCache has, some 200 bytes each. It is emptied when it is full.
const maxCachedKeys = 4096

// ParseMultikey is [ParseMultikey]. A nil cache remembers nothing.
func (c *KeyCache) ParseMultikey(text string) (ed25519.PublicKey, error) {
	if c == nil {
		return ParseMultikey(text)
	}
	c.mu.Lock()
	key, known := c.keys[text]
	c.mu.Unlock()
	if known {
		return bytes.Clone(key), nil
	}
	key, err := ParseMultikey(text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil || len(c.keys) >= maxCachedKeys {
		c.keys = map[string]ed25519.PublicKey{}
	}
	c.keys[strings.Clone(text)] = bytes.Clone(key)
	return key, nil
}

// FormatX25519 writes an X25519 public key as "z6LS…", the multikey with the
// multicodec ec 01 (A2A draft-1 §14.5). The key must have 32 bytes.
func FormatX25519(key []byte) string {
	var b [34]byte
	copy(b[:], multicodecX25519)
	copy(b[2:], key)
	return "z" + base58.Encode(b[:])
}

// ParseX25519 reads what [FormatX25519] writes. Whether the point is of small
// order shows only in the key agreement. The error is an [*Error].
func ParseX25519(text string) ([]byte, error) {
	b, err := decodeMultikey(text, multicodecX25519, "X25519", "ec 01")
	if err != nil {
		return nil, err
	}
	return b, nil
}

// decodeMultikey returns the 32 bytes of a multikey of one multicodec. The length
// is checked before anything is decoded.
func decodeMultikey(text string, codec []byte, name, prefix string) ([]byte, error) {
	if len(text) != multikeyLength {
		return nil, &Error{CodeKeyLength, fmt.Sprintf("a multikey of an %s public key has %d characters (got %d)", name, multikeyLength, len(text)),
			"it is 'z' and base58btc of the bytes " + prefix + " and the key"}
	}
	if text[0] != 'z' {
		return nil, &Error{CodeKeyEncoding, "a multikey begins with 'z' (base58btc)", "no other multibase is allowed by A2A draft-1 §5.1"}
	}
	b, err := base58.Decode(text[1:])
	if err != nil {
		return nil, &Error{CodeKeyEncoding, "the multikey is not base58btc", "the alphabet has no 0, O, I and l"}
	}
	key, ok := bytes.CutPrefix(b, codec)
	if !ok {
		return nil, &Error{CodeKeyEncoding, "the multikey is not an " + name + " public key", "its bytes must begin with " + prefix}
	}
	if len(key) != ed25519.PublicKeySize {
		return nil, &Error{CodeKeyLength, fmt.Sprintf("the multikey has a key of %d bytes, not 32", len(key)), "encode the 32 bytes of the public key"}
	}
	return key, nil
}

func checkPublicKey(key []byte) (ed25519.PublicKey, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	return key, nil
}

const base64urlAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func notBase64url(r rune) bool { return !strings.ContainsRune(base64urlAlphabet, r) }
