package a2a_test

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"filippo.io/edwards25519"
	"golang.org/x/crypto/chacha20poly1305"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
)

// box seals any plaintext by the draft's own words, without the library.
func box(t testing.TB, plaintext []byte, b a2a.Binding, recipient ed25519.PublicKey, secret, nonce []byte) string {
	t.Helper()
	point, err := new(edwards25519.Point).SetBytes(recipient)
	if err != nil {
		t.Fatal(err)
	}
	theirs, _ := ecdh.X25519().NewPublicKey(point.BytesMontgomery())
	own, _ := ecdh.X25519().NewPrivateKey(secret)
	z, err := own.ECDH(theirs)
	if err != nil {
		t.Fatal(err)
	}
	key, _ := hkdf.Key(sha256.New, z, nil, "air-msg/e2e/v1"+string(own.PublicKey().Bytes()), 32)
	aead, _ := chacha20poly1305.New(key)
	ct := aead.Seal(nil, nonce, plaintext, []byte(strings.Join([]string{b.ID, b.From, b.To, b.ThreadID}, "\x00")))
	return `{"type":"encrypted","alg":"x25519-hkdf-sha256-chacha20poly1305","v":1,"epk":"` + did.FormatX25519(own.PublicKey().Bytes()) +
		`","nonce":"` + base64.RawURLEncoding.EncodeToString(nonce) + `","ct":"` + base64.RawURLEncoding.EncodeToString(ct) + `"}`
}

// notOnCurve returns 32 bytes that are not a point.
func notOnCurve(t testing.TB) []byte {
	t.Helper()
	key := make([]byte, 32)
	for key[0] = 2; key[0] < 100; key[0]++ {
		if e, ok := errors.AsType[*did.Error](did.CheckKey(key)); ok && e.Code == did.CodeKeyCurve {
			return key
		}
	}
	t.Fatal("all are points")
	return nil
}

// open verifies and opens an envelope of alice to bob with that body.
func open(t testing.TB, body string) (a2a.Opened, error) {
	t.Helper()
	envelope, err := a2a.SignText(text("body", body), a2a.Wire, keyOf(alice))
	if err != nil {
		return a2a.Opened{}, err
	}
	v, err := verifier(a2a.Wire).Verify(context.Background(), envelope.Text)
	if err != nil {
		t.Fatal(err)
	}
	return v.Open(keyOf(bob))
}

// withTrailingBits changes the bits of the last character that encode nothing.
func withTrailingBits(t *testing.T, text string) string {
	t.Helper()
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := len(text) - 1
	changed := text[:last] + string(alphabet[strings.IndexByte(alphabet, text[last])+1])
	before, _ := base64.RawURLEncoding.DecodeString(text)
	after, err := base64.RawURLEncoding.DecodeString(changed)
	if err != nil || !bytes.Equal(before, after) {
		t.Fatalf("%q and %q are not two encodings of the same bytes: %v", text, changed, err)
	}
	return changed
}

