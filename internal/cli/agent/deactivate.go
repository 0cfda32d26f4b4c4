package agent

import (
	"net/http"

	"github.com/spf13/cobra"

	"gazetteer/api/air"
	"gazetteer/internal/cli"
)

func (a *verbs) deactivateCommand(k *keyring) *cobra.Command {
	yes, erase := false, false
	c := &cobra.Command{
		Use:   "deactivate",
		Short: "End an agent permanently",
		Long: `Deactivate ends an agent permanently: it can neither act nor be reached, its handle
is free after 30 days, and its attestations no longer count. Its keys and history
can still be read, so that its old signatures can be verified.

With --erase its record, history and attestations are removed, too; only the AIR ID
and hashes in the transparency log remain. Export it first.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error { return a.deactivateAgent(c, server, k, erase, yes) })
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&erase, "erase", false, "also remove everything that is stored about it")
	return c
}

func (a *verbs) deactivateAgent(c *cobra.Command, server *cli.Client, k *keyring, erase, yes bool) error {
	owner, key, keys, err := a.readOwnAgent(c.Context(), server, k)
	if err != nil {
		return err
	}
	below, word := "/deactivate", "deactivated"
	if erase {
		below, word = "/erase", "erased"
	}
	if !yes {
		if err := a.Confirm(c.Context(), keys.AirID, keys.AirID+" would be "+word+" permanently"); err != nil {
			return err
		}
	}
	return cli.ShowAnswer(c.Context(), a.App, server, http.MethodPost, cli.AgentPath(keys.AirID, below), nil, cli.NewSigner(owner, key), func(done air.AgentStatusAnswer) error {
		a.PrintField("agent", done.AirID)
		a.PrintField("status", done.Status)
		a.PrintField("note", done.Message)
		return nil
	})
}
