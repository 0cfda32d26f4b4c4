// Package altar contains the commands of the tool host: altar (admitted clients), contracts
// (callable tools) and tool (calls).
package altar

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api"
	"gazetteer/document/diff"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/toolhost"
)

type verbs struct{ *cli.App }

// Commands returns the commands of this package.
func Commands(a *cli.App) []*cobra.Command {
	v := &verbs{a}
	return []*cobra.Command{v.altarCommand(), v.contractsCommand(), v.toolCommand()}
}

func (v *verbs) altarCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "altar",
		Short: "Manage access to the tool host",
		Long: `The tool host (Altar 1.0.0) serves runtimes, which execute tools, and clients, which call them,
below /altar/v1. Each needs an identity with a token of its own:

  head -c 32 /dev/urandom | base64 > billing.token
  gazetteer altar identity add --runtime billing --token-file billing.token
  head -c 32 /dev/urandom | base64 > planner.token
  gazetteer altar identity add --client planner --token-file planner.token
  gazetteer altar identity list

Contracts say what they may execute and call: gazetteer contracts --help. docs/altar.md has the
messages and two runtimes to start from.`,
		Args: cli.RequireVerb,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	identity := &cobra.Command{
		Use: "identity", Short: "Add, list and remove identities",
		Args: cli.RequireVerb,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	identity.AddCommand(v.addIdentityCommand(), v.listIdentitiesCommand(), v.removeIdentityCommand())
	c.AddCommand(identity)
	return c
}

// identityFlags contains the identity to add and the way to recognize it.
type identityFlags struct {
	runtime, client, tokenFile, certificate string
	tenants                                 []string
}

const shortToken = 16

func (v *verbs) addIdentityCommand() *cobra.Command {
	f := &identityFlags{}
	c := &cobra.Command{
		Use:   "add --runtime ID|--client ID --token-file FILE|--cert FILE",
		Short: "Give a runtime or a client access, or another credential",
		Long: `Add gives access to the holder of a bearer token or of a client certificate. Only the
SHA-256 of either is kept, in altar/identities.json of the data directory. A token file
holds the token and nothing else; spaces and line ends around it do not count. To replace a
credential, add the identity again: the earlier credential is no longer valid, and connections
that a runtime has opened with it end. A client with
tenants may open sessions in their name only, and contracts for a tenant are for clients that have
it; without --tenant a client keeps the tenants that it has.

  head -c 32 /dev/urandom | base64 > planner.token
  gazetteer altar identity add --client planner --token-file planner.token`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return v.addIdentity(c, f) },
	}
	c.Flags().StringVar(&f.runtime, "runtime", "", "id of a runtime: its runtime_id or a prefix of it")
	c.Flags().StringVar(&f.client, "client", "", "id of a client")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "file of its bearer token")
	c.Flags().StringVar(&f.certificate, "cert", "", "file of its client certificate, PEM")
	c.Flags().StringSliceVar(&f.tenants, "tenant", nil, "tenants in whose name the client may open sessions; '*' stands for every one")
	return c
}

func (v *verbs) addIdentity(c *cobra.Command, f *identityFlags) error {
	body := api.IdentityBody{ID: f.runtime, Kind: toolhost.RuntimeIdentity}
	if f.client != "" {
		body = api.IdentityBody{ID: f.client, Kind: toolhost.ClientIdentity, Tenants: f.tenants}
	}
	if (f.runtime == "") == (f.client == "") {
		return cli.UsageError(c, "name one of --runtime ID and --client ID")
	}
	if f.client == "" && f.tenants != nil {
		return cli.UsageError(c, "--tenant is for clients")
	}
	if f.tokenFile == "" && f.certificate == "" {
		return cli.UsageError(c, "name the credential with --token-file FILE or --cert FILE")
	}
	if f.tokenFile != "" {
		token, err := readToken(f.tokenFile)
		if err != nil {
			return err
		}
		if len(token) < shortToken {
			fmt.Fprintf(v.Err, "The token has %d characters; one of %d random ones or more cannot be guessed.\n", len(token), shortToken)
		}
		body.Token = toolhost.HashToken(token)
	}
	if f.certificate != "" {
		certificate, err := readCertificate(f.certificate)
		if err != nil {
			return err
		}
		body.Certificate = toolhost.HashCertificate(certificate)
	}
	return v.runWithServer(c.Context(), cli.Setup, func(server *cli.Client) error {
		var before api.IdentityList
		if _, err := server.GetJSON(c.Context(), "/admin/altar/identities", &before); err != nil {
			return err
		}
		return cli.ShowAnswer(c.Context(), v.App, server, http.MethodPost, "/admin/altar/identities", body, nil, func(added toolhost.Identity) error {
			what := "added"
			if slices.ContainsFunc(before.Identities, func(old toolhost.Identity) bool { return old.Kind == added.Kind && old.ID == added.ID }) {
				what = "replaced"
			}
			v.PrintField(what, added.Kind+" "+added.ID)
			return nil
		})
	})
}

