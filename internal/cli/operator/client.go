package operator

import (
	"context"
	"errors"
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
	if a.Server != "" && (cli.IsRefusedWithStatus(err, http.StatusNotFound) || cli.IsRefusedWithStatus(err, http.StatusUnauthorized)) {
		var refused *cli.RefusedError
		if errors.As(err, &refused) && refused.Code != "no-agent" && refused.Code != "no-part" && refused.Code != "no-service" {
			return exit.Usagef("%s does not accept operator requests: run this on the machine of the registry, without --server, or name the address of admin_listen", a.Server)
		}
	}
	return err
}

const operatorRoot = "/admin/registry"

// sendRequest sends an operator request, and decodes the answer into v. With --json it prints the
// unchanged answer, and done is true.
func (a *verbs) sendRequest(ctx context.Context, server *cli.Client, method, path string, body, v any) (done bool, err error) {
	raw, err := server.SendJSON(ctx, method, path, body, nil, v)
	if err != nil || !a.JSON {
		return false, err
	}
	return true, cli.WriteJSONText(a.Out, raw)
}

// operatorAgentPath returns the path of an operator request about an agent.
func operatorAgentPath(airID, below string) string {
	return "/admin/agents/" + url.PathEscape(airID) + below
}

// eachPage requests the pages of a list until the last one.
func (a *verbs) eachPage(path string, query url.Values, page func(path string) (next string, err error)) error {
	for {
		next, err := page(path + "?" + query.Encode())
		if next == "" || err != nil {
			return err
		}
		query.Set("after", next)
	}
}

// printJSONUnless writes v unless something failed.
func (a *verbs) printJSONUnless(failed error, v any) error {
	if failed != nil {
		return nil
	}
	return cli.WriteJSON(a.Out, v)
}

func formatCreator(v airjson.CreatorView) string {
	text := v.DID
	if v.Name != "" {
		text = v.Name + ", " + text
	}
	return text
}

// changeAgent sends a change of an agent and prints the agent's new state.
func (a *verbs) changeAgent(ctx context.Context, server *cli.Client, method, path string, body any) error {
	var v air.AgentStatusAnswer
	if done, err := a.sendRequest(ctx, server, method, path, body, &v); done || err != nil {
		return err
	}
	a.PrintField("agent", v.AirID)
	a.PrintField("status", v.Status)
	a.PrintField("", v.Message)
	return nil
}

// airIDArgs checks the number of arguments, and that each is an AIR ID.
func airIDArgs(number cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := number(c, args); err != nil {
			return err
		}
		for _, id := range args {
			if err := did.CheckAirID(id); err != nil {
				return cli.UsageError(c, "%v", err)
			}
		}
		return nil
	}
}
