package demo

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/api/airjson"
	"gazetteer/internal/cli"
	"gazetteer/internal/cli/search"
	"gazetteer/internal/exit"
	"gazetteer/join"
	"gazetteer/protocol/did"
	"gazetteer/registry/evidence"
)

// The agent that the demo registers, and the service that it speaks for.
const (
	demoHandle = "concierge"
	demoInbox  = "https://relay.demo.test/inbox/concierge"
	demoDomain = "reservations.acme.test"
)

// checkAgent registers an agent over the public API, has the owner of a domain
// name it, and resolves it. A kept directory has the agent already.
func (d *demo) checkAgent(ctx context.Context) (string, error) {
	var r search.Resolution
	err := d.getJSON(ctx, "/api/v1/resolve?name="+demoHandle, &r)
	var e *exit.Error
	if errors.As(err, &e) && e.Code == exit.NotFound {
		if err := d.registerAgent(ctx); err != nil {
			return "", err
		}
		err = d.getJSON(ctx, "/api/v1/resolve?name="+demoHandle, &r)
	}
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", demoHandle, err)
	}
	if r.Inbox != demoInbox || r.Key == nil {
		return "", fmt.Errorf("%s resolves to the inbox %q and the key %v, want %q and a key", demoHandle, r.Inbox, r.Key, demoInbox)
	}
	// In a kept directory the domain is proved, and the names of the small internet
	// are new each time: the proof must stand there to be looked at again.
	d.nameAgent(r.DID, r.Key.PublicKeyMultibase)
	return fmt.Sprintf("%s → %s (%s/agents/%s)", r.AirID, r.Inbox, d.base, r.AirID), nil
}

// nameAgent has the owner of the demo's domain name an agent.
func (d *demo) nameAgent(id, multikey string) {
	d.net.SetTXT(evidence.DomainLabel+"."+demoDomain, "gazetteer-agent="+id+"; key="+multikey)
}

// registerAgent signs all that it asks for with a key of its own.
func (d *demo) registerAgent(ctx context.Context) error {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	server, host := &cli.Client{HTTP: http.DefaultClient, Base: d.base}, d.server.Config.Registry.DIDHost
	var registered airjson.RegistrationView
	if _, err := server.SendJSON(ctx, http.MethodPost, "/api/v1/agents/register", map[string]any{
		"name": "Demo concierge", "description": "Books tables for whoever asks.", "no_secret": true,
		"public_key": did.FormatPublicKey(public), "capabilities": []string{"BOOK", "CANCEL"},
	}, &cli.Signer{Key: key, KeyID: did.FormatMultikey(public), Host: host}, &registered); err != nil {
		return fmt.Errorf("register an agent: %w", err)
	}
	owner, err := did.ParseWeb(registered.CreatorDID)
	if err != nil {
		return fmt.Errorf("read the DID of the agent: %w", err)
	}
	_, err = server.SendJSON(ctx, http.MethodPut, cli.AgentPath(registered.AirID, ""), map[string]any{
		"username":          demoHandle,
		"service_endpoints": []map[string]string{{"type": did.TypeInbox, "serviceEndpoint": demoInbox}},
	}, cli.NewSigner(owner, key), new(airjson.UpdateView))
	if err != nil {
		return fmt.Errorf("give the agent an inbox: %w", err)
	}
	d.nameAgent(owner.String(), did.FormatMultikey(public))
	var proof air.DomainAnswer
	if _, err := server.SendJSON(ctx, http.MethodPost, cli.AgentPath(registered.AirID, "/domains"), map[string]any{"domain": demoDomain}, cli.NewSigner(owner, key), &proof); err != nil {
		return fmt.Errorf("prove the domain %s: %w", demoDomain, err)
	}
	if !proof.Proved {
		return fmt.Errorf("the domain %s is not proved: %v", demoDomain, proof.Domain.Probes)
	}
	return nil
}

// checkFind asks who can do something: in words, and as an orchestrator that wants
// proof.
func (d *demo) checkFind(ctx context.Context) (string, error) {
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
		if a := o.Operations[0].Agents[0]; a.Strength != join.Proved || a.Inbox != demoInbox || a.Key == nil {
			return "", fmt.Errorf("%s is joined to %s as %s, with the inbox %q", a.DID, o.Operations[0].Host, a.Strength, a.Inbox)
		}
	}
	o := page.Operations[0]
	return fmt.Sprintf("%s at %s, agent %s, %s → %s", strings.TrimSpace(o.Operation.Verb+" "+search.OperationName(o.Operation)), o.Host, o.Agents[0].AirID, o.Agents[0].Strength, o.Agents[0].Inbox), nil
}
