// Package web is Gazetteer for people: pages over the same answers that the API
// gives to programs. Begin with [New] and [Pages.Mount]; search.go, services.go,
// verbs.go, catalogue.go, agents.go and log.go each hold one sort of page, the
// templates folder its HTML, static the one style sheet and the one script.
//
// Pages are rendered on the server, work without scripts, ask nothing of any other
// host, and look right in light and dark from 390 pixels up. One script there is:
// htmx, on the search page alone, which shows results while one types by asking for
// the very page that the form leads to, and taking its parts. All that a page shows of services and agents was written by strangers.
// Three rules keep it inert: html/template escapes it, characters that hide or
// reorder text are written out as U+XXXX (text.go), and only https addresses
// become links (links.go). The content security policy stands behind all three.
package web

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"time"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/crawler/owner"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/join"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry/admission"
	"gazetteer/registry/directory"

	"github.com/gin-gonic/gin"
)

// Answers is what the pages need to know. [answer.Answers] knows it.
type Answers interface {
	// Search returns a page of operations, best first.
	Search(ctx context.Context, q query.Query) (index.Result, error)
	// Hits completes operations that were found with how fresh they are, at a time.
	Hits(ctx context.Context, hits []index.Hit, now time.Time) ([]answer.Hit, error)
	// Services lists services in order of host key, from behind after.
	Services(ctx context.Context, after string, limit int) (answer.ServicePage, error)
	// Service returns all that is known of a host.
	Service(ctx context.Context, host string) (answer.Service, error)
	// AgentsOf returns the agents that serve a host.
	AgentsOf(ctx context.Context, host string) (join.Joined, error)
	// Namespace returns who uses a namespace, and with what right.
	Namespace(ctx context.Context, name string) (answer.Namespace, error)
	// DataClass returns who says that they hold a data class.
	DataClass(ctx context.Context, name string) (answer.DataClass, error)
	// Verbs lists every verb that is offered, in order of verb.
	Verbs(ctx context.Context) ([]index.VerbCount, error)
	// Figures says how much there is.
	Figures(ctx context.Context) (answer.Figures, error)
	// Agent finds an agent by AIR ID, handle or did:wba.
	Agent(ctx context.Context, id string) (answer.AgentAnswer, error)
	// FindAgents returns a page of the agents that a query takes, and how many
	// there are; with a verb, of those at home where it is offered.
	FindAgents(ctx context.Context, q directory.Query, verb string) ([]directory.Result, int, error)
	// AgentDetails returns all that is known of an agent.
	AgentDetails(ctx context.Context, id string) (answer.AgentDetails, error)
	// Report stores what somebody says against an agent, for the operator.
	Report(ctx context.Context, airID string, q admission.ReportRequest) (admission.Report, error)
	// ReportByID returns what is public of a report.
	ReportByID(ctx context.Context, id string) (admission.Report, error)
	// LogStatus says how the transparency log stands.
	LogStatus(ctx context.Context) (answer.LogStatus, error)
	// Rules lists every rule that documents are judged by, draft by draft.
	Rules() []answer.RuleView
	// Rule returns the rule of a code.
	Rule(code string) (answer.RuleView, error)
	// Validate judges a text, or what an address leads to.
	Validate(ctx context.Context, s answer.ValidationRequest) ([]answer.ValidationResult, error)
	// CrawlLog returns what a host was asked, the latest visit first.
	CrawlLog(ctx context.Context, host string, before time.Time, limit int) ([]crawler.Entry, error)
	// Submit takes names of hosts into the frontier.
	Submit(ctx context.Context, hosts []string, client netip.Addr) ([]answer.Submission, error)
	// HandleOwnerRequest has a wish of a host's owner judged, and done when it is proved.
	HandleOwnerRequest(ctx context.Context, wish owner.RequestKind, host string, subdomains bool, client netip.Addr, request *httpsig.Message) (owner.Answer, error)
	// Recrawl has a known host visited again.
	Recrawl(ctx context.Context, host string, client netip.Addr, request *httpsig.Message) (answer.Submission, error)
}

var _ Answers = (*answer.Answers)(nil)

// Options are what New can be told beside the answers.
type Options struct {
	// Log gets one line for each page that failed through our own fault. Nil
	// discards them.
	Log *slog.Logger
	// Now tells the time that "3 minutes ago" counts from. Nil is time.Now.
	Now func() time.Time
	// Bot says who crawls.
	Bot Bot
	// Standing says how the server stands: [api.API.Standing]. Nil knows nothing.
	Standing func() api.ServerStatus
}

// Pages are the pages. Any number of requests may use them at once.
type Pages struct {
	answers   Answers
	catalogue Catalogue
	log       *slog.Logger
	now       func() time.Time
	assets    assets
	templates map[string]*template.Template
	figures   figuresCache
	owner     Bot
	stand     func() api.ServerStatus
}

//go:embed templates
var templateFiles embed.FS

// New prepares the pages over a, and for what is listed and suggested over c.
func New(a Answers, c Catalogue, o Options) *Pages {
	p := &Pages{answers: a, catalogue: c, log: o.Log, now: o.Now, assets: readAssets(), figures: figuresCache{turn: make(chan struct{}, 1)}, owner: o.Bot, stand: o.Standing}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.now == nil {
		p.now = time.Now
	}
	p.templates = parseTemplates(p.assets)
	return p
}

