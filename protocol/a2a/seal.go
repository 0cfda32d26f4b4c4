package a2a

import (
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"filippo.io/edwards25519"
	"golang.org/x/crypto/chacha20poly1305"

	"gazetteer/protocol/did"
	"gazetteer/protocol/jcs"
)

// SealAlgorithm names the cipher suite of sealed bodies (§14.1).
const SealAlgorithm = "x25519-hkdf-sha256-chacha20poly1305"

const (
	sealVersion = 1
	sealInfo    = "air-msg/e2e/v1"
)

// A Sealed is a body that only its recipient can read (§14.5).
type Sealed struct {
	Algorithm    string // [SealAlgorithm]
	Version      uint64 // 1
	EphemeralKey string // "z6LS…", an X25519 public key
	Nonce        string // 12 bytes in base64url
	Ciphertext   string // with the tag, in base64url
}

// Type returns "encrypted".
func (Sealed) Type() string { return TypeEncrypted }

func (s Sealed) appendJSON(out []byte) []byte {
	out = append(appendText(append(out, '{'), "alg", s.Algorithm), ',')
	out = append(appendText(out, "ct", s.Ciphertext), ',')
	out = append(appendText(out, "epk", s.EphemeralKey), ',')
	out = append(appendText(out, "nonce", s.Nonce), ',')
	return fmt.Appendf(out, `"type":"encrypted","v":%d}`, s.Version)
}

// JSON returns the sealed body in canonical form.
func (s Sealed) JSON() []byte { return s.appendJSON(nil) }

// checkSealed checks a sealed body without opening it. Both profiles refuse any other cipher suite
// (§14.1); the schema also prescribes the alphabets.
func (c *checker) checkSealed(body jcs.Value) {
	if body.Member("alg").Text() != SealAlgorithm {
		c.addViolation("sealed-body", "body.alg", "is not "+SealAlgorithm)
	}
	if v, ok := body.Member("v").Uint64(); !ok || v != sealVersion {
		c.addViolation("sealed-body", "body.v", "is not 1")
	}
	if c.profile == Wire {
		return
	}
	const digits, letters = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	epk := body.Member("epk").Text()
	if len(epk) < 2 || epk[0] != 'z' || strings.Trim(epk[1:], digits+letters) != "" || strings.ContainsAny(epk, "0OIl") {
		c.addViolation("sealed-body", "body.epk", "is not z and base58btc")
	}
	for _, name := range [...]string{"nonce", "ct"} {
		if text := body.Member(name).Text(); text == "" || strings.Trim(text, digits+letters+"-_") != "" {
			c.addViolation("sealed-body", "body."+name, "is not base64url without padding")
		}
	}
}

// A Binding holds the members of the envelope to which a sealed body is bound: the body opens in no
// other envelope.
type Binding struct{ ID, From, To, ThreadID string }

// additionalData joins the members with NUL (§14.3 step 5).
func (b Binding) additionalData() ([]byte, error) {
	for _, text := range [...]string{b.ID, b.From, b.To, b.ThreadID} {
		if text == "" || strings.IndexByte(text, 0) >= 0 {
			return nil, errors.New("id, from, to and thread_id must not be empty or contain a NUL (A2A §14.3)")
		}
	}
	return []byte(b.ID + "\x00" + b.From + "\x00" + b.To + "\x00" + b.ThreadID), nil
}

// A SealSecret holds the random values of one sealing. Only known-answer tests set them: a secret
// that is used twice reveals the content of both bodies.
type SealSecret struct {
	Ephemeral [32]byte // an X25519 private key
	Nonce     [chacha20poly1305.NonceSize]byte
}

// NewSealSecret returns a secret from crypto/rand.
func NewSealSecret() SealSecret {
	var s SealSecret
	rand.Read(s.Ephemeral[:]) // never fails
	rand.Read(s.Nonce[:])
	return s
}

