package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/registry"
)

func (a *verbs) exportCommand(k *keyring) *cobra.Command {
	out, move := "", false
	c := &cobra.Command{
		Use:   "export [AGENT]",
		Short: "Export everything that the registry has about an agent",
		Long: `Export writes one JSON document with an agent's record, its DID document, all of
its keys, its whole history with the signature of each change, its attestations and
the evidence. It contains no private key. Without an AIR ID, handle or DID it
exports the agent whose key is in agent.key.

With --move it writes your agent in the form that another registry imports, with
its AIR ID and its whole history; the operator there imports the file.

  gazetteer agent export --out booker.json
  gazetteer agent export --move --out booker.jsonl`,
		Args: cli.MaxArgs(1, "one agent"),
		RunE: func(c *cobra.Command, args []string) error {
			if move && len(args) > 0 {
				return exit.Usagef("export --move takes no argument, got %q: --key names the key of the agent, and --out the file to write", args[0])
			}
			if move {
				return a.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error { return a.exportForTransfer(c.Context(), server, k, out) })
			}
			return a.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error { return a.exportAgent(c.Context(), server, k, out, args) })
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write, which must not exist yet (default: standard output)")
	c.Flags().BoolVar(&move, "move", false, "in the form that another registry imports")
	return c
}

// exportFormat is the name of the export format.
const exportFormat = "gazetteer agent 1"

// An exported agent, with the registry's unchanged answers.
type exported struct {
	Format       string            `json:"format"`
	Exported     time.Time         `json:"exported"`
	Registry     string            `json:"registry"` // the registry that was asked
	AirID        string            `json:"air_id"`
	Record       json.RawMessage   `json:"record"`
	Document     json.RawMessage   `json:"did_document"` // null for a deleted agent
	Keys         json.RawMessage   `json:"keys"`
	Domains      json.RawMessage   `json:"domains"`
	History      []json.RawMessage `json:"history"`
	Attestations json.RawMessage   `json:"attestations"`
	Evidence     json.RawMessage   `json:"evidence"`
}

func (a *verbs) exportAgent(ctx context.Context, server *cli.Client, k *keyring, out string, args []string) error {
	airID, err := a.findAgent(ctx, server, k, args)
	if err != nil {
		return err
	}
	e := exported{Format: exportFormat, Exported: a.Environment.Now().UTC().Truncate(time.Second), Registry: server.Base, AirID: airID, History: []json.RawMessage{}}
	for below, to := range map[string]*json.RawMessage{
		"": &e.Record, "/keys": &e.Keys, "/domains": &e.Domains, "/attestations": &e.Attestations, "/evidence": &e.Evidence, "/did-document": &e.Document,
	} {
		raw, err := server.GetJSON(ctx, cli.AgentPath(airID, below), to)
		if below == "/did-document" && (cli.IsRefusedWithStatus(err, http.StatusGone) || cli.IsRefusedWithStatus(err, http.StatusNotFound)) {
			*to = json.RawMessage("null") // a deleted agent or one without a key has none
			continue
		}
		if err != nil {
			return err
		}
		*to = raw
	}
	if e.History, err = fetchHistory(ctx, server, airID); err != nil {
		return err
	}
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the export: %w", err)
	}
	if out == "" {
		return cli.WriteJSONText(a.Out, text)
	}
	if err := cli.WriteNewFile(out, 0o600, func(w io.Writer) error { return cli.WriteJSONText(w, text) }); err != nil {
		return err
	}
	a.PrintField("exported", fmt.Sprintf("%s, %s of history, to %s", airID, cli.Plural(len(e.History), "record"), out))
	return nil
}

// fetchHistory reads the whole history of an agent, page by page.
func fetchHistory(ctx context.Context, c *cli.Client, airID string) ([]json.RawMessage, error) {
	history := []json.RawMessage{}
	for offset := 0; ; {
		var page struct {
			History []json.RawMessage `json:"history"`
			Total   int               `json:"total"`
		}
		query := url.Values{"limit": {strconv.Itoa(registry.MaxHistory)}, "offset": {strconv.Itoa(offset)}}
		if _, err := c.GetJSON(ctx, cli.AgentPath(airID, "/history?"+query.Encode()), &page); err != nil {
			return nil, err
		}
		history = append(history, page.History...)
		if offset += registry.MaxHistory; offset >= page.Total || len(page.History) == 0 {
			return history, nil
		}
	}
}
