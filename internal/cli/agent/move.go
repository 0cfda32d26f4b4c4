package agent

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/air"
	"gazetteer/internal/cli"
	"gazetteer/registry/transfer"
)

func (a *verbs) mergeCommand(k *keyring) *cobra.Command {
	into, yes := "", false
	c := &cobra.Command{
		Use:   "merge",
		Short: "Merge an agent into another one of yours",
		Long: `Merge ends the agent whose key --key names in favor of the agent whose key --into
names; both keys sign. The handle moves if the other agent has none. Proofs and
attestations do not move: the keys and the history of the ended agent can still be
read, and its DID points to the other agent. A merge cannot be undone.

  gazetteer agent merge --key old.key --into agent.key`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if into == "" {
				return cli.UsageError(c, "merge needs --into, the file with the key of the agent that stays")
			}
			return a.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error {
				return a.mergeAgents(c.Context(), server, k, &keyring{path: into, passphraseFile: k.passphraseFile}, yes)
			})
		},
	}
	c.Flags().StringVar(&into, "into", "", "file with the key of the agent that remains")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func (a *verbs) mergeAgents(ctx context.Context, server *cli.Client, k, other *keyring, yes bool) error {
	from, fromKey, keys, err := a.readOwnAgent(ctx, server, k)
	if err != nil {
		return err
	}
	into, intoKey, _, err := a.readOwnAgent(ctx, server, other)
	if err != nil {
		return err
	}
	if !yes {
		if err := a.Confirm(ctx, keys.AirID, keys.AirID+" would be merged into "+into.String()+" permanently"); err != nil {
			return err
		}
	}
	x := transfer.NewMerge(from.String(), into.String(), fromKey, intoKey, a.Environment.Now())
	body := air.MergeBody{
		From: x.From, FromKey: x.FromKey, Into: x.Into, IntoKey: x.IntoKey, Created: x.Created.Format(time.RFC3339), Nonce: x.Nonce,
		FromSignature: x.FromSignature, IntoSignature: x.IntoSignature,
	}
	return cli.ShowAnswer(ctx, a.App, server, http.MethodPost, cli.AgentPath(keys.AirID, "/merge"), body, nil, func(v air.AgentStatusAnswer) error {
		a.PrintField("agent", v.AirID)
		a.PrintField("status", fmt.Sprintf("%s; %s is merged into it", v.Status, keys.AirID))
		return nil
	})
}

// exportForTransfer writes an agent in the format that another registry imports.
func (a *verbs) exportForTransfer(ctx context.Context, server *cli.Client, k *keyring, out string) error {
	owner, key, keys, err := a.readOwnAgent(ctx, server, k)
	if err != nil {
		return err
	}
	if err := a.FetchExport(ctx, server, cli.AgentPath(keys.AirID, "/export"), cli.NewSigner(owner, key), out); err != nil || out == "" || a.JSON {
		return err
	}
	there := "gazetteer --server https://registry.example agent show " + keys.AirID + " --key "
	a.PrintNextSteps("The operator of the other registry imports the file (gazetteer registry import). After that, sign as the agent there with a copy of the key:",
		"cp "+cli.QuoteForShell(k.path)+" moved.key", there+"moved.key")
	return nil
}
