package keyfile_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"

	"gazetteer/internal/need"
	"gazetteer/registry/keyfile"
)

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	must(t, err)
	return key
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func answer(text string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(text), nil }
}

func TestKeyRoundTrip(t *testing.T) {
	for name, passphrase := range map[string]string{"plain": "", "encrypted": "correct horse"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "agent.key")
			key := newKey(t)
			must(t, keyfile.Create(path, key, []byte(passphrase), keyfile.Attributes{"agent": "did:wba:a.test:agents:AIR-0000-0000-0000", "made": ""}))
			info, err := os.Stat(path)
			must(t, err)
			if mode := info.Mode().Perm(); mode != 0o600 {
				t.Errorf("the file has mode %#o", mode)
			}
			got, err := keyfile.Read(path, answer(passphrase))
			must(t, err)
			if !got.Equal(key) {
				t.Error("another key came back")
			}
			f, err := keyfile.Open(path)
			must(t, err)
			if !f.Public.Equal(key.Public()) || f.Encrypted != (passphrase != "") || f.Notes["agent"] != "did:wba:a.test:agents:AIR-0000-0000-0000" {
				t.Errorf("without the passphrase it shows %+v", f)
			}
			text, err := os.ReadFile(path)
			must(t, err)
			if seed := key.Seed(); passphrase != "" && bytes.Contains(decoded(t, text), seed) {
				t.Error("the seed stands in the encrypted file")
			}
		})
	}
}

func decoded(t *testing.T, text []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("no PEM in %q", text)
	}
	return block.Bytes
}

func TestModeIgnoresUmask(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.key")
	old := syscall.Umask(0o277)
	err := keyfile.Create(path, newKey(t), nil, nil)
	syscall.Umask(old)
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %#o", info.Mode().Perm())
	}
}

func TestPublicFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.key")
	must(t, keyfile.Create(path, newKey(t), nil, nil))
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o666} {
		must(t, os.Chmod(path, mode))
		_, err := keyfile.Read(path, nil)
		if !errors.Is(err, keyfile.ErrMode) || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %#o: %v", mode, err)
		}
	}
	must(t, os.Chmod(path, 0o400))
	if _, err := keyfile.Read(path, nil); err != nil {
		t.Errorf("a file that can only be read is fine: %v", err)
	}
}

func TestWrongPassphraseIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.key")
	must(t, keyfile.Create(path, newKey(t), []byte("right"), nil))
	for _, ask := range []func() ([]byte, error){nil, answer(""), answer("wrong"), answer("right ")} {
		if _, err := keyfile.Read(path, ask); !errors.Is(err, keyfile.ErrPassphrase) {
			t.Errorf("got %v", err)
		}
	}
	gone := errors.New("nobody answers")
	if _, err := keyfile.Read(path, func() ([]byte, error) { return nil, gone }); !errors.Is(err, gone) {
		t.Errorf("the error of who was asked is lost: %v", err)
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.key")
	key := newKey(t)
	must(t, keyfile.Create(path, key, nil, nil))
	if err := keyfile.Create(path, newKey(t), nil, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second key over the first: %v", err)
	}
	got, err := keyfile.Read(path, nil)
	must(t, err)
	if !got.Equal(key) {
		t.Error("the first key is gone")
	}
	if err := keyfile.Promote(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("promote without a next key: %v", err)
	}
	must(t, os.WriteFile(keyfile.Next(path), []byte("rubbish"), 0o600))
	if err := keyfile.Promote(path); !errors.Is(err, keyfile.ErrDamaged) {
		t.Errorf("promote rubbish: %v", err)
	}
	if got, err := keyfile.Read(path, nil); err != nil || !got.Equal(key) {
		t.Errorf("after two refused promotions: %v", err)
	}
}

