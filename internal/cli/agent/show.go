package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/air"
	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/evidence"
	"gazetteer/registry/keyfile"
)

func (a *verbs) showCommand(k *keyring) *cobra.Command {
	return &cobra.Command{
		Use:   "show [AGENT]",
		Short: "Show what is known about an agent, with the evidence",
		Long: `Show prints an agent's own statements and the evidence for them. Each line is
claimed (the agent says so), proved (the registry has a proof that anyone can check),
observed (the registry saw it itself) or missing (the registry looked, and did not see
enough). Without an AIR ID, handle or DID it shows the agent whose key is in agent.key.
An AIR ID beside --key writes into the key file that this agent is its owner, if the key
is the agent's: once after a move to another registry.
For a registration that waits for the operator it shows the state and the next step;
the exit code is 1 if the registration was refused or has expired.`,
		Args: cli.MaxArgs(1, "one agent"),
		RunE: func(c *cobra.Command, args []string) error {
			named := len(args) > 0 && c.Flags().Changed("key") // who only looks at an agent names no key
			return a.WithServer(c.Context(), cli.Registry, func(server *cli.Client) error { return a.showAgent(c.Context(), server, k, args, named) })
		},
	}
}

// shownAgent is the JSON output of show.
type shownAgent struct {
	Record   json.RawMessage    `json:"record"`
	Keys     airjson.KeysView   `json:"keys"`
	Evidence []evidence.Signal  `json:"evidence"`
	Domains  []air.DomainAnswer `json:"domains"`
}

func (a *verbs) showAgent(ctx context.Context, server *cli.Client, k *keyring, args []string, named bool) error {
	airID, err := a.findAgent(ctx, server, k, args)
	if err != nil {
		return err
	}
	var record airjson.RecordView
	raw, err := server.SendJSON(ctx, http.MethodGet, cli.AgentPath(airID, ""), nil, nil, &record)
	if cli.IsRefusedWithStatus(err, http.StatusNotFound) {
		return a.showApplication(ctx, server, k, airID, err)
	}
	if err != nil {
		return err
	}
	shown := shownAgent{Record: raw}
	if _, err := server.SendJSON(ctx, http.MethodGet, cli.AgentPath(airID, "/keys"), nil, nil, &shown.Keys); err != nil {
		return err
	}
	var evidence air.EvidenceList
	if _, err := server.SendJSON(ctx, http.MethodGet, cli.AgentPath(airID, "/evidence"), nil, nil, &evidence); err != nil {
		return err
	}
	var domains air.DomainList
	if _, err := server.SendJSON(ctx, http.MethodGet, cli.AgentPath(airID, "/domains"), nil, nil, &domains); err != nil {
		return err
	}
	shown.Evidence, shown.Domains = evidence.Evidence, domains.Domains
	held, err := a.describeKeyFile(ctx, k, shown.Keys, named)
	if err != nil {
		return err
	}
	if a.JSON {
		text, err := json.MarshalIndent(shown, "", "  ")
		if err != nil {
			return fmt.Errorf("encode the answer: %w", err)
		}
		return cli.WriteJSONText(a.Out, text)
	}
	a.printShown(record, shown, held)
	return nil
}

// showApplication prints the state of a registration that is no agent yet, and what comes next.
// Without one it explains the error of the agent, which does not exist.
func (a *verbs) showApplication(ctx context.Context, server *cli.Client, k *keyring, airID string, missing error) error {
	var p air.ApplicationAnswer
	raw, err := server.GetJSON(ctx, cli.AgentPath(airID, "/application"), &p)
	switch {
	case cli.IsRefusedWithStatus(err, http.StatusNotFound), err == nil && p.Status == "approved":
		return a.ExplainUnknownAgent(ctx, server, airID, missing)
	case err != nil:
		return err
	}
	if a.JSON {
		err = cli.WriteJSON(a.Out, map[string]json.RawMessage{"application": raw})
	} else {
		a.printApplicationState(k, p)
	}
	if err == nil && p.Status != "waiting" {
		return exit.ErrSilent
	}
	return err
}

// printApplicationState prints the state of a registration that is no agent.
func (a *verbs) printApplicationState(k *keyring, p air.ApplicationAnswer) {
	now := a.Environment.Now()
	a.PrintField("agent", p.AirID)
	switch p.Status {
	case "waiting":
		a.PrintField("status", "waits for the approval of the registry's operator; until then nobody finds the agent")
	case "refused":
		a.PrintField("status", "refused by the operator of the registry "+cli.FormatAge(now, p.Refused))
	default:
		a.PrintField("status", p.Status+": nobody has approved the registration")
	}
	a.PrintField("reason", p.Reason)
	a.PrintField("note", p.Note)
	if !p.Asked.IsZero() {
		a.PrintField("applied", formatTime(now, p.Asked.UTC().Format(time.RFC3339)))
	}
	if p.Status == "waiting" {
		a.PrintField("expires", formatTime(now, p.Expires.UTC().Format(time.RFC3339)))
		a.PrintNextSteps("Ask again later:", a.formatAgentCommand(k, "show "+p.AirID))
		return
	}
	a.PrintNextSteps("This AIR ID never becomes an agent. To apply again, with new keys:", a.FormatCommand("agent new NAME --key FILE"))
}

