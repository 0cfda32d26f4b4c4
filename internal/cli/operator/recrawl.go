package operator

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"gazetteer/api/answer"
	"gazetteer/fetch"
	"gazetteer/internal/cli"
	"gazetteer/internal/cli/agent"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/protocol/did"
)

func (a *verbs) recrawlCommand() *cobra.Command {
	keys, show := &agent.KeyReader{}, false
	c := &cobra.Command{
		Use: "recrawl HOST", Short: "Visit a known host again",
		Long: `Recrawl makes the running server visit a known host again, within the intervals that
hold for every visit. On the socket of the data directory or over admin_listen it is
possible at any time; over another address, as for everybody, once in 10 minutes.

With --key the owner of the host signs the request, with an Ed25519 key that the
DID document of the host names. The crawler then also requests what it did not
find before, and the badge of the host no longer says "unverified". --print writes
the DID document with the key of the file; publish it first, or add its
verification method to the DID document that the host has:

  ssh-keygen -q -t ed25519 -N '' -f owner.key
  gazetteer crawler recrawl www.example.com --key owner.key --print > .well-known/did.json
  gazetteer --server https://registry.example crawler recrawl www.example.com --key owner.key`,
		Args: cli.OneHost,
		RunE: func(c *cobra.Command, args []string) error {
			signed := c.Flags().Changed("key")
			switch {
			case show && !signed:
				return exit.Usagef("--print needs --key FILE, the file with the key of the owner")
			case !signed:
				return a.recrawl(c, args[0], nil)
			}
			host, err := fetch.CheckHost(args[0])
			if err != nil {
				return err
			}
			key, _, err := keys.Read(c.Context(), a.App)
			if err != nil {
				return err
			}
			owner := did.Web{Method: did.MethodWeb, Host: host}
			if show {
				return a.printOwnerDocument(owner, key)
			}
			return keys.ExplainOwner(a.recrawl(c, host, cli.NewSigner(owner, key)), host)
		},
	}
	keys.AddOwnerFlags(c)
	c.Flags().BoolVar(&show, "print", false, "only print the DID document that the owner of the host publishes, as /.well-known/did.json")
	return c
}

// recrawl requests the visit. A nil signer means that the request is unsigned.
func (a *verbs) recrawl(c *cobra.Command, host string, by *cli.Signer) error {
	return a.WithServer(c.Context(), cli.Operate, func(server *cli.Client) error {
		return cli.ShowAnswer(c.Context(), a.App, server, http.MethodPost, "/api/v1/services/"+url.PathEscape(host)+"/recrawl", nil, by, func(s answer.Submission) error {
			_, err := fmt.Fprintf(a.Out, "%s will be visited again when its turn comes.\n", format.Visible(s.Host))
			return err
		})
	})
}

// printOwnerDocument prints the DID document of a host with the one key of its owner.
func (a *verbs) printOwnerDocument(owner did.Web, key ed25519.PrivateKey) error {
	id := owner.String()
	text, err := json.MarshalIndent(did.Document{
		Context: did.Contexts(), ID: id,
		VerificationMethod: []did.VerificationMethod{{
			ID: id + did.KeyFragment, Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: did.FormatMultikey(key.Public().(ed25519.PublicKey)),
		}},
		Authentication: []string{id + did.KeyFragment}, AssertionMethod: []string{id + did.KeyFragment}, Service: []did.Service{},
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the DID document: %w", err)
	}
	_, err = fmt.Fprintf(a.Out, "%s\n", text)
	return err
}
