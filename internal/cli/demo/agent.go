package demo

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/internal/cli"
	"gazetteer/internal/cli/search"
	"gazetteer/join"
	"gazetteer/protocol/did"
	"gazetteer/registry/evidence"
)

// The agent that the demo registers, and the service that it represents.
const (
	demoHandle = "concierge"
	demoDomain = "reservations.acme.test"
)

// checkAgent registers an agent over the public API, makes the owner of a domain name it, and
// resolves it. An existing directory already has the agent.
func (d *demo) checkAgent(ctx context.Context) (string, error) {
	concierge, err := d.openParticipant(ctx, conciergeProfile())
	if err != nil {
		return "", err
	}
	// In an existing directory the domain is already proved, but the small internet is new in each
	// run: publish the proof again for the next recheck.
	multikey := did.FormatMultikey(concierge.key.Public().(ed25519.PublicKey))
	d.nameAgent(concierge.owner.String(), multikey)
	if err := d.proveDomain(ctx, concierge); err != nil {
		return "", err
	}
	var r search.Resolution
	if err := d.getJSON(ctx, "/api/v1/resolve?name="+demoHandle, &r); err != nil {
		return "", fmt.Errorf("resolve %s: %w", demoHandle, err)
	}
	if r.Inbox != concierge.inbox || r.Key == nil || r.Key.PublicKeyMultibase != multikey {
		return "", fmt.Errorf("%s resolves to the inbox %q and the key %v, want %q and %s", demoHandle, r.Inbox, r.Key, concierge.inbox, multikey)
	}
	d.concierge = concierge
	d.helpers.Go(func() { d.runConcierge(ctx, concierge) })
	return fmt.Sprintf("%s → %s (%s/agents/%s)", r.AirID, r.Inbox, d.base, r.AirID), nil
}

// nameAgent publishes an agent's AIR ID and key at the demo's domain.
func (d *demo) nameAgent(id, multikey string) {
	d.net.SetTXT(evidence.DomainLabel+"."+demoDomain, "gazetteer-agent="+id+"; key="+multikey)
}

// proveDomain makes the concierge prove that its domain names it.
func (d *demo) proveDomain(ctx context.Context, concierge *participant) error {
	server := &cli.Client{HTTP: http.DefaultClient, Base: d.base}
	var proof air.DomainAnswer
	if _, err := server.SendJSON(ctx, http.MethodPost, cli.AgentPath(concierge.airID, "/domains"), map[string]any{"domain": demoDomain}, cli.NewSigner(concierge.owner, concierge.key), &proof); err != nil {
		return fmt.Errorf("prove the domain %s: %w", demoDomain, err)
	}
	if !proof.Proved {
		return fmt.Errorf("the domain %s is not proved: %v", demoDomain, proof.Domain.Probes)
	}
	return nil
}

// checkFind searches for agents that can do a task: in words, and as an orchestrator that requires
// proof.
func (d *demo) checkFind(ctx context.Context) (string, error) {
	if d.concierge == nil {
		return "", errors.New("the concierge was not registered")
	}
	var page api.OrchestratePage
	query := url.Values{"q": {"who can BOOK a table?"}, "limit": {"1"}}
	if err := d.getJSON(ctx, "/api/v1/orchestrate?"+query.Encode(), &page); err != nil {
		return "", err
	}
	if len(page.Operations) == 0 || page.Operations[0].Host != demoDomain || page.Operations[0].Operation.Verb != "BOOK" {
		return "", fmt.Errorf("it found %d operations, and not BOOK at %s first", len(page.Operations), demoDomain)
	}
	query = url.Values{"verb": {"BOOK"}, "protocol": {"negotiate"}, "join": {string(join.Proved)}, "require": {"domain,key"}, "joined": {"true"}}
	var strict api.OrchestratePage
	if err := d.getJSON(ctx, "/api/v1/orchestrate?"+query.Encode(), &strict); err != nil {
		return "", err
	}
	for _, o := range []api.OrchestratePage{page, strict} {
		if len(o.Operations) == 0 || len(o.Operations[0].Agents) == 0 {
			return "", errors.New("no agent is joined to " + demoDomain)
		}
		if a := o.Operations[0].Agents[0]; a.Strength != join.Proved || a.Inbox != d.concierge.inbox || a.Key == nil {
			return "", fmt.Errorf("%s is joined to %s as %s, with the inbox %q", a.DID, o.Operations[0].Host, a.Strength, a.Inbox)
		}
	}
	o := page.Operations[0]
	return fmt.Sprintf("%s at %s, agent %s, %s → %s", strings.TrimSpace(o.Operation.Verb+" "+search.OperationName(o.Operation)), o.Host, o.Agents[0].AirID, o.Agents[0].Strength, o.Agents[0].Inbox), nil
}