// describeKeyFile says whether the key file contains a key of the agent, and completes pending
// changes. If the key has no note of its owner, it adds one. If the note names another DID, as after a
// move to another registry, it replaces the note if the user has named both.
func (a *verbs) describeKeyFile(ctx context.Context, k *keyring, keys airjson.KeysView, named bool) (string, error) {
	if len(keys.Keys) == 0 {
		return "", nil
	}
	if f, err := keyfile.Open(k.path); err == nil && f.Notes[agentNote] != keys.DID && did.FormatMultikey(f.Public) == keys.Keys[0].PublicKeyMultibase {
		if note := f.Notes[agentNote]; note != "" && !named {
			return fmt.Sprintf("it is the one in %s, which names %s: mail is signed and read as that agent. To change that: %s",
				k.path, note, a.FormatCommand("agent show "+keys.AirID+" --key "+cli.QuoteForShell(k.path))), nil
		}
		if err := k.annotateKeys(keys.DID); err != nil {
			return "", err
		}
	}
	if owner, err := k.readOwner(a); err != nil || owner.String() != keys.DID {
		return "", nil // the files belong to another agent, or do not exist
	}
	if err := a.promoteKeys(ctx, k, keys); err != nil {
		return "", err
	}
	f, err := keyfile.Open(k.path)
	if err != nil {
		return "", nil // lost: only the recovery key exists
	}
	if err := requireCurrentKey(k.path, f.Public, keys); err != nil {
		return err.Error(), nil
	}
	return "it is the one in " + k.path, nil
}

func (a *verbs) printShown(record airjson.RecordView, shown shownAgent, held string) {
	now := a.Environment.Now()
	keys := shown.Keys
	a.PrintField("agent", record.AirID+"  "+record.Name)
	a.PrintField("status", record.Status)
	a.PrintField("reason", record.StatusReason)
	a.PrintField("into", record.MergedInto)
	a.PrintField("moved to", record.MovedTo)
	a.PrintField("did", keys.DID)
	switch lost := record.HandleLost; {
	case record.Username != nil:
		a.PrintField("handle", "@"+*record.Username)
	case lost != nil:
		a.PrintField("handle", "none: "+lost.To+" has proved the domain of the name @"+lost.Handle+" and took it "+cli.FormatAge(now, lost.At))
	}
	a.PrintField("says", record.Description)
	a.PrintField("can", strings.Join(record.Capabilities, ", "))
	for i, key := range keys.Keys {
		proof := "possession is only claimed"
		if key.Proof != "" {
			proof = "proved by " + key.Proof
		}
		if i == 0 {
			a.PrintField("key", key.PublicKeyMultibase+", since "+formatTime(now, key.From)+", "+proof)
			a.PrintField("", held)
			continue
		}
		if key.Until != nil {
			a.PrintField("retired", key.PublicKeyMultibase+", "+key.From+" to "+*key.Until+", by "+key.RetiredBy+", "+proof)
		}
	}
	switch {
	case keys.Recovery != nil:
		a.PrintField("recovery", "under way to "+keys.Recovery.To+", in force "+formatTime(now, keys.Recovery.Due))
	case keys.Commitment != "":
		a.PrintField("recovery", "committed to "+keys.Commitment)
	}
	for _, s := range shown.Evidence {
		grade := s.Grade
		if grade != registry.Claimed && !s.Holds {
			grade = "missing"
		}
		a.PrintField(grade, signalText(now, s))
	}
	for _, d := range shown.Domains {
		if !d.Proved && record.Status == registry.Active {
			a.PrintField("publish", d.Publish.Value)
			a.PrintField("", "at one of "+strings.Join(d.Publish.At, ", "))
		}
	}
}

// signalText describes one piece of evidence in one line.
func signalText(now time.Time, s evidence.Signal) string {
	text := s.What
	if s.Signal != registry.SignalClaims { // the text begins with the claimed member
		text = s.Signal + ": " + text
	}
	if s.Detail != "" {
		text += ", " + s.Detail
	}
	if s.Source != "" && s.Source != s.What && !strings.Contains(s.Detail, s.Source) && !strings.HasPrefix(s.Source, "/api/v1/agents/") { // the registry itself says the rest
		text += ", from " + s.Source
	}
	if !s.Date.IsZero() {
		text += ", seen " + cli.FormatAge(now, s.Date)
	}
	return text
}
