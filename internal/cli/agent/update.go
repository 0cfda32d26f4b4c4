package agent

import (
	"context"
	"crypto/ed25519"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/api/air"
	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/keyfile"
)

// updateFlags contains the flags of agent update.
type updateFlags struct {
	texts       recordFlags
	handle      string
	noHandle    bool
	noEndpoints bool
	noSecret    bool
	movedTo     string
	addRecovery bool
}

func (a *verbs) updateCommand(k *keyring) *cobra.Command {
	u := &updateFlags{}
	c := &cobra.Command{
		Use:   "update",
		Short: "Change an agent's record: inbox, handle, description",
		Long: `Update changes only the named members; "" clears a text. --inbox replaces the inbox
and leaves other endpoints unchanged; --no-endpoints removes them first.

  gazetteer agent update --inbox https://agent.example/inbox --handle booker`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.changeKeys(c.Context(), k, func(server *cli.Client) error { return a.updateAgent(c, server, k, u) })
		},
	}
	u.texts.addTo(c)
	c.Flags().StringVar(&u.handle, "handle", "", "claim a handle: 3 to 30 of a-z, 0-9 and _")
	c.Flags().BoolVar(&u.noHandle, "no-handle", false, "give the handle back")
	c.Flags().BoolVar(&u.noEndpoints, "no-endpoints", false, "remove all service endpoints")
	c.Flags().StringVar(&u.movedTo, "moved-to", "", "the agent's DID at another registry, for those who know this one")
	c.Flags().BoolVar(&u.noSecret, "no-secret", false, "switch the once-shown secret off permanently: every change must then be signed")
	c.Flags().BoolVar(&u.addRecovery, "add-recovery", false, "make a recovery key, for an agent that has none")
	return c
}

func (a *verbs) updateAgent(c *cobra.Command, server *cli.Client, k *keyring, u *updateFlags) error {
	ctx := c.Context()
	body := u.texts.changedMembers(c)
	services, change, err := u.texts.parseEndpoints(c)
	if err != nil {
		return err
	}
	if u.handle != "" && u.noHandle {
		return exit.Usagef("--handle and --no-handle contradict each other")
	}
	if c.Flags().Changed("handle") || u.noHandle {
		body["username"] = u.handle
	}
	if c.Flags().Changed("moved-to") {
		body["moved_to"] = u.movedTo
	}
	if u.noSecret {
		body["no_secret"] = true
	}
	if len(body) == 0 && !change && !u.noEndpoints && !u.addRecovery {
		return cli.UsageError(c, "nothing to change: name it by flags")
	}
	owner, key, keys, err := a.readOwnAgent(ctx, server, k)
	if err != nil {
		return err
	}
	airID := keys.AirID
	if err := replaceInboxHere(ctx, server, airID, services); err != nil {
		return err
	}
	oldInbox := ""
	if change || u.noEndpoints {
		if !u.noEndpoints {
			if services, oldInbox, err = addOtherEndpoints(server, c, airID, services); err != nil {
				return err
			}
		}
		body["service_endpoints"] = append([]registry.ServiceEndpoint{}, services...)
	}
	if u.addRecovery {
		if keys.Commitment != "" {
			return exit.Usagef("%s has committed to a recovery key already; only a recovery changes it. If the recovery key is lost, make another agent and merge this one into it (gazetteer agent merge)", airID)
		}
		f, err := keyfile.Open(k.path)
		if err != nil {
			return keyError(err, k.path)
		}
		recovery, err := k.readOrCreateKey(ctx, a, k.recoveryPath(), owner, f.Encrypted)
		if err != nil {
			return err
		}
		body["recovery_commitment"] = registry.RecoveryCommitment(recovery.Public().(ed25519.PublicKey))
	}
	var done airjson.UpdateView
	raw, err := server.SendJSON(ctx, http.MethodPut, cli.AgentPath(airID, ""), body, cli.NewSigner(owner, key), &done)
	if err != nil {
		return nameFlag(err, services, u.handle)
	}
	if a.JSON {
		return cli.WriteJSONText(a.Out, raw)
	}
	a.PrintField("agent", airID)
	for _, member := range slices.Sorted(maps.Keys(body)) {
		if member == "username" {
			member = "handle" // as the flag and the other commands call it
		}
		a.PrintField("changed", member)
	}
	if u.addRecovery {
		a.PrintField("recovery", k.recoveryPath()+": keep it elsewhere")
	}
	if u.texts.inbox != "" {
		a.printInboxSteps(ctx, server, k, airID, oldInbox, services)
	}
	return nil
}