// Seal encrypts a body, a JSON object, for the holder of an Ed25519 key (§14.3). The body must
// follow the rules of canonical JSON: no floats, no duplicate names. The error is a [*Refusal].
func Seal(body []byte, b Binding, recipient ed25519.PublicKey, secret SealSecret) (Sealed, error) {
	var d jcs.Document
	if err := parseJSON(&d, body, jcs.ExactIntegers); err != nil {
		return Sealed{}, err
	}
	if d.Root().Kind() != jcs.Object {
		return Sealed{}, newRefusal("type", "the body to seal is no JSON object")
	}
	refuse := func(err error) (Sealed, error) {
		return Sealed{}, newRefusal("sealed-body", "seal a body: "+err.Error()).withCause(err)
	}
	aad, err := b.additionalData()
	if err != nil {
		return refuse(err)
	}
	theirs, err := agreementKey(recipient)
	if err != nil {
		return refuse(err)
	}
	ephemeral, err := ecdh.X25519().NewPrivateKey(secret.Ephemeral[:])
	if err != nil {
		return refuse(err)
	}
	aead, err := deriveBoxKey(ephemeral, theirs, ephemeral.PublicKey().Bytes())
	if err != nil {
		return refuse(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return Sealed{
		Algorithm: SealAlgorithm, Version: sealVersion, EphemeralKey: did.FormatX25519(ephemeral.PublicKey().Bytes()),
		Nonce: encode(secret.Nonce[:]), Ciphertext: encode(aead.Seal(nil, secret.Nonce[:], d.Root().Append(nil), aad)),
	}, nil
}

// Seal replaces the message's body by a sealed one for the holder of an Ed25519 key. It fills in an
// empty ID and ThreadID, to which the sealed body is bound. The error is a [*Refusal].
func (m *Message) Seal(recipient ed25519.PublicKey) error {
	if m.Body == nil {
		return newRefusal("required", "body is missing")
	}
	if err := CheckReply(m.Body.Type(), m.InReplyTo); err != nil {
		return err
	}
	m.fillMissing()
	sealed, err := Seal(m.Body.appendJSON(nil), Binding{m.ID, m.From, m.To, m.ThreadID}, recipient, NewSealSecret())
	if err == nil {
		m.Body = sealed
	}
	return err
}

// agreementKey maps an Ed25519 public key to the X25519 key of the same holder
// (§14.2).
func agreementKey(key ed25519.PublicKey) (*ecdh.PublicKey, error) {
	if err := did.CheckKey(key); err != nil {
		return nil, err
	}
	point, err := new(edwards25519.Point).SetBytes(key)
	if err != nil {
		return nil, err
	}
	return ecdh.X25519().NewPublicKey(point.BytesMontgomery())
}

// ownAgreementKey derives the X25519 private key of an Ed25519 key (§14.2). The ECDH function
// clamps it.
func ownAgreementKey(key ed25519.PrivateKey) (*ecdh.PrivateKey, error) {
	h := sha512.Sum512(key.Seed())
	return ecdh.X25519().NewPrivateKey(h[:32])
}

// aead is the cipher that chacha20poly1305 returns.
type aead interface {
	Seal(dst, nonce, plaintext, additionalData []byte) []byte
	Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error)
}

// deriveBoxKey derives the key of a sealed body (§14.3 step 3). ECDH refuses a shared secret of
// zeros, which a point of small order gives with any key.
func deriveBoxKey(own *ecdh.PrivateKey, theirs *ecdh.PublicKey, ephemeral []byte) (aead, error) {
	shared, err := own.ECDH(theirs)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, shared, nil, sealInfo+string(ephemeral), chacha20poly1305.KeySize)
	if err != nil {
		return nil, err
	}
	return chacha20poly1305.New(key)
}

// Opened is the content of a sealed body. Plaintext is the bytes that the sender sealed.
type Opened struct {
	Plaintext []byte
	Body      Body
	// Canonical says whether the plaintext is in the canonical form that §14.4 step 6 expects. The
	// content is valid either way.
	Canonical bool
}

// ErrNotOpened is the cause of the refusal of a sealed body that none of the keys opens.
var ErrNotOpened = errors.New("the sealed body does not open")

// Open decrypts the body of a verified envelope with one of the recipient's keys: the current one,
// then the retired ones, to which a sender with an old document seals. It fails closed (§14.4):
// with an error it returns no plaintext, and no error quotes any. The error is a [*Refusal]; if it
// matches [ErrNotOpened], the body was sealed to another key or is damaged.
func (v *Verified) Open(keys ...ed25519.PrivateKey) (Opened, error) {
	s, ok := v.Body.(Sealed)
	if !ok {
		return Opened{}, newRefusal(RuleOpen, "the body is not sealed")
	}
	plaintext, err := s.openWith(Binding{v.ID, v.From, v.To, v.ThreadID}, keys)
	if err != nil {
		return Opened{}, newRefusal(RuleOpen, "open a body: "+err.Error()).withCause(err)
	}
	var d jcs.Document
	if err := parseJSON(&d, plaintext, jcs.ExactIntegers); err != nil {
		return Opened{}, newRefusal(RuleOpen, "the content of the sealed body breaks a rule of canonical JSON").withCause(err)
	}
	if d.Root().Kind() != jcs.Object {
		return Opened{}, newRefusal(RuleOpen, "the content of the sealed body is no JSON object")
	}
	return Opened{plaintext, parseBody(d.Root()), slices.Equal(d.Root().Append(nil), plaintext)}, nil
}

func (s Sealed) openWith(b Binding, keys []ed25519.PrivateKey) ([]byte, error) {
	if s.Algorithm != SealAlgorithm || s.Version != sealVersion {
		return nil, errors.New("the cipher suite is not " + SealAlgorithm + " version 1")
	}
	ephemeral, err := did.ParseX25519(s.EphemeralKey)
	if err != nil {
		return nil, fmt.Errorf("epk: %w", err)
	}
	nonce, err := decodeBase64(s.Nonce)
	if err != nil || len(nonce) != chacha20poly1305.NonceSize {
		return nil, errors.New("nonce is not 12 bytes in base64url without padding")
	}
	ciphertext, err := decodeBase64(s.Ciphertext)
	if err != nil || len(ciphertext) < chacha20poly1305.Overhead {
		return nil, errors.New("ct is not at least 16 bytes in base64url without padding")
	}
	aad, err := b.additionalData()
	if err != nil {
		return nil, err
	}
	theirs, err := ecdh.X25519().NewPublicKey(ephemeral)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		own, err := ownAgreementKey(key)
		if err != nil {
			return nil, err
		}
		box, err := deriveBoxKey(own, theirs, ephemeral)
		if err != nil {
			return nil, fmt.Errorf("epk: %w", err)
		}
		if plaintext, err := box.Open(nil, nonce, ciphertext, aad); err == nil {
			return plaintext, nil
		}
	}
	return nil, ErrNotOpened
}

// decodeBase64 reads base64url without padding, line ends and trailing bits.
func decodeBase64(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") { // which the decoder passes over
		return nil, errors.New("line end")
	}
	return base64.RawURLEncoding.Strict().DecodeString(text)
}