func TestOpen(t *testing.T) {
	b := a2a.Binding{ID: "018fde3a-1234-4abc-8def-aabbccddeeff", From: alice, To: bob, ThreadID: "018fde3a-5678-4abc-9012-aabbccddeeff"}
	public := keyOf(bob).Public().(ed25519.PublicKey)
	secret, nonce := bytes.Repeat([]byte{7}, 32), make([]byte, 12)
	good := box(t, []byte(`{"text":"secret words","type":"text"}`), b, public, secret, nonce)
	opened, err := open(t, good)
	if err != nil || string(opened.Plaintext) != `{"text":"secret words","type":"text"}` || !opened.Canonical {
		t.Fatalf("%s, %v", opened.Plaintext, err)
	}
	if opened, err := open(t, box(t, []byte(`{"type":"text", "text":"x"}`), b, public, secret, nonce)); err != nil || opened.Canonical {
		t.Errorf("not canonical: %v, %v", opened.Canonical, err)
	}
	change := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("no %s in %s", from, good)
		}
		return strings.Replace(good, from, to, 1)
	}
	at := strings.Index(good, `"ct":"`) + 6
	ct := good[at : len(good)-2]
	otherBinding := b
	otherBinding.ThreadID = b.ID
	// The eight points of small order on the Montgomery curve and its twist, of which
	// these three are the best known.
	zero, one := make([]byte, 32), append([]byte{1}, make([]byte, 31)...)
	order8 := []byte{0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00}
	ephemeral, _ := ecdh.X25519().NewPrivateKey(secret)
	epk := did.FormatX25519(ephemeral.PublicKey().Bytes())
	for name, body := range map[string]string{
		"another nonce":                    change(`"nonce":"AAAA`, `"nonce":"BAAA`),
		"another envelope":                 box(t, []byte(`{"type":"text","text":"secret words"}`), otherBinding, public, secret, nonce),
		"another recipient":                box(t, []byte(`{"type":"text","text":"secret words"}`), b, keyOf(carol).Public().(ed25519.PublicKey), secret, nonce),
		"a changed tag":                    change(ct, ct[:len(ct)-4]+"AAAA"),
		"a nonce of 11 bytes":              change("AAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAA"),
		"a nonce of 13 bytes":              change("AAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAA"),
		"a nonce with padding":             change("AAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAA=="),
		"a nonce of the standard alphabet": change("AAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAA+"),
		"a ciphertext with a line end":     change(ct, ct[:8]+`\n`+ct[8:]),
		"a ciphertext of 15 bytes":         change(ct, base64.RawURLEncoding.EncodeToString(make([]byte, 15))),
		"an empty ciphertext":              change(ct, ""),
		"another character":                change(ct, ct+"B"),
		"trailing bits":                    change(ct, withTrailingBits(t, ct)),
		"epk 0":                            change(epk, did.FormatX25519(zero)),
		"epk 1":                            change(epk, did.FormatX25519(one)),
		"epk of order 8":                   change(epk, did.FormatX25519(order8)),
		"epk for signatures":               change(epk, did.FormatMultikey(public)),
		"epk in upper case":                change(epk, strings.ToUpper(epk)),
		"epk too long":                     change(epk, "z"+strings.Repeat("2", 5000)),
		"no epk":                           change(epk, ""),
		"another suite":                    change("chacha20poly1305", "aes256gcm"),
		"version 2":                        change(`"v":1`, `"v":2`),
		"content with a float":             box(t, []byte(`{"type":"text","n":0.5,"text":"secret words"}`), b, public, secret, nonce),
		"content with a duplicate":         box(t, []byte(`{"type":"text","type":"text","text":"secret words"}`), b, public, secret, nonce),
		"content of other bytes":           box(t, []byte("secret words"), b, public, secret, nonce),
		"content not UTF-8":                box(t, []byte("{\"secret words\":\"\xff\"}"), b, public, secret, nonce),
		"content an array":                 box(t, []byte(`["secret words"]`), b, public, secret, nonce),
		"not sealed":                       `{"type":"text","text":"secret words"}`,
	} {
		opened, err := open(t, body)
		if statusOf(err) != 400 || opened.Plaintext != nil || opened.Body != nil {
			t.Errorf("%s: %+v, %v", name, opened, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error quotes the content: %v", name, err)
		}
	}
}

func TestSealRefuses(t *testing.T) {
	b := a2a.Binding{ID: "1", From: "a", To: "b", ThreadID: "t"}
	public := keyOf(bob).Public().(ed25519.PublicKey)
	neutral := append([]byte{1}, make([]byte, 31)...)
	for name, seal := range map[string]func() (a2a.Sealed, error){
		"a float": func() (a2a.Sealed, error) { return a2a.Seal([]byte(`{"a":1.5}`), b, public, a2a.NewSealSecret()) },
		"2^64": func() (a2a.Sealed, error) {
			return a2a.Seal([]byte(`{"a":18446744073709551616}`), b, public, a2a.NewSealSecret())
		},
		"a duplicate": func() (a2a.Sealed, error) { return a2a.Seal([]byte(`{"a":1,"a":2}`), b, public, a2a.NewSealSecret()) },
		"an array":    func() (a2a.Sealed, error) { return a2a.Seal([]byte(`[]`), b, public, a2a.NewSealSecret()) },
		"no JSON":     func() (a2a.Sealed, error) { return a2a.Seal([]byte(`x`), b, public, a2a.NewSealSecret()) },
		"no id": func() (a2a.Sealed, error) {
			return a2a.Seal([]byte(`{}`), a2a.Binding{From: "a", To: "b", ThreadID: "t"}, public, a2a.NewSealSecret())
		},
		"NUL in to": func() (a2a.Sealed, error) {
			return a2a.Seal([]byte(`{}`), a2a.Binding{ID: "1", From: "a", To: "b\x00", ThreadID: "t"}, public, a2a.NewSealSecret())
		},
		"a low order": func() (a2a.Sealed, error) { return a2a.Seal([]byte(`{}`), b, neutral, a2a.NewSealSecret()) },
		"no key":      func() (a2a.Sealed, error) { return a2a.Seal([]byte(`{}`), b, nil, a2a.NewSealSecret()) },
		"not on curve": func() (a2a.Sealed, error) {
			return a2a.Seal([]byte(`{}`), b, notOnCurve(t), a2a.NewSealSecret())
		},
	} {
		if sealed, err := seal(); err == nil || sealed != (a2a.Sealed{}) {
			t.Errorf("%s: %+v, %v", name, sealed, err)
		}
	}
	if err := (&a2a.Message{}).Seal(public); err == nil {
		t.Error("a message without a body is sealed")
	}
}