func readToken(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", exit.Usagef("read the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || len(token) > 4096 || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", exit.Usagef("%s has no bearer token: want one word of printable ASCII", file)
	}
	return token, nil
}

func readCertificate(file string) (*x509.Certificate, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, exit.Usagef("read the certificate: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, exit.Usagef("%s has no certificate in PEM", file)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, exit.Usagef("%s: %v", file, err)
	}
	return certificate, nil
}

// operatorError explains the refusal of a server that accepts no operator requests at that address.
func operatorError(v *verbs, err error) error {
	if v.Server != "" && cli.RefusesOperator(err) {
		return exit.Usagef("%s does not accept operator requests: run this on the machine of the server, without --server, or name the address of admin_listen", v.Server)
	}
	return err
}

func (v *verbs) listIdentitiesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the identities",
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return showAnswer(c.Context(), v, "/admin/altar/identities", func(list api.IdentityList) error {
				for _, i := range list.Identities {
					by := "token"
					if i.Token == "" {
						by = "certificate " + i.Certificate[:min(16, len(i.Certificate))]
					}
					tenants := ""
					if len(i.Tenants) > 0 {
						tenants = ", for the tenants " + format.Visible(strings.Join(i.Tenants, ", "))
					}
					fmt.Fprintf(v.Out, "%-8s %-30s %s, added %s%s\n", i.Kind, format.Visible(i.ID), by, i.Added.Format(time.DateOnly), tenants)
				}
				if len(list.Identities) == 0 {
					fmt.Fprintln(v.Err, "no identities: nobody may connect yet")
				}
				return nil
			})
		},
	}
}

func (v *verbs) removeIdentityCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "End an identity, its runtimes and its sessions",
		Args: cli.ExactArgs(1, "the id of an identity"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.runWithServer(c.Context(), cli.Operate, func(server *cli.Client) error {
				return cli.ShowAnswer(c.Context(), v.App, server, http.MethodDelete, "/admin/altar/identities/"+url.PathEscape(args[0]), nil, nil, func(api.IdentityList) error {
					v.PrintField("removed", args[0])
					return nil
				})
			})
		},
	}
}

func (v *verbs) contractsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "contracts",
		Short: "Define the tools that may be called, and their callers",
		Long: `A contract defines the name of a tool, its parameters, who may call it and who may execute it.
Runtimes execute contracts; they never define them. A file has contracts of your own (contracts
add --help shows one):

  gazetteer contracts add contracts.json
  gazetteer contracts list

Contracts can also be made from the documents of services that were crawled. They are pinned to
the document that you approved: a later change waits until you approve it.

  gazetteer crawl api.example.com
  gazetteer contracts propose api.example.com
  gazetteer contracts approve search_flights
  gazetteer contracts diff`,
		Args: cli.RequireVerb,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(v.addContractsCommand(), v.listContractsCommand(), v.proposeCommand(), v.diffCommand(), v.approveCommand(), v.revokeCommand())
	return c
}

func (v *verbs) addContractsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "add FILE",
		Short: "Add contracts of your own from a file, and approve them",
		Long: `Add reads a JSON list of contracts and approves them. They replace contracts of the same
names. A file holds, for example:

  [{"name": "add", "description": "Add two numbers",
    "parameters": [{"name": "a", "type": "integer", "required": true},
                   {"name": "b", "type": "integer", "required": true}],
    "effect": "informational", "timeout_ms": 5000, "streaming": false,
    "allow": ["planner", "operator"], "runtimes": ["billing"]}]

Without allow every client may call the tool; with an empty list no client may. The client of
gazetteer tool on the machine of the server is "operator". In the same way runtimes lists the
runtimes that may execute it. "when": {"tenant_id": "acme"} restricts it to the sessions of a tenant
(altar identity add --tenant).`,
		Args: cli.ExactArgs(1, "a file with a JSON list of contracts"),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return exit.Usagef("read the contracts: %w", err)
			}
			if _, err := toolhost.ReadContracts(text); err != nil {
				return exit.Usagef("%s: %v", args[0], err)
			}
			return v.runWithServer(c.Context(), cli.Setup, func(server *cli.Client) error {
				return cli.ShowAnswer(c.Context(), v.App, server, http.MethodPost, "/admin/altar/contracts", json.RawMessage(text), nil, func(list api.ContractList) error {
					var open []string
					contracts := make([]toolhost.Contract, len(list.Contracts))
					for i, contract := range list.Contracts {
						v.PrintField("approved", contract.Name)
						if _, every := contract.AllowedRuntimes(); every {
							open = append(open, contract.Name)
						}
						contracts[i] = contract.Contract
					}
					if len(open) > 0 {
						fmt.Fprintf(v.Err, "Every runtime that has an identity may execute %s. The member runtimes names those that may.\n", strings.Join(open, ", "))
					}
					return v.warnOfMissingIdentities(c.Context(), server, contracts...)
				})
			})
		},
	}
}

