// Package keyfile stores the private key of an agent in a file that only its owner can read, in the
// format of OpenSSH, plain or encrypted with a passphrase, so that ssh-keygen reads it and changes
// its passphrase (ssh-keygen -p). It also reads a plain key in PKCS #8, as openssl writes it, and
// keeps that format when it changes the file.
//
// Begin with [Create] and [Read]. After the key the file has lines of the form "name: value" that
// are not secret, such as the DID of the agent. ssh-keygen ignores them, and removes them when it
// writes the file.
//
// A key file is never overwritten. The next key of an agent is created beside it, under [Next], and
// [Promote] moves it into place when the registry has acknowledged it: after a crash at any moment,
// the key that the registry knows is in one of the two files.
package keyfile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gazetteer/internal/privatefile"
	"gazetteer/limit"

	"golang.org/x/crypto/ssh"
)

// Errors of key files. Test with errors.Is. Other errors are those of package os, such as
// [fs.ErrExist] of [Create] and [fs.ErrNotExist].
var (
	// ErrPassphrase: the file is encrypted, and no passphrase or a wrong one was
	// given. Damage to an encrypted file looks the same.
	ErrPassphrase = errors.New("the passphrase is missing or wrong")
	// ErrDamaged: the file has no private key of the supported kind.
	ErrDamaged = errors.New("the file has no usable Ed25519 key")
	// ErrMode: others on this machine can read or change the file.
	ErrMode = errors.New("others on this machine can read or change the file")
)

const (
	blockType      = "OPENSSH PRIVATE KEY"
	pkcs8BlockType = "PRIVATE KEY" // RFC 7468 §10
	// maxSize bounds a key file; one of this program has some 600 bytes.
	maxSize = 16 << 10
	// maxRounds is the largest number of rounds of key derivation, which bounds the work for one
	// passphrase; OpenSSH uses 24.
	maxRounds = 4096
)

// Attributes are the lines after a key, by name. They are neither secret nor authenticated.
type Attributes map[string]string

// A File is the part of a key file that is readable without its passphrase.
type File struct {
	Public    ed25519.PublicKey
	Encrypted bool
	Notes     Attributes

	block *pem.Block
}

// Create writes a key into a new file of mode 0600 and syncs it. A nil passphrase leaves it plain.
// The error matches [fs.ErrExist] if the file exists: nothing is overwritten.
func Create(path string, key ed25519.PrivateKey, passphrase []byte, notes Attributes) error {
	var block *pem.Block
	var err error
	if len(passphrase) == 0 {
		block, err = ssh.MarshalPrivateKey(key, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", passphrase)
	}
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	text, err := encodeFile(block, notes)
	if err != nil {
		return err
	}
	return createFile(path, text)
}

// createFile writes a new file, and removes it if it cannot be written completely.
func createFile(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make a key file: %w", err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close()) // the umask may have taken more away
	if err == nil {
		err = privatefile.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(path))
	}
	return nil
}

func encodeFile(block *pem.Block, notes Attributes) ([]byte, error) {
	var b bytes.Buffer
	if err := pem.Encode(&b, block); err != nil {
		return nil, fmt.Errorf("write a key: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		value := notes[name]
		if name == "" || strings.ContainsAny(name, ":\r\n") || strings.ContainsAny(value, "\r\n") || strings.HasPrefix(name, "-") {
			return nil, fmt.Errorf("write a key: the note %q is not one line", name)
		}
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	if b.Len() > maxSize {
		return nil, fmt.Errorf("write a key: with its notes it has %d bytes, more than %d", b.Len(), maxSize)
	}
	return b.Bytes(), nil
}

// Open reads the part of a key file that needs no passphrase. The error matches [ErrMode],
// [ErrDamaged] or [fs.ErrNotExist].
func Open(path string) (File, error) {
	text, err := readPrivate(path)
	if err != nil {
		return File{}, err
	}
	damaged := func(why string) (File, error) { return File{}, fmt.Errorf("%s: %w: %s", path, ErrDamaged, why) }
	block, rest := pem.Decode(text)
	if block == nil || block.Type != blockType && block.Type != pkcs8BlockType || !bytes.HasPrefix(text, []byte("-----BEGIN ")) {
		return damaged("it does not begin with -----BEGIN " + blockType + "----- or -----BEGIN " + pkcs8BlockType + "-----, or its end is missing")
	}
	f := File{Notes: Attributes{}, block: block}
	if block.Type == pkcs8BlockType {
		var key ed25519.PrivateKey
		if key, err = parsePKCS8(block.Bytes); err == nil {
			f.Public, _ = key.Public().(ed25519.PublicKey)
		}
	} else {
		f.Public, f.Encrypted, err = parseHeader(block.Bytes)
	}
	if err != nil {
		return damaged(err.Error())
	}
	for line := range strings.Lines(string(rest)) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			f.Notes[name] = strings.TrimSpace(value)
		}
	}
	return f, nil
}

// readPrivate reads a file that no other user can read or change.
func readPrivate(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a key file: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("open a key file: %w", err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w: it is not a regular file", path, ErrDamaged)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s has mode %#o: %w; run: chmod 600 %s", path, info.Mode().Perm(), ErrMode, path)
	}
	text, err := limit.ReadAll(file, maxSize)
	switch {
	case errors.Is(err, limit.ErrTooLarge):
		return nil, fmt.Errorf("%s: %w: it has more than %d bytes", path, ErrDamaged, maxSize)
	case err != nil:
		return nil, fmt.Errorf("read a key file: %w", err)
	}
	return text, nil
}

