package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
)

// ErrNoSchema: no schema has that name. Test with errors.Is.
var ErrNoSchema = errors.New("no schema has this name")

// schemas are the JSON Schemas of the formats by their file names, which are
// their $id too: relative, so that the address they are read at completes it.
// A name never changes its meaning; another version of a draft gets another.
var schemas = map[string]func() []byte{
	"agis-1.0.json":         agis.Schema,
	"agis-summary-1.0.json": agis.SummarySchema,
	"ai-discovery-1.0.json": aidiscovery.Schema,
}

const schemaType = "application/schema+json"

// schemaRoute declares where editors read the schemas.
func (a *API) schemaRoute(h huma.API) {
	op := getOperation("schema", "/schemas/{name}", "The JSON Schema (2020-12) of a format, for editors")
	op.Responses = map[string]*huma.Response{"200": {
		Description: "The schema. What our readers accept is never refused by it; they know rules that no schema can say.",
		Content:     map[string]*huma.MediaType{schemaType: {Schema: &huma.Schema{Type: huma.TypeObject}}},
	}}
	addRoute(a, h, op, a.getSchema)
}

type schemaInput struct {
	Name string `path:"name" maxLength:"40" doc:"agis-1.0.json, agis-summary-1.0.json or ai-discovery-1.0.json"`
}

func (a *API) getSchema(_ context.Context, in *schemaInput) (*rawOutput, error) {
	text, ok := schemas[in.Name]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrNoSchema, in.Name)
	}
	return &rawOutput{ContentType: schemaType, CacheControl: "public, max-age=86400", Body: text()}, nil
}

// schemaNames says what there is, for a person.
func schemaNames() string { return strings.Join(slices.Sorted(maps.Keys(schemas)), ", ") }
