package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"mime"
	"strings"
	"time"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/census"
	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index/query"
	"gazetteer/internal/steadyclock"
	"gazetteer/store"
)

// publicRoutes declares the routes for everybody.
func (a *API) publicRoutes(publicURL string) error {
	h := a.Describe(a.Public, "Gazetteer", "The search engine and registry of the agent web. Every GET that is no stream answers HEAD and "+
		"OPTIONS too, carries a strong ETag and takes If-None-Match. Every refusal is a problem document whose code is "+
		"explained in x-problems.", publicURL)
	a.searchRoutes(h)
	a.exportRoute(h)
	a.exploreRoutes(h)
	route.Handle(a.Mux, h, route.Op("list-services"), a.listServices)
	a.feed.Declare(h)
	route.Handle(a.Mux, h, route.Op("service"), a.getService)
	route.Handle(a.Mux, h, route.Op("crawl-log"), a.getCrawlLog)
	route.Handle(a.Mux, h, route.Op("explain-service"), a.explainService)
	route.Handle(a.Mux, h, route.DescribeBadge(route.Op("service-badge"), "a host"), a.getServiceBadge)
	route.Handle(a.Mux, h, route.RawBytes(route.Op("document")), a.getDocument)
	route.Handle(a.Mux, h, route.Op("list-versions"), a.listVersions)
	route.Handle(a.Mux, h, route.RawBytes(route.Op("version")), a.getVersion)
	route.Handle(a.Mux, h, route.Op("compare-versions"), a.compareVersions)
	a.catalogRoutes(h)
	a.statsRoutes(h)
	a.resolveRoute(h)
	a.orchestrateRoutes(h)
	a.validateRoute(h)
	route.Handle(a.Mux, h, route.Op("list-rules"), a.listRules)
	route.Handle(a.Mux, h, route.Op("rule"), a.getRule)
	a.schemaRoute(h)
	a.submissionRoutes(h)
	a.ownerRoutes(h)
	a.statusRoutes(h)
	a.registry.Declare(h)
	a.relayRoutes(h)
	a.altarRoutes(h)
	route.Handle(a.Mux, h, route.Op("health"), a.getHealth)
	route.Handle(a.Mux, h, route.Op("readiness"), a.getReadiness)
	if err := a.Finish(h, a.Public, "/openapi.json", "The description of this API in OpenAPI 3.1"); err != nil {
		return err
	}
	a.Fixed = route.FixedRoutes(a.Public.Routes())
	a.description = h.OpenAPI()
	return nil
}

type servicesInput struct {
	Limit  int      `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many services on one page, 1 to 100"`
	Cursor string   `query:"cursor" doc:"where the page begins, from the answer before"`
	Is     []string `query:"is,explode" maxItems:"10" enum:"reachable,well-formed,conformant,consistent,answers,-reachable,-well-formed,-conformant,-consistent,-answers" doc:"states that the host must all have; with a minus sign, states that it must not have"`

	Words    string `query:"q" maxLength:"100" doc:"words that the host or the name of the service must all have, in any case"`
	Category string `query:"category" maxLength:"100" doc:"a category that the service names, such as finance"`
}

