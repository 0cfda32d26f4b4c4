package air

import (
	"context"
	"net/http"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/protocol"
	"gazetteer/registry"
	"gazetteer/registry/evidence"

	"github.com/danielgtaylor/huma/v2"
)

// domainRoutes declares the routes of the evidence for an agent's identity.
func (a *Routes) domainRoutes(h huma.API) {
	prove := route.Respond(route.Op("prove-domain"), "202", "The domain is not proved yet; it is looked at again within the hour.", "application/json", route.SchemaOf[DomainAnswer](h))
	route.HandleBody[DomainBody](a.Mux, h, prove, a.proveDomain)
	route.Handle(a.Mux, h, route.Op("agent-domains"), a.listDomains)
	route.Handle(a.Mux, h, route.Op("give-up-domain"), a.removeDomain)
	route.Handle(a.Mux, h, route.Op("agent-evidence"), a.listEvidence)
}

// DomainBody documents the body of a proof of a domain.
type DomainBody struct {
	Domain string `json:"domain" doc:"the name of a domain, such as example.com"`
}

// DomainAnswer is the state of a domain of an agent.
type DomainAnswer struct {
	AirID  string          `json:"air_id"`
	Proved bool            `json:"proved"`
	Domain registry.Domain `json:"domain" doc:"each request with its source, its response, and the expected response"`
	// Publish contains the records that the owner of the domain must publish.
	Publish Publication `json:"publish"`
}

// A Publication is the record with which the owner of a domain names an agent.
type Publication struct {
	Value string   `json:"value" doc:"one value of a TXT record, or one line of the file; there may be others"`
	At    []string `json:"at" doc:"possible places; one of them is enough"`
}

func (a *Routes) domainPublication(agent registry.Agent, domain string) Publication {
	return Publication{a.Answers.Registry.DomainRecord(agent), []string{
		"TXT " + evidence.DomainLabel + "." + domain, "TXT " + domain, "https://" + domain + evidence.DomainFile,
	}}
}

func (a *Routes) domainAnswer(agent registry.Agent, d registry.Domain) DomainAnswer {
	return DomainAnswer{AirID: agent.AirID, Proved: !d.Since.IsZero() && d.Withdrawn.IsZero(), Domain: d, Publish: a.domainPublication(agent, d.Name)}
}

func (a *Routes) proveDomain(ctx context.Context, in *updateInput) (*route.Output[DomainAnswer], error) {
	domain, err := readDomain(in.Text)
	if err != nil {
		return nil, err
	}
	if err := a.Answers.Registry.AdmitChange(ctx, in.Client); err != nil {
		return nil, err
	}
	if err := route.AdmitClient(ctx, a.proofs, in.Client, "proofs of domains"); err != nil {
		return nil, err
	}
	d, agent, err := a.Answers.Registry.ProveDomain(ctx, in.AirID, domain, a.ReadCredentials(&in.RequestBody, in.Secret))
	if err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	out := route.Written(a.Mux, a.domainAnswer(agent, d))
	if !out.Body.Proved {
		out.Status = http.StatusAccepted
	}
	return out, nil
}

// readDomain reads the body of a proof of a domain, strictly.
func readDomain(text []byte) (string, error) {
	root, err := protocol.ReadJSON(text, protocol.Limits{Bytes: route.MaxAgentBody, Depth: 4, Members: 16})
	if err != nil {
		return "", err
	}
	if n := root.Member("domain"); root.Kind == protocol.Object && len(root.Items) == 1 && n != nil && n.Kind == protocol.String {
		return n.Text, nil
	}
	return "", route.NewProblem(route.BadField, "the body must be an object with the one member domain, a string", `for example {"domain": "example.com"}`).WithLocation(route.Location{Pointer: "/domain"})
}

// DomainList holds the domains of an agent.
type DomainList struct {
	AirID   string         `json:"air_id"`
	Domains []DomainAnswer `json:"domains"`
}

func (a *Routes) listDomains(ctx context.Context, in *agentInput) (*route.Output[DomainList], error) {
	return agentOutput(a, ctx, in.AirID, func(_ context.Context, agent registry.Agent) (DomainList, error) {
		list := DomainList{AirID: agent.AirID, Domains: []DomainAnswer{}}
		for _, d := range agent.Domains {
			list.Domains = append(list.Domains, a.domainAnswer(agent, d))
		}
		return list, nil
	})
}

type removeDomainInput struct {
	AirID  string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Domain string `path:"domain" doc:"a domain of the agent"`
	Secret string `header:"X-Agent-Secret" doc:"the secret that the registration answered; not needed by a signed request"`
	route.EmptyBody
}

func (a *Routes) removeDomain(ctx context.Context, in *removeDomainInput) (*route.Output[DomainList], error) {
	if err := a.Answers.Registry.AdmitChange(ctx, in.Client); err != nil {
		return nil, err
	}
	agent, err := a.Answers.Registry.RemoveDomain(ctx, in.AirID, strings.ToLower(in.Domain), a.ReadCredentials(&in.RequestBody, in.Secret))
	if err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	a.NoteWrite()
	out, err := a.listDomains(ctx, &agentInput{agent.AirID})
	if err == nil {
		out.CacheControl = "no-store"
	}
	return out, err
}

// EvidenceList contains the evidence about an agent.
type EvidenceList struct {
	AirID    string            `json:"air_id"`
	Evidence []evidence.Signal `json:"evidence" doc:"the strongest first in each sort; claims are listed as such"`
}

func (a *Routes) listEvidence(ctx context.Context, in *agentInput) (*route.Output[EvidenceList], error) {
	return agentOutput(a, ctx, in.AirID, func(ctx context.Context, agent registry.Agent) (EvidenceList, error) {
		signals, err := a.Answers.Registry.Evidence(ctx, agent)
		return EvidenceList{AirID: agent.AirID, Evidence: answer.OrEmpty(signals)}, err
	})
}