// TestFreshSealSecrets checks that each sealed body has an ephemeral key and a nonce of its own (§14.3 steps 1
// and 6).
func TestFreshSealSecrets(t *testing.T) {
	seen := map[string]bool{}
	for range 20 {
		m := a2a.Message{From: alice, To: bob, Body: offer(5)}
		if err := m.Seal(keyOf(bob).Public().(ed25519.PublicKey)); err != nil {
			t.Fatal(err)
		}
		sealed := m.Body.(a2a.Sealed)
		for name, text := range map[string]string{"epk": sealed.EphemeralKey, "nonce": sealed.Nonce} {
			if seen[text] {
				t.Errorf("the %s %s appears twice", name, text)
			}
			seen[text] = true
		}
	}
}

// TestBoundMembers checks that nobody seals for, or opens in, an envelope of which one of the four members
// that a body is bound to is empty or has a NUL, which would make two envelopes alike (§14.3 step 5).
func TestBoundMembers(t *testing.T) {
	public := keyOf(bob).Public().(ed25519.PublicKey)
	good := a2a.Binding{ID: "018fde3a-1234-4abc-8def-aabbccddeeff", From: alice, To: bob, ThreadID: "018fde3a-5678-4abc-9012-aabbccddeeff"}
	if _, err := a2a.Seal([]byte(`{}`), good, public, a2a.NewSealSecret()); err != nil {
		t.Fatal(err)
	}
	for name, member := range map[string]func(b *a2a.Binding) *string{
		"id": func(b *a2a.Binding) *string { return &b.ID }, "from": func(b *a2a.Binding) *string { return &b.From },
		"to": func(b *a2a.Binding) *string { return &b.To }, "thread_id": func(b *a2a.Binding) *string { return &b.ThreadID },
	} {
		for _, change := range []func(string) string{
			func(string) string { return "" }, func(text string) string { return text + "\x00" },
			func(text string) string { return "\x00" + text }, func(text string) string { return text[:9] + "\x00" + text[9:] },
		} {
			b := good
			*member(&b) = change(*member(&good))
			if _, err := a2a.Seal([]byte(`{}`), b, public, a2a.NewSealSecret()); statusOf(err) != 400 {
				t.Errorf("sealed with the %s %q: %v", name, *member(&b), err)
			}
		}
	}
	// An id with a NUL is read in the wire profile alone.
	b := good
	b.ID = "x\x00y"
	body := box(t, []byte(`{"text":"secret words","type":"text"}`), b, public, bytes.Repeat([]byte{7}, 32), make([]byte, 12))
	e, err := a2a.SignText(text("id", `"x\u0000y"`, "body", body), a2a.Wire, keyOf(alice))
	if err != nil {
		t.Fatal(err)
	}
	v, err := verifier(a2a.Wire).Verify(t.Context(), e.Text)
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := v.Open(keyOf(bob)); statusOf(err) != 400 || opened.Plaintext != nil {
		t.Errorf("opened: %+v, %v", opened, err)
	}
}

// The conversion to X25519 keeps key pairs: the converted public key belongs to the converted
// private key (§14.2).
func TestAgreementKeyPairs(t *testing.T) {
	for n := range byte(50) {
		key := seeded(n)
		point, err := new(edwards25519.Point).SetBytes(key.Public().(ed25519.PublicKey))
		if err != nil {
			t.Fatal(err)
		}
		h := sha512.Sum512(key.Seed())
		private, err := ecdh.X25519().NewPrivateKey(h[:32])
		if err != nil || !bytes.Equal(private.PublicKey().Bytes(), point.BytesMontgomery()) {
			t.Fatalf("seed %d: %v", n, err)
		}
		b := a2a.Binding{ID: "1", From: alice, To: bob, ThreadID: "t"}
		first, err1 := a2a.Seal([]byte(`{"a":1}`), b, key.Public().(ed25519.PublicKey), a2a.NewSealSecret())
		second, err2 := a2a.Seal([]byte(`{"a":1}`), b, key.Public().(ed25519.PublicKey), a2a.NewSealSecret())
		if errors.Join(err1, err2) != nil || first == second {
			t.Fatal("two boxes of one body are alike")
		}
	}
}
