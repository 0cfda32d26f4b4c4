package altar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/api"
	"gazetteer/fetch"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/nearest"
	"gazetteer/lint/format"
	"gazetteer/toolhost"
)

func (v *verbs) proposeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "propose HOST…|[HOST] WORDS",
		Short: "Make contracts from the documents of hosts, or from the results of a search",
		Long: `Propose makes a contract for each operation that the crawled hosts publish and that can be
called over HTTPS; with words in place of hosts, for the first five operations that a search
finds, and with words behind a host, only for those of the host. It prints why an operation
gets none. Nobody can call a contract before you approve it.

  gazetteer contracts propose api.example.com
  gazetteer contracts propose book a table
  gazetteer contracts propose api.example.com send a message`,
		Args: cli.MinArgs(1, "a host, or words"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.runWithServer(c.Context(), cli.Operate, func(server *cli.Client) error { return v.proposeCall(c.Context(), server, args) })
		},
	}
}

func (v *verbs) proposeCall(ctx context.Context, server *cli.Client, args []string) error {
	var wanted []api.ProposalBody
	for _, host := range args {
		wanted = append(wanted, api.ProposalBody{Host: host})
	}
	if slices.ContainsFunc(args, func(arg string) bool { return !isHostName(arg) }) {
		var err error
		words := strings.Join(args, " ")
		if isHostName(args[0]) {
			words = "host:" + words
		}
		if wanted, err = searchOperations(ctx, server, words); err != nil {
			return err
		}
	}
	all := api.Proposals{Contracts: []toolhost.Contract{}, Skipped: map[string]string{}}
	var failed error
	for _, body := range wanted {
		var list api.Proposals
		if _, failed = server.SendJSON(ctx, http.MethodPost, "/admin/altar/proposals", body, nil, &list); failed != nil {
			break // after printing the contracts that exist now
		}
		all.Contracts = append(all.Contracts, list.Contracts...)
		maps.Copy(all.Skipped, list.Skipped)
	}
	if v.JSON {
		return errors.Join(cli.WriteJSON(v.Out, all), failed)
	}
	for _, c := range all.Contracts {
		v.printContract(c)
	}
	for _, id := range slices.Sorted(maps.Keys(all.Skipped)) {
		fmt.Fprintf(v.Err, "not proposed: %s: %s\n", format.Visible(id), format.Visible(all.Skipped[id]))
	}
	if len(all.Contracts) > 0 {
		v.PrintNextSteps("Approve what may be called:", v.FormatCommand("contracts approve "+all.Contracts[0].Name))
	}
	return failed
}

// isHostName reports whether an argument is the name of a host and not a word of a search.
func isHostName(arg string) bool {
	_, err := fetch.CheckHost(arg)
	return err == nil && strings.Contains(arg, ".")
}

// searchOperations returns the first operations of a search.
func searchOperations(ctx context.Context, server *cli.Client, words string) ([]api.ProposalBody, error) {
	var found struct {
		Hits []struct {
			Host      string `json:"host"`
			Far       bool   `json:"far"`
			Operation struct {
				ID string `json:"id"`
			} `json:"operation"`
		} `json:"hits"`
	}
	if _, err := server.GetJSON(ctx, "/api/v1/search?limit=5&q="+url.QueryEscape(words), &found); err != nil {
		return nil, err
	}
	var list []api.ProposalBody
	for n, hit := range found.Hits {
		if hit.Far && n > 0 { // behind better ones
			break
		}
		list = append(list, api.ProposalBody{Host: hit.Host, Operation: hit.Operation.ID})
	}
	if len(list) == 0 {
		return nil, exit.NotFoundf("no operation was found for %q; contracts are made from hosts that were crawled", words)
	}
	return list, nil
}