func (v *verbs) listContractsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the contracts",
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return showAnswer(c.Context(), v, "/admin/altar/contracts", func(list api.ContractList) error {
				for _, contract := range list.Contracts {
					v.printContractStatus(contract)
				}
				if len(list.Contracts) == 0 {
					fmt.Fprintln(v.Err, "no contracts: nothing may be called yet")
				}
				return nil
			})
		},
	}
}

// warnOfMissingIdentities names the clients and runtimes of contracts that have no identity yet.
func (v *verbs) warnOfMissingIdentities(ctx context.Context, server *cli.Client, contracts ...toolhost.Contract) error {
	var list api.IdentityList
	if _, err := server.GetJSON(ctx, "/admin/altar/identities", &list); err != nil {
		return err
	}
	known := map[string]bool{ // what needs no identity
		toolhost.ClientIdentity + " " + toolhost.OperatorClient: true,
		toolhost.ClientIdentity + " *":                          true,
		toolhost.RuntimeIdentity + " " + toolhost.HTTPRuntime:   true,
	}
	for _, i := range list.Identities {
		known[i.Kind+" "+i.ID] = true
	}
	var missing []string
	add := func(kind, id string) {
		if name := kind + " " + id; !known[name] {
			known[name] = true
			missing = append(missing, format.Visible(name))
		}
	}
	for _, c := range contracts {
		for _, id := range c.Allow {
			add(toolhost.ClientIdentity, id)
		}
		runtimes, every := c.AllowedRuntimes()
		if every {
			continue
		}
		for _, id := range runtimes {
			add(toolhost.RuntimeIdentity, id)
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(v.Err, "There is no identity yet for: %s. %s adds one.\n", strings.Join(missing, ", "), v.FormatCommand("altar identity add"))
	}
	return nil
}

func (v *verbs) printContract(c toolhost.Contract) {
	v.printContractStatus(toolhost.ContractStatus{Contract: c})
}

// describeSeverity names the severity of a change of a contract.
func describeSeverity(severity string) string {
	if severity == diff.None.String() {
		return "nothing that callers notice"
	}
	return severity
}

func (v *verbs) printContractStatus(c toolhost.ContractStatus) {
	about := c.DescribeEffect()
	if c.Streaming {
		about = strings.TrimSpace(about + " streaming")
	}
	about = strings.TrimSpace(about + " for " + c.DescribeClients() + ", by " + c.DescribeRuntimes())
	if c.Pin != nil {
		about += ", from " + c.Pin.DescribeSource()
	}
	if c.Reason != "" {
		about += ": " + c.Reason
	}
	if c.Waiting != "" {
		about += "; a change waits: " + describeSeverity(c.Waiting)
	}
	fmt.Fprintf(v.Out, "%-10s %-30s %s\n", c.State, c.Name, format.Visible(about))
	if c.InputNote != "" {
		fmt.Fprintf(v.Out, "%11s%s\n", "", format.Visible(c.InputNote))
	}
}

// runWithServer calls [cli.App.WithServer] for an operator command.
func (v *verbs) runWithServer(ctx context.Context, access cli.Access, use func(*cli.Client) error) error {
	return v.WithServer(ctx, access, func(server *cli.Client) error { return operatorError(v, use(server)) })
}

// showAnswer requests a path of the operator and prints the answer: unchanged with --json, otherwise
// with print.
func showAnswer[T any](ctx context.Context, v *verbs, path string, print func(T) error) error {
	return v.runWithServer(ctx, cli.Operate, func(server *cli.Client) error {
		return cli.ShowAnswer(ctx, v.App, server, http.MethodGet, path, nil, nil, print)
	})
}