func TestNextKeyReplacesAtomically(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.key")
	old, next := newKey(t), newKey(t)
	must(t, keyfile.Create(path, old, nil, nil))
	must(t, keyfile.Create(keyfile.Next(path), next, []byte("p"), keyfile.Attributes{"agent": "did:x"}))
	if got, err := keyfile.Read(path, nil); err != nil || !got.Equal(old) {
		t.Fatalf("before the acknowledgement: %v", err)
	}
	must(t, keyfile.Promote(path))
	if got, err := keyfile.Read(path, answer("p")); err != nil || !got.Equal(next) {
		t.Fatalf("after it: %v", err)
	}
	if _, err := os.Stat(keyfile.Next(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the next key lies there twice: %v", err)
	}
}

func TestNotesChangeWithoutKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.key")
	key := newKey(t)
	must(t, keyfile.Create(path, key, []byte("p"), keyfile.Attributes{"kept": "yes", "gone": "soon"}))
	must(t, os.WriteFile(path+".writing", []byte("left by a crash"), 0o600))
	must(t, keyfile.Annotate(path, keyfile.Attributes{"agent": "did:wba:a.test", "gone": ""}))
	f, err := keyfile.Open(path)
	must(t, err)
	if len(f.Notes) != 2 || f.Notes["kept"] != "yes" || f.Notes["agent"] != "did:wba:a.test" {
		t.Errorf("notes %v", f.Notes)
	}
	if got, err := keyfile.Read(path, answer("p")); err != nil || !got.Equal(key) {
		t.Errorf("the key after it: %v", err)
	}
	for _, bad := range []keyfile.Attributes{{"a\nb": "c"}, {"a": "b\n-----BEGIN"}, {"a:b": "c"}, {"-----BEGIN X-----": "c"}, {"a": strings.Repeat("x", 20000)}} {
		if err := keyfile.Annotate(path, bad); err == nil {
			t.Errorf("the notes %.40v were taken", bad)
		}
	}
	if got, err := keyfile.Read(path, answer("p")); err != nil || !got.Equal(key) {
		t.Errorf("the key after refusals: %v", err)
	}
}

// TestDamagedFileIsRefused checks that a damaged plain file gives the original key or none, and
// never two halves that do not match.
func TestDamagedFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.key")
	key := newKey(t)
	must(t, keyfile.Create(path, key, nil, nil))
	whole, err := os.ReadFile(path)
	must(t, err)
	refused := 0
	try := func(text []byte, what string) {
		bad := filepath.Join(dir, "bad.key")
		must(t, os.WriteFile(bad, text, 0o600))
		got, err := keyfile.Read(bad, answer("p"))
		switch {
		case err == nil && !got.Equal(key):
			t.Errorf("%s: it gives another key", what)
		case err != nil && !errors.Is(err, keyfile.ErrDamaged) && !errors.Is(err, keyfile.ErrPassphrase):
			t.Errorf("%s: %v", what, err)
		case err != nil:
			refused++
		}
	}
	block := decoded(t, whole)
	for i := range block {
		for _, flip := range []byte{1, 0x80} {
			bad := bytes.Clone(block)
			bad[i] ^= flip
			try(pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: bad}), "a flipped bit")
		}
	}
	if refused < len(block) {
		t.Errorf("of %d files with one wrong bit %d were refused", 2*len(block), refused)
	}
	for n := range whole {
		before := refused
		if try(whole[:n], "cut short"); refused == before && n < len(whole)-1 {
			t.Errorf("cut to %d of %d bytes it is taken", n, len(whole))
		}
	}
	before := refused
	try(append([]byte("x\n"), whole...), "text before it")
	try(bytes.Repeat([]byte("a"), 17<<10), "too large")
	if refused != before+2 {
		t.Error("text before the key, or a large file, is taken")
	}
}

