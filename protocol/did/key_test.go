package did_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"

	"filippo.io/edwards25519"
	"github.com/mr-tron/base58"

	"gazetteer/protocol/did"
)

func TestPublishedKeyVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/air-vector-keys.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		ID        string `json:"id"`
		Seed      string `json:"signing_key_seed_hex"`
		Multibase string `json:"signing_key_public_multibase"`
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) != 20 {
		t.Fatalf("%d vectors, want 20", len(vectors))
	}
	for _, v := range vectors {
		seed, err := hex.DecodeString(v.Seed)
		if err != nil {
			t.Fatal(err)
		}
		key := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
		if got := did.FormatMultikey(key); got != v.Multibase {
			t.Errorf("%s: FormatMultikey = %s, want %s", v.ID, got, v.Multibase)
		}
		parsed, err := did.ParseMultikey(v.Multibase)
		if err != nil || !parsed.Equal(key) {
			t.Errorf("%s: ParseMultikey = %x, %v", v.ID, parsed, err)
		}
		parsed, err = did.ParsePublicKey(did.FormatPublicKey(key))
		if err != nil || !parsed.Equal(key) {
			t.Errorf("%s: ParsePublicKey = %x, %v", v.ID, parsed, err)
		}
	}
}

// The eight points of small order, canonically encoded, and every other
// encoding of them that decoders are known to accept.
func smallOrder(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"order 1, the neutral point":       "0100000000000000000000000000000000000000000000000000000000000000",
		"order 2":                          "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"order 4":                          "0000000000000000000000000000000000000000000000000000000000000000",
		"order 4, negative x":              "0000000000000000000000000000000000000000000000000000000000000080",
		"order 8":                          "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"order 8, negative x":              "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
		"order 8, other y":                 "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"order 8, other y, negative x":     "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
		"neutral, sign bit of x = 0":       "0100000000000000000000000000000000000000000000000000000000000080",
		"order 2, sign bit of x = 0":       "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"neutral, y not reduced":           "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"neutral, y not reduced, sign":     "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"order 4, y not reduced":           "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"order 4, y not reduced, negative": "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	}
}

func TestLowOrderKeysAreRefused(t *testing.T) {
	small, second := 0, 0
	for name, text := range smallOrder(t) {
		key, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		// Each really is a point of small order, so the case proves something.
		p, err := new(edwards25519.Point).SetBytes(key)
		if err != nil || new(edwards25519.Point).MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) != 1 {
			t.Fatalf("%s: not a point of small order (%v)", name, err)
		}
		want := did.CodeKeySmallOrder
		if !bytes.Equal(p.Bytes(), key) {
			want, second = did.CodeKeyCanonical, second+1
		} else {
			small++
		}
		if got := code(did.CheckKey(key)); got != want {
			t.Errorf("%s: CheckKey: %q, want %q", name, got, want)
		}
		if _, err := did.ParsePublicKey(base64.RawURLEncoding.EncodeToString(key)); code(err) != want {
			t.Errorf("%s: ParsePublicKey: %v", name, err)
		}
		if _, err := did.ParseMultikey(did.FormatMultikey(key)); code(err) != want {
			t.Errorf("%s: ParseMultikey: %v", name, err)
		}
	}
	if small != 8 || second != 6 {
		t.Errorf("%d canonical and %d second spellings, want 8 and 6", small, second)
	}
}

// TestUnreducedYIsRefused checks the 19 values of y between p and 2^255: those that decode are
// second encodings of the points with y - p.
func TestUnreducedYIsRefused(t *testing.T) {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	decoded := 0
	for i := range int64(19) {
		for _, sign := range []byte{0, 0x80} {
			key := littleEndian(new(big.Int).Add(p, big.NewInt(i)))
			key[31] |= sign
			want := did.CodeKeyCurve
			if _, err := new(edwards25519.Point).SetBytes(key); err == nil {
				want, decoded = did.CodeKeyCanonical, decoded+1
			}
			if got := code(did.CheckKey(key)); got != want {
				t.Errorf("y = p+%d sign %x: %q, want %q", i, sign, got, want)
			}
		}
	}
	if decoded == 0 {
		t.Error("no unreduced y decodes: the case proves nothing")
	}
}

// TestNeutralPointIsRefused checks that the neutral point is refused. Under it, crypto/ed25519
// accepts one signature for every message; the test does not depend on that.
func TestNeutralPointIsRefused(t *testing.T) {
	neutral := make(ed25519.PublicKey, 32)
	neutral[0] = 1
	signature := make([]byte, 64)
	signature[0] = 1 // R is the neutral point, S is 0
	if !ed25519.Verify(neutral, []byte("anything at all"), signature) {
		t.Log("crypto/ed25519 refuses the neutral point by itself now")
	}
	if did.CheckKey(neutral) == nil {
		t.Error("the neutral point passed")
	}
}

