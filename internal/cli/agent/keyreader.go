package agent

import (
	"crypto/ed25519"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/mailbox"
	"gazetteer/registry/keyfile"
)

// A KeyReader reads the key of an agent from the file that --key names. Verbs outside this package
// use it; its flags are those of the verb agent.
type KeyReader struct{ keys keyring }

// AddFlags adds --key and --passphrase-file to a verb and the verbs below it.
func (r *KeyReader) AddFlags(c *cobra.Command) {
	c.PersistentFlags().StringVar(&r.keys.path, "key", "agent.key", "file with the agent's key")
	c.PersistentFlags().StringVar(&r.keys.passphraseFile, "passphrase-file", "", "file whose first line is the passphrase of the key (default: asked for on the terminal)")
}

// Read returns the key and the DID of its agent, "" when the file names none. A passphrase is asked
// for on the terminal unless a file has it.
func (r *KeyReader) Read(a *cli.App) (ed25519.PrivateKey, string, error) {
	key, owner, err := r.keys.readKey(&verbs{a}, r.keys.path)
	if err != nil || owner.Host == "" {
		return key, "", err
	}
	return key, owner.String(), nil
}

// Path returns the path of the key file.
func (r *KeyReader) Path() string { return r.keys.path }

// ReadRetired returns the retired keys that the mailbox beside the key file keeps, and why others
// cannot be read. The passphrase is that of Read, which is called before.
func (r *KeyReader) ReadRetired() ([]ed25519.PrivateKey, []error) {
	return mailbox.ReadKeys(mailbox.DirOf(r.keys.path), func(_ string, f keyfile.File) (ed25519.PrivateKey, error) {
		return f.Private(r.keys.passphrase)
	})
}

// Owner returns the DID of the agent whose key the file is, without its passphrase, and "" when there
// is no file or it names none.
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
