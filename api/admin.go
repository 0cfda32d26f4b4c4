package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"gazetteer/api/route"
	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/protocol"
	"gazetteer/registry/audit"
	"gazetteer/store"
)

// maxCrawlBody bounds the list of hosts of one crawl, maxCrawlHosts their number.
const (
	maxCrawlBody  = 4 << 20
	maxCrawlHosts = 20_000
)

// adminRoutes declares the routes that only the owner of the data directory may use. They have an
// engine and an OpenAPI document of their own, so that no mistake in the wiring can show them to
// the public.
func (a *API) adminRoutes() error {
	h := a.Describe(a.Admin, "Gazetteer, for its operator", "Routes that answer only on the Unix socket in the data directory.", "")
	crawl := route.Complete(huma.Operation{OperationID: "crawl", Responses: map[string]*huma.Response{"200": {
		Description: "One result a line, as they come. A connection that is cut before its end did not finish.",
		Content:     map[string]*huma.MediaType{"application/x-ndjson": {Schema: route.SchemaOf[crawler.Result](h)}},
	}}})
	route.Handle(a.Mux, h, crawl, a.crawlHosts)
	route.DescribeBody[CrawlBody](h, h.OpenAPI().Paths[crawl.Path].Post)
	route.Handle(a.Mux, h, route.Op("operator-status"), a.getOperatorStatus)
	a.compactRoutes(h)
	a.backupRoutes(h)
	a.censusRoutes(h)
	a.blockRoutes(h)
	a.altarOperatorRoutes(h)
	a.registry.DeclareOperator(h)
	return a.Finish(h, a.Admin, "/admin/openapi.json", "The description of the operator's routes in OpenAPI 3.1")
}

// CrawlBody documents the body of a crawl.
type CrawlBody struct {
	Hosts []string `json:"hosts" doc:"names of hosts, 1 to 20,000"`
}

type crawlInput struct{ body route.RequestBody }

// Resolve reads the body (huma.Resolver).
func (in *crawlInput) Resolve(ctx huma.Context) []error {
	in.body.ReadJSON(ctx)
	return nil
}

func (a *API) crawlHosts(ctx context.Context, in *crawlInput) (*route.StreamOutput, error) {
	if in.body.Err != nil {
		return nil, in.body.Err
	}
	if a.crawl == nil {
		return nil, route.NewProblem(route.Unavailable, "this process does not crawl", "start it with crawling switched on").WithRetry(time.Minute)
	}
	hosts, err := readHostList(in.body.Text)
	if err != nil {
		return nil, err
	}
	// Add the hosts first: an error can still become a problem document here.
	if err := a.add(ctx, hosts...); err != nil {
		return nil, err
	}
	return &route.StreamOutput{Body: func(ctx huma.Context) { a.streamCrawlResults(ctx, hosts) }}, nil
}

// readHostList reads the body of a crawl, strictly.
func readHostList(text []byte) ([]string, error) {
	names, err := readHostNames(text, maxCrawlHosts)
	if err != nil {
		return nil, err
	}
	hosts := make([]string, len(names))
	for i, item := range names {
		if hosts[i], err = fetch.CheckHost(item.Text); err != nil {
			return nil, route.ProblemFor(err).WithLocation(route.NodeLocation(item))
		}
	}
	return hosts, nil
}

// readHostNames reads a body that is a list of at most that many names. It does not judge the names.
func readHostNames(text []byte, most int) ([]*protocol.Node, error) {
	root, err := protocol.ReadJSON(text, protocol.Limits{Bytes: maxCrawlBody, Depth: 4, Members: maxCrawlHosts})
	if err != nil {
		return nil, err
	}
	list := root.Member("hosts")
	if list == nil || list.Kind != protocol.Array || len(list.Items) == 0 || len(root.Items) > 1 {
		return nil, route.NewProblem(route.BadField, "the body must be an object with the one member hosts, a list of names", `for example {"hosts": ["example.com"]}`).
			WithLocation(route.Location{Pointer: "/hosts"})
	}
	if len(list.Items) > most {
		return nil, route.NewProblem(route.BadField, fmt.Sprintf("the list has %d names; at most %d are taken at once", len(list.Items), most), "send them in parts").
			WithLocation(route.NodeLocation(list))
	}
	for _, item := range list.Items {
		if item.Kind != protocol.String {
			return nil, route.NewProblem(route.BadField, "the name of a host must be a string", `for example "example.com"`).WithLocation(route.NodeLocation(item))
		}
	}
	return list.Items, nil
}

// streamCrawlResults writes each result when its visit ends. It takes as long as the hosts take, so
// the time limit of an answer does not apply.
func (a *API) streamCrawlResults(ctx huma.Context, hosts []string) {
	c := humagin.Unwrap(ctx)
	control := http.NewResponseController(c.Writer)
	control.SetReadDeadline(time.Time{})
	control.SetWriteDeadline(time.Time{})
	c.Header("Content-Type", "application/x-ndjson")
	c.Header("Cache-Control", "no-store")
	c.Status(http.StatusOK)
	c.Writer.Flush() // the client sees that its hosts were taken
	encoder := json.NewEncoder(c.Writer)
	err := a.crawl(ctx.Context(), hosts, func(r crawler.Result) error {
		if err := encoder.Encode(r); err != nil {
			return context.Canceled // nobody reads any more
		}
		c.Writer.Flush()
		return nil
	})
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			a.Log.Error("crawl for the socket ended early", "error", err)
		}
		// The answer has begun, so only a closed connection shows that it is incomplete.
		panic(http.ErrAbortHandler)
	}
}

// OperatorStatus is the state of the server, for its operator.
type OperatorStatus struct {
	Crawler crawler.Status `json:"crawler"`
	Store   store.Cursor   `json:"store" doc:"the newest sequence of the store"`
	Index   store.Cursor   `json:"index" doc:"the sequence that answers are based on"`
	Ready   bool           `json:"ready"`
	// Halted is why the transparency log signs nothing more; absent while it signs.
	Halted  *audit.Halt `json:"log_halted,omitempty" doc:"why the transparency log signs nothing more"`
	PID     int         `json:"pid"`
	Version string      `json:"version"`
}

func (a *API) getOperatorStatus(context.Context, *struct{}) (*route.Output[OperatorStatus], error) {
	s := OperatorStatus{
		Store: a.Answers.Store.Head(), Index: a.Answers.Index.Cursor(),
		PID: os.Getpid(), Version: a.Version,
	}
	s.Ready = a.Ready.ObserveCursors(s.Index, s.Store)
	if a.Answers.Log != nil {
		if halt, halted := a.Answers.Log.Halted(); halted {
			s.Halted = &halt
		}
	}
	if a.Answers.Crawler != nil {
		s.Crawler = a.Answers.Crawler.Status()
	}
	out := route.JSON(s)
	out.CacheControl = "no-store"
	return out, nil
}
