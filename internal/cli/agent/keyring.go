package agent

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/mailbox"
	"gazetteer/protocol/did"
	"gazetteer/registry/keyfile"
)

// agentNote is the note in a key file that names the owner of the key by its DID.
const agentNote = "agent"

// defaultKeyFile is the value of --key.
const defaultKeyFile = "agent.key"

// keyring contains the key files that the commands for agents use.
type keyring struct {
	path           string // of the key in use
	passphraseFile string

	passphrase []byte // after the user was asked for it
	locked     bool   // by lockKeys
}

func (k *keyring) addFlags(c *cobra.Command) {
	c.PersistentFlags().StringVar(&k.path, "key", defaultKeyFile, "file with the agent's key")
	c.PersistentFlags().StringVar(&k.passphraseFile, "passphrase-file", "", "file whose first line is the passphrase of the key (default: prompt on the terminal)")
}

// recoveryPath returns the path of the recovery key: agent.recovery.key.
func (k *keyring) recoveryPath() string { return recoveryPathOf(k.path) }

func recoveryPathOf(path string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + ".recovery" + ext
}

// keyPathOf returns the path of the key that a recovery key, or the key itself, belongs to.
func keyPathOf(path string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(strings.TrimSuffix(path, ext), ".recovery") + ext
}

// formatFiles names the key files that exist.
func (k *keyring) formatFiles() string {
	if cli.FileExists(k.recoveryPath()) {
		return k.path + " and " + k.recoveryPath()
	}
	return k.path
}

// readKey returns the key in a file and the owner that the file names, the zero Web if it names
// none.
func (k *keyring) readKey(ctx context.Context, a *verbs, path string) (ed25519.PrivateKey, did.Web, error) {
	f, err := keyfile.Open(path)
	if err != nil {
		return nil, did.Web{}, keyError(err, path)
	}
	if f.Encrypted && k.passphrase == nil {
		if k.passphrase, err = k.askPassphrase(ctx, a, "Passphrase of "+path+": "); err != nil {
			return nil, did.Web{}, err
		}
	}
	key, err := f.Private(k.passphrase)
	if errors.Is(err, keyfile.ErrPassphrase) && k.passphrase != nil {
		return nil, did.Web{}, exit.Usagef("%s: this is not its passphrase, or the file is damaged", path)
	}
	if err != nil {
		return nil, did.Web{}, keyError(fmt.Errorf("%s: %w", path, err), path)
	}
	owner, err := parseOwner(f, path)
	return key, owner, err
}

// parseOwner reads the owner that a key file names.
func parseOwner(f keyfile.File, path string) (did.Web, error) {
	text := f.Notes[agentNote]
	if text == "" {
		return did.Web{}, nil
	}
	owner, err := did.ParseWeb(text)
	if _, ok := owner.AirID(); err != nil || !ok {
		return did.Web{}, &exit.Error{Code: exit.Data, Err: fmt.Errorf("%s: the line %q after the key names no agent: remove the line, then run: gazetteer agent show AIR-…", path, agentNote+": "+text)}
	}
	return owner, nil
}

// keyError adds the next step to the error of an unusable key file.
func keyError(err error, path string) error {
	withKey := ""
	if key := keyPathOf(path); key != defaultKeyFile {
		withKey = " --key " + cli.QuoteForShell(key)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && cli.FileExists(keyfile.Next(path)):
		return exit.NotFoundf("there is no key in %s, and %s waits until it takes effect. To see when, and to use it from then on: gazetteer agent show%s", path, keyfile.Next(path), withKey)
	case errors.Is(err, fs.ErrNotExist) && cli.FileExists(recoveryPathOf(path)):
		return exit.NotFoundf("there is no key in %s, but %s exists: if the key is lost, recover the agent with: gazetteer agent recover%s", path, recoveryPathOf(path), withKey)
	case errors.Is(err, fs.ErrNotExist) && withKey != "":
		return exit.NotFoundf("there is no key in %s: check the name, or make an agent with that key: gazetteer agent new NAME%s", path, withKey)
	case errors.Is(err, fs.ErrNotExist):
		return exit.NotFoundf("there is no key in %s: name the file with --key, or make an agent with: gazetteer agent new NAME", path)
	case errors.Is(err, keyfile.ErrPassphrase):
		return exit.Usagef("%v: give it with --passphrase-file, or run this on a terminal to be asked", err)
	case errors.Is(err, keyfile.ErrMode):
		return exit.Usagef("%v", err)
	default:
		return &exit.Error{Code: exit.Data, Err: err}
	}
}

