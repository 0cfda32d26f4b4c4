package air

import (
	"context"
	"fmt"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/airjson"
	"gazetteer/api/route"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/registry"
	"gazetteer/registry/admission"
)

// registryRoutes declares the reference's routes about the registry itself, and
// its badge and history of an agent.
func (a *Routes) registryRoutes(h huma.API) {
	route.Handle(a.Mux, h, route.Op("registry-health"), a.getRegistryHealth)
	text := sync.OnceValues(func() ([]byte, error) { return h.OpenAPI().YAML() })
	yaml := route.Respond(route.Op("openapi-yaml"), "200", "OK", "application/yaml", &huma.Schema{})
	route.Handle(a.Mux, h, yaml, func(context.Context, *struct{}) (*route.RawOutput, error) {
		body, err := text()
		if err != nil {
			return nil, fmt.Errorf("write the OpenAPI document: %w", err)
		}
		return &route.RawOutput{ContentType: "application/yaml", CacheControl: "public, max-age=300", Body: body}, nil
	})
	route.Handle(a.Mux, h, route.DescribeBadge(route.Op("agent-badge"), "an agent"), a.getBadge)
	route.Handle(a.Mux, h, route.Op("agent-history"), a.getHistory)
}

// RegistryHealth says that the registry answers, in the reference's shape.
type RegistryHealth struct {
	Status   string `json:"status" doc:"ok"`
	Version  string `json:"version"`
	Registry string `json:"registry" doc:"AIR"`
	Draft    string `json:"draft" doc:"which edition of the protocol the answers follow"`
	// Registration and Note are additions to the reference.
	Registration string `json:"registration" enum:"open,approval,closed" doc:"how new agents are admitted: at once, after the operator's approval, or not"`
	Note         string `json:"note,omitempty" doc:"the operator's text for agents that are not admitted at once"`
}

func (a *Routes) getRegistryHealth(ctx context.Context, _ *struct{}) (*route.Output[RegistryHealth], error) {
	policy, err := a.Answers.RegistrationPolicy(ctx)
	if err != nil {
		return nil, err
	}
	h := RegistryHealth{Status: "ok", Version: a.Version, Registry: "AIR", Draft: a2ahttp.Version, Registration: policy.Mode}
	if policy.Mode != admission.ModeOpen {
		h.Note = policy.Note
	}
	return route.JSON(h), nil
}

type historyInput struct {
	AirID  string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Limit  int    `query:"limit" minimum:"1" default:"50" doc:"how many entries, 1 to 100; more are not given"`
	Offset int    `query:"offset" minimum:"0" doc:"how many entries to leave out"`
}

func (a *Routes) getHistory(ctx context.Context, in *historyInput) (*route.Output[airjson.HistoryView], error) {
	v, err := airjson.NewHistoryView(ctx, a.Answers.Registry, in.AirID, min(in.Limit, registry.MaxHistory), in.Offset)
	if err != nil {
		return nil, route.WithAirID(err, in.AirID)
	}
	return route.JSON(v), nil
}
