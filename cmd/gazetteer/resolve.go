package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/join"
	"gazetteer/lint/format"
)

// resolution is the answer of /api/v1/resolve, with the DID document as sent.
type resolution struct {
	Kind       string          `json:"kind"`
	AirID      string          `json:"air_id"`
	DID        string          `json:"did"`
	Inbox      string          `json:"inbox"`
	Key        *join.Key       `json:"key"`
	Document   json.RawMessage `json:"did_document"`
	Candidates []candidate     `json:"candidates"`
	Ambiguous  bool            `json:"ambiguous"`
	Concerns   []struct {
		Code    string   `json:"code"`
		Message string   `json:"message"`
		Hosts   []string `json:"hosts"`
		Names   []string `json:"names"`
	} `json:"concerns"`
}

// candidate is an operation that bears a name, and what its host has to show.
type candidate struct {
	searchHit
	Claim struct {
		Proof string `json:"proof"`
	} `json:"claim"`
}

func (a *app) resolveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resolve ID",
		Short: "Find where to write to: an agent's inbox, or who offers NAMESPACE.VERB",
		Long: `Resolve takes an AIR ID, a handle or a did:wba identifier and shows the agent's
DID document and its A2AInbox; or NAMESPACE.VERB, and shows every operation that
bears the name. When more than one does, all are shown: none is picked for you.

  gazetteer resolve AIR-7F3K-M9JQ-X2PW
  gazetteer resolve did:wba:registry.example:agents:AIR-7F3K-M9JQ-X2PW
  gazetteer resolve acme-reservations.BOOK

Exit code 1 when it is not known.`,
		Args: exactly(1, "one ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.ask(c.Context(), false, func(server *client) error { return a.resolve(c.Context(), server, args[0]) })
		},
	}
}

func (a *app) resolve(ctx context.Context, c *client, id string) error {
	var r resolution
	raw, err := c.get(ctx, "/api/v1/resolve?"+url.Values{"name": {id}}.Encode(), &r, http.StatusMultipleChoices)
	if err != nil {
		return err
	}
	if a.json {
		return writeJSONText(a.out, raw)
	}
	if r.Kind == "agent" {
		return a.printAgent(r)
	}
	now := time.Now()
	for _, c := range r.Candidates {
		printHit(a, c.Hit, now, append([]remark{{"proof", c.Claim.Proof}}, c.remarks()...)...)
	}
	for _, c := range r.Concerns {
		fmt.Fprintf(a.out, "%s: %s (%s)\n", format.Visible(c.Code), format.Visible(c.Message), format.Visible(strings.Join(append(c.Hosts, c.Names...), ", ")))
	}
	if r.Ambiguous {
		fmt.Fprintf(a.out, "The name is ambiguous: %s bear it. Choose one.\n", plural(len(r.Candidates), "operation"))
	}
	return nil
}

func (a *app) printAgent(r resolution) error {
	inbox := r.Inbox
	if inbox == "" {
		inbox = "none: this agent has not published an A2AInbox"
	}
	fmt.Fprintf(a.out, "agent  %s\ninbox  %s\n", format.Visible(cmp.Or(r.AirID, r.DID)), format.Visible(inbox))
	if r.Key != nil {
		fmt.Fprintf(a.out, "key    %s, %s\n", format.Visible(r.Key.PublicKeyMultibase), format.Visible(r.Key.ID))
	}
	var text bytes.Buffer
	if err := json.Indent(&text, r.Document, "", "  "); err != nil {
		return networkf("the DID document is not JSON: %v", err)
	}
	return writeJSONText(a.out, text.Bytes())
}
