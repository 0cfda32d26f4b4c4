package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"gazetteer/api"
)

func (a *app) registrySuspendCommand() *cobra.Command {
	return a.reasonedCommand("suspend AIR-ID", "Take an agent out of service until it is restored", "why, which its owner is shown",
		func(ctx context.Context, server *client, airID, reason string) error {
			return a.operateAgent(ctx, server, http.MethodPost, operatorAgent(airID, "/suspend"), map[string]string{"reason": reason})
		})
}

func (a *app) registryDeleteCommand() *cobra.Command {
	return a.reasonedCommand("delete AIR-ID", "Delete an agent for good; its keys and history stay to be read", "why, which its owner is shown",
		func(ctx context.Context, server *client, airID, reason string) error {
			var v api.DeletedAgent
			path := agentPath(airID, "?"+url.Values{"reason": {reason}}.Encode())
			if done, err := a.operate(ctx, server, http.MethodDelete, path, nil, &v); done || err != nil {
				return err
			}
			a.field("agent", v.AirID+"  "+v.Name)
			a.field("status", v.Status)
			return nil
		})
}

// reasonedCommand is a verb that is done to an agent for a reason.
func (a *app) reasonedCommand(use, short, what string, do func(ctx context.Context, server *client, airID, reason string) error) *cobra.Command {
	reason := ""
	c := &cobra.Command{
		Use: use, Short: short,
		Args: exactly(1, "the AIR ID of an agent"),
		RunE: func(c *cobra.Command, args []string) error {
			if reason == "" {
				return usagef("%s needs --reason: %s", c.Name(), what)
			}
			return a.askOperator(c.Context(), func(server *client) error { return do(c.Context(), server, args[0], reason) })
		},
	}
	c.Flags().StringVar(&reason, "reason", "", what)
	return c
}

func (a *app) registryRestoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore AIR-ID", Short: "Put a suspended agent back into service",
		Args: exactly(1, "the AIR ID of an agent"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.askOperator(c.Context(), func(server *client) error {
				return a.operateAgent(c.Context(), server, http.MethodPost, operatorAgent(args[0], "/restore"), nil)
			})
		},
	}
}

func (a *app) registryEraseCommand() *cobra.Command {
	yes := false
	c := &cobra.Command{
		Use: "erase AIR-ID", Short: "Remove what an agent is and was; it cannot be undone",
		Long: `Erase removes the record of an agent, its history, and its content from the
transparency log, whose hashes stay. The AIR ID is never given to anybody else. It
is for an owner who has lost every key and asks for it, and for orders of a court;
it cannot be undone.`,
		Args: exactly(1, "the AIR ID of an agent"),
		RunE: func(c *cobra.Command, args []string) error {
			if !yes {
				return usagef("%s would be erased for good: say so with --yes", args[0])
			}
			return a.askOperator(c.Context(), func(server *client) error {
				return a.operateAgent(c.Context(), server, http.MethodPost, operatorAgent(args[0], "/erase"), nil)
			})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "yes, for good")
	return c
}

func (a *app) registryMergeCommand() *cobra.Command {
	reason := ""
	c := &cobra.Command{
		Use:   "merge FROM INTO",
		Short: "End an agent in favour of another of the same owner",
		Long: `Merge ends the first agent and leaves the second, for an owner who has lost the key
of the first: see by other means that it is the same person. The handle goes along;
what was proved or attested of the one that ends does not. Owners who have both keys
merge by themselves.

  gazetteer registry merge AIR-7G3K-M9JQ-X2PT AIR-0123-4567-89AB --reason "showed us the invoice"`,
		Args: exactly(2, "the AIR IDs of the agent that ends and of the one that stays"),
		RunE: func(c *cobra.Command, args []string) error {
			if reason == "" {
				return usagef("merge needs --reason, which is kept with the agent that ends")
			}
			return a.askOperator(c.Context(), func(server *client) error {
				return a.operateAgent(c.Context(), server, http.MethodPost, operatorAgent(args[0], "/merge"), map[string]string{"into": args[1], "reason": reason})
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, kept with the agent that ends")
	return c
}

func (a *app) registryExportCommand() *cobra.Command {
	out, secret := "", false
	c := &cobra.Command{
		Use:   "export AIR-ID",
		Short: "Write an agent with its whole history, for another registry",
		Long: `Export writes an agent with every entry of its history, one JSON object a line,
with a digest at the end, as import reads it. With --secret the digest of the
agent's once-shown secret is among it, so that an owner who writes with that can go
on: keep such a file to yourself.

  gazetteer registry export AIR-7G3K-M9JQ-X2PT --out agent.jsonl`,
		Args: exactly(1, "the AIR ID of an agent"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.askOperator(c.Context(), func(server *client) error {
				path := operatorAgent(args[0], "/export")
				if secret {
					path += "?secret=true"
				}
				return a.fetchExport(c.Context(), server, path, nil, out)
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write, which must not be there yet (default: standard output)")
	c.Flags().BoolVar(&secret, "secret", false, "with the digest of the once-shown secret")
	return c
}

// fetchExport writes an export as it comes. One that is cut off leaves no file.
func (a *app) fetchExport(ctx context.Context, server *client, path string, by *signer, out string) error {
	request, err := server.request(ctx, http.MethodGet, path, nil, by)
	if err != nil {
		return err
	}
	response, err := server.do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		return refusalError(response.StatusCode, raw)
	}
	if out == "" {
		if _, err := io.Copy(a.out, response.Body); err != nil {
			return networkf("the export was cut off: %v", err)
		}
		return nil
	}
	var n int64
	if err := writeNew(out, 0o600, func(w io.Writer) error {
		if n, err = io.Copy(w, response.Body); err != nil {
			return networkf("the export was cut off: %v", err)
		}
		return nil
	}); err != nil {
		return err
	}
	a.field("exported", fmt.Sprintf("%d bytes to %s", n, out))
	return nil
}

func (a *app) registryImportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Take an agent over from its export",
		Long: `Import takes over an agent that export wrote, here or elsewhere, with its AIR ID and
its whole history. All of it is verified before anything is written. What another
registry has proved or observed is looked at again; its DID is under your host from
then on.

  gazetteer registry import agent.jsonl`,
		Args: exactly(1, "the file of an export"),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return usagef("import: %v", err)
			}
			defer f.Close()
			return a.askOperator(c.Context(), func(server *client) error { return a.registryImport(c.Context(), server, f) })
		},
	}
}

func (a *app) registryImport(ctx context.Context, server *client, f *os.File) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.base+operatorRoot+"/import", f)
	if err != nil {
		return usagef("ask %s: %v", server.base, err)
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	response, err := server.do(request)
	if err != nil {
		return err
	}
	var v api.ImportedAgent
	raw, err := server.answer(response, &v)
	if err != nil || a.json {
		return a.orJSON(raw, err)
	}
	a.field("imported", v.AirID+", "+v.Status+", from "+v.Origin)
	a.field("history", plural(v.Entries, "record")+fmt.Sprintf(", %d signed by the agent's own keys", v.Signed))
	for _, note := range v.Notes {
		a.field("note", note)
	}
	return nil
}