// maxPassphrase bounds a passphrase in bytes.
const maxPassphrase = 1024

// askPassphrase returns the passphrase from a file or from the user at the terminal.
func (k *keyring) askPassphrase(ctx context.Context, a *verbs, prompt string) ([]byte, error) {
	if k.passphraseFile != "" {
		text, err := os.ReadFile(k.passphraseFile)
		if err != nil {
			return nil, exit.Usagef("--passphrase-file: %w", err)
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		if line = bytes.TrimSuffix(line, []byte("\r")); len(line) == 0 || len(line) > maxPassphrase {
			return nil, exit.Usagef("--passphrase-file %s: want a passphrase of 1 to %d bytes on its first line", k.passphraseFile, maxPassphrase)
		}
		return line, nil
	}
	passphrase, asked, err := a.ReadPassword(ctx, prompt)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if !asked {
		return nil, exit.Usagef("a passphrase is needed and there is no terminal to ask on: give it with --passphrase-file")
	}
	if err != nil || len(passphrase) == 0 {
		return nil, exit.Usagef("no passphrase was given: nothing was done")
	}
	return passphrase, nil
}

// newPassphrase asks twice for a new passphrase.
func (k *keyring) newPassphrase(ctx context.Context, a *verbs) (err error) {
	if k.passphrase, err = k.askPassphrase(ctx, a, "Passphrase for the new keys: "); err != nil || k.passphraseFile != "" {
		return err
	}
	again, err := k.askPassphrase(ctx, a, "Once more: ")
	if err == nil && !bytes.Equal(again, k.passphrase) {
		err = exit.Usagef("the two passphrases differ: nothing was made")
	}
	return err
}

// createKey writes a new key into a file that must not exist. The new file is encrypted if the file
// like is encrypted.
func (k *keyring) createKey(path string, owner did.Web, encrypted bool) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	var passphrase []byte
	if encrypted {
		passphrase = k.passphrase
	}
	notes := keyfile.Attributes{}
	if _, ok := owner.AirID(); ok {
		notes[agentNote] = owner.String()
	}
	err = keyfile.Create(path, key, passphrase, notes)
	if errors.Is(err, fs.ErrExist) {
		return nil, exit.Usagef("%s is there already and is not overwritten: move it away, or name another file with --key", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("--key %s: there is no directory %s", path, filepath.Dir(path))
	}
	return key, err
}

// readOrCreateKey returns the key in a file that an earlier, interrupted attempt created, or
// creates a key. It returns the error of read or make.
func (k *keyring) readOrCreateKey(ctx context.Context, a *verbs, path string, owner did.Web, encrypted bool) (ed25519.PrivateKey, error) {
	if !cli.FileExists(path) {
		return k.createKey(path, owner, encrypted)
	}
	key, of, err := k.readKey(ctx, a, path)
	if err == nil && of.String() != owner.String() {
		err = exit.Usagef("%s holds a key of %s: move it away", path, of)
	}
	return key, err
}

// promoteKey replaces the agent's key with the next key. It first saves the old key in the mailbox
// next to it, because sealed mail for the old key may still be waiting.
func (k *keyring) promoteKey() error {
	err := mailbox.KeepKey(mailbox.DirOf(k.path), k.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // recovery of a lost key
		return err
	}
	return keyfile.Promote(k.path)
}

// formatAgentCommand returns an agent command that the user can run next with the same key.
func (a *verbs) formatAgentCommand(k *keyring, words string) string {
	text := a.FormatCommand("agent " + words)
	if k.path != defaultKeyFile {
		text += " --key " + cli.QuoteForShell(k.path)
	}
	if k.passphraseFile != "" {
		text += " --passphrase-file " + cli.QuoteForShell(k.passphraseFile)
	}
	return text
}
