// Package keyfile keeps the private key of an agent in a file that only its
// owner can read, in the format of OpenSSH, plain or encrypted with a passphrase,
// so that ssh-keygen reads it and changes its passphrase (ssh-keygen -p).
//
// Begin with [Create] and [Read]. Behind the key stand lines of the form
// "name: value" that are no secret, such as whose key it is. ssh-keygen passes
// over them, and drops them when it writes the file anew.
//
// A key file is never overwritten. A key that is to take the place of another is
// made beside it, under [Next], and moved there by [Promote] when the registry has
// acknowledged it: whatever happens in between, the key that the registry knows is
// in one of the two files.
package keyfile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gazetteer/internal/privatefile"

	"golang.org/x/crypto/ssh"
)

// Errors of key files. Test with errors.Is; beside them are those of package os,
// such as [fs.ErrExist] of [Create] and [fs.ErrNotExist].
var (
	// ErrPassphrase: the file is encrypted, and no passphrase or a wrong one was
	// given. Damage to an encrypted file looks the same.
	ErrPassphrase = errors.New("the passphrase is missing or wrong")
	// ErrDamaged: the file holds no key of the kind that is kept here.
	ErrDamaged = errors.New("the file has no usable Ed25519 key")
	// ErrMode: others on this machine can read or change the file.
	ErrMode = errors.New("others on this machine can read or change the file")
)

const (
	blockType = "OPENSSH PRIVATE KEY"
	// maxSize bounds a key file; one of ours has some 600 bytes.
	maxSize = 16 << 10
	// maxRounds bounds the work for one passphrase; OpenSSH takes 24.
	maxRounds = 4096
)

// Notes are what stands behind a key, by name. They are no secret, and nothing
// shows that they are true.
type Notes map[string]string

// A File is what can be known of a key file without its passphrase.
type File struct {
	Public    ed25519.PublicKey
	Encrypted bool
	Notes     Notes

	block *pem.Block
}

// Create writes a key into a new file of mode 0600 and syncs it. A nil
// passphrase leaves it plain. It matches [fs.ErrExist] when there is a file of
// that name: nothing is overwritten.
func Create(path string, key ed25519.PrivateKey, passphrase []byte, notes Notes) error {
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

// createFile writes a file that was not there; one that cannot be written whole is
// taken away again.
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

func encodeFile(block *pem.Block, notes Notes) ([]byte, error) {
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

// Open reads what a key file shows without its passphrase. It matches [ErrMode],
// [ErrDamaged] or [fs.ErrNotExist].
func Open(path string) (File, error) {
	text, err := readPrivate(path)
	if err != nil {
		return File{}, err
	}
	damaged := func(why string) (File, error) { return File{}, fmt.Errorf("%s: %w: %s", path, ErrDamaged, why) }
	block, rest := pem.Decode(text)
	if block == nil || block.Type != blockType || !bytes.HasPrefix(text, []byte("-----BEGIN ")) {
		return damaged("it does not begin with -----BEGIN " + blockType + "-----, or its end is missing")
	}
	f := File{Notes: Notes{}, block: block}
	if f.Public, f.Encrypted, err = parseHeader(block.Bytes); err != nil {
		return damaged(err.Error())
	}
	for line := range strings.Lines(string(rest)) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			f.Notes[name] = strings.TrimSpace(value)
		}
	}
	return f, nil
}

// readPrivate reads a file that nobody else can read or change.
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
		return nil, fmt.Errorf("%s: %w: it is no file", path, ErrDamaged)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s has mode %#o: %w; run: chmod 600 %s", path, info.Mode().Perm(), ErrMode, path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read a key file: %w", err)
	case len(text) > maxSize:
		return nil, fmt.Errorf("%s: %w: it has more than %d bytes", path, ErrDamaged, maxSize)
	}
	return text, nil
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

// Private returns the private key; passphrase is not looked at when the file is
// plain. The error matches [ErrPassphrase] or [ErrDamaged].
func (f File) Private(passphrase []byte) (ed25519.PrivateKey, error) {
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
	// Signing with a public half that does not belong to the private one would
	// give the private one away.
	if !ok || len(*key) != ed25519.PrivateKeySize || !f.Public.Equal(key.Public()) || !key.Equal(ed25519.NewKeyFromSeed(key.Seed())) {
		return nil, fmt.Errorf("%w: its two halves do not belong together", ErrDamaged)
	}
	return *key, nil
}

// Read returns the key in a file. Ask is called for the passphrase when the file
// is encrypted; nil has none to give.
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

// Annotate sets notes of a key file; "" takes one away. The key is kept as it
// is, and the file is replaced in one step.
func Annotate(path string, notes Notes) error {
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

// Next is where the key lies that is to take the place of the one at path.
func Next(path string) string { return path + ".next" }

// Promote puts the key at [Next] in the place of the one at path, in one step.
// The old one is gone then.
func Promote(path string) error {
	if _, err := Open(Next(path)); err != nil { // never put rubbish over a key
		return err
	}
	return renameFile(Next(path), path)
}

// Copy writes a key file to another place as it is, encrypted if it is so, and syncs the copy. It
// matches [fs.ErrExist] when there is a file of that name: nothing is overwritten.
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
