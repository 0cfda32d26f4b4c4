package operator

import (
	"context"
	"net/http"
	"net/url"

	"gazetteer/api/air"
	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/protocol/did"

	"github.com/spf13/cobra"
)

// withOperator calls [cli.App.WithServer] for the commands of the operator.
func (a *verbs) withOperator(ctx context.Context, use func(*cli.Client) error) error {
	err := a.WithServer(ctx, cli.Operate, use)
	if a.Server != "" && cli.RefusesOperator(err) {
		return exit.Usagef("%s does not accept operator requests: run this on the machine of the registry, without --server, or name the address of admin_listen", a.Server)
	}
	return err
}

// withUnlimitedOperator calls withOperator for work that takes as long as the data is large: it waits
// without limit, unless --timeout is given.
func (a *verbs) withUnlimitedOperator(c *cobra.Command, use func(*cli.Client) error) error {
	return a.withOperator(c.Context(), func(server *cli.Client) error { return use(server.UnlimitedByDefault(c)) })
}

const operatorRoot = "/admin/registry"

// showAnswer sends an operator request and prints its answer: unchanged with --json, otherwise with
// print.
func showAnswer[T any](ctx context.Context, a *verbs, method, path string, body any, print func(T) error) error {
	return a.withOperator(ctx, func(server *cli.Client) error {
		return cli.ShowAnswer(ctx, a.App, server, method, path, body, nil, print)
	})
}

// operatorAgentPath returns the path of an operator request about an agent.
func operatorAgentPath(airID, below string) string {
	return "/admin/agents/" + url.PathEscape(airID) + below
}

// showPages requests all pages of a list and prints its items: as JSON with --json, otherwise with
// print. items returns those of one page, and where the next one begins.
func showPages[L, T any](ctx context.Context, a *verbs, path string, query url.Values, items func(L) ([]T, string), sort func([]T), print func([]T) error) error {
	return a.withOperator(ctx, func(server *cli.Client) error {
		all := []T{}
		for next := "first"; next != ""; query.Set("after", next) {
			var list L
			if _, err := server.GetJSON(ctx, path+"?"+query.Encode(), &list); err != nil {
				return err
			}
			var page []T
			page, next = items(list)
			all = append(all, page...)
		}
		if sort != nil {
			sort(all)
		}
		if a.JSON {
			return cli.WriteJSON(a.Out, all)
		}
		return print(all)
	})
}

func formatCreator(v airjson.CreatorView) string {
	text := v.DID
	if v.Name != "" {
		text = v.Name + ", " + text
	}
	return text
}

// changeAgent sends a change of an agent and prints the agent's new state.
func (a *verbs) changeAgent(ctx context.Context, path string, body any) error {
	return showAnswer(ctx, a, http.MethodPost, path, body, func(v air.AgentStatusAnswer) error {
		a.PrintField("agent", v.AirID)
		a.PrintField("status", v.Status)
		a.PrintField("", v.Message)
		return nil
	})
}

// airIDArgs checks the number of arguments, and that each is an AIR ID.
func airIDArgs(number cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := number(c, args); err != nil {
			return err
		}
		for _, id := range args {
			if err := did.CheckAirID(id); err != nil {
				return cli.UsageError(c, "%v; for an agent with a handle, gazetteer agent show HANDLE prints its AIR ID", err)
			}
		}
		return nil
	}
}
