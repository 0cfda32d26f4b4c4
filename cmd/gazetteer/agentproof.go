package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"gazetteer/api"
	"gazetteer/registry/audit"
	"gazetteer/store"
)

func (a *app) agentProofCommand(k *keyring) *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "proof [AGENT]",
		Short: "Take along a proof that the transparency log has the newest change of an agent",
		Long: `Proof writes what it takes to check years later, without the registry, that the
newest entry of an agent's history is in the transparency log: NAME.leaf, which is
the entry itself, NAME.proof with the signed checkpoint, and NAME.key, the public
key of the log. It checks them, too. Without an AIR ID, handle or DID it is about the
agent whose key is in agent.key.

  gazetteer agent proof --out booker
  gazetteer log verify booker.proof --leaf booker.leaf --key booker.key

Compare the key with one that you have from elsewhere.`,
		Args: atMost(1, "one agent"),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				return usagef("proof needs --out, the name that the three files begin with")
			}
			return a.askAgents(c.Context(), func(server *client) error { return a.agentProof(c.Context(), server, k, out, args) })
		},
	}
	c.Flags().StringVar(&out, "out", "", "what the names of the files begin with")
	return c
}

func (a *app) agentProof(ctx context.Context, server *client, k *keyring, out string, args []string) error {
	airID, err := a.agentAt(ctx, server, k, args)
	if err != nil {
		return err
	}
	var entries api.LogEntries // newest first
	if _, err := server.write(ctx, http.MethodGet, "/log/entries?"+url.Values{"key": {store.AgentKey(airID)}}.Encode(), nil, nil, &entries); err != nil {
		return err
	}
	i := slices.IndexFunc(entries.Entries, func(e api.LogEntry) bool { return !e.Erased && !e.Deleted })
	if i < 0 {
		return notFoundf("the transparency log has nothing of %s", airID)
	}
	entry := entries.Entries[i]
	query := "?" + url.Values{"index": {strconv.FormatInt(entry.Index, 10)}}.Encode()
	var inclusion api.LogInclusion
	if _, err := server.write(ctx, http.MethodGet, "/log/inclusion"+query, nil, nil, &inclusion); err != nil {
		return err
	}
	proof, err := server.text(ctx, "/log/proof"+query)
	if err != nil {
		return err
	}
	key, err := server.text(ctx, "/log/key")
	if err != nil {
		return err
	}
	verifier, err := audit.NewVerifier(string(key))
	if err != nil {
		return notFoundf("the key of the log: %v", err)
	}
	p, _, err := audit.CheckProof(proof, []byte(inclusion.Entry.Leaf), verifier)
	if err != nil {
		return notFoundf("the proof does not hold: %v", err)
	}
	if err := writeProof(out, []byte(inclusion.Entry.Leaf), proof, key); err != nil {
		return err
	}
	a.field("record", inclusion.Entry.Key)
	a.field("verdict", fmt.Sprintf("holds: leaf %d is in the tree that was signed", p.Index))
	a.field("wrote", out+".leaf, "+out+".proof, "+out+".key")
	a.next("Check it again, offline:", "gazetteer log verify "+quoted(out+".proof")+" --leaf "+quoted(out+".leaf")+" --key "+quoted(out+".key"))
	return nil
}

// text asks for what is no JSON.
func (c *client) text(ctx context.Context, path string) ([]byte, error) {
	request, err := c.request(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return nil, err
	}
	response, err := c.do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return nil, networkf("read the answer of %s: %v", c.base, err)
	case response.StatusCode != http.StatusOK:
		return nil, refusalError(response.StatusCode, raw)
	}
	return raw, nil
}

// writeProof writes the files of a proof: all three, or none.
func writeProof(out string, leaf, proof, key []byte) error {
	var written []string
	for _, f := range []struct {
		ending string
		text   []byte
	}{{".leaf", leaf}, {".proof", proof}, {".key", key}} {
		name := out + f.ending
		err := writeNew(name, 0o644, func(w io.Writer) error {
			if _, err := w.Write(f.text); err != nil {
				return &exitError{exitData, fmt.Errorf("write %s: %w", name, err)}
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
