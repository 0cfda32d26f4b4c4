package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"

	"gazetteer/api/air"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/proof"
	"gazetteer/store"

	"github.com/spf13/cobra"
)

func (a *verbs) proofCommand(k *keyring) *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "proof [AGENT]",
		Short: "Save a proof that the transparency log has the newest change of an agent",
		Long: `Proof writes three files with which anyone can check years later, without the
registry, that the newest entry of an agent's history is in the transparency log:
NAME.leaf, the entry itself, NAME.proof with the signed checkpoint, and NAME.key,
the public key of the log. It checks them, too. Without an AIR ID, handle or DID it
takes the agent whose key is in agent.key.

  gazetteer agent proof --out booker
  gazetteer log verify booker.proof --leaf booker.leaf --key booker.key

Compare the key with one from another source.`,
		Args: cli.MaxArgs(1, "one agent"),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				return exit.Usagef("proof needs --out, the name that the three files begin with")
			}
			for _, ending := range proofEndings {
				if _, err := os.Lstat(out + ending); err == nil {
					return exit.Usagef("%s exists: choose another name for the three files, such as --out %s-proof", out+ending, cli.QuoteForShell(out))
				}
			}
			return a.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error { return a.fetchProof(c.Context(), server, k, out, args) })
		},
	}
	c.Flags().StringVar(&out, "out", "", "the beginning of the file names")
	return c
}

func (a *verbs) fetchProof(ctx context.Context, server *cli.Client, k *keyring, out string, args []string) error {
	airID, err := a.findAgent(ctx, server, k, args)
	if err != nil {
		return err
	}
	entries, err := cli.FetchLogEntries(ctx, server, store.AgentKey(airID))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(entries, func(e air.LogEntry) bool { return !e.Erased && !e.Deleted })
	if i < 0 {
		return exit.NotFoundf("the transparency log has nothing of %s", airID)
	}
	entry := entries[i]
	head, err := a.CheckLog(ctx, server)
	if err != nil {
		return err
	}
	if head == nil {
		return exit.NotFoundf("the transparency log shows no signed tree at the moment")
	}
	proved, _, err := a.ProveEntry(ctx, server, head, entry.Index)
	if err != nil {
		return err
	}
	text, err := server.GetText(ctx, "/log/proof?"+url.Values{"index": {strconv.FormatInt(entry.Index, 10)}}.Encode())
	if err != nil {
		return err
	}
	verifier, err := checkpoint.NewVerifier(head.Key)
	if err != nil {
		return exit.NotFoundf("the key of the log: %v", err)
	}
	p, _, err := proof.Check(text, []byte(proved.Leaf), verifier)
	if err != nil {
		return exit.NotFoundf("the proof is invalid: %v", err)
	}
	if err := writeProof(out, []byte(proved.Leaf), text, []byte(head.Key+"\n")); err != nil {
		return err
	}
	a.PrintField("record", proved.Key)
	a.PrintField("verdict", fmt.Sprintf("valid: leaf %d is in the signed tree", p.Index))
	a.PrintField("wrote", out+".leaf, "+out+".proof, "+out+".key")
	a.PrintNextSteps("Check it again, offline:", "gazetteer log verify "+cli.QuoteForShell(out+".proof")+" --leaf "+cli.QuoteForShell(out+".leaf")+" --key "+cli.QuoteForShell(out+".key"))
	return nil
}

// proofEndings are the endings of the three files of a proof.
var proofEndings = [...]string{".leaf", ".proof", ".key"}

// writeProof writes all three files of a proof, or none.
func writeProof(out string, leaf, proof, key []byte) error {
	var written []string
	for i, text := range [...][]byte{leaf, proof, key} {
		name := out + proofEndings[i]
		err := cli.WriteNewFile(name, 0o644, func(w io.Writer) error {
			if _, err := w.Write(text); err != nil {
				return &exit.Error{Code: exit.Data, Err: fmt.Errorf("write %s: %w", name, err)}
			}
			return nil
		})
		if err != nil {
			for _, earlier := range written {
				err = errors.Join(err, os.Remove(earlier))
			}
			return err
		}
		written = append(written, name)
	}
	return nil
}
