package checkpoint

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"gazetteer/internal/privatefile"
	"gazetteer/protocol"

	"golang.org/x/mod/sumdb/note"
)

// A Key is the Ed25519 key of a log or of a witness. Its name is the origin of the log, or the name
// of the witness. A key must serve only one of the two.
type Key struct {
	name    string
	private ed25519.PrivateKey
	signer  note.Signer
}

// OpenKey reads the key in a file. The key must have the given name. If the file does not exist,
// OpenKey creates it with a new key; the directory must exist.
func OpenKey(path, name string) (*Key, error) {
	secret, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		secret, err = newKeyFile(path, name)
	}
	if err != nil {
		return nil, fmt.Errorf("open key: %w", err)
	}
	k, err := ParseKey(strings.TrimSpace(string(secret)))
	if err != nil {
		return nil, fmt.Errorf("open key %s: %w", path, err)
	}
	if k.name != name {
		return nil, &NameError{Path: path, Name: k.name, Want: name}
	}
	return k, nil
}

// A NameError is the error of a file with the key of another log.
type NameError struct {
	Path       string // of the file
	Name, Want string // the name of its key, and the one that it must have
}

func (e *NameError) Error() string {
	return fmt.Sprintf("open key %s: it is the key of %s, not of %s: set registry.did_host and registry.log_origin as they were; or, while no agent is registered, move %s and the directory log beside it away, so that a new log begins", e.Path, e.Name, e.Want, e.Path)
}

func newKeyFile(path, name string) ([]byte, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	secret, _, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return nil, err
	}
	content := []byte(secret + "\n")
	return content, privatefile.Replace(path, content)
}

// ParseKey reads a secret key in the form of golang.org/x/mod/sumdb/note:
// "PRIVATE+KEY+{name}+{hash}+{base64}".
func ParseKey(secret string) (*Key, error) {
	signer, err := note.NewSigner(secret)
	if err != nil {
		return nil, errors.New("it is not a secret key of the form PRIVATE+KEY+name+hash+base64")
	}
	if err := CheckName(signer.Name()); err != nil {
		return nil, err
	}
	parts := strings.SplitN(secret, "+", 5) // the signer has read them
	seed, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil {
		return nil, err
	}
	return &Key{name: signer.Name(), private: ed25519.NewKeyFromSeed(seed[1:]), signer: signer}, nil
}

// Name returns the origin of the log, or the name of the witness.
func (k *Key) Name() string { return k.name }

// Public returns the key with which clients of a log are configured, in the form
// "{name}+{hash}+{base64}" of signed notes. [NewVerifier] reads it.
func (k *Key) Public() string {
	public, _ := note.NewEd25519VerifierKey(k.name, k.publicKey()) // the key has the right length
	return public
}

// SignText signs a text as a note (C2SP signed-note).
func (k *Key) SignText(text string) ([]byte, error) {
	return note.Sign(&note.Note{Text: text}, k.signer)
}

func (k *Key) publicKey() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// Verifier returns the verifier of the signatures of a log with this key.
func (k *Key) Verifier() note.Verifier {
	v, _ := note.NewVerifier(k.Public()) // just made
	return v
}

// CheckName refuses names that a key, and therefore a log, cannot have (C2SP signed-note).
func CheckName(name string) error {
	bad := func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) || c == '+' }
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("%q is not a name of at most %d bytes without spaces and plus signs, such as registry.example/log", protocol.ClipBytes(name, MaxQuoted), maxName)
	}
	return nil
}

const maxName = 255
