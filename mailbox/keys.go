package mailbox

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/registry/keyfile"
)

// keysDir is the directory of retired keys in that of a mailbox.
const keysDir = "keys"

// KeepKey copies a key file that is about to be replaced into a mailbox, unchanged: an encrypted
// one stays encrypted. It does nothing if the mailbox has the key already.
func KeepKey(dir, path string) error {
	f, err := keyfile.Open(path)
	if err != nil {
		return err
	}
	to := filepath.Join(dir, keysDir, did.FormatMultikey(f.Public)+".key")
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("store a retired key: %w", err)
	}
	err = keyfile.Copy(path, to)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// ReadKeys returns the retired keys of a mailbox, the one that was kept last first. Open returns the
// private key of a file, or an error for one that cannot be used, for example for lack of its
// passphrase: that key is left out, and the error is among those returned.
func ReadKeys(dir string, open func(path string, f keyfile.File) (ed25519.PrivateKey, error)) (keys []ed25519.PrivateKey, problems []error) {
	entries, err := os.ReadDir(filepath.Join(dir, keysDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("read the retired keys: %w", err)}
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return keptAt(b).Compare(keptAt(a)) })
	for _, entry := range entries {
		path := filepath.Join(dir, keysDir, entry.Name())
		if filepath.Ext(path) != ".key" {
			continue
		}
		f, err := keyfile.Open(path)
		var key ed25519.PrivateKey
		if err == nil {
			key, err = open(path, f)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("retired key %s: %w", path, err))
			continue
		}
		keys = append(keys, key)
	}
	return keys, problems
}

// LacksKey reports whether an agent's DID document lists a retired key that is not among keys. A sealed
// body that none of keys opens may then be sealed to that key.
func LacksKey(document did.Document, keys []ed25519.PrivateKey) bool {
	var held []string
	for _, key := range keys {
		held = append(held, did.FormatMultikey(key.Public().(ed25519.PublicKey)))
	}
	return slices.ContainsFunc(document.VerificationMethod, func(m did.VerificationMethod) bool {
		return strings.HasPrefix(m.ID, document.ID+did.RetiredFragment) && !slices.Contains(held, m.PublicKeyMultibase)
	})
}

// keptAt returns when a key was kept.
func keptAt(entry fs.DirEntry) time.Time {
	info, err := entry.Info()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
