package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/keyfile"
)

func (a *app) agentShowCommand(k *keyring) *cobra.Command {
	return &cobra.Command{
		Use:   "show [AGENT]",
		Short: "Show what is known of an agent, and by what",
		Long: `Show tells what an agent says of itself and what there is to check it by: each
line is claimed (the agent says so), proved (it was shown to the registry, and
anybody can check it) or observed (the registry saw it when it looked). Without an
AIR ID, handle or DID it shows the agent whose key is in agent.key.`,
		Args: atMost(1, "one agent"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.askAgents(c.Context(), func(server *client) error { return a.agentShow(c.Context(), server, k, args) })
		},
	}
}

// shownAgent is what show answers as JSON.
type shownAgent struct {
	Record   json.RawMessage    `json:"record"`
	Keys     registry.KeysView  `json:"keys"`
	Evidence []registry.Signal  `json:"evidence"`
	Domains  []api.DomainAnswer `json:"domains"`
}

func (a *app) agentShow(ctx context.Context, server *client, k *keyring, args []string) error {
	airID, err := a.agentAt(ctx, server, k, args)
	if err != nil {
		return err
	}
	var record registry.RecordView
	raw, err := server.write(ctx, http.MethodGet, agentPath(airID, ""), nil, nil, &record)
	if err != nil {
		return err
	}
	shown := shownAgent{Record: raw}
	if _, err := server.write(ctx, http.MethodGet, agentPath(airID, "/keys"), nil, nil, &shown.Keys); err != nil {
		return err
	}
	var evidence api.EvidenceList
	if _, err := server.write(ctx, http.MethodGet, agentPath(airID, "/evidence"), nil, nil, &evidence); err != nil {
		return err
	}
	var domains api.DomainList
	if _, err := server.write(ctx, http.MethodGet, agentPath(airID, "/domains"), nil, nil, &domains); err != nil {
		return err
	}
	shown.Evidence, shown.Domains = evidence.Evidence, domains.Domains
	held, err := a.holding(k, shown.Keys)
	if err != nil {
		return err
	}
	if a.json {
		text, err := json.MarshalIndent(shown, "", "  ")
		if err != nil {
			return fmt.Errorf("encode the answer: %w", err)
		}
		return writeJSONText(a.out, text)
	}
	a.printShown(record, shown, held)
	return nil
}

// holding says whether the key file holds a key of the agent, and settles it. A
// key without a note whose it is gets one.
func (a *app) holding(k *keyring, keys registry.KeysView) (string, error) {
	if len(keys.Keys) == 0 {
		return "", nil
	}
	if f, err := keyfile.Open(k.path); err == nil && f.Notes[agentNote] == "" && did.FormatMultikey(f.Public) == keys.Keys[0].PublicKeyMultibase {
		if err := k.belongTo(keys.DID); err != nil {
			return "", err
		}
	}
	if owner, err := k.owner(a); err != nil || owner.String() != keys.DID {
		return "", nil // the files are another agent's, or there are none
	}
	if err := a.settle(k, keys); err != nil {
		return "", err
	}
	f, err := keyfile.Open(k.path)
	if err != nil {
		return "", nil // lost: the recovery key alone is here
	}
	if err := current(k.path, f.Public, keys); err != nil {
		return err.Error(), nil
	}
	return "it is the one in " + k.path, nil
}

func (a *app) printShown(record registry.RecordView, shown shownAgent, held string) {
	now := time.Now()
	keys := shown.Keys
	a.field("agent", record.AirID+"  "+record.Name)
	a.field("status", record.Status)
	a.field("did", keys.DID)
	if record.Username != nil {
		a.field("handle", "@"+*record.Username)
	}
	a.field("says", record.Description)
	a.field("can", strings.Join(record.Capabilities, ", "))
	for i, key := range keys.Keys {
		proof := "possession is only claimed"
		if key.Proof != "" {
			proof = "proved by " + key.Proof
		}
		if i == 0 {
			a.field("key", key.PublicKeyMultibase+", since "+stampText(now, key.From)+", "+proof)
			a.field("", held)
			continue
		}
		if key.Until != nil {
			a.field("retired", key.PublicKeyMultibase+", "+key.From+" to "+*key.Until+", by "+key.RetiredBy+", "+proof)
		}
	}
	switch {
	case keys.Recovery != nil:
		a.field("recovery", "under way to "+keys.Recovery.To+", in force "+stampText(now, keys.Recovery.Due))
	case keys.Commitment != "":
		a.field("recovery", "committed to "+keys.Commitment)
	}
	for _, s := range shown.Evidence {
		a.field(s.Grade, signalText(now, s))
	}
	for _, d := range shown.Domains {
		if !d.Proved && record.Status == registry.Active {
			a.field("publish", d.Publish.Value)
			a.field("", "at one of "+strings.Join(d.Publish.At, ", "))
		}
	}
}