// printInboxSteps prints what the owner of an agent with a new inbox has to do: read the mail that waits at
// its old one at the registry, and prove a domain if none is proved.
func (a *verbs) printInboxSteps(ctx context.Context, server *cli.Client, k *keyring, airID, oldInbox string, services []registry.ServiceEndpoint) {
	below := "/inbox/" + airID
	i := slices.IndexFunc(services, func(s registry.ServiceEndpoint) bool { return s.Type == did.TypeInbox && s.ServiceEndpoint != oldInbox })
	base, atRegistry := strings.CutSuffix(oldInbox, below)
	switch {
	case i < 0 || !atRegistry:
	case strings.HasSuffix(services[i].ServiceEndpoint, below): // the agent has moved to this registry
		a.PrintNextSteps("Mail that waits at "+format.Visible(oldInbox)+" stays there. To read it, with the key file for that registry:",
			"gazetteer --server "+cli.QuoteForShell(base)+" inbox --key agent.key")
	default:
		a.PrintNextSteps("Mail that waits at "+format.Visible(oldInbox)+" stays there. To read it, name that inbox once more, and then the new one:",
			a.formatAgentCommand(k, "update --inbox here"), a.FormatCommand("inbox --key "+cli.QuoteForShell(k.path)))
	}
	var known air.EvidenceList
	_, err := server.GetJSON(ctx, cli.AgentPath(airID, "/evidence"), &known)
	if err == nil && hasProvedDomain(known) {
		return
	}
	a.PrintNextSteps("Others find the inbox by its DID document. Show that a domain is yours:", a.formatAgentCommand(k, "prove agent.example"))
}

func hasProvedDomain(known air.EvidenceList) bool {
	for _, s := range known.Evidence {
		if s.Signal == registry.SignalDomain && s.Grade == registry.Proved {
			return true
		}
	}
	return false
}

// inboxHere is the value of --inbox for an inbox at the registry itself.
const inboxHere = "here"

// replaceInboxHere replaces "here" with the address of the agent's inbox at this registry.
func replaceInboxHere(ctx context.Context, server *cli.Client, airID string, services []registry.ServiceEndpoint) error {
	for i := range services {
		if services[i].Type != did.TypeInbox || services[i].ServiceEndpoint != inboxHere {
			continue
		}
		if err := requireRelay(ctx, server); err != nil {
			return err
		}
		var own did.Document
		if _, err := server.GetJSON(ctx, "/.well-known/did.json", &own); err != nil {
			return err
		}
		for _, s := range own.Service {
			if base, ok := strings.CutSuffix(s.ServiceEndpoint, "/api/v1"); ok && s.Type == "AIRRegistry" {
				services[i].ServiceEndpoint = base + "/inbox/" + airID
			}
		}
		if services[i].ServiceEndpoint == inboxHere {
			return exit.Networkf("the registry does not say where its inboxes are: name the address of yours")
		}
	}
	return nil
}

// requireRelay refuses a registry without inboxes.
func requireRelay(ctx context.Context, server *cli.Client) error {
	_, err := server.GetJSON(ctx, "/health", new(struct{}))
	if refused, ok := errors.AsType[*cli.RefusedError](err); ok && refused.Status == http.StatusNotFound {
		if refused.Code == "" {
			return nil // a proxy without a route for it may have one for the inboxes
		}
		return exit.Usagef("--inbox here: this registry has no inboxes (relay.enabled is false there): name an inbox elsewhere with --inbox https://…, or leave --inbox out; the operator can switch the relay on")
	}
	return err
}

// addOtherEndpoints adds the agent's endpoints of other types to the named endpoints, because the
// registry replaces the whole list. It also returns the address of the inbox until now.
func addOtherEndpoints(c *cli.Client, command *cobra.Command, airID string, named []registry.ServiceEndpoint) (all []registry.ServiceEndpoint, inbox string, err error) {
	var d did.Document
	if _, err := c.GetJSON(command.Context(), cli.AgentPath(airID, "/did-document"), &d); err != nil {
		return nil, "", err
	}
	all = named
	for _, s := range d.Service {
		if s.Type == did.TypeInbox {
			inbox = s.ServiceEndpoint
		}
		replaced := slices.ContainsFunc(named, func(n registry.ServiceEndpoint) bool { return n.Type == s.Type })
		if s.Type != did.TypeTrustScore && !replaced {
			all = append(all, registry.ServiceEndpoint(s))
		}
	}
	return all, inbox, nil
}
