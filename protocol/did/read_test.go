package did_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gazetteer/protocol/did"
)

const self = "did:wba:example.com:agents:AIR-7G3K-M9JQ-X2PT"

func publicKey(n byte) ed25519.PublicKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize)).Public().(ed25519.PublicKey)
}

// published returns a document with two keys, of which the second is retired.
func published() did.Document {
	return did.Document{
		Context: did.Contexts(), ID: self,
		VerificationMethod: []did.VerificationMethod{
			{ID: self + "#key-1", Type: did.TypeEd25519, Controller: self, PublicKeyMultibase: did.FormatMultikey(publicKey(2))},
			{ID: self + "#retired-1", Type: did.TypeEd25519, Controller: self, PublicKeyMultibase: did.FormatMultikey(publicKey(1)), Revoked: "2026-01-01T00:00:00Z"},
		},
		Authentication: []string{self + "#key-1"}, AssertionMethod: []string{self + "#key-1"},
		Service: []did.Service{{ID: self + "#inbox", Type: did.TypeInbox, ServiceEndpoint: "https://relay.example.com/in"}},
	}
}

func TestPublishedDocumentRoundTrip(t *testing.T) {
	text, err := json.Marshal(published())
	if err != nil {
		t.Fatal(err)
	}
	d, err := did.ParseDocument(text, self)
	if err != nil || !reflect.DeepEqual(d, published()) {
		t.Fatalf("%v\n%+v", err, d)
	}
	key, err := d.Key()
	if err != nil || !key.Equal(publicKey(2)) {
		t.Errorf("key %x, %v", key, err)
	}
	if !d.Vouches(publicKey(2)) || d.Vouches(publicKey(1)) || d.Vouches(publicKey(3)) {
		t.Error("it must vouch for the current key and for no other")
	}
}

func TestForeignDocumentsAreReadLeniently(t *testing.T) {
	key := did.FormatMultikey(publicKey(1))
	jwk := fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","x":"%s"}`, base64.RawURLEncoding.EncodeToString(publicKey(1)))
	document := func(members string) string {
		return fmt.Sprintf(`{"id":"did:web:example.com",%s}`, members)
	}
	method := `{"id":"#k","type":"Multikey","controller":"did:web:example.com","publicKeyMultibase":"` + key + `"}`
	for _, c := range []struct {
		name, text string
		vouches    bool
	}{
		{"a multikey with a relative id", document(`"verificationMethod":[` + method + `],"authentication":["#k"]`), true},
		{"an absolute reference", document(`"verificationMethod":[` + method + `],"assertionMethod":["did:web:example.com#k"]`), true},
		{"a key embedded in the relation", document(`"authentication":[` + method + `]`), true},
		{"a JSON web key", document(`"verificationMethod":[{"id":"#k","type":"JsonWebKey2020","controller":"did:web:example.com","publicKeyJwk":` + jwk + `}],"authentication":["#k"]`), true},
		{"other keys beside it", document(`"verificationMethod":[7,{"id":"#p","publicKeyJwk":{"kty":"EC","crv":"P-256"}},` + method + `],"authentication":[7,"#k"]`), true},
		{"a key that may do nothing", document(`"verificationMethod":[` + method + `],"keyAgreement":["#k"]`), false},
		{"a key under another's control", document(`"verificationMethod":[` + strings.Replace(method, "did:web:example.com", "did:web:other.test", 1) + `],"authentication":["#k"]`), false},
		{"a revoked key", document(`"verificationMethod":[` + strings.Replace(method, `"type"`, `"revoked":"2026-01-01T00:00:00Z","type"`, 1) + `],"authentication":["#k"]`), false},
		{"no list at all", document(`"verificationMethod":"x","authentication":{},"service":7`), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := did.ParseDocument([]byte(c.text), "did:web:example.com")
			if err != nil || d.Vouches(publicKey(1)) != c.vouches {
				t.Errorf("%v, vouches %t, want %t: %+v", err, d.Vouches(publicKey(1)), c.vouches, d)
			}
		})
	}
	d, err := did.ParseDocument([]byte(document(`"service":[{"id":"#a","type":["A2AInbox","X"],"serviceEndpoint":["https://a.test/"]},{"id":"#b","type":"A2AInbox","serviceEndpoint":{"uri":"https://b.test/"}}]`)), "did:web:example.com")
	if err != nil || d.Inbox() != "https://a.test/" || len(d.Service) != 1 {
		t.Errorf("services %+v, %v", d.Service, err)
	}
}

