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

// The agent with which the demo books a table, and the service that it represents.
const (
	demoHandle = "concierge"
	demoDomain = "reservations.acme.test"
)

// checkAgent registers the agents that serve somebody over the public API, makes the owners of their
// domains name them, and resolves them. An existing directory already has the agents.
func (d *demo) checkAgent(ctx context.Context) (string, error) {
	var first string
	all := representatives()
	for i, r := range all {
		p, err := d.openParticipant(ctx, r.profile)
		if err != nil {
			return "", err
		}
		if err := d.introduce(ctx, p, r.host); err != nil {
			return "", err
		}
		if i == 0 {
			d.concierge = p
			first = fmt.Sprintf("%s → %s (%s/agents/%s)", p.airID, p.inbox, d.base, p.airID)
		}
		d.helpers.Go(func() { d.answerUntilDone(ctx, r, p) })
	}
	return fmt.Sprintf("%s, and %d others", first, len(all)-1), nil
}

// introduce makes the owner of a host name an agent, proves that, and resolves the agent's handle. In
// an existing directory the domain is already proved, but the small internet is new in each run: the
// proof is published again for the next recheck.
func (d *demo) introduce(ctx context.Context, p *participant, host string) error {
	multikey := did.FormatMultikey(p.key.Public().(ed25519.PublicKey))
	d.net.SetTXT(evidence.DomainLabel+"."+host, "gazetteer-agent="+p.owner.String()+"; key="+multikey)
	if err := d.proveDomain(ctx, p, host); err != nil {
		return err
	}
	var r search.Resolution
	if err := d.getJSON(ctx, "/api/v1/resolve?name="+p.handle, &r); err != nil {
		return fmt.Errorf("resolve %s: %w", p.handle, err)
	}
	if r.Inbox != p.inbox || r.Key == nil || r.Key.PublicKeyMultibase != multikey {
		return fmt.Errorf("%s resolves to the inbox %q and the key %v, want %q and %s", p.handle, r.Inbox, r.Key, p.inbox, multikey)
	}
	return nil
}

// proveDomain makes an agent prove that a host names it.
func (d *demo) proveDomain(ctx context.Context, p *participant, host string) error {
	server := &cli.Client{HTTP: http.DefaultClient, Base: d.base}
	var proof air.DomainAnswer
	if _, err := server.SendJSON(ctx, http.MethodPost, cli.AgentPath(p.airID, "/domains"), map[string]any{"domain": host}, cli.NewSigner(p.owner, p.key), &proof); err != nil {
		return fmt.Errorf("prove the domain %s: %w", host, err)
	}
	if !proof.Proved {
		return fmt.Errorf("the domain %s is not proved: %v", host, proof.Domain.Probes)
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
