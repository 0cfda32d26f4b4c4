package agent

import (
	"context"
	"crypto/ed25519"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/mailbox"
	"gazetteer/registry/keyfile"
)

// A KeyReader reads the key of an agent from the file that --key names, for commands outside this
// package. It has the same flags as the command agent.
type KeyReader struct{ keys keyring }

// AddFlags adds --key and --passphrase-file to a command and its subcommands.
func (r *KeyReader) AddFlags(c *cobra.Command) { r.keys.addFlags(c) }

// Read returns the key and the DID of its agent, "" if the file names none. It asks for the
// passphrase on the terminal unless a file contains it.
func (r *KeyReader) Read(ctx context.Context, a *cli.App) (ed25519.PrivateKey, string, error) {
	key, owner, err := r.keys.readKey(ctx, &verbs{a}, r.keys.path)
	if err != nil || owner.Host == "" {
		return key, "", err
	}
	return key, owner.String(), nil
}

// Path returns the path of the key file.
func (r *KeyReader) Path() string { return r.keys.path }

// ReadRetired returns the retired keys in the mailbox next to the key file, and the errors of keys
// that cannot be read. Call Read first: it reads the passphrase.
func (r *KeyReader) ReadRetired() ([]ed25519.PrivateKey, []error) {
	return mailbox.ReadKeys(mailbox.DirOf(r.keys.path), func(_ string, f keyfile.File) (ed25519.PrivateKey, error) {
		return f.Private(r.keys.passphrase)
	})
}

// Owner returns the DID of the agent whose key is in the file. It needs no passphrase. It returns
// "" if there is no file or the file names no agent.
func (r *KeyReader) Owner() string {
	f, err := keyfile.Open(r.keys.path)
	if err != nil {
		return ""
	}
	owner, err := parseOwner(f, r.keys.path)
	if err != nil || owner.Host == "" {
		return ""
	}
	return owner.String()
}
