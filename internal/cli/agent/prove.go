package agent

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/api/air"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/registry"
)

func (a *verbs) proveCommand(k *keyring) *cobra.Command {
	remove, show := false, false
	c := &cobra.Command{
		Use:   "prove DOMAIN",
		Short: "Prove that a domain is yours, by DNS or a file",
		Long: `Prove asks the registry to check that the owner of a domain names the agent and its
key: in a TXT record at _gazetteer.DOMAIN or at DOMAIN, or in a line of
https://DOMAIN/.well-known/gazetteer-agents. If neither does yet, the answer has
the text to publish, and every question with its answer; the domain stays with the
agent as a claim until it is proved or removed with --remove. The registry checks
again every day; after three failures it withdraws the proof.

  gazetteer agent prove --print >> .well-known/gazetteer-agents
  gazetteer agent prove example.com

After a rotation the domain must name the new key. Until it does, the check fails,
and the proof for the former key lasts until the third failure.

Exit code 1 if the check does not find the agent and its key.`,
		Args: func(c *cobra.Command, args []string) error {
			if show {
				return cli.NoArgs(c, args)
			}
			return cli.ExactArgs(1, "a domain such as example.com")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if show {
				return a.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error { return a.printDomainRecord(c.Context(), server, k) })
			}
			domain, err := readDomain(args[0])
			if err != nil {
				return err
			}
			return a.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error {
				if remove {
					return a.removeDomain(c, server, k, domain)
				}
				return a.proveDomain(c, server, k, domain)
			})
		},
	}
	c.Flags().BoolVar(&remove, "remove", false, "remove the domain from the agent")
	c.Flags().BoolVar(&show, "print", false, "only print the text that the owner of a domain publishes for the agent")
	return c
}

// readDomain returns the domain in an argument: a name, or the address of its web server. The registry
// judges the name itself.
func readDomain(text string) (string, error) {
	scheme, name, isAddress := strings.Cut(text, "://")
	if !isAddress {
		name = text
	} else if !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") {
		return "", exit.Usagef("%s is not a domain: prove takes a name such as example.com", text)
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, "/"), ":443")
	if i := strings.IndexAny(name, "/:?#"); i > 0 && strings.Contains(name[:i], ".") && !strings.Contains(name, "@") {
		return "", exit.Usagef("%s is more than a domain: gazetteer agent prove %s proves the whole host", text, name[:i])
	}
	return name, nil
}

// printDomainRecord prints the records that the owner must publish for the current key.
func (a *verbs) printDomainRecord(ctx context.Context, server *cli.Client, k *keyring) error {
	_, keys, err := a.findOwnAgent(ctx, server, k)
	if err != nil {
		return err
	}
	record := registry.DomainRecordFor(keys.DID, keys.Keys[0].PublicKeyMultibase)
	if a.JSON {
		return cli.WriteJSON(a.Out, map[string]string{"value": record})
	}
	fmt.Fprintln(a.Out, format.Visible(record))
	return nil
}

func (a *verbs) proveDomain(c *cobra.Command, server *cli.Client, k *keyring, domain string) error {
	owner, key, keys, err := a.readOwnAgent(c.Context(), server, k)
	if err != nil {
		return err
	}
	var answer air.DomainAnswer
	raw, err := server.SendJSON(c.Context(), http.MethodPost, cli.AgentPath(keys.AirID, "/domains"), map[string]string{"domain": domain}, cli.NewSigner(owner, key), &answer)
	if err != nil {
		return err
	}
	if a.JSON {
		err = cli.WriteJSONText(a.Out, raw)
	} else {
		a.printDomain(k, answer)
	}
	if err == nil && !namesPresentKey(answer) {
		err = exit.ErrSilent
	}
	return err
}

// namesPresentKey reports whether the last check found the agent with its present key. A domain that
// names the former key after a rotation, or does not answer, stays proved until the third failure.
func namesPresentKey(answer air.DomainAnswer) bool {
	return answer.Proved && slices.ContainsFunc(answer.Domain.Probes, func(p registry.Probe) bool { return p.Found })
}

// printDomain prints the result of the check of a domain.
func (a *verbs) printDomain(k *keyring, answer air.DomainAnswer) {
	a.PrintField("agent", answer.AirID)
	d, found := answer.Domain, namesPresentKey(answer)
	switch {
	case found:
		a.PrintField("domain", d.Name+": proved by "+d.Method)
	case answer.Proved:
		a.PrintField("domain", d.Name+": proved by "+d.Method+" earlier, but it does not name the present key now")
	default:
		a.PrintField("domain", d.Name+": not proved yet")
	}
	expected := "" // what was printed last; it is the same for each place
	for _, l := range d.Probes {
		if found && !l.Found {
			continue // one of the places is enough
		}
		fmt.Fprintln(a.Out)
		a.PrintField("asked", l.Query)
		a.PrintField("from", l.Server)
		for _, got := range l.Values {
			a.PrintField("got", strconv.Quote(got))
		}
		if l.OmittedValues > 0 {
			a.PrintField("", fmt.Sprintf("and %d more", l.OmittedValues))
		}
		if l.Expected != expected {
			expected = l.Expected
			a.PrintField("expected", strconv.Quote(expected))
		}
		if l.Found {
			a.PrintField("result", "found")
		}
		a.PrintField("problem", l.Problem)
	}
	if found {
		a.PrintNextSteps("Others now see:", a.formatAgentCommand(k, "show"))
		return
	}
	fmt.Fprintf(a.Out, "\nPublish this, as one value of a TXT record or as one line of the file:\n  %s\nat one of\n", format.Visible(answer.Publish.Value))
	for _, at := range answer.Publish.At {
		fmt.Fprintf(a.Out, "  %s\n", format.Visible(at))
	}
	again := a.formatAgentCommand(k, "prove "+cli.QuoteForShell(d.Name))
	if answer.Proved {
		a.PrintNextSteps("and look again. The registry checks every day, and withdraws the proof after the third failure:", again)
		return
	}
	a.PrintNextSteps("and look again, or wait until the registry does within the hour:", again)
	a.PrintNextSteps("Until then others see the domain as a claim of the agent. If it is not yours, remove it:", a.formatAgentCommand(k, "prove --remove "+cli.QuoteForShell(d.Name)))
}

func (a *verbs) removeDomain(c *cobra.Command, server *cli.Client, k *keyring, domain string) error {
	owner, key, keys, err := a.readOwnAgent(c.Context(), server, k)
	if err != nil {
		return err
	}
	path := cli.AgentPath(keys.AirID, "/domains/"+url.PathEscape(domain))
	return cli.ShowAnswer(c.Context(), a.App, server, http.MethodDelete, path, nil, cli.NewSigner(owner, key), func(left air.DomainList) error {
		a.PrintField("agent", keys.AirID)
		a.PrintField("given up", domain)
		for _, d := range left.Domains {
			a.PrintField("left", d.Domain.Name)
		}
		return nil
	})
}
