package agent

import (
	"context"
	"crypto/ed25519"
	"net/http"

	"github.com/spf13/cobra"

	"gazetteer/fetch"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/mailbox"
	"gazetteer/protocol/did"
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

// AddOwnerFlags is AddFlags for requests that the owner of a host may sign.
func (r *KeyReader) AddOwnerFlags(c *cobra.Command) {
	r.AddFlags(c)
	flag := c.PersistentFlags().Lookup("key")
	flag.DefValue, flag.Usage = "", "sign the request as the owner of the host, with the key in this file"
}

// ReadOwner returns the signer for the owner of a host whose key --key names, nil without that flag.
func (r *KeyReader) ReadOwner(c *cobra.Command, a *cli.App, host string) (*cli.Signer, error) {
	if !c.Flags().Changed("key") {
		return nil, nil
	}
	host, err := fetch.CheckHost(host)
	if err != nil {
		return nil, err
	}
	key, _, err := r.Read(c.Context(), a)
	if err != nil {
		return nil, err
	}
	return cli.NewSigner(did.Web{Method: did.MethodWeb, Host: host}, key), nil
}

// ExplainOwner adds to the refusal of an owner's key how to publish the key.
func (r *KeyReader) ExplainOwner(err error, host string) error {
	if !cli.IsRefusedWithStatus(err, http.StatusUnauthorized) {
		return err
	}
	return exit.NotFoundf("%w\n  to print what https://%s/.well-known/did.json must contain: gazetteer crawler recrawl %s --key %s --print", err, host, host, cli.QuoteForShell(r.Path()))
}
