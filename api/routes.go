package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
)

// maxOffset is how deep a search can be paged: beyond it, better words help more.
const maxOffset = 10_000

// publicRoutes declares what everybody may ask.
func (a *API) publicRoutes(publicURL string) error {
	h := a.newDescription(a.public, "Gazetteer", "The search engine and registry of the agent web. Every GET answers HEAD and "+
		"OPTIONS too, carries a strong ETag and takes If-None-Match. Every refusal is a problem document whose code is "+
		"explained in x-problems.", publicURL)
	a.searchRoutes(h)
	a.exportRoute(h)
	a.exploreRoutes(h)
	addRoute(a, h, getOperation("list-services", "/api/v1/services", "List services in order of host"), a.listServices)
	addRoute(a, h, getOperation("service", "/api/v1/services/{host}", "All that is known of a host"), a.getService)
	addRoute(a, h, getOperation("crawl-log", "/api/v1/services/{host}/crawl-log", "Every request made to a host in the last 90 days, and why"), a.getCrawlLog)
	addRoute(a, h, describeRawBytes(getOperation("document", "/api/v1/services/{host}/documents/{kind}", "A current document, byte for byte")), a.getDocument)
	addRoute(a, h, getOperation("list-versions", "/api/v1/services/{host}/documents/{kind}/versions", "The stored versions of a document, newest first"), a.listVersions)
	addRoute(a, h, describeRawBytes(getOperation("version", "/api/v1/services/{host}/documents/{kind}/versions/{digest}", "A stored version of a document, byte for byte")), a.getVersion)
	a.catalogueRoutes(h)
	a.resolveRoute(h)
	a.orchestrateRoutes(h)
	a.validateRoute(h)
	addRoute(a, h, getOperation("list-rules", "/api/v1/rules", "Every rule that documents are judged by"), a.listRules)
	addRoute(a, h, getOperation("rule", "/api/v1/rules/{code}", "A rule with its section and an example"), a.getRule)
	a.schemaRoute(h)
	a.submissionRoutes(h)
	a.ownerRoutes(h)
	a.statusRoutes(h)
	a.agentRoutes(h)
	addRoute(a, h, getOperation("health", "/healthz", "The process is alive"), a.getHealth)
	addRoute(a, h, getOperation("readiness", "/readyz", "The index is at the store's sequence; 503 until then"), a.getReadiness)
	if err := a.finishRoutes(h, a.public, "/openapi.json", "The description of this API in OpenAPI 3.1"); err != nil {
		return err
	}
	a.fixed = fixedRoutes(a.public.Routes())
	return nil
}

// fixedRoutes are the methods of each address without a variable part.
func fixedRoutes(routes gin.RoutesInfo) map[string][]string {
	fixed := map[string][]string{}
	for _, r := range routes {
		if !strings.ContainsAny(r.Path, ":*") {
			fixed[r.Path] = append(fixed[r.Path], r.Method)
		}
	}
	return fixed
}

// newDescription sets up the description of the routes of one engine, with huma's
// defaults changed: no routes and no members of its own, no page that loads
// scripts from elsewhere.
func (a *API) newDescription(e *gin.Engine, title, description, publicURL string) huma.API {
	schemas := huma.NewMapRegistry("#/components/schemas/", schemaName)
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI:    "3.1.0",
			Info:       &huma.Info{Title: title, Version: "1", Description: description},
			Components: &huma.Components{Schemas: schemas},
			Extensions: map[string]any{"x-problems": problemKinds()},
		},
		Formats:       huma.DefaultFormats,
		DefaultFormat: "application/json",
	}
	if publicURL != "" {
		config.Servers = []*huma.Server{{URL: publicURL}}
	}
	h := humagin.New(e, config)
	h.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) { a.validateParameters(schemas, ctx, next) })
	return h
}

// schemaOf returns a reference to the schema of a type in h's description.
func schemaOf[T any](h huma.API) *huma.Schema {
	return h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// finishRoutes adds the description itself as the last route, and HEAD to every GET
// that ends.
func (a *API) finishRoutes(h huma.API, e *gin.Engine, path, summary string) error {
	var text []byte
	op := getOperation("openapi", path, summary)
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{"application/openapi+json": {Schema: &huma.Schema{Type: huma.TypeObject}}}}}
	addRoute(a, h, op, func(context.Context, *struct{}) (*rawOutput, error) {
		return &rawOutput{ContentType: "application/openapi+json", Body: text}, nil
	})
	text, err := json.Marshal(h.OpenAPI())
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	for _, r := range e.Routes() {
		if r.Method == http.MethodGet && r.Path != streamPath {
			e.HEAD(r.Path, r.HandlerFunc)
		}
	}
	return nil
}

// ownPackages are those whose types are named without their package in the description.
var ownPackages = []string{"answer", "api"}

// schemaName names the schema of a type: by its package too, unless it is ours, because several
// packages have a Document.
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

