package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/protocol"
	"gazetteer/store"
)

// maxCrawlBody bounds the list of hosts of one crawl, maxCrawlHosts their number.
const (
	maxCrawlBody  = 4 << 20
	maxCrawlHosts = 20_000
)

// crawlPath and streamPath are the routes whose answers may take any time.
const crawlPath = "/admin/crawl"

func isAdminPath(path string) bool { return strings.HasPrefix(path, "/admin/") }

// adminRoutes declares what only the owner of the data directory may ask. They
// have an engine and an OpenAPI document of their own, so that no mistake of
// wiring can show them to the public.
func (a *API) adminRoutes() error {
	h := a.newDescription(a.admin, "Gazetteer, for its operator", "Routes that answer only on the Unix socket in the data directory.", "")
	crawl := huma.Operation{
		OperationID: "crawl", Method: http.MethodPost, Path: crawlPath,
		Summary: "Add hosts and wait for their results, one line of JSON each",
		Responses: map[string]*huma.Response{"200": {
			Description: "One result a line, as they come. A connection that is cut before its end did not finish.",
			Content:     map[string]*huma.MediaType{"application/x-ndjson": {Schema: schemaOf[crawler.Result](h)}},
		}},
	}
	addRoute(a, h, crawl, a.crawlHosts)
	describeBody[CrawlBody](h, h.OpenAPI().Paths[crawl.Path].Post)
	addRoute(a, h, getOperation("status", "/admin/status", "How the crawl, the store and the index stand"), a.getOperatorStatus)
	a.compactRoutes(h)
	a.blockRoutes(h)
	a.agentAdminRoutes(h)
	return a.finishRoutes(h, a.admin, "/admin/openapi.json", "The description of the operator's routes in OpenAPI 3.1")
}

// CrawlBody documents the body of a crawl.
type CrawlBody struct {
	Hosts []string `json:"hosts" doc:"names of hosts, 1 to 20,000"`
}

type crawlInput struct{ body requestBody }

// Resolve reads the body (huma.Resolver).
func (in *crawlInput) Resolve(ctx huma.Context) []error {
	in.body.readJSON(ctx, maxCrawlBody)
	return nil
}

type streamOutput struct {
	Body func(huma.Context)
}

func (a *API) crawlHosts(ctx context.Context, in *crawlInput) (*streamOutput, error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	if a.crawl == nil {
		return nil, newProblem(unavailable, "this process does not crawl", "start it with crawling switched on").withRetry(time.Minute)
	}
	hosts, err := readHostList(in.body.text)
	if err != nil {
		return nil, err
	}
	// Taken first: what goes wrong here can still be answered properly.
	if err := a.add(ctx, hosts...); err != nil {
		return nil, err
	}
	return &streamOutput{Body: func(ctx huma.Context) { a.streamCrawlResults(ctx, hosts) }}, nil
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
			return nil, problemFor(err).withLocation(nodeLocation(item))
		}
	}
	return hosts, nil
}

// readHostNames reads a body that is a list of at most so many names, which are not
// judged yet.
func readHostNames(text []byte, most int) ([]*protocol.Node, error) {
	root, err := protocol.ReadJSON(text, protocol.Limits{Bytes: maxCrawlBody, Depth: 4, Members: maxCrawlHosts})
	if err != nil {
		return nil, err
	}
	list := root.Member("hosts")
	if list == nil || list.Kind != protocol.Array || len(list.Items) == 0 || len(root.Items) > 1 {
		return nil, newProblem(badField, "the body must be an object with the one member hosts, a list of names", `for example {"hosts": ["example.com"]}`).
			withLocation(Location{Pointer: "/hosts"})
	}
	if len(list.Items) > most {
		return nil, newProblem(badField, fmt.Sprintf("the list has %d names; at most %d are taken at once", len(list.Items), most), "send them in parts").
			withLocation(nodeLocation(list))
	}
	for _, item := range list.Items {
		if item.Kind != protocol.String {
			return nil, newProblem(badField, "the name of a host must be a string", `for example "example.com"`).withLocation(nodeLocation(item))
		}
	}
	return list.Items, nil
}

func nodeLocation(n *protocol.Node) Location {
	return Location{Pointer: n.Pointer, Line: n.Line, Column: n.Column}
}

// streamCrawlResults writes each result as it comes. It takes as long as the hosts
// take, so the limits of an answer's time do not hold.
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
			a.log.Error("crawl for the socket ended early", "error", err)
		}
		// The answer has begun, so only a cut tells that it is not whole.
		panic(http.ErrAbortHandler)
	}
}

// OperatorStatus is how the server stands, for its operator.
type OperatorStatus struct {
	Crawler crawler.Status `json:"crawler"`
	Store   store.Cursor   `json:"store" doc:"the newest sequence of the store"`
	Index   store.Cursor   `json:"index" doc:"the sequence that answers are based on"`
	Ready   bool           `json:"ready"`
	PID     int            `json:"pid"`
	Version string         `json:"version"`
}

func (a *API) getOperatorStatus(context.Context, *struct{}) (*output[OperatorStatus], error) {
	s := OperatorStatus{
		Store: a.answers.Store.Head(), Index: a.answers.Index.Cursor(),
		PID: os.Getpid(), Version: a.version,
	}
	s.Ready = a.ready.observeCursors(s.Index, s.Store)
	if a.answers.Crawler != nil {
		s.Crawler = a.answers.Crawler.Status()
	}
	out := jsonOutput(s)
	out.CacheControl = "no-store"
	return out, nil
}
