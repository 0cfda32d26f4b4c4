package api

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/route"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
)

// schemas are the JSON Schemas of the formats by their file names. The names are also their $id,
// relative, so that the address they are read from completes it. The meaning of a name never
// changes; another version of a draft gets another name.
var schemas = map[string]func() []byte{
	"agis-1.0.json":         agis.Schema,
	"agis-summary-1.0.json": agis.SummarySchema,
	"ai-discovery-1.0.json": aidiscovery.Schema,
}

// schemaNames lists the schemas for a person.
func schemaNames() string { return strings.Join(slices.Sorted(maps.Keys(schemas)), ", ") }

const schemaType = "application/schema+json"

// schemaRoute declares the route where editors read the schemas.
func (a *API) schemaRoute(h huma.API) {
	op := route.Respond(route.Op("schema"), "200", "The schema. What our readers accept is never refused by it; they know rules that no schema can say.", schemaType, &huma.Schema{Type: huma.TypeObject})
	route.Handle(a.Mux, h, op, a.getSchema)
}

type schemaInput struct {
	Name string `path:"name" maxLength:"40" doc:"agis-1.0.json, agis-summary-1.0.json or ai-discovery-1.0.json"`
}

func (a *API) getSchema(_ context.Context, in *schemaInput) (*route.RawOutput, error) {
	text, ok := schemas[in.Name]
	if !ok {
		return nil, route.NewProblem(route.NoSchema, "no schema has this name", "ask for one of "+schemaNames()).WithLocation(route.Location{Parameter: "name"})
	}
	return &route.RawOutput{ContentType: schemaType, CacheControl: "public, max-age=86400", Body: text()}, nil
}
