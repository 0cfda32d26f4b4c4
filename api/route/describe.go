package route

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
)

// Respond describes an answer of an operation that huma cannot derive from the handler.
func Respond(op huma.Operation, status, description, mediaType string, schema *huma.Schema) huma.Operation {
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses[status] = &huma.Response{Description: description, Content: Content(mediaType, schema)}
	return op
}

// Content describes a body of one media type.
func Content(mediaType string, schema *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{mediaType: {Schema: schema}}
}

// TextSchema returns the schema of a text.
func TextSchema() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

// FixedRoutes are the methods of each address without a variable part.
func FixedRoutes(routes gin.RoutesInfo) map[string][]string {
	fixed := map[string][]string{}
	for _, r := range routes {
		if !strings.ContainsAny(r.Path, ":*") {
			fixed[r.Path] = append(fixed[r.Path], r.Method)
		}
	}
	return fixed
}

// Describe prepares the description of one engine's routes. It changes huma's defaults: no routes
// and no members of huma's own, and no page that loads scripts from other hosts.
func (a *Mux) Describe(e *gin.Engine, title, description, publicURL string) huma.API {
	schemas := huma.NewMapRegistry("#/components/schemas/", schemaName)
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{Title: title, Version: "1", Description: description,
				Contact: &huma.Contact{Name: "The operator of this server", URL: cmp.Or(publicURL, "http://127.0.0.1:8080") + "/bot"}},
			Tags:       describeTags(),
			Components: &huma.Components{Schemas: schemas, SecuritySchemes: securitySchemes()},
			Extensions: map[string]any{"x-problems": problemKinds},
		},
		Formats:       huma.DefaultFormats,
		DefaultFormat: "application/json",
	}
	config.Servers = []*huma.Server{{URL: strings.TrimSuffix(cmp.Or(publicURL, "http://127.0.0.1:8080"), "/")}}
	h := humagin.New(e, config)
	h.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) { a.validateParameters(schemas, ctx, next) })
	return h
}

// SchemaOf returns a reference to the schema of a type in h's description.
func SchemaOf[T any](h huma.API) *huma.Schema {
	return h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// Finish adds the description itself as the last route, and HEAD for every GET that is not a
// stream. The description is written when it is first requested.
func (a *Mux) Finish(h huma.API, e *gin.Engine, path, summary string) error {
	writeText := sync.OnceValues(func() ([]byte, error) { return json.Marshal(h.OpenAPI()) })
	op := Respond(huma.Operation{OperationID: "openapi", Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{tagServer}}, "200", "OK", "application/openapi+json", &huma.Schema{Type: huma.TypeObject})
	Handle(a, h, op, func(context.Context, *struct{}) (*RawOutput, error) {
		text, err := writeText()
		if err != nil {
			return nil, fmt.Errorf("write the OpenAPI document: %w", err)
		}
		return &RawOutput{ContentType: "application/openapi+json", Body: text}, nil
	})
	if err := completeDescription(h.OpenAPI()); err != nil {
		return err
	}
	for _, r := range e.Routes() {
		if r.Method == http.MethodGet && a.rows[r.Method+" "+r.Path].Stream == "" {
			e.HEAD(r.Path, r.HandlerFunc)
		}
	}
	return nil
}

// ownPackages are the packages whose types have no package name in the description.
var ownPackages = []string{"air", "answer", "api", "route"}

// schemaName returns the schema name of a type. It includes the package unless that is ours,
// because several packages have a Document.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	at := strings.LastIndexByte(t.PkgPath(), '/')
	if from := t.PkgPath()[at+1:]; t.Name() != "" && from != "" && !slices.Contains(ownPackages, from) {
		return strings.ToUpper(from[:1]) + from[1:] + name
	}
	return name
}

// RawBytes describes an answer that consists of bytes as a host published them.
func RawBytes(op huma.Operation) huma.Operation {
	bytes := func() *huma.MediaType { return &huma.MediaType{Schema: &huma.Schema{}} }
	op.Responses = map[string]*huma.Response{"200": {
		Description: "The bytes as the host sent them.",
		Content: map[string]*huma.MediaType{
			"application/json": bytes(), "application/yaml": bytes(), "application/octet-stream": bytes(),
		},
	}}
	return op
}

// Handle declares one operation. [Mux.validateParameters] checks parameters. Errors become problem
// documents here, so a handler can return any error.
func Handle[I, O any](a *Mux, h huma.API, op huma.Operation, work func(context.Context, *I) (*O, error)) {
	op.SkipValidateParams = true // done by validateParameters
	mediaType := "application/problem+json"
	plain := isAgentOperation(&op)
	if plain {
		mediaType = "application/json"
	}
	op = Respond(op, "default", "A problem; its code is explained in x-problems.", mediaType, SchemaOf[Problem](h))
	huma.Register(h, op, func(ctx context.Context, in *I) (*O, error) {
		whole := a.indexComplete()
		var out *O
		var err error
		if body, ok := any(in).(interface{ readError() error }); ok {
			err = body.readError()
		}
		if err == nil {
			out, err = work(ctx, in)
		}
		if err != nil {
			if isIndexMiss(err) && !(whole && a.indexComplete()) {
				err = errIndexIncomplete()
			}
			r := a.CompleteProblem(ctx, op.Path, err)
			r.Plain = plain
			return nil, r
		}
		return out, nil
	})
	// Huma also describes its own error, which no route returns.
	for _, unused := range []string{"HumaErrorModel", "HumaErrorDetail"} {
		delete(h.OpenAPI().Components.Schemas.Map(), unused)
	}
}

// HandleBody is [Handle] for an operation with a JSON body whose members B documents. The body is
// described after huma has set the operation up, because huma must not read it: it would accept
// duplicate members and other spellings of a name.
func HandleBody[B, I, O any](a *Mux, h huma.API, op huma.Operation, work func(context.Context, *I) (*O, error)) {
	Handle(a, h, op, work)
	item := h.OpenAPI().Paths[op.Path]
	described := map[string]*huma.Operation{http.MethodPost: item.Post, http.MethodPut: item.Put}[op.Method]
	described.RequestBody = &huma.RequestBody{Required: true, Content: Content("application/json", SchemaOf[B](h))}
}

// isAgentOperation reports whether an operation belongs to the AIR registry. Its paths, shapes and
// error words are those of the public reference, with members added, so that the reference's
// clients work unchanged.
func isAgentOperation(op *huma.Operation) bool {
	return slices.ContainsFunc(Table, func(r Route) bool { return r.ID == op.OperationID && r.AIR })
}
