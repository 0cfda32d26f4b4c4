// Package operatorpages has the pages for the operator of the server. They answer on the operator's
// listeners only (the socket of the data directory and admin_listen), no cache keeps them, and
// their navigation lists each other. To add a page, add its row to [Pages.rows] and its template.
package operatorpages

import (
	"cmp"
	"embed"
	"slices"

	"github.com/gin-gonic/gin"

	"gazetteer/api"
	"gazetteer/web/frame"
)

// prefix is where the pages begin. Nothing below it answers on the public listener.
const prefix = "/admin/"

//go:embed templates/*.html
var templateFiles embed.FS

// Pages are the operator's pages. Any number of requests may use them at once.
type Pages struct {
	*frame.Frame
	status    func() api.ServerStatus
	contracts Contracts // nil without a tool host
}

// New prepares the pages in a frame. status returns how the server stands; contracts is nil where
// there is no tool host.
func New(f *frame.Frame, status func() api.ServerStatus, contracts Contracts) *Pages {
	f.AddTemplates(templateFiles)
	return &Pages{f, status, contracts}
}

// A row describes one page.
type row struct {
	path  string // below prefix, "" for the first page
	title string
	text  string // what the page shows, for the list on the first page
	work  func(c *gin.Context) (frame.View, error)
	form  func(c *gin.Context) (frame.View, error) // takes the page's forms; nil: it has none
}

// listPages returns every page in the order of the navigation.
func (p *Pages) listPages() []row {
	return []row{
		{"", "Overview", "", p.showOverview, nil},
		{"contracts", "Contracts", "tools that clients may call through the tool host, changes by owners, and connected runtimes", p.contractsPage, p.submitContract},
		{"relay", "Relay", "received, refused and waiting mail", p.relayPage, nil},
	}
}

// Mount adds the pages to e, which is the API's ([api.API.OperatorEngine]).
func (p *Pages) Mount(e *gin.Engine) {
	for _, row := range p.listPages() {
		withLinks := func(work func(*gin.Context) (frame.View, error)) gin.HandlerFunc {
			return p.Handle(func(c *gin.Context) (frame.View, error) {
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
	Ready   bool
	Behind  string // how far the index is behind, "" when it is not
	Pages   []frame.PageLink
}

// showOverview shows how the server stands and what other pages there are.
func (p *Pages) showOverview(*gin.Context) (frame.View, error) {
	s := p.status()
	v := overviewView{Version: s.Version, Started: p.MomentOf(s.Started), Ready: s.Ready, Pages: p.listLinks("")[1:]}
	if s.Index < s.Store {
		v.Behind = frame.FormatCount(int(s.Store-s.Index), "change")
	}
	return frame.View{Name: "operator", Title: "Operator", Body: v}, nil
}

type relayView struct {
	Enabled                                          bool
	Waiting, Size, Inboxes                           string
	Oldest                                           frame.Moment
	Accepted, Refused, Pulled, Acknowledged, Expired string
	Reasons                                          []refusals
}

// refusals are how many pushes were refused for one reason.
type refusals struct {
	Reason string
	Count  string
	number uint64
}

// relayPage shows how the relay stands, without names or contents: those are the business of the
// recipients.
func (p *Pages) relayPage(*gin.Context) (frame.View, error) {
	var v relayView
	if s := p.status().Relay; s != nil {
		count := func(n uint64) string { return frame.FormatNumber(int(n)) }
		v = relayView{
			Enabled: true, Waiting: frame.FormatNumber(s.Waiting), Size: frame.FormatSize(int(s.WaitingBytes)), Inboxes: frame.FormatNumber(s.Inboxes), Oldest: p.MomentOf(s.Oldest),
			Accepted: count(s.Accepted), Pulled: count(s.Pulled), Acknowledged: count(s.Acknowledged), Expired: count(s.Expired),
		}
		total := uint64(0)
		for reason, n := range s.Refused {
			v.Reasons = append(v.Reasons, refusals{reason, count(n), n})
			total += n
		}
		v.Refused = count(total)
		slices.SortFunc(v.Reasons, func(a, b refusals) int {
			return cmp.Or(cmp.Compare(b.number, a.number), cmp.Compare(a.Reason, b.Reason))
		})
	}
	return frame.View{Name: "relay", Title: "Relay", Body: v}, nil
}