func (v *verbs) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff [NAME]",
		Short: "Show changes by owners to approved contracts",
		Long: `Diff shows each change of a document behind an approved contract, with its severity for callers.
The contract stays as you approved it until you approve the change:

  gazetteer contracts diff
  gazetteer contracts approve search_flights`,
		Args: cli.MaxArgs(1, "one name of a contract"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.runWithServer(c.Context(), cli.Operate, func(server *cli.Client) error {
				return cli.ShowAnswer(c.Context(), v.App, server, http.MethodGet, "/admin/altar/changes", nil, nil, func(list api.ContractChanges) error {
					if len(args) > 0 {
						if err := v.findContract(c.Context(), server, args[0]); err != nil {
							return err
						}
					}
					shown := 0
					for _, change := range list.Changes {
						if len(args) == 0 || args[0] == change.Contract {
							v.printChange(change)
							shown++
						}
					}
					if shown == 0 {
						fmt.Fprintln(v.Err, "no changes wait for you")
					}
					return nil
				})
			})
		},
	}
}

// findContract returns an error unless there is a contract of the name.
func (v *verbs) findContract(ctx context.Context, server *cli.Client, name string) error {
	var list api.ContractList
	if _, err := server.GetJSON(ctx, "/admin/altar/contracts", &list); err != nil {
		return err
	}
	var names []string
	for _, c := range list.Contracts {
		names = append(names, c.Name)
	}
	if slices.Contains(names, name) {
		return nil
	}
	question := nearest.Question(name, names)
	if question != "" {
		question = ": " + question
	}
	return exit.NotFoundf("there is no contract %s%s\n%s shows the contracts", format.Visible(name), format.Visible(question), v.FormatCommand("contracts list"))
}

func (v *verbs) printChange(c toolhost.Change) {
	fmt.Fprintf(v.Out, "%s: %s\n", c.Contract, describeSeverity(c.Severity.String()))
	if c.To == "" {
		fmt.Fprintf(v.Out, "  the operation is gone; it was %s\n", format.Visible(c.From))
		fmt.Fprintf(v.Out, "  until it is back, calls fail or reach what the owner left there: %s\n", v.FormatCommand("contracts revoke "+c.Contract))
		return
	}
	if c.Renamed != "" {
		fmt.Fprintf(v.Out, "  the operation is now called %s\n", format.Visible(c.Renamed))
	}
	if c.From != c.To {
		fmt.Fprintf(v.Out, "  call: %s → %s\n", format.Visible(c.From), format.Visible(c.To))
	}
	for _, each := range c.Changes {
		text := fmt.Sprintf("  %s: %s at %s", each.Severity, each.Kind, each.Path)
		if each.From != nil {
			text += fmt.Sprintf(" from %q", *each.From)
		}
		if each.To != nil {
			text += fmt.Sprintf(" to %q", *each.To)
		}
		fmt.Fprintln(v.Out, format.Visible(text))
	}
	fmt.Fprintf(v.Out, "  until you approve it the contract stays unchanged: %s\n", v.FormatCommand("contracts approve "+c.Contract))
}

func (v *verbs) approveCommand() *cobra.Command {
	body := api.ApprovalBody{}
	c := &cobra.Command{
		Use:   "approve NAME...",
		Short: "Approve proposed contracts, or pending changes",
		Long: `Approve lets clients call a proposed contract, or accepts the pending change of an
approved one. If one of several names is wrong, it approves none. A contract from a
document is executed by the runtime inside the program (http, which
altar.http_runtime in config.toml enables) and by no other, unless you name others:

  gazetteer contracts approve search_flights
  gazetteer contracts approve search_flights --allow planner --runtimes http,billing

Lists that you omit stay unchanged when a contract is approved again.`,
		Args: cli.MinArgs(1, "the name of a contract"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return v.approveContracts(c.Context(), args, body)
			}
			return v.changeContract(c.Context(), args[0], "approve", body)
		},
	}
	c.Flags().StringSliceVar(&body.Allow, "allow", nil, "ids of the clients that may call it; every client if you never name any")
	c.Flags().StringSliceVar(&body.Runtimes, "runtimes", nil, "ids of the runtimes that may execute it, or any; http if you never name any")
	return c
}

