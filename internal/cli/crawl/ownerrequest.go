package crawl

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"gazetteer/crawler/owner"
	"gazetteer/internal/cli"
	"gazetteer/internal/cli/agent"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
)

func (a *verbs) optOutCommand() *cobra.Command {
	keys, subdomains := &agent.KeyReader{}, false
	c := &cobra.Command{
		Use:   "opt-out HOST",
		Short: "Remove your host from a registry, and stop its visits",
		Long: `Opt-out asks a registry to stop visits to a host of yours and to remove what the
host published. The registry requires a proof: a value that you publish as a TXT
record or in a file. The first run shows the value and the places; publish it, and
run the command again. With --key you sign the request instead, with an Ed25519 key
that the DID document of the host names (gazetteer crawler recrawl --help).

  gazetteer opt-out www.example.com
  gazetteer opt-out example.com --subdomains
  gazetteer --server https://registry.example opt-out www.example.com --key owner.key

Exit code 1 until the registry finds the value. gazetteer opt-in reverses it.`,
		Args: cli.OneHost,
		RunE: func(c *cobra.Command, args []string) error {
			return a.WithServer(c.Context(), cli.Read, func(server *cli.Client) error {
				return a.sendOwnerRequest(c, server, keys, owner.OptOut, args[0], subdomains)
			})
		},
	}
	keys.AddOwnerFlags(c)
	c.Flags().BoolVar(&subdomains, "subdomains", false, "for all hosts below this one, too")
	return c
}

func (a *verbs) optInCommand() *cobra.Command {
	keys := &agent.KeyReader{}
	c := &cobra.Command{
		Use:   "opt-in HOST",
		Short: "Let a registry visit your host again, after opt-out",
		Long: `Opt-in reverses gazetteer opt-out, also one with --subdomains: name the host that
opted out. It requires the same kinds of proof: the first run shows the value to
publish; publish it, and run the command again, or sign the request with --key.

  gazetteer opt-in www.example.com
  gazetteer opt-in www.example.com --key owner.key

Exit code 1 until the registry finds the value.`,
		Args: cli.OneHost,
		RunE: func(c *cobra.Command, args []string) error {
			return a.WithServer(c.Context(), cli.Read, func(server *cli.Client) error {
				return a.sendOwnerRequest(c, server, keys, owner.OptIn, args[0], false)
			})
		},
	}
	keys.AddOwnerFlags(c)
	return c
}

// sendOwnerRequest sends the request of an owner, and prints its result or the proof that it lacks.
func (a *verbs) sendOwnerRequest(c *cobra.Command, server *cli.Client, keys *agent.KeyReader, kind owner.RequestKind, host string, subdomains bool) error {
	signer, err := keys.ReadOwner(c, a.App, host)
	if err != nil {
		return err
	}
	var body any
	if subdomains {
		body = map[string]bool{"subdomains": true}
	}
	var answer owner.RequestResult
	raw, err := server.SendJSON(c.Context(), http.MethodPost, "/api/v1/services/"+url.PathEscape(host)+"/"+string(kind), body, signer, &answer)
	if err != nil {
		return keys.ExplainOwner(err, host)
	}
	if a.JSON {
		err = a.PrintJSON(raw, nil)
	} else if answer.Done {
		_, err = fmt.Fprintln(a.Out, format.Visible(describeOwnerResult(answer)))
	} else {
		fmt.Fprintf(a.Out, "Nothing has changed yet. Publish this value:\n\n  %s\n\nat one of these places:\n\n", format.Visible(answer.Publish.Value))
		for _, place := range answer.Publish.At {
			fmt.Fprintf(a.Out, "  %s\n", format.Visible(place))
		}
		fmt.Fprintln(a.Out, "\nWhat the registry found there:")
		for _, probe := range answer.Probes {
			fmt.Fprintf(a.Out, "  %s\n", format.Visible(probe.String()))
		}
		again := string(kind) + " " + format.Visible(host)
		if subdomains {
			again += " --subdomains"
		}
		a.PrintNextSteps("Then run this again:", a.FormatCommand(again))
	}
	if err != nil || answer.Done {
		return err
	}
	return exit.ErrSilent
}

// describeOwnerResult says what holds for the host now.
func describeOwnerResult(answer owner.RequestResult) string {
	scope := answer.Host
	if answer.Subdomains {
		scope += " and its subdomains"
	}
	if answer.Request == owner.OptIn {
		return scope + ": visits are allowed again; proved by " + answer.Proof
	}
	return scope + ": no further visits, and what was published is removed; proved by " + answer.Proof
}
