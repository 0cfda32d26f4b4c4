package a2a_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/jcs"
)

func readFile(t testing.TB, parts ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func fromHex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// directory finds documents in a map.
type directory map[string]did.Document

func (d directory) Resolve(_ context.Context, id string) (did.Document, error) {
	document, ok := d[id]
	if !ok {
		return did.Document{}, a2a.ErrUnknownSender
	}
	return document, nil
}

func (d directory) add(id string, key ed25519.PrivateKey) {
	d[id] = did.Document{ID: id, VerificationMethod: []did.VerificationMethod{
		{ID: id + did.KeyFragment, Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: did.FormatMultikey(key.Public().(ed25519.PublicKey))}}}
}

func seeded(n byte) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte{n})
	return ed25519.NewKeyFromSeed(seed[:])
}

func statusOf(err error) int {
	if r, ok := errors.AsType[*a2a.Refusal](err); ok {
		return r.Status
	}
	return 0
}

// TestPublishedFilesAreUnchanged checks that the label draft-1 is earned with the files as they were published:
// they may change until the draft ends (§13.2).
func TestPublishedFilesAreUnchanged(t *testing.T) {
	examples := sha256.New()
	names, err := filepath.Glob("testdata/examples/*.json") // in the order of their names
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		examples.Write(text)
	}
	sums := map[string]string{"examples": hex.EncodeToString(examples.Sum(nil))}
	for _, name := range []string{"test-vectors.json", "e2e-interop-vectors.json", "envelope.schema.json"} {
		sum := sha256.Sum256(readFile(t, name))
		sums[name] = hex.EncodeToString(sum[:])
	}
	for name, want := range map[string]string{
		"test-vectors.json":        "6fbfaa2a65ef9f8fd715bda09c20c4f3bc55f895bef5aaec300163e11159e32a",
		"e2e-interop-vectors.json": "e52816026027916c148b55233053873b0495fdeabe61d1b10d060d95c4afe3eb",
		"envelope.schema.json":     "cb36fd8c81254dea791770940f17ab6a576db2ed313e3f1c1e2b7bf6177b6f9f",
		"examples":                 "60a02c25c3ba6a3676c0ee106bf5c7a65c7d02d734a4b1a0b8a787064f3539b5",
	} {
		if sums[name] != want {
			t.Errorf("the SHA-256 of %s is %s, want %s", name, sums[name], want)
		}
	}
}

func TestVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			ID        string          `json:"id"`
			Envelope  json.RawMessage `json:"input_envelope"`
			Hash      string          `json:"expected_canonical_bytes_sha256_hex"`
			Seed      string          `json:"signing_key_seed_hex"`
			Public    string          `json:"signing_key_public_multibase"`
			Signature string          `json:"expected_signature_multibase"`
		} `json:"vectors"`
	}
	if err := json.Unmarshal(readFile(t, "test-vectors.json"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) != 20 {
		t.Fatalf("%d vectors", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		t.Run(v.ID, func(t *testing.T) {
			key := ed25519.NewKeyFromSeed(fromHex(t, v.Seed))
			if got := did.FormatMultikey(key.Public().(ed25519.PublicKey)); got != v.Public {
				t.Errorf("key %s, want %s", got, v.Public)
			}
			e, err := a2a.SignText(v.Envelope, a2a.Wire, key)
			if err != nil {
				t.Fatal(err)
			}
			if digest := e.Digest(); hex.EncodeToString(digest[:]) != v.Hash {
				t.Errorf("hash %x, want %s, of %s", digest, v.Hash, e.Canonical())
			}
			if e.Signature != v.Signature {
				t.Errorf("signature %s, want %s", e.Signature, v.Signature)
			}
			d := directory{}
			d.add(e.From, key)
			verified, err := a2a.Verifier{Profile: a2a.Wire, Keys: a2a.DocumentKeys{Resolver: d}, Now: func() time.Time { return e.Timestamp }}.Verify(context.Background(), e.Text)
			if err != nil || verified.Form != a2a.Removed {
				t.Errorf("verify: %v", err)
			}
			if _, err := a2a.Read(v.Envelope, a2a.Strict); statusOf(err) != 400 {
				t.Errorf("strict: %v", err)
			}
		})
	}
}

func TestSealedBoxVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			Seed     string            `json:"recipient_seed_hex"`
			RawEnv   map[string]string `json:"env"`
			Secret   string            `json:"eph_secret_hex"`
			Nonce    string            `json:"nonce_hex"`
			Body     json.RawMessage   `json:"body"`
			Expected json.RawMessage   `json:"expected"`
		} `json:"vectors"`
	}
	if err := json.Unmarshal(readFile(t, "e2e-interop-vectors.json"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) != 2 {
		t.Fatalf("%d vectors", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		recipient := ed25519.NewKeyFromSeed(fromHex(t, v.Seed))
		secret := a2a.SealSecret{Ephemeral: [32]byte(fromHex(t, v.Secret)), Nonce: [12]byte(fromHex(t, v.Nonce))}
		b := a2a.Binding{ID: v.RawEnv["id"], From: v.RawEnv["from"], To: v.RawEnv["to"], ThreadID: v.RawEnv["thread_id"]}
		sealed, err := a2a.Seal(v.Body, b, recipient.Public().(ed25519.PublicKey), secret)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jcs.Canonicalize(v.Expected, jcs.Options{})
		if err != nil || string(sealed.JSON()) != string(want) {
			t.Errorf("sealed %s, want %s, %v", sealed.JSON(), want, err)
		}
		// The other direction: the published box, in a signed envelope.
		sender := seeded(1)
		envelope := `{"id":"` + b.ID + `","from":"` + b.From + `","to":"` + b.To + `","thread_id":"` + b.ThreadID +
			`","nonce":"n","timestamp":"2026-05-28T09:00:00.000Z","body":` + string(v.Expected) + `}`
		e, err := a2a.SignText([]byte(envelope), a2a.Strict, sender)
		if err != nil {
			t.Fatal(err)
		}
		d := directory{}
		d.add(b.From, sender)
		verified, err := a2a.Verifier{Keys: a2a.DocumentKeys{Resolver: d}}.Authenticate(context.Background(), e.Text)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := verified.Open(recipient)
		body, _ := jcs.Canonicalize(v.Body, jcs.Options{})
		if err != nil || string(opened.Plaintext) != string(body) || !opened.Canonical || opened.Body.Type() != "text" {
			t.Errorf("opened %q, %v, want %s", opened.Plaintext, err, body)
		}
	}
}

func TestExamples(t *testing.T) {
	files, err := filepath.Glob("testdata/examples/*.json")
	if err != nil || len(files) != 50 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	verifier := a2a.Verifier{Keys: a2a.DocumentKeys{Resolver: directory{}}}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		e, err := a2a.Read(text, a2a.Strict)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if kind := strings.ToLower(e.Body.Type()); !strings.HasPrefix(filepath.Base(name), kind) {
			t.Errorf("%s has a body of type %s", name, kind)
		}
		for _, p := range []a2a.Profile{a2a.Strict, a2a.Wire} {
			verifier.Profile = p
			if _, err := verifier.Verify(context.Background(), text); statusOf(err) != 401 {
				t.Errorf("%s, %s: %v, want 401", name, p, err)
			}
		}
		// With its own signature, each is accepted.
		key := seeded(1)
		signed, err := a2a.SignText(text, a2a.Strict, key)
		if err != nil {
			t.Fatal(err)
		}
		d := directory{}
		d.add(e.From, key)
		if _, err := (a2a.Verifier{Keys: a2a.DocumentKeys{Resolver: d}, Now: func() time.Time { return e.Timestamp }}).Verify(context.Background(), signed.Text); err != nil {
			t.Errorf("%s signed anew: %v", name, err)
		}
	}
}