// getOperation begins the description of a GET.
func getOperation(id, path, summary string) huma.Operation {
	return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary}
}

// describeRawBytes describes an answer of bytes that are somebody else's.
func describeRawBytes(op huma.Operation) huma.Operation {
	bytes := func() *huma.MediaType { return &huma.MediaType{Schema: &huma.Schema{}} }
	op.Responses = map[string]*huma.Response{"200": {
		Description: "The bytes as the host sent them.",
		Content: map[string]*huma.MediaType{
			"application/json": bytes(), "application/yaml": bytes(), "application/octet-stream": bytes(),
		},
	}}
	return op
}

// addRoute declares one operation. Parameters are judged by [API.strict]; errors
// become refusals here, so a handler returns whatever error it met.
func addRoute[I, O any](a *API, h huma.API, op huma.Operation, work func(context.Context, *I) (*O, error)) {
	op.SkipValidateParams = true // done by strict
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	mediaType := "application/problem+json"
	plain := isAgentOperation(&op)
	if plain {
		mediaType = "application/json"
	}
	op.Responses["default"] = &huma.Response{
		Description: "A problem; its code is explained in x-problems.",
		Content:     map[string]*huma.MediaType{mediaType: {Schema: schemaOf[Problem](h)}},
	}
	huma.Register(h, op, func(ctx context.Context, in *I) (*O, error) {
		whole := a.indexComplete()
		out, err := work(ctx, in)
		if err != nil {
			if isIndexMiss(err) && !(whole && a.indexComplete()) {
				err = errIndexIncomplete()
			}
			r := a.completeProblem(op.Path, err)
			r.plain = plain
			return nil, r
		}
		return out, nil
	})
	// Huma describes its own error too, which no route answers with.
	for _, unused := range []string{"HumaErrorModel", "HumaErrorDetail"} {
		delete(h.OpenAPI().Components.Schemas.Map(), unused)
	}
}

// isAgentOperation reports whether an operation belongs to the AIR registry, whose
// clients have their own idea of an error.
func isAgentOperation(op *huma.Operation) bool { return slices.Contains(op.Tags, tagAgents) }

// An output is an answer in JSON.
type output[T any] struct {
	CacheControl string `header:"Cache-Control"`
	Link         string `header:"Link"`
	Status       int
	Body         T
}

func jsonOutput[T any](v T) *output[T] { return &output[T]{Status: http.StatusOK, Body: v} }

// A rawOutput is an answer of bytes.
type rawOutput struct {
	ContentType        string `header:"Content-Type"`
	CacheControl       string `header:"Cache-Control"`
	ContentDisposition string `header:"Content-Disposition"`
	SecurityPolicy     string `header:"Content-Security-Policy"`
	ReprDigest         string `header:"Repr-Digest"`
	Body               []byte
}

// readCursor reads the cursor of a list; without one the list begins at its front.
func (a *API) readCursor(ctx context.Context, text, route string) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	return a.cursors.decodeCursor(text, route, queryOf(ctx), a.answers.Store.Head())
}

// nextPage returns the cursor and Link of the page that c begins.
func (a *API) nextPage(ctx context.Context, path, route string, c cursor) (next, link string) {
	c.Log = a.answers.Store.Head()
	query := queryOf(ctx)
	next = a.cursors.encodeCursor(c, route, query)
	to := url.Values{}
	for name, values := range query {
		to[name] = values
	}
	to.Set("cursor", next)
	return next, "<" + path + "?" + to.Encode() + `>; rel="next"`
}

type servicesInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many services on one page, 1 to 100"`
	Cursor string `query:"cursor" doc:"where the page begins, from the answer before"`
}

