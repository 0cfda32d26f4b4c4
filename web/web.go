// Package web has the pages for people, which show the same answers that the API gives to programs.
// Begin with [New] and [Pages.Mount]; each file holds the pages of one subject, the templates
// folder their HTML. Package frame has what all pages share; packages agentpages, censuspages,
// changepages, crawlerpages, operatorpages and rulepages have the pages of what they are named after.
// STYLE.md documents type, space, color and components.
//
// Pages are rendered on the server, work without scripts, request nothing from other hosts, and fit
// windows from 320 pixels up. All texts of services and agents are untrusted; package frame makes
// them harmless.
package web

import (
	"context"
	"embed"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/api/answer"
	"gazetteer/census"
	"gazetteer/conformance/standing"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/internal/cache"
	"gazetteer/join"
	"gazetteer/web/agentpages"
	"gazetteer/web/censuspages"
	"gazetteer/web/changepages"
	"gazetteer/web/crawlerpages"
	"gazetteer/web/frame"
	"gazetteer/web/history"
	"gazetteer/web/operatorpages"
	"gazetteer/web/rulepages"

	"github.com/gin-gonic/gin"
)

// Answers is the data of the pages. [answer.Answers] implements it.
type Answers interface {
	agentpages.Answers
	censuspages.Answers
	changepages.Answers
	crawlerpages.Answers
	rulepages.Answers
	// Hits completes operations that were found with how fresh they are, at a time.
	Hits(ctx context.Context, hits []index.Hit, now time.Time) ([]answer.Hit, error)
	// FindEmptyFilters returns the filters because of which a query has no result.
	FindEmptyFilters(ctx context.Context, q query.Query) ([]answer.EmptyFilter, error)
	// ListServices returns a part of the list of services.
	ListServices(ctx context.Context, q census.ServiceQuery) (answer.ServiceListing, error)
	// ExplainService explains the states of a host by what the crawler found.
	ExplainService(ctx context.Context, s answer.Service) (answer.Explanation, error)
	// HostStates knows the present states of hosts; nil: they are not known here.
	HostStates() *standing.Follower
	// AgentsOf returns the agents that serve a host.
	AgentsOf(ctx context.Context, host string) (join.Joined, error)
	// Namespace returns who uses a namespace, and with what right.
	Namespace(ctx context.Context, name string) (answer.Namespace, error)
	// NamespaceClaim returns the evidence of one host for a namespace; false if it declares none.
	NamespaceClaim(ctx context.Context, host, namespace string) (answer.Claim, bool, error)
	// DataClass returns the services that declare a data class.
	DataClass(ctx context.Context, name string) (answer.DataClass, error)
	// Verbs lists every verb that is offered, in order of verb.
	Verbs(ctx context.Context) ([]index.VerbCount, error)
	// CompareVersions returns the changes between two versions of a document.
	CompareVersions(ctx context.Context, host string, kind document.Kind, from, to string) (*answer.VersionDiff, error)
	// Figures returns the numbers of hosts, documents and operations.
	Figures(ctx context.Context) (answer.Figures, error)
	// Document returns a document as its host sent it: the current version for the digest "".
	Document(ctx context.Context, host string, kind document.Kind, digest string) (answer.RawDocument, error)
	// Validate checks a text, or the document at an address.
	Validate(ctx context.Context, s answer.ValidationRequest) ([]answer.ValidationResult, error)
	// CrawlLog returns the requests to a host, the latest visit first.
	CrawlLog(ctx context.Context, host string, before time.Time, limit int) ([]crawler.CrawlLogEntry, error)
	// Submit adds names of hosts to the frontier.
	Submit(ctx context.Context, hosts []string, client netip.Addr) ([]answer.Submission, error)
	// Submission returns the state of a submitted host.
	Submission(ctx context.Context, host string) (answer.Submission, error)
}

var _ Answers = (*answer.Answers)(nil)

// Options configure New.
type Options struct {
	// Log gets one line for each page that failed through our own fault. Nil
	// discards them.
	Log *slog.Logger
	// Now returns the time from which "3 minutes ago" counts. Nil means time.Now.
	Now func() time.Time
	// Bot describes the operator of the crawler.
	Bot crawlerpages.Bot
	// Standing returns the status of the server: [api.API.ServerStatus]. With nil, pages have no
	// status.
	Standing func() api.ServerStatus
	// Registry returns what waits for the registry's operator: [api.API.RegistryStatus]. Nil knows
	// nothing.
	Registry func(context.Context) (air.RegistryStatus, error)
	// History has the figures of the last hours for the page of the status. Nil draws none.
	History *history.History
	// Contracts is the tool host, for the operator's page; nil where there is none.
	Contracts operatorpages.Contracts
	// Links are added to the navigation.
	Links []frame.Link
	// PublicURL is the address of this server in commands that pages show: [frame.Options].
	PublicURL string
	// Panics counts the pages that ended in a panic: [frame.Options].
	Panics *atomic.Uint64
}