// signalText tells one piece of evidence in a line.
func signalText(now time.Time, s registry.Signal) string {
	text := s.What
	if s.Signal != registry.SignalClaims { // which begins with the member that claims
		text = s.Signal + ": " + text
	}
	if s.Grade != registry.Claimed && !s.Holds {
		text += ", which is not enough"
	}
	if s.Detail != "" {
		text += ", " + s.Detail
	}
	if s.Source != "" {
		text += ", from " + s.Source
	}
	if !s.Date.IsZero() {
		text += ", " + ago(now, s.Date)
	}
	return text
}

func (a *app) agentExportCommand(k *keyring) *cobra.Command {
	out, move := "", false
	c := &cobra.Command{
		Use:   "export [AGENT]",
		Short: "Write down all that the registry has of an agent",
		Long: `Export writes one JSON document with an agent's record, its DID document, all of
its keys, its whole history with what each change was signed by, its attestations
and the evidence. No private key is in it. Without an AIR ID, handle or DID it
exports the agent whose key is in agent.key.

With --move it writes your agent as another registry takes it over, with its AIR ID
and its whole history: its operator imports that.

  gazetteer agent export --out booker.json
  gazetteer agent export --move --out booker.jsonl`,
		Args: atMost(1, "one agent"),
		RunE: func(c *cobra.Command, args []string) error {
			if move && len(args) > 0 {
				return usagef("export --move writes the agent whose key --key names, got %q", args[0])
			}
			if move {
				return a.askAgents(c.Context(), func(server *client) error { return a.agentMove(c.Context(), server, k, out) })
			}
			return a.askAgents(c.Context(), func(server *client) error { return a.agentExport(c.Context(), server, k, out, args) })
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write, which must not be there yet (default: standard output)")
	c.Flags().BoolVar(&move, "move", false, "as another registry takes it over")
	return c
}

// exportFormat names what export writes.
const exportFormat = "gazetteer agent 1"

// An exported agent, with the registry's answers as they came.
type exported struct {
	Format       string            `json:"format"`
	Exported     time.Time         `json:"exported"`
	Registry     string            `json:"registry"` // where it was asked
	AirID        string            `json:"air_id"`
	Record       json.RawMessage   `json:"record"`
	Document     json.RawMessage   `json:"did_document"` // null for an agent that is gone
	Keys         json.RawMessage   `json:"keys"`
	Domains      json.RawMessage   `json:"domains"`
	History      []json.RawMessage `json:"history"`
	Attestations json.RawMessage   `json:"attestations"`
	Evidence     json.RawMessage   `json:"evidence"`
}

func (a *app) agentExport(ctx context.Context, server *client, k *keyring, out string, args []string) error {
	airID, err := a.agentAt(ctx, server, k, args)
	if err != nil {
		return err
	}
	e := exported{Format: exportFormat, Exported: time.Now().UTC().Truncate(time.Second), Registry: server.base, AirID: airID, History: []json.RawMessage{}}
	for below, to := range map[string]*json.RawMessage{
		"": &e.Record, "/keys": &e.Keys, "/domains": &e.Domains, "/attestations": &e.Attestations, "/evidence": &e.Evidence, "/did-document": &e.Document,
	} {
		raw, err := server.write(ctx, http.MethodGet, agentPath(airID, below), nil, nil, to)
		if below == "/did-document" && (refusedWith(err, http.StatusGone) || refusedWith(err, http.StatusNotFound)) {
			*to = json.RawMessage("null") // who is gone, or has no key, has none
			continue
		}
		if err != nil {
			return err
		}
		*to = raw
	}
	if e.History, err = server.historyOf(ctx, airID); err != nil {
		return err
	}
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the export: %w", err)
	}
	if out == "" {
		return writeJSONText(a.out, text)
	}
	if err := writeNew(out, 0o600, func(w io.Writer) error { return writeJSONText(w, text) }); err != nil {
		return err
	}
	a.field("exported", fmt.Sprintf("%s, %s of history, to %s", airID, plural(len(e.History), "record"), out))
	return nil
}

// historyOf reads the whole history of an agent, page by page.
func (c *client) historyOf(ctx context.Context, airID string) ([]json.RawMessage, error) {
	history := []json.RawMessage{}
	for offset := 0; ; {
		var page struct {
			History []json.RawMessage `json:"history"`
			Total   int               `json:"total"`
		}
		query := url.Values{"limit": {strconv.Itoa(registry.MaxHistory)}, "offset": {strconv.Itoa(offset)}}
		if _, err := c.write(ctx, http.MethodGet, agentPath(airID, "/history?"+query.Encode()), nil, nil, &page); err != nil {
			return nil, err
		}
		history = append(history, page.History...)
		if offset += registry.MaxHistory; offset >= page.Total || len(page.History) == 0 {
			return history, nil
		}
	}
}
