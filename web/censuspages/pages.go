// Package censuspages has the pages of the census: the figures of all hosts, and the hosts that a
// figure counts. Begin with [New] and [Pages.Mount].
package censuspages

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/census"
	"gazetteer/census/tally"
	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/internal/cache"
	"gazetteer/lint"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// Answers is the data of the pages. [answer.Answers] implements it.
type Answers interface {
	// Stats returns the figures of all hosts.
	Stats(ctx context.Context) (*census.Stats, error)
	// CountedHosts lists hosts that a figure counts.
	CountedHosts(ctx context.Context, figure, after string, limit int) (answer.CountedHosts, error)
}

// Pages are the pages. Any number of requests may use them at once.
type Pages struct {
	*frame.Frame
	answers Answers
	figures *cache.Single[renderedFigures]
}

//go:embed templates/*.html
var templateFiles embed.FS

// New prepares the pages within a frame.
func New(f *frame.Frame, a Answers) *Pages {
	f.AddTemplates(templateFiles)
	return &Pages{Frame: f, answers: a, figures: cache.NewSingle[renderedFigures]()}
}

// Mount adds /census and what is below it to e.
func (p *Pages) Mount(e *gin.Engine) {
	for path, h := range map[string]gin.HandlerFunc{
		"/census":       p.Handle(p.censusPage, "family", "at"),
		"/census/hosts": p.Handle(p.hostsPage, "figure", "from"),
	} {
		e.GET(path, h)
		e.HEAD(path, h)
	}
}

// censusView is the page of the figures of all hosts.
type censusView struct {
	Counted  frame.Moment
	History  frame.Moment
	HasTurns bool
	Glance   []Figure
	Totals   []census.Total
	Alias    Figure
	Tables   []tableView
}

// A Figure is a number with a link to the hosts that it counts.
type Figure struct {
	Name, Address string
	Value         int
}

// newFigure returns a number of things, whose name is that of one.
func newFigure(name, address string, n int) Figure {
	if n != 1 {
		name += "s"
	}
	return Figure{name, address, n}
}

// tableView is a table of figures with its drawing.
type tableView struct {
	Name, Title, Definition string
	SVG                     template.HTML
	Columns                 []string
	OverTime                bool // a row for each date, a column for each value
	ByDomains               bool // the rows are in the order of the number of domains
	Rows                    []tableRow
	All                     int // the number of rows, also of those that are not shown
	JSON                    string
}

type tableRow struct {
	Label, Address string
	Cells          []cellView
}

// cellView is a figure of a table. Address leads to the hosts that it counts.
type cellView struct{ Text, Address string }

// shownRows is the number of rows of a table that the page shows if the table has more than longTable.
const (
	shownRows = 12
	longTable = 15
)

// censusPage shows the figures of all hosts. An address that asks for one family, as the API has it,
// leads to its table.
func (p *Pages) censusPage(c *gin.Context) (frame.WebPage, error) {
	s, err := p.answers.Stats(c.Request.Context())
	if err != nil {
		return frame.WebPage{}, err
	}
	if name := c.Query("family"); name != "" {
		if _, err := answer.FigureFamily(name); err != nil {
			return frame.WebPage{}, explainFigure(err, name, "A family is one of the tables of the census, such as verb or state.")
		}
		return frame.WebPage{Status: http.StatusSeeOther, Location: "/census#" + name}, nil
	}
	if c.Query("at") != "" {
		return frame.WebPage{}, &frame.Problem{
			Status: http.StatusBadRequest, Title: "Present figures only", What: "This page shows the present figures.",
			Help:  "gazetteer census --at DATE -o FOLDER writes the figures at an earlier date.",
			Links: []frame.Link{{Text: "Present figures", Address: "/census"}},
		}
	}
	rendered, err := p.figures.Get(c.Request.Context(), func(r renderedFigures) bool { return r.of == s }, func() (renderedFigures, error) {
		html, err := p.RenderMain("census", p.newCensusView(s))
		return renderedFigures{s, html}, err
	})
	if err != nil {
		return frame.WebPage{}, err
	}
	return frame.WebPage{Name: "census", Title: "Census", Main: rendered.html, JSON: "/api/v1/stats",
		Description: "Hosts by format and state, their operations, their lifetimes and the rate of their changes."}, nil
}

