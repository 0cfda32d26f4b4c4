// Package operatorpages has the pages for the operator of the server. Only the operator's listeners
// serve them (the socket of the data directory and admin_listen), no cache stores them, and their
// navigation lists all of them. To add a page, add its row to [Pages.listPages] and its template.
package operatorpages

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/api/route"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/relay"
	"gazetteer/toolhost"
	"gazetteer/web/frame"
)

// prefix is where the pages begin. Nothing below it answers on the public listener.
const prefix = "/admin/"

//go:embed templates/*.html
var templateFiles embed.FS

// Options are what the pages show.
type Options struct {
	// Status returns the status of the server.
	Status func() api.ServerStatus
	// Registry returns what waits for the operator; nil where there is no registry.
	Registry func(context.Context) (air.RegistryStatus, error)
	// Contracts is the tool host; nil where there is none.
	Contracts Contracts
}

// Pages are the operator's pages. Any number of requests may use them at once.
type Pages struct {
	*frame.Frame
	status    func() api.ServerStatus
	registry  func(context.Context) (air.RegistryStatus, error)
	contracts Contracts
}

// New creates the pages in a frame. status returns the state of the server; contracts is nil
// without a tool host.
func New(f *frame.Frame, o Options) *Pages {
	f.AddTemplates(templateFiles)
	return &Pages{f, o.Status, o.Registry, o.Contracts}
}

// A row describes one page.
type row struct {
	path  string // below prefix, "" for the first page
	title string
	text  string // what the page shows, for the list on the first page
	work  func(c *gin.Context) (frame.WebPage, error)
	form  func(c *gin.Context) (frame.WebPage, error) // takes the page's forms; nil: it has none
}

// listPages returns every page in the order of the navigation.
func (p *Pages) listPages() []row {
	return []row{
		{"", "Overview", "", p.showOverview, nil},
		{"contracts", "Contracts", "tools that clients may call through the tool host, changes by owners, and connected runtimes", p.contractsPage, p.submitContract},
		{"relay", "Relay", "received, refused and waiting messages", p.relayPage, nil},
	}
}

// Mount adds the pages to e, which is the API's ([route.Mux.Operator]).
func (p *Pages) Mount(e *gin.Engine) {
	e.GET(strings.TrimSuffix(prefix, "/"), func(c *gin.Context) { c.Redirect(http.StatusPermanentRedirect, prefix) })
	for _, row := range p.listPages() {
		withLinks := func(work func(*gin.Context) (frame.WebPage, error)) gin.HandlerFunc {
			return p.Handle(func(c *gin.Context) (frame.WebPage, error) {
				view, err := work(c)
				view.Operator = p.listLinks(row.path)
				return view, err
			})
		}
		handler := withLinks(row.work)
		e.GET(prefix+row.path, handler)
		e.HEAD(prefix+row.path, handler)
		if row.form != nil {
			e.POST(prefix+row.path, withLinks(row.form))
		}
	}
}

// listLinks returns the navigation of the page with this path.
func (p *Pages) listLinks(current string) []frame.PageLink {
	var links []frame.PageLink
	for _, row := range p.listPages() {
		links = append(links, frame.PageLink{Path: prefix + row.path, Title: row.title, Text: row.text, Current: row.path == current})
	}
	return links
}

type overviewView struct {
	Version string
	Started frame.Moment
	Behind  string // how far the index is behind, "" when it is not
	Work    route.Work
	Tasks   []task
	Pages   []frame.PageLink
}

// A task is one kind of work that waits for the operator.
type task struct {
	Name, Waiting string
	Urgent        bool
	Command       string // the command that shows what waits, "" for none
	Path          string // the page that shows it, "" for none
}

// showOverview shows the state of the server and links to the other pages.
func (p *Pages) showOverview(c *gin.Context) (frame.WebPage, error) {
	s := p.status()
	v := overviewView{Version: s.Version, Started: p.MomentOf(s.Started), Work: s.Work, Pages: p.listLinks("")[1:]}
	if s.Index < s.Store {
		v.Behind = frame.FormatCount(int(s.Store-s.Index), "change")
	}
	var err error
	v.Tasks, err = p.listTasks(c.Request.Context())
	return frame.WebPage{Name: "operator", Title: "Operator", Body: v}, err
}