// approveContracts approves several contracts, one a row. It begins only if there are all of them, and
// stops at the first refusal, which names those that are not approved.
func (v *verbs) approveContracts(ctx context.Context, names []string, body api.ApprovalBody) error {
	return v.runWithServer(ctx, cli.Operate, func(server *cli.Client) error {
		var unknown []error
		for _, name := range names {
			unknown = append(unknown, v.findContract(ctx, server, name))
		}
		if err := errors.Join(unknown...); err != nil {
			return fmt.Errorf("%w\nnothing was approved", err)
		}
		var approved []toolhost.Contract
		var refused error
		for i, name := range names {
			var c toolhost.Contract
			if _, err := server.SendJSON(ctx, http.MethodPost, "/admin/altar/contracts/"+url.PathEscape(name)+"/approve", body, nil, &c); err != nil {
				refused = fmt.Errorf("%s: %w\nnot approved: %s", name, err, strings.Join(names[i:], ", "))
				break
			}
			approved = append(approved, c)
			if !v.JSON {
				v.printContract(c)
			}
		}
		if v.JSON {
			return errors.Join(cli.WriteJSON(v.Out, approved), refused)
		}
		return errors.Join(v.warnOfMissingIdentities(ctx, server, approved...), refused)
	})
}

func (v *verbs) revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME",
		Short: "End a contract: it cannot be called any more",
		Long: `Revoke ends a contract: no client can call it any more. It stays in the list of contracts,
and contracts approve makes it valid again.`,
		Args: cli.ExactArgs(1, "the name of a contract"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.changeContract(c.Context(), args[0], "revoke", nil)
		},
	}
}

func (v *verbs) changeContract(ctx context.Context, name, verb string, body any) error {
	return v.runWithServer(ctx, cli.Operate, func(server *cli.Client) error {
		var c toolhost.Contract
		raw, err := server.SendJSON(ctx, http.MethodPost, "/admin/altar/contracts/"+url.PathEscape(name)+"/"+verb, body, nil, &c)
		if cli.IsRefusedWithStatus(err, http.StatusNotFound) && !cli.RefusesOperator(err) {
			if unknown := v.findContract(ctx, server, name); unknown != nil {
				return unknown
			}
		}
		if err != nil || v.JSON {
			return v.PrintJSON(raw, err)
		}
		v.printContract(c)
		if verb == "revoke" {
			return nil
		}
		if err := v.warnOfMissingIdentities(ctx, server, c); err != nil {
			return err
		}
		if call := v.formatCall(c); call != "" {
			v.PrintNextSteps("Call it:", call)
		}
		return nil
	})
}

// maxExampleArgs is the number of required parameters up to which a call is shown as an example.
const maxExampleArgs = 8

// formatCall returns the command that calls a contract, with a word in place of the value of each
// required parameter; "" if it has too many of them.
func (v *verbs) formatCall(c toolhost.Contract) string {
	command := "tool call " + c.Name
	args := 0
	for _, p := range c.Parameters {
		if !p.Required {
			continue
		}
		if args++; args > maxExampleArgs || !plainName.MatchString(p.Name) {
			return ""
		}
		command += " --arg " + p.Name + "=" + strings.ToUpper(p.Name)
	}
	return v.FormatCommand(command)
}

// plainName matches the name of a parameter that a shell takes as it is.
var plainName = regexp.MustCompile(`\A[A-Za-z0-9_.-]{1,60}\z`)

// printRequest prints the request that the HTTP runtime would send for a call.
func (v *verbs) printRequest(r *http.Request, body json.RawMessage) {
	fmt.Fprintf(v.Out, "%s %s\n", r.Method, format.Visible(r.URL.String()))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(v.Out, "%s: %s\n", name, format.Visible(r.Header.Get(name)))
	}
	if len(body) > 0 {
		fmt.Fprintf(v.Out, "\n%s\n", cli.VisibleLines(string(body)))
	}
}
