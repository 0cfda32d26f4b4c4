package checkpoint

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	formats "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

// TestLibraryCosigns reads what the library of the public witnesses signs.
func TestLibraryCosigns(t *testing.T) {
	key := openTestKey(t, "witness.example/w2")
	seed := append([]byte{algEd25519}, key.private.Seed()...)
	secret := fmt.Sprintf("PRIVATE+KEY+%s+%08x+%s", key.Name(), keyHash(key.Name(), algEd25519, key.publicKey()), base64.StdEncoding.EncodeToString(seed))
	signer, err := formats.NewSignerForCosignatureV1(secret)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := note.Sign(&note.Note{Text: Checkpoint{"other.example/log", EmptyTree()}.Text()}, signer)
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewVerifier(key.PublicWitness())
	if err != nil {
		t.Fatal(err)
	}
	if at, err := CheckCosignature(signed, v); err != nil || at.IsZero() {
		t.Errorf("cosigned at %v, error %v", at, err)
	}
}

// FuzzCheckpoint checks that parsing and writing a checkpoint returns the same text, except for
// extension lines.
func FuzzCheckpoint(f *testing.F) {
	key := openTestKey(f, "registry.example/log")
	signed, err := (Checkpoint{"registry.example/log", EmptyTree()}).Sign(key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(signed)
	f.Add(bytes.Replace(signed, []byte("\n\n"), []byte("\nextension\n\n"), 1))
	f.Add([]byte("a\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n\u2014 a AAAAAAAA\n"))
	f.Add([]byte("a\n01\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, n, err := Open(text, key.Verifier())
		if err != nil {
			return
		}
		if c.N < 0 || !strings.HasPrefix(n.Text, c.Text()) {
			t.Fatalf("%q is read as %q", n.Text, c.Text())
		}
		if _, err := Parse(text, key.Verifier()); err == nil && len(n.Sigs) == 0 {
			t.Fatal("a checkpoint without our signature is taken")
		}
	})
}

func openTestKey(t testing.TB, name string) *Key {
	t.Helper()
	k, err := OpenKey(filepath.Join(t.TempDir(), "key"), name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestSignatureHasOneForm checks that a checkpoint is refused if an unused bit in the last base64
// character of its signature (68 bytes) is set.
func TestSignatureHasOneForm(t *testing.T) {
	key := openTestKey(t, "registry.example/log")
	signed, err := (Checkpoint{"registry.example/log", EmptyTree()}).Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	last := len(signed) - len("=\n") - 1
	changed := bytes.Clone(signed)
	changed[last] = alphabet[strings.IndexByte(alphabet, signed[last])|1]
	if _, err := Parse(changed, key.Verifier()); err == nil || bytes.Equal(changed, signed) {
		t.Errorf("%q is accepted for %q", changed, signed)
	}
	if _, err := Parse(signed, key.Verifier()); err != nil {
		t.Error(err)
	}
}