// parsePKCS8 reads a plain key in PKCS #8 (RFC 8410 §7).
func parsePKCS8(b []byte) (ed25519.PrivateKey, error) {
	raw, err := x509.ParsePKCS8PrivateKey(b)
	if err != nil {
		return nil, errors.New("its key cannot be read")
	}
	key, ok := raw.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("its key is not an Ed25519 key")
	}
	return key, nil
}

// parseHeader reads the open part of a key (OpenSSH PROTOCOL.key).
func parseHeader(b []byte) (public ed25519.PublicKey, encrypted bool, err error) {
	rest, ok := bytes.CutPrefix(b, []byte("openssh-key-v1\x00"))
	if !ok {
		return nil, false, errors.New("it is no key of OpenSSH")
	}
	var h struct {
		Cipher, KDF string
		Options     string
		Keys        uint32
		Public      []byte
		Rest        []byte `ssh:"rest"`
	}
	if err := ssh.Unmarshal(rest, &h); err != nil || h.Keys != 1 {
		return nil, false, errors.New("it is truncated, or does not have exactly one key")
	}
	if h.KDF == "bcrypt" {
		var o struct {
			Salt   string
			Rounds uint32
		}
		if err := ssh.Unmarshal([]byte(h.Options), &o); err != nil || o.Rounds > maxRounds {
			return nil, false, fmt.Errorf("its passphrase is to be worked on in more than %d rounds, or the rounds cannot be read", maxRounds)
		}
	}
	key, err := ssh.ParsePublicKey(h.Public)
	if err != nil {
		return nil, false, errors.New("its public key cannot be read")
	}
	crypto, ok := key.(ssh.CryptoPublicKey)
	if !ok {
		return nil, false, errors.New("its key is of a kind that is not used here")
	}
	public, ok = crypto.CryptoPublicKey().(ed25519.PublicKey)
	if !ok {
		return nil, false, fmt.Errorf("its key is of the kind %s, not ssh-ed25519", key.Type())
	}
	return public, h.Cipher != "none", nil
}

// Private returns the private key; a plain file needs no passphrase. The error matches
// [ErrPassphrase] or [ErrDamaged].
func (f File) Private(passphrase []byte) (ed25519.PrivateKey, error) {
	if f.block.Type == pkcs8BlockType {
		key, err := parsePKCS8(f.block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return key, nil
	}
	var raw any
	var err error
	text := pem.EncodeToMemory(f.block)
	switch {
	case !f.Encrypted:
		raw, err = ssh.ParseRawPrivateKey(text)
	case len(passphrase) == 0:
		return nil, ErrPassphrase
	default:
		raw, err = ssh.ParseRawPrivateKeyWithPassphrase(text, passphrase)
	}
	if errors.Is(err, x509.IncorrectPasswordError) {
		return nil, ErrPassphrase
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	key, ok := raw.(*ed25519.PrivateKey)
	// A signature made with a public half that does not belong to the private one would reveal the
	// private one.
	if !ok || len(*key) != ed25519.PrivateKeySize || !f.Public.Equal(key.Public()) || !key.Equal(ed25519.NewKeyFromSeed(key.Seed())) {
		return nil, fmt.Errorf("%w: its two halves do not belong together", ErrDamaged)
	}
	return *key, nil
}

// Read returns the key in a file. It calls ask for the passphrase of an encrypted file; a nil ask
// means that there is none.
func Read(path string, ask func() ([]byte, error)) (ed25519.PrivateKey, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	var passphrase []byte
	if f.Encrypted && ask != nil {
		if passphrase, err = ask(); err != nil {
			return nil, err
		}
	}
	key, err := f.Private(passphrase)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// Annotate sets notes of a key file; "" removes one. It does not change the key, and replaces the
// file in one step.
func Annotate(path string, notes Attributes) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	for name, value := range notes {
		f.Notes[name] = value
		if value == "" {
			delete(f.Notes, name)
		}
	}
	text, err := encodeFile(f.block, f.Notes)
	if err != nil {
		return err
	}
	temporary := path + ".writing"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := createFile(temporary, text); err != nil {
		return err
	}
	return renameFile(temporary, path)
}

// Next is the path of the key that will replace the one at path.
func Next(path string) string { return path + ".next" }

// Promote replaces the key at path by the one at [Next], in one step. The old one is lost.
func Promote(path string) error {
	if _, err := Open(Next(path)); err != nil { // never put rubbish over a key
		return err
	}
	return renameFile(Next(path), path)
}

// Copy copies a key file, encrypted or not, to another path and syncs the copy. The error matches
// [fs.ErrExist] if the file exists: nothing is overwritten.
func Copy(from, to string) error {
	if _, err := Open(from); err != nil {
		return err
	}
	text, err := readPrivate(from)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("copy a key to %s: %w", to, fs.ErrExist)
	}
	temporary := to + ".writing"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: %w", to, err)
	}
	if err := createFile(temporary, text); err != nil {
		return err
	}
	return renameFile(temporary, to)
}

func renameFile(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("put a key in its place: %w", err)
	}
	if err := privatefile.SyncDir(filepath.Dir(to)); err != nil {
		return fmt.Errorf("sync the directory of a key: %w", err)
	}
	return nil
}