// openssl writes PKCS #8, and reads nothing else: the file keeps that format when its notes change.
func TestKeyOfOpenSSLIsReadAndKeepsItsFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.pem")
	key := newKey(t)
	text, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), 0o600))
	must(t, keyfile.Annotate(path, keyfile.Attributes{"agent": "did:wba:a.test:agents:AIR-0000-0000-0000"}))
	f, err := keyfile.Open(path)
	must(t, err)
	if f.Encrypted || !f.Public.Equal(key.Public()) || f.Notes["agent"] == "" {
		t.Errorf("got %+v", f)
	}
	got, err := keyfile.Read(path, nil)
	must(t, err)
	if !got.Equal(key) {
		t.Error("another key came back")
	}
	whole, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(decoded(t, whole), text) || !bytes.HasPrefix(whole, []byte("-----BEGIN PRIVATE KEY-----\n")) {
		t.Errorf("the file has another format now:\n%s", whole)
	}

	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	text, err = x509.MarshalPKCS8PrivateKey(other)
	must(t, err)
	must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}), 0o600))
	if _, err := keyfile.Open(path); !errors.Is(err, keyfile.ErrDamaged) || !strings.Contains(err.Error(), "not an Ed25519 key") {
		t.Errorf("a key of another kind: %v", err)
	}
}

func TestOtherKeyTypesAreNamedAndRefused(t *testing.T) {
	dir := t.TempDir()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	block, err := ssh.MarshalPrivateKey(other, "")
	must(t, err)
	path := filepath.Join(dir, "ecdsa")
	must(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	if _, err := keyfile.Read(path, nil); !errors.Is(err, keyfile.ErrDamaged) || !strings.Contains(err.Error(), "ecdsa-sha2-nistp256, not ssh-ed25519") {
		t.Errorf("got %v", err)
	}
	if _, err := keyfile.Open(dir); !errors.Is(err, keyfile.ErrDamaged) && !errors.Is(err, keyfile.ErrMode) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := keyfile.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// The passphrase of a damaged file must not cost hours.
func TestPassphraseWorkIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.key")
	must(t, keyfile.Create(path, newKey(t), []byte("p"), nil))
	text, err := os.ReadFile(path)
	must(t, err)
	b := decoded(t, text)
	at := bytes.Index(b, []byte("bcrypt")) + len("bcrypt") + 4 + 4 + 16
	b[at] = 0x7f // the high byte of the rounds
	must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: b}), 0o600))
	if _, err := keyfile.Open(path); !errors.Is(err, keyfile.ErrDamaged) || !strings.Contains(err.Error(), "rounds") {
		t.Errorf("got %v", err)
	}
}

func TestOpenSSHReadsFile(t *testing.T) {
	tool := need.Program(t, "ssh-keygen")
	path := filepath.Join(t.TempDir(), "agent.key")
	key := newKey(t)
	must(t, keyfile.Create(path, key, []byte("old"), keyfile.Attributes{"agent": "did:wba:a.test"}))
	out, err := exec.CommandContext(t.Context(), tool, "-y", "-P", "old", "-f", path).CombinedOutput()
	public, parseErr := ssh.NewPublicKey(key.Public())
	must(t, parseErr)
	if want := string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(public))); err != nil || !strings.HasPrefix(string(out), want) {
		t.Fatalf("ssh-keygen says %q (%v), want %q", out, err, want)
	}
	out, err = exec.CommandContext(t.Context(), tool, "-p", "-P", "old", "-N", "new", "-f", path).CombinedOutput()
	if err != nil {
		t.Fatalf("change the passphrase: %v: %s", err, out)
	}
	if got, err := keyfile.Read(path, answer("new")); err != nil || !got.Equal(key) {
		t.Errorf("after ssh-keygen -p: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "agent.key")
	must(f, keyfile.Create(path, newKey(f), nil, keyfile.Attributes{"agent": "did:wba:a.test"}))
	text, err := os.ReadFile(path)
	must(f, err)
	f.Add(text)
	f.Add([]byte("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "k")
		must(t, os.WriteFile(path, text, 0o600))
		got, err := keyfile.Read(path, nil)
		if err == nil && !got.Equal(ed25519.NewKeyFromSeed(got.Seed())) {
			t.Error("the halves of the key do not belong together")
		}
		if err != nil && !errors.Is(err, keyfile.ErrDamaged) && !errors.Is(err, keyfile.ErrPassphrase) {
			t.Errorf("got %v", err)
		}
	})
}