// listTasks returns what waits for the operator.
func (p *Pages) listTasks(ctx context.Context) (tasks []task, err error) {
	if p.registry != nil {
		r, err := p.registry(ctx)
		if err != nil {
			return nil, err
		}
		registrations := task{Name: "Registrations", Waiting: frame.FormatCount(r.Waiting, "registration") + " to approve or refuse", Urgent: r.Waiting > 0, Command: "gazetteer registry applications"}
		if r.Waiting == registry.MaxList {
			registrations.Waiting = "at least " + registrations.Waiting
		}
		reports := task{Name: "Reports of abuse", Waiting: frame.FormatCount(r.Reports.Open, "open report"), Urgent: r.Reports.Open > 0, Command: "gazetteer registry reports"}
		if r.Reports.Overdue > 0 {
			reports.Waiting += fmt.Sprintf(", %d overdue", r.Reports.Overdue)
		}
		policy := admissionTexts[r.Admission.Mode]
		if !r.Admission.Closes.IsZero() {
			policy += "; from " + r.Admission.Closes.UTC().Format("2 January 2006") + " new agents wait for your approval, unless you use the registry before then"
		}
		tasks = append(tasks, task{Name: "Admission", Waiting: policy, Command: "gazetteer registry admission"}, registrations, reports)
		if r.Halted != nil {
			tasks = append(tasks, task{Name: "Transparency log", Waiting: frame.AsSentence(r.Halted.String()), Urgent: true})
		}
	}
	if p.contracts != nil {
		contracts, err := p.contractsTask(ctx)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, contracts)
	}
	return tasks, nil
}

// contractsTask counts the contracts to approve and the changes by owners.
func (p *Pages) contractsTask(ctx context.Context) (task, error) {
	changes, err := p.contracts.Changes(ctx)
	if err != nil {
		return task{}, err
	}
	all, err := p.contracts.ContractStatuses(ctx)
	proposed := 0
	for _, c := range all {
		if c.State == toolhost.Proposed {
			proposed++
		}
	}
	return task{
		Name: "Contracts", Waiting: frame.FormatCount(proposed, "contract") + " to approve, " + frame.FormatCount(len(changes), "change") + " by owners",
		Urgent: proposed+len(changes) > 0, Path: prefix + "contracts",
	}, err
}

// admissionTexts explain the modes of admission.
var admissionTexts = map[string]string{
	admission.ModeOpen: "open: new agents are admitted at once", admission.ModeApproval: "approval: new agents wait until you approve them",
	admission.ModeClosed: "closed: no new agents are admitted",
}

type relayView struct {
	Enabled                                          bool
	Waiting, Size, Inboxes                           string
	Oldest                                           frame.Moment
	Accepted, Refused, Pulled, Acknowledged, Expired string
	Reasons                                          []refusals
}

// refusals is the number of messages refused for one reason.
type refusals struct {
	Reason string
	Text   string // what the reason means
	Count  string
	number uint64
}

// relayPage shows the state of the relay, without names or contents, which concern only the
// recipients.
func (p *Pages) relayPage(*gin.Context) (frame.WebPage, error) {
	var v relayView
	if s := p.status().Relay; s != nil {
		count := func(n uint64) string { return frame.FormatNumber(int(n)) }
		v = relayView{
			Enabled: true, Waiting: frame.FormatNumber(s.Waiting), Size: frame.FormatSize(int(s.WaitingBytes)), Inboxes: frame.FormatNumber(s.Inboxes), Oldest: p.MomentOf(s.Oldest),
			Accepted: count(s.Accepted), Pulled: count(s.Pulled), Acknowledged: count(s.Acknowledged), Expired: count(s.Expired),
		}
		total := uint64(0)
		for reason, n := range s.Refused {
			v.Reasons = append(v.Reasons, refusals{reason, frame.AsSentence(relay.DescribeRefusal(reason)), count(n), n})
			total += n
		}
		v.Refused = count(total)
		slices.SortFunc(v.Reasons, func(a, b refusals) int {
			return cmp.Or(cmp.Compare(b.number, a.number), cmp.Compare(a.Reason, b.Reason))
		})
	}
	return frame.WebPage{Name: "relay", Title: "Relay", Body: v}, nil
}
