package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/join"
	"gazetteer/lint/format"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/store"
)

// Resolution is the answer of /api/v1/resolve, with the unchanged DID document.
type Resolution struct {
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

// candidate is an operation with the requested name, and the evidence of its host.
type candidate struct {
	searchHit
	Claim struct {
		Proof string `json:"proof"`
	} `json:"claim"`
}

func (a *verbs) resolveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resolve ID",
		Short: "Find an agent's inbox, or the services that offer NAMESPACE.VERB",
		Long: `Resolve takes an AIR ID, a handle or a did:wba identifier and shows the agent's
inbox and key; --json shows its whole DID document. For NAMESPACE.VERB it shows every
operation with that name; if there are several, it chooses none for you.

  gazetteer resolve AIR-7F3K-M9JQ-X2PW
  gazetteer resolve did:wba:registry.example:agents:AIR-7F3K-M9JQ-X2PW
  gazetteer resolve acme-reservations.BOOK

For a remote server, its log is compared with what it showed before, and must prove
that it includes the agent's newest change, with the same key. A server that
contradicts itself, or breaks a promise of inclusion, is refused.

Exit code 0 if one or several operations have the name; 1 if it is unknown.`,
		Args: cli.ExactArgs(1, "one ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.WithServer(c.Context(), cli.Read, func(server *cli.Client) error { return a.resolveName(c.Context(), server, args[0]) })
		},
	}
}

func (a *verbs) resolveName(ctx context.Context, c *cli.Client, id string) error {
	var r Resolution
	raw, err := c.GetJSON(ctx, "/api/v1/resolve?"+url.Values{"name": {id}}.Encode(), &r, http.StatusMultipleChoices)
	if err != nil {
		return explainUnresolved(ctx, c, a, id, err)
	}
	head, err := a.CheckLog(ctx, c)
	if err != nil {
		return err
	}
	logged := ""
	if head != nil && r.Kind == "agent" && r.AirID != "" && !c.Local {
		own, err := isOwnAgent(ctx, c, r.DID)
		if err != nil {
			return err
		}
		if logged = "not checked: the agent is of another registry"; own {
			if logged, err = a.proveAgent(ctx, c, head, r); err != nil {
				return err
			}
		}
	}
	if a.JSON {
		return cli.WriteJSONText(a.Out, raw)
	}
	if r.Kind == "agent" {
		a.printAgent(r, logged)
		return nil
	}
	now := a.Environment.Now()
	for _, c := range r.Candidates {
		printHit(a, c.Hit, now, append([]remark{{"proof", c.Claim.Proof}}, c.listRemarks()...)...)
	}
	for _, c := range r.Concerns {
		fmt.Fprintf(a.Out, "%s: %s (%s)\n", format.Visible(c.Code), format.Visible(c.Message), format.Visible(strings.Join(append(c.Hosts, c.Names...), ", ")))
	}
	if r.Ambiguous {
		fmt.Fprintf(a.Out, "The name is ambiguous: %s have it.\n", cli.Plural(len(r.Candidates), "operation"))
	}
	return nil
}

// isOwnAgent reports whether a DID is one of the server's own: its log says nothing about an agent of
// another registry, and an agent that has moved has one AIR ID at both.
func isOwnAgent(ctx context.Context, c *cli.Client, id string) (bool, error) {
	agent, err := did.ParseWeb(id)
	if err != nil {
		return false, nil
	}
	var own did.Document
	if _, err := c.GetJSON(ctx, "/.well-known/did.json", &own); err != nil {
		return false, err
	}
	registry, err := did.ParseWeb(own.ID)
	return err == nil && agent.SameHost(registry), nil
}

// proveAgent checks that the log contains the newest entry of an agent's history, and that this
// entry contains the key that the registry shows. It returns the text to print.
func (a *verbs) proveAgent(ctx context.Context, c *cli.Client, head *cli.LogHead, r Resolution) (string, error) {
	entries, err := cli.FetchLogEntries(ctx, c, store.AgentKey(r.AirID))
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Erased || e.Deleted {
			continue
		}
		proved, _, err := a.ProveEntry(ctx, c, head, e.Index)
		if err != nil {
			return "", err
		}
		var leaf struct{ Record registry.HistoryEntry }
		if json.Unmarshal([]byte(proved.Leaf), &leaf) != nil || leaf.Record.Agent == nil {
			continue
		}
		if what := differsFromLeaf(r, leaf.Record); what != "" {
			return "", exit.NotFoundf("%s shows another %s of %s than leaf %d of its log has. Do not rely on it, and tell others", c.Base, what, r.AirID, e.Index)
		}
		return fmt.Sprintf("leaf %d of %s, verified", e.Index, head.Tree().Origin), nil
	}
	return "does not have it yet", nil
}

// differsFromLeaf returns what a resolution shows otherwise than the newest entry of the agent's
// history in the log; "" for nothing.
func differsFromLeaf(r Resolution, leaf registry.HistoryEntry) string {
	key := did.FormatMultikey(leaf.Agent.PublicKey)
	switch {
	case leaf.AirID != r.AirID:
		return "id"
	case r.Key != nil && r.Key.PublicKeyMultibase != key, !bytes.Contains(r.Document, []byte(key)):
		return "key"
	case r.Inbox != "" && !slices.ContainsFunc(leaf.Agent.ServiceEndpoints, func(e registry.ServiceEndpoint) bool { return e.ServiceEndpoint == r.Inbox }):
		return "inbox"
	case slices.ContainsFunc(otherDIDs(r), func(other string) bool { return other != leaf.Agent.CreatorDID && other != leaf.Agent.MovedTo }):
		return "other DID"
	}
	return ""
}

// otherDIDs returns the DIDs of other hosts that the DID document of an agent names as its own, too.
func otherDIDs(r Resolution) (others []string) {
	var document struct{ AlsoKnownAs []string }
	json.Unmarshal(r.Document, &document) // an invalid document names none
	own, err := did.ParseWeb(r.DID)
	for _, other := range document.AlsoKnownAs {
		if web, bad := did.ParseWeb(other); err != nil || bad != nil || !web.SameHost(own) {
			others = append(others, other)
		}
	}
	return others
}

// describeInbox returns the inbox of an agent, or why it has none (A2A §3.4, §3.5).
func describeInbox(r Resolution) string {
	switch {
	case r.Inbox != "":
		return r.Inbox
	case bytes.Contains(r.Document, []byte(`"A2AInbox"`)):
		return "none that can be used: an A2AInbox needs an https address, and its DID document the key #key-1"
	default:
		return "none: this agent has not published an A2AInbox"
	}
}

// printAgent prints what a sender needs. The whole DID document is in the answer as JSON.
func (a *verbs) printAgent(r Resolution, logged string) {
	fmt.Fprintf(a.Out, "agent  %s\ninbox  %s\n", format.Visible(cmp.Or(r.AirID, r.DID)), format.Visible(describeInbox(r)))
	if r.Key != nil {
		fmt.Fprintf(a.Out, "key    %s, %s\n", format.Visible(r.Key.PublicKeyMultibase), format.Visible(r.Key.ID))
	}
	for _, other := range otherDIDs(r) {
		fmt.Fprintf(a.Out, "also   %s\n", format.Visible(other))
	}
	if logged != "" {
		fmt.Fprintf(a.Out, "log    %s\n", format.Visible(logged))
	}
	fmt.Fprintln(a.Out, cli.NewStyle(a.Out).Dim("the whole DID document: --json"))
}
