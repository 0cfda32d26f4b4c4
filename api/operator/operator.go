// Package operator has the routes by which the operator of a server crawls, compacts, backs up,
// writes a census and excludes hosts. They answer on the socket in the data directory alone.
package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"gazetteer/api/route"
	"gazetteer/census"
	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/registry/audit"
	"gazetteer/store"

	"github.com/danielgtaylor/huma/v2"
)

// maxCrawlHosts bounds the hosts of one crawl.
const maxCrawlHosts = 20_000

// Options are what the process can do for its operator.
type Options struct {
	// Add puts hosts into the frontier, and Crawl yields the result of each visit; an error from yield
	// ends it. Both are nil in a process that does not crawl.
	Add   func(ctx context.Context, hosts ...string) error
	Crawl func(ctx context.Context, hosts []string, yield func(crawler.Result) error) error
	// Horizon is how long a compaction keeps deletions, unless the request says otherwise; 168 hours
	// if 0.
	Horizon time.Duration
	// Backup writes a backup of the data directory into a new directory, and names each part before
	// it is copied; nil if the process cannot.
	Backup func(ctx context.Context, dir string, progress func(part string)) (BackupResult, error)
	// CompactViews removes deleted content from the parts of the data directory beside the store, and
	// returns those that may still have some; nil if there are none. AwaitedParts returns the parts
	// that it waits for now.
	CompactViews func(ctx context.Context) ([]Uncompacted, error)
	AwaitedParts func() []Uncompacted
	// DescribeTable puts words for people into the tables of a census, see [census.Options]. It may be
	// nil.
	DescribeTable func(census.Table) census.Table
	// Program names the program and its version, for the census.
	Program string
}

// Operator serves the routes that change how this server runs.
type Operator struct {
	*route.Mux
	options Options
}

// New returns the routes of the operator on a mux.
func New(m *route.Mux, o Options) *Operator {
	o.Horizon = cmp.Or(o.Horizon, 168*time.Hour)
	return &Operator{Mux: m, options: o}
}

// Declare declares the routes.
func (a *Operator) Declare(h huma.API) {
	crawl := route.Respond(route.Op("crawl"), "200", "One result a line, as they arrive. If the connection ends before the last line, the command did not finish.",
		"application/x-ndjson", route.SchemaOf[crawler.Result](h))
	route.HandleBody[route.CrawlBody](a.Mux, h, crawl, a.crawlHosts)
	route.Handle(a.Mux, h, route.Op("operator-status"), a.getOperatorStatus)
	route.Handle(a.Mux, h, route.Op("compact"), a.compactStore)
	a.backupRoute(h)
	a.censusRoutes(h)
	a.blockRoutes(h)
}

func (a *Operator) crawlHosts(ctx context.Context, in *route.JSONBody) (*route.StreamOutput, error) {
	if a.options.Crawl == nil {
		return nil, route.NewProblem(route.Unavailable, "this process does not crawl", "start it with crawling switched on").WithRetry(time.Minute)
	}
	hosts, err := readHostList(in.Text)
	if err != nil {
		return nil, err
	}
	// Add the hosts first: an error can still become a problem document here.
	if err := a.options.Add(ctx, hosts...); err != nil {
		return nil, err
	}
	return &route.StreamOutput{Body: func(ctx huma.Context) { a.streamCrawlResults(ctx, hosts) }}, nil
}

// readHostList reads the body of a crawl, strictly.
func readHostList(text []byte) ([]string, error) {
	names, err := route.ReadHostNames(text, maxCrawlHosts)
	if err != nil {
		return nil, err
	}
	hosts := make([]string, len(names))
	for i, item := range names {
		if hosts[i], err = fetch.CheckHost(item.Text); err != nil {
			return nil, route.ProblemFor(err).WithLocation(route.BodyLocation(item))
		}
	}
	return hosts, nil
}

// streamCrawlResults writes each result when its visit ends. It takes as long as the hosts take, so
// the time limit of an answer does not apply.
func (a *Operator) streamCrawlResults(ctx huma.Context, hosts []string) {
	c := route.BeginLines(ctx)
	c.Writer.Flush() // the client sees that its hosts were taken
	encoder := json.NewEncoder(c.Writer)
	err := a.options.Crawl(ctx.Context(), hosts, func(r crawler.Result) error {
		if err := encoder.Encode(r); err != nil {
			return context.Canceled // nobody reads any more
		}
		c.Writer.Flush()
		return nil
	})
	if err != nil {
		if !errors.Is(err, context.Canceled) && !errors.Is(err, crawler.ErrStopped) {
			a.Log.Error("crawl for the socket ended early", "error", err)
		}
		// The answer has begun, so only a closed connection shows that it is incomplete.
		panic(http.ErrAbortHandler)
	}
}

// OperatorStatus is the state of the server, for its operator.
type OperatorStatus struct {
	Crawler crawler.Status `json:"crawler"`
	Store   store.Cursor   `json:"store" doc:"the newest sequence number of the store"`
	Index   store.Cursor   `json:"index" doc:"the sequence that answers are based on"`
	Ready   bool           `json:"ready"`
	// Halted is why the transparency log signs nothing more; absent while it signs.
	Halted *audit.Halt `json:"log_halted,omitempty" doc:"why the transparency log signs nothing more"`
	// Unerased says why content of deleted records is still in the log.
	Unerased string `json:"log_unerased,omitempty" doc:"why content of deleted records is still in the transparency log"`
	// Awaited are the parts that a running compaction waits for.
	Awaited []Uncompacted `json:"compaction_awaits,omitempty" doc:"the parts that a running compaction waits for"`
	PID     int           `json:"pid"`
	Version string        `json:"version"`
}

func (a *Operator) getOperatorStatus(context.Context, *struct{}) (*route.Output[OperatorStatus], error) {
	s := OperatorStatus{
		Store: a.Answers.Store.Head(), Index: a.Answers.Index.Cursor(),
		PID: os.Getpid(), Version: a.Version,
	}
	s.Ready = a.Ready.ObserveCursors(s.Index, s.Store)
	if a.Answers.Log != nil {
		if halt, halted := a.Answers.Log.Halted(); halted {
			s.Halted = &halt
		}
		s.Unerased = a.Answers.Log.Status().DescribeUnerased()
	}
	if a.options.AwaitedParts != nil {
		s.Awaited = a.options.AwaitedParts()
	}
	if a.Answers.Crawler != nil {
		s.Crawler = a.Answers.Crawler.Status()
	}
	return route.JSON(s), nil
}