// Pages are the pages. Any number of requests may use them at once.
type Pages struct {
	*frame.Frame
	agents   *agentpages.Pages
	census   *censuspages.Pages
	changes  *changepages.Pages
	crawler  *crawlerpages.Pages
	operator *operatorpages.Pages
	rules    *rulepages.Pages
	answers  Answers
	catalog  Catalog
	home     *cache.Single[homeContents]
	stand    func() api.ServerStatus
	history  *history.History
}

//go:embed templates/*.html
var templateFiles embed.FS

// New creates the pages from the data of a, and the lists and suggestions of c.
func New(a Answers, c Catalog, o Options) *Pages {
	p := &Pages{answers: a, catalog: c, home: cache.NewSingle[homeContents](), stand: o.Standing, history: o.History}
	p.Frame = frame.New(frame.Options{Log: o.Log, Now: o.Now, Building: p.isBuilding, Explain: explainError, Links: o.Links, PublicURL: o.PublicURL, Panics: o.Panics})
	p.agents = agentpages.New(p.Frame, a)
	p.census = censuspages.New(p.Frame, a)
	p.changes = changepages.New(p.Frame, a)
	p.crawler = crawlerpages.New(p.Frame, a, o.Bot)
	p.rules = rulepages.New(p.Frame, a, p.crawler.Contact())
	p.operator = operatorpages.New(p.Frame, operatorpages.Options{Status: p.serverStatus, Registry: o.Registry, Contracts: o.Contracts})
	p.AddTemplates(templateFiles)
	return p
}

// Mount adds the pages to e, the engine of the API ([api.API.Engine]), which sets tags, compresses,
// answers HEAD, limits time and writes the access log. The paths are /, /services, /verbs,
// /namespaces, /data-classes, /agents, /rules, /help and /static and everything below them, and
// /validate, /submit, /log, /status and /census, and /api, /register and /favicon.ico, which lead to
// others. They do not overlap with paths of the API.
func (p *Pages) Mount(e *gin.Engine) {
	for path, h := range map[string]gin.HandlerFunc{
		"/":                                    p.Handle(p.searchPage, "q", "page", "exact", "safe", "min_fit"),
		"/services":                            p.Handle(p.servicesPage, "q", "category", "format", "is", "sort", "page"),
		"/services/:host":                      p.Handle(p.servicePage, "op", "kind", "page"),
		"/services/:host/crawl-log":            p.Handle(p.crawlLogPage, "before"),
		"/services/:host/documents/:kind":      p.Handle(p.sourcePage),
		"/services/:host/documents/:kind/diff": p.Handle(p.diffPage, "from", "to"),
		"/verbs":                               p.Handle(p.verbsPage, "q", "sort", "page"),
		"/verbs/:verb":                         p.Handle(p.verbPage, "page"),
		"/namespaces":                          p.Handle(p.listingPage(namespaceListing), "q", "sort", "page"),
		"/namespaces/:value":                   p.Handle(p.valuePage(namespaceListing), "page"),
		"/data-classes":                        p.Handle(p.listingPage(classListing), "q", "sort", "page"),
		"/data-classes/:value":                 p.Handle(p.valuePage(classListing), "page"),
		"/help/search":                         p.Handle(p.helpPage),
		"/validate":                            p.Handle(p.validateFormPage, "url", "as", "sample", "text"),
		"/submit":                              p.Handle(p.submitFormPage, "host", "watch"),
		"/status":                              p.Handle(p.statusPage),
		"/static/:name":                        p.ServeStatic,
		"/favicon.ico":                         p.RedirectToIcon,
		"/help":                                redirectTo("/help/search"),
		"/api":                                 redirectTo("/docs"),
		"/api/v1":                              redirectTo("/docs"),
		"/schemas":                             redirectTo("/docs/schema"),
		"/search": func(c *gin.Context) {
			c.Redirect(http.StatusFound, (&url.URL{Path: "/", RawQuery: c.Request.URL.RawQuery}).String())
		},
		"/register":        redirectTo("/agents#register"),
		"/agents/register": redirectTo("/agents#register"),
	} {
		e.GET(path, h)
		e.HEAD(path, h)
	}
	e.POST("/validate", p.Handle(p.validatePage))
	e.POST("/submit", p.Handle(p.submitHosts))
	p.agents.Mount(e)
	p.census.Mount(e)
	p.changes.Mount(e)
	p.crawler.Mount(e)
	p.rules.Mount(e)
}

// redirectTo leads from an address that people try to the page that they look for.
func redirectTo(path string) gin.HandlerFunc {
	return func(c *gin.Context) { c.Redirect(http.StatusFound, path) }
}

// MountOperator adds the operator's pages to e, which is the API's ([route.Mux.Operator]).
func (p *Pages) MountOperator(e *gin.Engine) { p.operator.Mount(e) }

// isBuilding reports whether the index is being built from the store.
func (p *Pages) isBuilding() bool { return p.stand != nil && !p.stand().Ready }