// addressOfJSON returns the address of the JSON with more rows of a table.
func addressOfJSON(t tableView) string {
	if t.OverTime {
		return "/api/v1/stats/series"
	}
	if _, ok := census.FamilyOf(t.Name); ok {
		return "/api/v1/stats?family=" + t.Name + "&limit=100"
	}
	return "/api/v1/stats"
}

// newCensusView converts the figures for the page.
func (p *Pages) newCensusView(s *census.Stats) censusView {
	v := censusView{Counted: p.MomentOf(s.Counted), History: p.MomentOf(s.HistoryFrom), HasTurns: !s.HistoryFrom.IsZero(), Alias: AliasOnly(s)}
	v.Glance = []Figure{
		newFigure("Host", "#class", s.Hosts), newFigure("Domain", "#class", s.Domains), newFigure("Service", "/services", s.Services), newFigure("Document", "#format", s.Documents),
		newFigure("Operation", "/verbs", s.Operations), newFigure("Version", "#version-count", s.Versions), newFigure("Agent", "/agents", s.Agents.Active),
	}
	v.Totals = census.Totals()
	for _, t := range s.Tables {
		if t.Name == "summary" {
			continue
		}
		t = t.OnPage()
		view := tableView{Name: t.Name, Title: t.Title, Definition: strings.ReplaceAll(t.Definition, "`", ""), Columns: slices.Clone(t.Columns), OverTime: t.Columns[0] == "date"}
		if view.OverTime && len(t.Rows) < 2 {
			continue // one date shows no development
		}
		family, _ := census.FamilyOf(t.Name)
		view.ByDomains = family.Strangers && !family.Fixed && len(t.Rows) > 1
		words := DescribeTable(t)
		for i, c := range words.Columns {
			view.Columns[i] = titleColumn(c)
		}
		if words.Chart != nil {
			view.SVG = words.Chart.SVG()
		}
		shown := len(t.Rows)
		if shown > longTable {
			shown = shownRows
		}
		for i := range shown {
			if view.OverTime { // the newest weeks
				i = len(t.Rows) - 1 - i
			}
			row := rowView(t, t.Rows[i])
			row.Label = words.Rows[i].Cells[0]
			for n, text := range words.Rows[i].Cells[1:] {
				row.Cells[n].Text = text
			}
			view.Rows = append(view.Rows, row)
		}
		rows := t.Rows
		view.All, view.JSON = max(len(rows), s.Totals[t.Name]), addressOfJSON(view)
		v.Tables = append(v.Tables, view)
	}
	return v
}

// rowView is a row with links to the hosts that it counts.
func rowView(t census.Table, row census.Row) tableRow {
	v := tableRow{Label: row.Cells[0]}
	list := ""
	switch {
	case row.Feature != census.Feature{}:
		list = census.ListPath(row.Feature)
		if page := census.PageOf(row.Feature); page != list {
			v.Address = page
		}
	case t.Name == "severities":
		list = "/changes"
		if _, known := diff.ParseSeverity(row.Cells[0]); known {
			list += "?" + url.Values{"severity": {row.Cells[0]}}.Encode()
		}
	case t.Name == "agents":
		list = "/agents?" + url.Values{"require": {row.Cells[0]}}.Encode()
	case t.Name == "agent-strength":
		list = "/agents"
	}
	for i, cell := range row.Cells[1:] {
		c := cellView{Text: cell}
		if i == 0 { // the others would lead to the same hosts
			c.Address = list
		}
		if t.Columns[0] == "date" {
			c.Address = listOfColumn(t, t.Columns[i+1])
		}
		v.Cells = append(v.Cells, c)
	}
	return v
}

// listOfColumn leads from a figure over time to the hosts that it counts now.
func listOfColumn(t census.Table, column string) string {
	family := map[string]string{"adoption": "format", "changes-by-week": "format", "states": "state", "classes": "class"}[t.Name]
	if family == "" {
		return ""
	}
	return census.ListPath(census.Feature{Family: family, Value: column})
}