// ServiceList is one page of services.
type ServiceList struct {
	answer.ServicePage
	Next string `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
	// Follow is the same on all pages.
	Follow string `json:"follow,omitempty" doc:"the value of since with which /api/v1/changes continues after the last page. The changes made since the first page was read are there; the pages may already show some of them"`
}

func (a *API) listServices(ctx context.Context, in *servicesInput) (*route.Output[ServiceList], error) {
	c, err := a.ReadCursor(ctx, in.Cursor, "services")
	if err != nil {
		return nil, err
	}
	follow := a.Answers.Store.Head() // read before the services
	if a.Answers.Feed != nil {
		follow.Seq = a.Answers.Feed.Cursor().Seq
	}
	var page answer.ServicePage
	is, not := splitStates(in.Is)
	switch {
	case in.Category != "", strings.TrimSpace(in.Words) != "":
		page, err = a.Answers.SelectServices(ctx, census.ServiceQuery{Words: in.Words, Category: in.Category, Is: is, Not: not, After: c.After, Limit: in.Limit})
	case len(in.Is) > 0:
		page, err = a.Answers.ServicesInState(ctx, is, not, c.After, in.Limit)
	default:
		page, err = a.Answers.Services(ctx, c.After, in.Limit)
	}
	if err != nil {
		return nil, err
	}
	out := route.JSON(ServiceList{ServicePage: page})
	if follow.Seq = min(follow.Seq, page.Seq); in.Cursor != "" {
		follow.Seq = c.Follow
	}
	if a.Answers.Feed != nil {
		out.Body.Follow = a.Cursors.EncodeFeedCursor(follow)
	}
	if page.After != "" {
		out.Body.Next, out.Link = a.NextPage(ctx, "/api/v1/services", "services", route.Cursor{After: page.After, Follow: follow.Seq})
	}
	return out, nil
}

// splitStates separates required states from excluded ones.
func splitStates(values []string) (is, not []conformance.Name) {
	for _, v := range values {
		if positive, negated := query.SplitNegation(v); negated {
			not = append(not, conformance.Name(positive))
		} else {
			is = append(is, conformance.Name(positive))
		}
	}
	return is, not
}

type hostInput struct {
	Host string `path:"host" doc:"the name of a host, such as www.example.com"`
}

func (a *API) getService(ctx context.Context, in *hostInput) (*route.Output[answer.Service], error) {
	host, err := fetch.CheckHost(in.Host)
	if err != nil {
		return nil, err
	}
	// Records that are read after this one are as new or newer; the next request then finds another
	// sequence.
	record, err := a.Answers.Store.Get(ctx, store.HostKey(host))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	found := err == nil
	v, err := a.Answers.Service(ctx, host)
	if errors.Is(err, answer.ErrNoService) {
		return nil, route.ProblemFor(err).WithAlternatives(answer.NearHosts(ctx, a.Answers.Index, host))
	}
	if err != nil {
		return nil, err
	}
	if found {
		route.MarkCacheable(ctx, record.Key, record.Seq)
	}
	return route.JSON(v), nil
}

// documentInput and the inputs like it repeat their fields, because huma sets only the fields that
// a struct declares itself.
type documentInput struct {
	Host string     `path:"host" doc:"the name of a host, such as www.example.com"`
	Kind storedKind `path:"kind" doc:"the format of the document"`
}

func (a *API) getDocument(ctx context.Context, in *documentInput) (*route.RawOutput, error) {
	d, err := a.Answers.Document(ctx, in.Host, document.Kind(in.Kind), "")
	if err != nil {
		return nil, err
	}
	return rawBytesOutput(d, "no-cache"), nil
}

type versionInput struct {
	Host   string     `path:"host" doc:"the name of a host, such as www.example.com"`
	Kind   storedKind `path:"kind" doc:"the format of the document"`
	Digest string     `path:"digest" pattern:"^sha256:[0-9a-f]{64}$" doc:"the digest of the version: sha256: and 64 lowercase hex digits"`
}

func (a *API) getVersion(ctx context.Context, in *versionInput) (*route.RawOutput, error) {
	d, err := a.Answers.Document(ctx, in.Host, document.Kind(in.Kind), in.Digest)
	if err != nil {
		return nil, err
	}
	return rawBytesOutput(d, "public, max-age=31536000, immutable"), nil
}

// rawBytesOutput serves published bytes so that browsers do not execute them: the server sets the
// media type, the response is sandboxed, and everything other than JSON and YAML is offered as a
// download. The bytes are never transformed, because their digest is part of the answer.
func rawBytesOutput(d answer.RawDocument, cache string) *route.RawOutput {
	sum := sha256.Sum256(d.Bytes)
	out := &route.RawOutput{
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

// safeMediaType returns the media type of JSON or YAML, and that of plain bytes for everything
// else. Versions are stored without their type, so their format decides. A full AGIS document may
// be JSON or YAML (AGIS §8), and only JSON begins with a brace.
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
	case format.Syntax == document.JSON, format.Syntax == document.JSONOrYAML && strings.HasPrefix(strings.TrimSpace(string(d.Bytes)), "{"):
		return "application/json"
	case format.Syntax == document.JSONOrYAML:
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

func (a *API) listVersions(ctx context.Context, in *documentInput) (*route.Output[VersionList], error) {
	host, versions, err := a.Answers.ListVersions(ctx, in.Host, document.Kind(in.Kind))
	if err != nil {
		return nil, err
	}
	return route.JSON(VersionList{Host: host, Kind: document.Kind(in.Kind), Versions: versions}), nil
}

// Health reports that the process is alive.
type Health struct {
	Status string      `json:"status" doc:"ok"`
	Clock  *ClockState `json:"clock,omitempty" doc:"left out unless the clock of the machine was set since the start"`
}

// ClockState reports how often the machine's clock was set since the start.
type ClockState struct {
	Jumps  int       `json:"jumps" doc:"how often it jumped by a minute or more"`
	At     time.Time `json:"at" doc:"the last time, by the clock after the jump"`
	By     float64   `json:"by_seconds" doc:"how far the last time: ahead, or back if negative"`
	Behind float64   `json:"behind_seconds" doc:"the delay of scheduled work behind the clock"`
}

// clockJumps returns the known jumps of the clock.
func (a *API) clockJumps() steadyclock.Jumps {
	if a.jumps == nil {
		return steadyclock.Jumps{}
	}
	return a.jumps()
}

func (a *API) getHealth(context.Context, *struct{}) (*route.Output[Health], error) {
	health := Health{Status: "ok"}
	if j := a.clockJumps(); j.Count > 0 {
		health.Clock = &ClockState{Jumps: j.Count, At: j.At.UTC(), By: j.By.Seconds(), Behind: j.Behind.Seconds()}
	}
	return route.JSON(health), nil
}
