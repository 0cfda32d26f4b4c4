package operator

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"gazetteer/api/air"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
)

func (a *verbs) suspendCommand() *cobra.Command {
	return reasonedCommand("suspend AIR-ID", "Suspend an agent until it is restored", func(ctx context.Context, airID, reason string) error {
		return a.changeAgent(ctx, operatorAgentPath(airID, "/suspend"), map[string]string{"reason": reason})
	})
}

func (a *verbs) deleteCommand() *cobra.Command {
	yes := false
	c := reasonedCommand("delete AIR-ID", "Delete an agent permanently; its keys and history stay readable", func(ctx context.Context, airID, reason string) error {
		if !yes {
			if err := a.Confirm(ctx, airID, airID+" would be deleted permanently"); err != nil {
				return err
			}
		}
		path := cli.AgentPath(airID, "?"+url.Values{"reason": {reason}}.Encode())
		return showAnswer(ctx, a, http.MethodDelete, path, nil, func(v air.DeletedAgent) error {
			a.PrintField("agent", v.AirID+"  "+v.Name)
			a.PrintField("status", v.Status)
			return nil
		})
	})
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// reasonedCommand returns a command that changes an agent and requires a reason, which its owner sees.
func reasonedCommand(use, short string, do func(ctx context.Context, airID, reason string) error) *cobra.Command {
	const reader = "which its owner sees"
	reason := ""
	c := &cobra.Command{
		Use: use, Short: short,
		Args: airIDArgs(cli.ExactArgs(1, "the AIR ID of an agent")),
		RunE: func(c *cobra.Command, args []string) error {
			if reason == "" {
				return exit.Usagef("%s needs --reason, %s", c.Name(), reader)
			}
			return do(c.Context(), args[0], reason)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "the reason, "+reader)
	return c
}

func (a *verbs) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore AIR-ID", Short: "Restore a suspended agent",
		Args: airIDArgs(cli.ExactArgs(1, "the AIR ID of an agent")),
		RunE: func(c *cobra.Command, args []string) error {
			return a.changeAgent(c.Context(), operatorAgentPath(args[0], "/restore"), nil)
		},
	}
}

func (a *verbs) eraseCommand() *cobra.Command {
	yes := false
	c := &cobra.Command{
		Use: "erase AIR-ID", Short: "Erase an agent and its history; this cannot be undone",
		Long: `Erase removes the record of an agent, its history, and its content in the
transparency log; the hashes of the log stay. The AIR ID is never used again. Use
it for an owner who has lost every key and asks for it, and for court orders. It
cannot be undone.`,
		Args: airIDArgs(cli.ExactArgs(1, "the AIR ID of an agent")),
		RunE: func(c *cobra.Command, args []string) error {
			if !yes {
				if err := a.Confirm(c.Context(), args[0], args[0]+" would be erased permanently"); err != nil {
					return err
				}
			}
			if err := a.changeAgent(c.Context(), operatorAgentPath(args[0], "/erase"), nil); err != nil || a.JSON {
				return err
			}
			a.PrintNextSteps("Its bytes leave the files with the next compaction, within 24 hours, or now:", a.FormatCommand("compact --keep 0s"))
			return nil
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func (a *verbs) mergeCommand() *cobra.Command {
	reason, yes := "", false
	c := &cobra.Command{
		Use:   "merge FROM INTO",
		Short: "End an agent in favor of another of the same owner",
		Long: `Merge ends the first agent in favor of the second, for an owner who has lost the
key of the first. Check by other means that both belong to the same person. The
second agent gets the handle; proofs and attestations of the first one end with
it. Owners who have both keys can merge without you.

  gazetteer registry merge AIR-7G3K-M9JQ-X2PT AIR-0123-4567-89AB --reason "showed us the invoice"`,
		Args: airIDArgs(cli.ExactArgs(2, "the AIR IDs of the agent that ends and of the one that stays")),
		RunE: func(c *cobra.Command, args []string) error {
			if reason == "" {
				return exit.Usagef("merge needs --reason, which is stored with the agent that is ended")
			}
			if !yes {
				if err := a.Confirm(c.Context(), args[0], args[0]+" would be merged into "+args[1]+" permanently"); err != nil {
					return err
				}
			}
			return a.changeAgent(c.Context(), operatorAgentPath(args[0], "/merge"), map[string]string{"into": args[1], "reason": reason})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "the reason, stored with the agent that ends")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func (a *verbs) exportCommand() *cobra.Command {
	out, secret := "", false
	c := &cobra.Command{
		Use:   "export AIR-ID",
		Short: "Write an agent with its whole history, for another registry",
		Long: `Export writes an agent with every entry of its history, one JSON object a line,
with a digest at the end, in the form that import reads. With --secret it contains
the digest of the agent's once-shown secret, so that an owner who writes with that
secret can continue: keep such a file private.

  gazetteer registry export AIR-7G3K-M9JQ-X2PT --out agent.jsonl`,
		Args: airIDArgs(cli.ExactArgs(1, "the AIR ID of an agent")),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withOperator(c.Context(), func(server *cli.Client) error {
				path := operatorAgentPath(args[0], "/export")
				if secret {
					path += "?secret=true"
				}
				return a.FetchExport(c.Context(), server, path, nil, out)
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write, which must not exist yet (default: standard output)")
	c.Flags().BoolVar(&secret, "secret", false, "include the digest of the once-shown secret")
	return c
}

func (a *verbs) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Import an agent from its export",
		Long: `Import takes over an exported agent, from this registry or another one, with its AIR
ID and its whole history. Everything is verified before anything is written. Proofs
and observations of another registry are checked again. From then on the agent's DID
is under your host.

  gazetteer registry import agent.jsonl`,
		Args: cli.ExactArgs(1, "the file of an export"),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return exit.Usagef("import: %w", err)
			}
			defer f.Close()
			return a.withOperator(c.Context(), func(server *cli.Client) error { return a.importAgents(c.Context(), server, f) })
		},
	}
}

func (a *verbs) importAgents(ctx context.Context, server *cli.Client, f *os.File) error {
	request, err := server.NewRequest(ctx, http.MethodPost, operatorRoot+"/import", f)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	response, err := server.Send(request)
	if err != nil {
		return err
	}
	var v air.ImportedAgent
	raw, err := server.DecodeAnswer(response, &v)
	if err != nil || a.JSON {
		return a.PrintJSON(raw, err)
	}
	a.PrintField("imported", v.AirID+", "+v.Status+", from "+v.Origin)
	a.PrintField("history", cli.Plural(v.Entries, "record")+fmt.Sprintf(", %d signed by the agent's own keys", v.Signed))
	for _, note := range v.Notes {
		a.PrintField("note", note)
	}
	return nil
}