// hostsView is the list of hosts that a figure counts.
type hostsView struct {
	Heading    string
	Definition string
	All        tally.Count
	Of         int  // how many hosts could be counted
	OfAll      bool // these are all known hosts
	Counted    frame.Moment
	Note       string // why nothing is counted
	Hosts      []string
	Rule       string // whose finding on the page of each host is linked, "" for other figures
	Severity   string // of the rule
	Basis      string // of the rule: the word of its draft
	Pages      frame.PageLinks
}

// countedPerPage is the number of hosts on one page of that list.
const countedPerPage = 50

// hostsPage lists the hosts that a figure counts.
func (p *Pages) hostsPage(c *gin.Context) (frame.WebPage, error) {
	figure := c.Query("figure")
	if figure == "" {
		return frame.WebPage{}, &frame.Problem{
			Status: http.StatusBadRequest, Title: "No figure is named", What: "The address does not name the figure whose hosts it lists.",
			Help: figureHelp, Links: []frame.Link{{Text: "All figures", Address: "/census"}},
		}
	}
	list, err := p.answers.CountedHosts(c.Request.Context(), figure, c.Query("from"), countedPerPage)
	if errors.Is(err, answer.ErrNoFigure) {
		return frame.WebPage{}, explainFigure(err, figure, figureHelp)
	}
	if err != nil {
		return frame.WebPage{}, err
	}
	family, _ := census.FamilyOf(list.Figure.Family)
	value := describeFigure(list.Figure.Family, list.Figure.Value)
	v := hostsView{Heading: family.Title + ": " + frame.ClipPlain(120, value), Definition: strings.ReplaceAll(family.Definition, "`", ""), All: list.All, Of: list.Of, OfAll: list.Figure.Family != "rule" || census.FormatsOfRule(list.Figure.Value) == nil, Counted: p.MomentOf(list.At), Note: frame.AsSentence(list.Note), Hosts: list.Hosts}
	if list.Figure.Family == "rule" {
		v.Rule, v.Heading = list.Figure.Value, "Hosts that break "+frame.ClipPlain(120, value)
		if r, ok := lint.Rule(list.Figure.Value); ok {
			v.Severity, v.Basis = r.Severity.String(), r.Basis
		}
	}
	if c.Query("from") != "" {
		v.Pages.First = "/census/hosts?" + url.Values{"figure": {figure}}.Encode()
	}
	if list.After != "" {
		v.Pages.Next = "/census/hosts?" + url.Values{"figure": {figure}, "from": {list.After}}.Encode()
	}
	return frame.WebPage{Name: "censushosts", Title: v.Heading, Description: frame.ClipPlain(200, v.Heading+": "+v.Definition), Body: v, JSON: "/api/v1/stats/hosts?" + url.Values{"figure": {figure}}.Encode()}, nil
}

const figureHelp = "A figure has a family and a value, such as state:conformant=yes."

// explainFigure returns the problem of a name under which nothing is counted, with similar names.
func explainFigure(err error, figure, help string) *frame.Problem {
	if e, ok := errors.AsType[*answer.NoFigureError](err); ok && e.Question != "" {
		help = frame.ClipPlain(200, frame.AsSentence(e.Question)) + " " + help
	}
	return frame.NewNotFound("figure", "Nothing is counted under the name "+frame.ClipPlain(60, figure)+".", help, frame.Link{Text: "All figures", Address: "/census"})
}

// renderedFigures is the page of the figures.
type renderedFigures struct {
	of   *census.Stats
	html template.HTML
}

// AliasOnly returns the hosts whose only document is at /ai. They publish but are no services, so that
// there are more hosts with documents than services.
func AliasOnly(s *census.Stats) Figure {
	f := census.Feature{Family: "formats", Value: string(document.AIAlias)}
	return newFigure("host", census.ListPath(f), s.Features[f].Hosts)
}

// StateFigures returns the hosts by state, for the front page.
func StateFigures(s *census.Stats) []Figure {
	var list []Figure
	for _, name := range conformance.Names() {
		f := census.Feature{Family: "state", Value: string(name) + "=" + string(conformance.Yes)}
		list = append(list, Figure{Name: stateClauses[string(name)], Address: census.ListPath(f), Value: s.Features[f].Hosts})
	}
	return list
}