// ServiceList is one page of services.
type ServiceList struct {
	answer.ServicePage
	Next string `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
}

func (a *API) listServices(ctx context.Context, in *servicesInput) (*output[ServiceList], error) {
	c, err := a.readCursor(ctx, in.Cursor, "services")
	if err != nil {
		return nil, err
	}
	page, err := a.answers.Services(ctx, c.After, in.Limit)
	if err != nil {
		return nil, err
	}
	out := jsonOutput(ServiceList{ServicePage: page})
	if page.After != "" {
		out.Body.Next, out.Link = a.nextPage(ctx, "/api/v1/services", "services", cursor{After: page.After})
	}
	return out, nil
}

type hostInput struct {
	Host string `path:"host" doc:"the name of a host, such as www.example.com"`
}

func (a *API) getService(ctx context.Context, in *hostInput) (*output[answer.Service], error) {
	host, err := fetch.CheckHost(in.Host)
	if err != nil {
		return nil, err
	}
	// What is read after the record is as new, or newer; then the next request
	// finds another sequence.
	record, err := a.answers.Store.Get(ctx, store.HostKey(host))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	found := err == nil
	v, err := a.answers.Service(ctx, host)
	if err != nil {
		return nil, err
	}
	if found {
		markCacheable(ctx, record.Key, record.Seq)
	}
	return jsonOutput(v), nil
}

// documentInput and the inputs like it repeat their fields: huma sets only
// those that a struct declares itself.
type documentInput struct {
	Host string     `path:"host" doc:"the name of a host, such as www.example.com"`
	Kind storedKind `path:"kind" doc:"the format of the document"`
}

func (a *API) getDocument(ctx context.Context, in *documentInput) (*rawOutput, error) {
	d, err := a.answers.Document(ctx, in.Host, document.Kind(in.Kind), "")
	if err != nil {
		return nil, err
	}
	return rawBytesOutput(d, "no-cache"), nil
}

type versionInput struct {
	Host   string     `path:"host" doc:"the name of a host, such as www.example.com"`
	Kind   storedKind `path:"kind" doc:"the format of the document"`
	Digest string     `path:"digest" pattern:"^sha256:[0-9a-f]{64}$" doc:"the digest of the version: sha256: and 64 lower-case hex digits"`
}

func (a *API) getVersion(ctx context.Context, in *versionInput) (*rawOutput, error) {
	d, err := a.answers.Document(ctx, in.Host, document.Kind(in.Kind), in.Digest)
	if err != nil {
		return nil, err
	}
	return rawBytesOutput(d, "public, max-age=31536000, immutable"), nil
}

// rawBytesOutput serves a stranger's bytes so that no browser runs them: a media
// type of our choice, sandboxed, and what is neither JSON nor YAML only to be
// saved. They are never transformed: their digest is part of the answer.
func rawBytesOutput(d answer.RawDocument, cache string) *rawOutput {
	sum := sha256.Sum256(d.Bytes)
	out := &rawOutput{
		ContentType:    safeMediaType(d),
		CacheControl:   cache + ", no-transform",
		SecurityPolicy: "default-src 'none'; frame-ancestors 'none'; sandbox",
		ReprDigest:     "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":",
		Body:           d.Bytes,
	}
	if out.ContentType == "application/octet-stream" {
		out.ContentDisposition = "attachment"
	}
	return out
}

// safeMediaType keeps JSON and YAML apart and makes bytes of everything else.
// Versions are stored without their type; their format tells it then. A full AGIS
// document may be JSON or YAML (AGIS §8), and only JSON begins with a bracket.
func safeMediaType(d answer.RawDocument) string {
	format, ok := document.FormatOf(d.Kind)
	if !ok {
		return "application/octet-stream"
	}
	sent, _, err := mime.ParseMediaType(d.MediaType)
	switch {
	case d.MediaType != "" && err != nil:
		return "application/octet-stream"
	case sent == "application/json", strings.HasSuffix(sent, "+json"):
		return "application/json"
	case sent == "application/yaml", sent == "text/yaml", sent == "application/x-yaml", sent == "text/x-yaml", strings.HasSuffix(sent, "+yaml"):
		return "application/yaml"
	case d.MediaType != "":
		return "application/octet-stream"
	case format.MediaTypes[0] == "application/json", d.Kind == document.AGIS && strings.HasPrefix(strings.TrimSpace(string(d.Bytes)), "{"):
		return "application/json"
	case d.Kind == document.AGIS:
		return "application/yaml"
	default:
		return "application/octet-stream"
	}
}

// VersionList holds the stored versions of a document.
type VersionList struct {
	Host     string           `json:"host"`
	Kind     document.Kind    `json:"kind"`
	Versions []answer.Version `json:"versions" doc:"newest first, at most 100"`
}

func (a *API) listVersions(ctx context.Context, in *documentInput) (*output[VersionList], error) {
	host, versions, err := a.answers.ListVersions(ctx, in.Host, document.Kind(in.Kind))
	if err != nil {
		return nil, err
	}
	return jsonOutput(VersionList{Host: host, Kind: document.Kind(in.Kind), Versions: versions}), nil
}

// Health says that the process is alive.
type Health struct {
	Status string `json:"status" doc:"ok"`
}

func (a *API) getHealth(context.Context, *struct{}) (*output[Health], error) {
	out := jsonOutput(Health{Status: "ok"})
	out.CacheControl = "no-store"
	return out, nil
}

func (a *API) getReadiness(context.Context, *struct{}) (*output[Readiness], error) {
	index, head := a.answers.Index.Cursor(), a.answers.Store.Head()
	if !a.ready.observeCursors(index, head) {
		return nil, newProblem(notReady, fmt.Sprintf("the index is at sequence %d, the store at %d: answers are not complete yet", index.Seq, head.Seq),
			"ask again in a moment").withRetry(time.Second)
	}
	out := jsonOutput(Readiness{Status: "ready", Index: index.Seq, Store: head.Seq})
	out.CacheControl = "no-store"
	return out, nil
}
