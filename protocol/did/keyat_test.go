package did_test

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol/did"
)

func TestKeyAt(t *testing.T) {
	const self = "did:wba:a.test"
	method := func(fragment string, seed byte, revoked string) did.VerificationMethod {
		return did.VerificationMethod{ID: self + fragment, Controller: self, PublicKeyMultibase: did.FormatMultikey(publicKey(seed)), Revoked: revoked}
	}
	// The order in the document does not matter.
	d := did.Document{ID: self, VerificationMethod: []did.VerificationMethod{
		method("#retired-2", 2, "2026-03-01T00:00:00Z"), method("#key-1", 3, ""), method("#retired-1", 1, "2026-02-01T00:00:00Z"),
		method("#other", 4, "2026-12-01T00:00:00Z"), method("#retired-3", 5, "not a time"),
		{ID: self + "#retired-4", Controller: "did:wba:b.test", PublicKeyMultibase: did.FormatMultikey(publicKey(6)), Revoked: "2027-01-01T00:00:00Z"},
	}}
	for at, want := range map[string]byte{
		"2026-01-01T00:00:00Z": 1, "2026-01-31T23:59:59Z": 1, "2026-02-01T00:00:00Z": 2, "2026-02-28T23:59:59.999Z": 2, "2026-03-01T00:00:00Z": 3, "2026-11-01T00:00:00Z": 3,
	} {
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if key, err := d.KeyAt(when); err != nil || !key.Equal(publicKey(want)) {
			t.Errorf("at %s: %x, %v, want key %d", at, key, err, want)
		}
	}
	d.VerificationMethod = d.VerificationMethod[:1]
	if key, err := d.KeyAt(time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)); err == nil {
		t.Errorf("a document without a current key has %x", key)
	}
}

func TestKeyWithoutController(t *testing.T) {
	d := did.Document{ID: "did:wba:a.test", VerificationMethod: []did.VerificationMethod{{ID: "did:wba:a.test#key-1", PublicKeyMultibase: did.FormatMultikey(publicKey(1))}}}
	if key, err := d.Key(); err != nil || !key.Equal(publicKey(1)) {
		t.Errorf("%x, %v", key, err)
	}
}

// TestDeriveAirID checks the IDs against those of the function generateAirId in the reference
// registry.
func TestDeriveAirID(t *testing.T) {
	for identity, want := range map[string]string{
		`{"name":"Booker","description":"Books tables","creator_did":"did:wba:example.com:alice","timestamp":1766400000000}`: "AIR-VZC9-ES0E-1S46",
		"{\"timestamp\":1,\"public_key\":\"MCowBQYDK2VwAyEA\",\"description\":\"예약 🔐 \\\"q\\\" \u2028\",\"name\":\"é\"}":     "AIR-6CC5-AY5W-BA7Z",
		` { "name": "x", "description" : null, "timestamp":0.0, "public_key":"\u006b"} `:                                     "AIR-33JM-0AND-GNPC",
		"{\"name\":\"e\u0301\"}": "AIR-D9A7-RG2N-P8C4",
	} {
		if got, err := did.DeriveAirID([]byte(identity)); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", identity, got, err, want)
		} else if err := did.CheckAirID(got); err != nil {
			t.Error(err)
		}
	}
	for _, identity := range []string{``, `{`, `[]`, `"x"`, `{"a":1,"a":2}`, `{"a":{}}`, `{"a":[[{}]]}`, `{"a":"` + strings.Repeat("x", did.MaxDocument) + `"}`} {
		if got, err := did.DeriveAirID([]byte(identity)); err == nil {
			t.Errorf("%.40s gives %s", identity, got)
		}
	}
}

func TestX25519(t *testing.T) {
	key := publicKey(7)
	text := did.FormatX25519(key)
	if got, err := did.ParseX25519(text); err != nil || string(got) != string(key) || !strings.HasPrefix(text, "z6LS") {
		t.Fatalf("%s: %x, %v", text, got, err)
	}
	if _, err := did.ParseMultikey(text); err == nil {
		t.Error("a key for agreement is read as one for signatures")
	}
	if _, err := did.ParseX25519(did.FormatMultikey(key)); err == nil {
		t.Error("a key for signatures is read as one for agreement")
	}
}

func FuzzMultibase(f *testing.F) {
	for _, text := range []string{did.FormatMultikey(publicKey(1)), did.FormatX25519(publicKey(2)), "z6Mk", "", "z", "z" + strings.Repeat("1", 47), "z" + strings.Repeat("z", 47), "m" + strings.Repeat("A", 47), "z0OIl"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if key, err := did.ParseMultikey(text); err == nil && did.FormatMultikey(key) != text {
			t.Errorf("%q is read and written as %q", text, did.FormatMultikey(key))
		}
		if key, err := did.ParseX25519(text); err == nil && did.FormatX25519(key) != text {
			t.Errorf("%q is read and written as %q", text, did.FormatX25519(key))
		}
		if signature, err := did.ParseSignature(text); err == nil && (len(signature) != ed25519.SignatureSize || did.FormatSignature(signature) != text) {
			t.Errorf("%q is read and written as %q", text, did.FormatSignature(signature))
		}
		if key, err := did.ParsePublicKey(text); err == nil && did.FormatPublicKey(key) != strings.TrimSuffix(text, "=") {
			t.Errorf("%q is read and written as %q", text, did.FormatPublicKey(key))
		}
	})
}
