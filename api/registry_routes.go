package api

import (
	"context"
	"fmt"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/registry"
)

// registryRoutes declares the reference's routes about the registry itself, and
// its badge and history of an agent.
func (a *API) registryRoutes(h huma.API) {
	addRoute(a, h, tagAsAgents(getOperation("registry-health", "/api/v1/health", "The registry answers")), a.getRegistryHealth)
	text := sync.OnceValues(func() ([]byte, error) { return h.OpenAPI().YAML() })
	yaml := getOperation("openapi-yaml", "/api/v1/openapi.yaml", "The description of this API in OpenAPI 3.1, in YAML")
	yaml.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{"application/yaml": {Schema: &huma.Schema{}}}}}
	addRoute(a, h, tagAsAgents(yaml), func(context.Context, *struct{}) (*rawOutput, error) {
		body, err := text()
		if err != nil {
			return nil, fmt.Errorf("write the OpenAPI document: %w", err)
		}
		return &rawOutput{ContentType: "application/yaml", CacheControl: "public, max-age=300", Body: body}, nil
	})
	badge := getOperation("agent-badge", "/api/v1/agents/{air_id}/badge.svg", "A badge with what is known of an agent, or its score")
	badge.Responses = map[string]*huma.Response{"200": {Description: "OK; also for an agent that is not known.", Content: map[string]*huma.MediaType{"image/svg+xml": {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	addRoute(a, h, tagAsAgents(badge), a.getBadge)
	addRoute(a, h, tagAsAgents(getOperation("agent-history", "/api/v1/agents/{air_id}/history", "What happened to an agent, oldest first, each with what it rests on")), a.getHistory)
}

// RegistryHealth says that the registry answers, in the reference's shape.
type RegistryHealth struct {
	Status   string `json:"status" doc:"ok"`
	Version  string `json:"version"`
	Registry string `json:"registry" doc:"AIR"`
	Draft    string `json:"draft" doc:"which edition of the protocol the answers follow"`
}

func (a *API) getRegistryHealth(context.Context, *struct{}) (*output[RegistryHealth], error) {
	out := jsonOutput(RegistryHealth{Status: "ok", Version: a.version, Registry: "AIR", Draft: "draft-1-candidate"})
	out.CacheControl = "no-store"
	return out, nil
}

type historyInput struct {
	AirID  string `path:"air_id" doc:"an AIR ID such as AIR-7G3K-M9JQ-X2PT"`
	Limit  int    `query:"limit" minimum:"1" default:"50" doc:"how many entries, 1 to 100; more are not given"`
	Offset int    `query:"offset" minimum:"0" doc:"how many entries to leave out"`
}

func (a *API) getHistory(ctx context.Context, in *historyInput) (*output[registry.HistoryView], error) {
	v, err := a.answers.Registry.HistoryView(ctx, in.AirID, min(in.Limit, registry.MaxHistory), in.Offset)
	if err != nil {
		return nil, withAirID(err, in.AirID)
	}
	return jsonOutput(v), nil
}