func TestRefusedKeyTexts(t *testing.T) {
	good := did.FormatPublicKey(ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey))
	if _, err := did.ParsePublicKey(good + "="); err != nil {
		t.Errorf("44 characters with padding: %v", err)
	}
	// The last of 43 characters holds four bits of the key and two of nothing.
	trailing := good[:42] + string(next(good[42]))
	for name, test := range map[string]struct{ text, code string }{
		"empty":              {"", did.CodeKeyLength},
		"short":              {"abc", did.CodeKeyLength},
		"31 bytes":           {base64.RawURLEncoding.EncodeToString(make([]byte, 31)), did.CodeKeyLength},
		"33 bytes":           {base64.RawURLEncoding.EncodeToString(make([]byte, 33)), did.CodeKeyLength},
		"ten kilobytes":      {strings.Repeat("A", 10_000), did.CodeKeyLength},
		"no base64":          {strings.Repeat("!", 43), did.CodeKeyEncoding},
		"standard alphabet":  {"+" + good[1:], did.CodeKeyEncoding},
		"line end inside":    {good[:20] + "\n" + good[20:], did.CodeKeyEncoding},
		"carriage return":    {good[:42] + "\r", did.CodeKeyEncoding},
		"padding inside":     {good[:20] + "=" + good[21:], did.CodeKeyEncoding},
		"two padding":        {good[:42] + "==", did.CodeKeyEncoding},
		"bits of no byte":    {trailing, did.CodeKeyEncoding},
		"not on the curve":   {base64.RawURLEncoding.EncodeToString(append([]byte{2}, make([]byte, 31)...)), did.CodeKeyCurve},
		"two-byte character": {good[:41] + "é", did.CodeKeyEncoding},
	} {
		if key, err := did.ParsePublicKey(test.text); code(err) != test.code || key != nil {
			t.Errorf("%s: ParsePublicKey = %x, %v, want code %s", name, key, err, test.code)
		}
	}
}

// A multikey is the form in which DID documents have keys; registration takes another one.
func TestMultikeyAtRegistrationIsTranslated(t *testing.T) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = did.ParsePublicKey(did.FormatMultikey(public))
	var refused *did.Error
	if !errors.As(err, &refused) || !strings.HasSuffix(refused.Help, " is "+base64.RawURLEncoding.EncodeToString(public)) {
		t.Errorf("got %+v", refused)
	}
}

func TestRefusedMultikeys(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey)
	good := did.FormatMultikey(key)
	encode := func(prefix ...byte) string { return "z" + base58.Encode(append(prefix, key...)) }
	for name, test := range map[string]struct{ text, code string }{
		"empty":                  {"", did.CodeKeyLength},
		"long":                   {"z" + strings.Repeat("1", 1_000_000), did.CodeKeyLength},
		"base64 prefix":          {"m" + good[1:], did.CodeKeyEncoding},
		"outside the alphabet":   {good[:47] + "0", did.CodeKeyEncoding},
		"X25519":                 {encode(0xec, 0x01), did.CodeKeyEncoding},
		"overlong varint":        {encode(0xed, 0x81, 0x00), did.CodeKeyLength},
		"no multicodec":          {"z" + base58.Encode(key), did.CodeKeyLength},
		"zeros before the bytes": {"z1" + good[1:], did.CodeKeyLength},
		"other first byte":       {"z" + strings.Repeat("z", 47), did.CodeKeyEncoding},
	} {
		if key, err := did.ParseMultikey(test.text); code(err) != test.code || key != nil {
			t.Errorf("%s: ParseMultikey = %x, %v, want code %s", name, key, err, test.code)
		}
	}
}

func FuzzParsePublicKey(f *testing.F) {
	f.Add(did.FormatPublicKey(ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey)))
	f.Add(strings.Repeat("A", 43))
	f.Add("8MKxjvAaDg8vU3tQ9Iz4L1_162IWedTlW-MQ3veohpc=")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := did.ParsePublicKey(text)
		if err != nil {
			explained(t, err)
			return
		}
		if got := did.FormatPublicKey(key); got != strings.TrimSuffix(text, "=") {
			t.Errorf("%q came back as %q", text, got)
		}
	})
}

func FuzzParseMultikey(f *testing.F) {
	f.Add("z6Mkv1o2GEgtXjFdEMfLtupcKhGRydM8V7VHzii7Uh4aHoqH")
	f.Add("z" + strings.Repeat("z", 47))
	f.Fuzz(func(t *testing.T, text string) {
		key, err := did.ParseMultikey(text)
		if err != nil {
			explained(t, err)
			return
		}
		if got := did.FormatMultikey(key); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	})
}

func BenchmarkFormatMultikey(b *testing.B) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey)
	b.ReportAllocs()
	for b.Loop() {
		did.FormatMultikey(key)
	}
}

func BenchmarkCheckKey(b *testing.B) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey)
	for b.Loop() {
		if err := did.CheckKey(key); err != nil {
			b.Fatal(err)
		}
	}
}

func code(err error) string {
	var e *did.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

// explained fails if a refusal does not describe the fault.
func explained(t *testing.T, err error) {
	t.Helper()
	var e *did.Error
	if !errors.As(err, &e) || e.Code == "" || e.Message == "" {
		t.Errorf("error without a rule: %#v", err)
	}
}

func next(c byte) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[strings.IndexByte(alphabet, c)|1]
}

func littleEndian(n *big.Int) []byte {
	b := n.FillBytes(make([]byte, 32))
	for i := range 16 {
		b[i], b[31-i] = b[31-i], b[i]
	}
	return b
}

// A cache returns the result of ParseMultikey, the first time and later, and the caller may modify
// it.
func TestKeyCache(t *testing.T) {
	var cache did.KeyCache
	good := did.FormatMultikey(ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey))
	identity := did.FormatMultikey(append([]byte{1}, make([]byte, 31)...))
	for _, text := range []string{good, good, identity, identity, good[1:], ""} {
		want, wantErr := did.ParseMultikey(text)
		key, err := cache.ParseMultikey(text)
		if !bytes.Equal(key, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%q: %x, %v; without a cache %x, %v", text, key, err, want, wantErr)
		}
		clear(key)
	}
}