func TestRefusedDocuments(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"of another", `{"id":"did:web:other.test"}`},
		{"without an id", `{}`},
		{"with another spelling of the id", `{"id":"did:web:EXAMPLE.com"}`},
		{"a list", `[]`},
		{"no JSON", `<html>`},
		{"a member twice", `{"id":"did:web:example.com","id":"did:web:example.com"}`},
		{"ten megabytes", `{"id":"did:web:example.com","x":"` + strings.Repeat("x", 10<<20) + `"}`},
		{"very deep", `{"id":"did:web:example.com","x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := did.ParseDocument([]byte(c.text), "did:web:example.com")
			var e *did.Error
			if !errors.As(err, &e) || e.Code != did.CodeDocument || len(e.Error()) > 1000 {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOnlyCurrentKeyCounts(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(d *did.Document)
	}{
		{"the id is another's", func(d *did.Document) { d.VerificationMethod[0].ID = "did:wba:other.test#key-1" }},
		{"the id ends alike", func(d *did.Document) { d.VerificationMethod[0].ID = self + "x#key-1" }},
		{"another controls it", func(d *did.Document) { d.VerificationMethod[0].Controller = "did:wba:other.test" }},
		{"it is revoked", func(d *did.Document) { d.VerificationMethod[0].Revoked = "2026-01-01T00:00:00Z" }},
		{"it is no key", func(d *did.Document) { d.VerificationMethod[0].PublicKeyMultibase = "z6Mk" }},
		{"there is none", func(d *did.Document) { d.VerificationMethod = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := published()
			c.change(&d)
			if key, err := d.Key(); err == nil {
				t.Errorf("took %x", key)
			}
		})
	}
}

func TestDocumentURLs(t *testing.T) {
	for _, c := range []struct{ did, want string }{
		{"did:web:example.com", "https://example.com/.well-known/did.json"},
		{"did:wba:example.com", "https://example.com/.well-known/did.json https://example.com/.well-known/agent.json"},
		{"did:web:example.com%3A8443", "https://example.com:8443/.well-known/did.json"},
		{"did:web:EXAMPLE.com:users:alice", "https://example.com/users/alice/did.json"},
		{self, "https://example.com/agents/AIR-7G3K-M9JQ-X2PT/did.json"},
	} {
		w, err := did.ParseWeb(c.did)
		if got := strings.Join(w.Addresses(), " "); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.did, got, err, c.want)
		}
	}
}

func TestSignaturesAsText(t *testing.T) {
	signature := ed25519.Sign(ed25519.NewKeyFromSeed(make([]byte, 32)), []byte("x"))
	text := did.FormatSignature(signature)
	if b, err := did.ParseSignature(text); err != nil || !bytes.Equal(b, signature) {
		t.Errorf("%v %x", err, b)
	}
	zeros := did.FormatSignature(make([]byte, 64))
	if b, err := did.ParseSignature(zeros); err != nil || len(b) != 64 {
		t.Errorf("64 zero bytes: %v %x", err, b)
	}
	for _, bad := range []string{"", "z", "f00", text[1:], "x" + text[1:], text + "1", text[:80], "z" + strings.Repeat("1", 63), "z" + strings.Repeat("z", 88),
		"z" + strings.Repeat("z", 1<<20), "z0OIl" + text[5:], did.FormatMultikey(publicKey(1))} {
		if _, err := did.ParseSignature(bad); err == nil {
			t.Errorf("took %.100q", bad)
		}
	}
}

func FuzzParseDocument(f *testing.F) {
	text, err := json.Marshal(published())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"id":"` + self + `","authentication":[{"id":"#k","publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"AAAA"}}],"service":[[]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := did.ParseDocument(text, self)
		var e *did.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%v is no *did.Error", err)
		}
		if key, err := d.Key(); err == nil && did.CheckKey(key) != nil {
			t.Errorf("a key that proves nothing: %x", key)
		}
	})
}