// Mount adds the pages to e, which is the API's ([api.API.Engine]): tags,
// compression, HEAD, time limits and the access log are its work. The paths are
// /, /services, /verbs, /namespaces, /data-classes, /agents, /rules, /help and /static
// and what lies below, and /validate, /submit, /bot, /log and /status; they meet no path of the API.
func (p *Pages) Mount(e *gin.Engine) {
	for path, h := range map[string]gin.HandlerFunc{
		"/":                          p.handlePage(p.searchPage),
		"/services":                  p.handlePage(p.servicesPage),
		"/services/:host":            p.handlePage(p.servicePage),
		"/services/:host/crawl-log":  p.handlePage(p.crawlLogPage),
		"/verbs":                     p.handlePage(p.verbsPage),
		"/verbs/:verb":               p.handlePage(p.verbPage),
		"/namespaces":                p.handlePage(p.listingPage(namespaceListing)),
		"/namespaces/:value":         p.handlePage(p.valuePage(namespaceListing)),
		"/data-classes":              p.handlePage(p.listingPage(classListing)),
		"/data-classes/:value":       p.handlePage(p.valuePage(classListing)),
		"/help/search":               p.handlePage(p.helpPage),
		"/agents":                    p.handlePage(p.agentsPage),
		"/validate":                  p.handlePage(p.validateFormPage),
		"/submit":                    p.handlePage(p.submitFormPage),
		"/bot":                       p.handlePage(p.botInfoPage),
		"/status":                    p.handlePage(p.statusPage),
		"/rules":                     p.handlePage(p.rulesPage),
		"/rules/:code":               p.handlePage(p.rulePage),
		"/agents/:id":                p.handlePage(p.agentPage),
		"/agents/:id/report":         p.handlePage(p.reportForm),
		"/agents/:id/report/:report": p.handlePage(p.reportPage),
		"/log":                       p.handlePage(p.logPage),
		"/static/:name":              p.serveStatic,
	} {
		e.GET(path, h)
		e.HEAD(path, h)
	}
	e.POST("/validate", p.handlePage(p.validatePage))
	e.POST("/submit", p.handlePage(p.submitHosts))
	e.POST("/bot", p.handlePage(p.submitOwnerRequest))
	e.POST("/agents/:id/report", p.handlePage(p.submitReport))
}

// NotFound answers with the page for an address where nothing is. It is for
// [api.API.SetNotFound].
func (p *Pages) NotFound(c *gin.Context) {
	p.handlePage(func(*gin.Context) (pageView, error) { return pageView{}, errNoPage })(c)
}

// A view is one page, ready to be rendered.
type pageView struct {
	name     string // of the template
	title    string
	status   int // 200 when 0
	body     any
	location string // where to go instead, for a redirect
	live     bool   // shows results while one types, so it runs our script
	building bool   // the index is not whole, so something may be missing
}

// layoutData is what the layout template sees.
type layoutData struct {
	Title    string
	Section  string
	Live     bool
	Building bool
	Body     any
}

// handlePage turns a function that works out a view into a handler: it renders the
// view, or the error page for what went wrong, a panic included.
func (p *Pages) handlePage(work func(c *gin.Context) (pageView, error)) gin.HandlerFunc {
	return func(c *gin.Context) {
		building := p.isBuilding()
		v, err := p.callGuarded(work, c)
		building = building || p.isBuilding()
		if err != nil {
			v = p.errorPage(c, duringBuilding(building, err))
		}
		v.building = building
		if v.location != "" {
			setSecurityHeaders(c.Writer.Header(), policy)
			c.Redirect(v.status, v.location)
			return
		}
		html, err := p.renderPage(v)
		if err != nil {
			v = p.errorPage(c, err)
			if html, err = p.renderPage(v); err != nil {
				p.log.Error("render the error page", "error", err)
				c.Status(http.StatusInternalServerError)
				return
			}
		}
		writePage(c, v, html)
	}
}

// isBuilding reports whether the index is being built from the store.
func (p *Pages) isBuilding() bool { return p.stand != nil && !p.stand().Ready }

// duringBuilding is the error of a page. That the index has nothing of a name is
// not to be believed before it is whole.
func duringBuilding(building bool, err error) error {
	_, verb := errors.AsType[*noVerb](err)
	_, value := errors.AsType[*noValue](err)
	if building && (verb || value) {
		return fmt.Errorf("%w: %w", index.ErrUnavailable, err)
	}
	return err
}

// callGuarded runs work and returns its panic as an error.
func (p *Pages) callGuarded(work func(c *gin.Context) (pageView, error), c *gin.Context) (v pageView, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return work(c)
}

func (p *Pages) renderPage(v pageView) ([]byte, error) {
	var b bytes.Buffer
	f := layoutData{Title: v.title, Section: v.name, Live: v.live, Building: v.building, Body: v.body}
	if err := p.templates[v.name].ExecuteTemplate(&b, "layout", f); err != nil {
		return nil, fmt.Errorf("render %s: %w", v.name, err)
	}
	return b.Bytes(), nil
}

// parseTemplates joins the layout and the shared parts with each page. The
// files are part of the program, so one that cannot be read is a mistake in it.
func parseTemplates(a assets) map[string]*template.Template {
	shared := template.Must(template.New("").Funcs(template.FuncMap{
		"text":   escapeText,
		"clip":   clipEscaped,
		"line":   sourceText,
		"plain":  plainText,
		"asset":  a.addressOf,
		"verb":   verbPath,
		"agent":  agentPath,
		"digits": formatNumber,
	}).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
	pages := make(map[string]*template.Template)
	for _, name := range []string{"home", "results", "services", "service", "verbs", "verb", "shelf", "shelved", "help", "agents", "agent", "report", "log", "validate", "rules", "rule", "submit", "crawllog", "bot", "status", "problem"} {
		pages[name] = template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, "templates/"+name+".html"))
	}
	return pages
}
