// Package changepages has the page of the feed of changes. Begin with [New] and [Pages.Mount].
package changepages

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/api/feed"
	"gazetteer/changefeed"
	"gazetteer/document/diff"
	"gazetteer/fetch"
	"gazetteer/registry"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// Answers is the data of the page. [answer.Answers] implements it.
type Answers interface {
	// LatestChanges returns a page of the feed of changes, newest first.
	LatestChanges(ctx context.Context, filter changefeed.Filter, position uint64, limit int) (changefeed.Page, error)
	// Service returns all that is known of a host.
	Service(ctx context.Context, host string) (answer.Service, error)
}

// Pages are the page of the feed. Any number of requests may use them at once.
type Pages struct {
	*frame.Frame
	answers Answers
}

//go:embed templates/*.html
var templateFiles embed.FS

// New prepares the page within a frame.
func New(f *frame.Frame, a Answers) *Pages {
	f.AddTemplates(templateFiles)
	return &Pages{Frame: f, answers: a}
}

// Mount adds /changes to e.
func (p *Pages) Mount(e *gin.Engine) {
	h := p.Handle(p.changesPage, "host", "severity", "before", "kind", "verb", "ns", "rule", "agent")
	e.GET("/changes", h)
	e.HEAD("/changes", h)
}

// changesPerPage is the number of changes on a page.
const changesPerPage = 50

// changesView is a page of the feed of changes, newest first.
type changesView struct {
	Host       string
	Severity   string
	Severities []string
	Changes    []Change
	First      bool // the list begins here
	Pages      frame.PageLinks
	Meaning    string // of the severities
	Feeds      string // query of the feeds with the same filters
	All        string // address of all changes of the host, "" if they are shown
	Unknown    bool   // no host of that name is known
	Others     []namedFilter
}

// A Change is one change of the feed.
type Change struct {
	At       frame.Moment
	Title    string
	Agent    string // AIR ID, "" for a service
	Severity string
	Tone     string // class of the mark
	Address  string
	Details  []string // further changes that weigh
}

// changesPage shows hosts and documents that appeared, changed, disappeared or came back. Without a
// severity in the address it omits changes that callers do not notice: those of agents are most of
// them.
func (p *Pages) changesPage(c *gin.Context) (frame.WebPage, error) {
	v := changesView{Host: strings.TrimSpace(c.Query("host")), Meaning: diff.Meaning, Severity: cmp.Or(c.Query("severity"), diff.Low.String()), Severities: []string{"none", "low", "medium", "high"}}
	filter := changefeed.Filter{}
	filters := url.Values{}
	if v.Host != "" {
		filter.Hosts = []string{strings.ToLower(v.Host)}
		filters.Set("host", v.Host)
	}
	severity, ok := diff.ParseSeverity(v.Severity)
	if !ok {
		return frame.WebPage{}, frame.BadRequest(fmt.Sprintf("%q is no severity", frame.ClipPlain(40, v.Severity)), "The severities are none, low, medium and high.")
	}
	filter.Severity = severity
	filters.Set("severity", v.Severity)
	var err error
	if v.Others, err = readAddressFilters(c, &filter); err != nil {
		return frame.WebPage{}, err
	}
	for _, f := range v.Others {
		filters.Add(f.Name, f.Value)
	}
	var before uint64
	if text := c.Query("before"); text != "" {
		if before, err = strconv.ParseUint(text, 10, 64); err != nil || before == 0 {
			return frame.WebPage{}, frame.BadRequest(fmt.Sprintf("%q is not a position in the list", frame.ClipPlain(40, text)), "Begin at the newest changes.")
		}
	}
	page, err := p.answers.LatestChanges(c.Request.Context(), filter, before, changesPerPage)
	if err != nil {
		return frame.WebPage{}, err
	}
	v.First = before == 0
	v.Feeds = "?" + filters.Encode()
	if !v.First {
		v.Pages.First = "/changes" + v.Feeds
	}
	if severity != diff.None {
		all := maps.Clone(filters)
		all.Set("severity", diff.None.String())
		v.All = "/changes?" + all.Encode()
	}
	if v.First && v.Host != "" && len(page.Items) == 0 {
		if v.Unknown, err = p.isUnknownHost(c.Request.Context(), v.Host); err != nil {
			return frame.WebPage{}, err
		}
	}
	for _, change := range feed.ViewChanges(page.Items) {
		v.Changes = append(v.Changes, p.ViewChange(change))
	}
	if page.More {
		filters.Set("before", strconv.FormatUint(page.Next, 10))
		v.Pages.Next = "/changes?" + filters.Encode()
	}
	return frame.WebPage{Name: "changes", Title: "Changes", Description: "New, changed, removed and returned services and agents of the agent web.", JSON: "/api/v1/changes" + v.Feeds, Feeds: v.Feeds, Body: v}, nil
}

// isUnknownHost reports whether a name is not that of a known host. A host that was withdrawn is known.
func (p *Pages) isUnknownHost(ctx context.Context, name string) (bool, error) {
	_, err := p.answers.Service(ctx, name)
	if _, ok := errors.AsType[*fetch.HostError](err); ok || errors.Is(err, answer.ErrNoService) {
		return true, nil
	}
	if _, ok := errors.AsType[*answer.WithdrawnError](err); ok {
		return false, nil
	}
	return false, err
}

// SeverityTone returns the CSS class for a severity, "" for none.
func SeverityTone(s diff.Severity) string {
	switch s {
	case diff.High:
		return "danger"
	case diff.Medium:
		return "care"
	}
	return ""
}

// ViewChange describes a change.
func (p *Pages) ViewChange(c feed.Change) Change {
	v := Change{At: p.MomentOf(c.At), Title: titleOfChange(c), Agent: c.Agent, Severity: c.Severity.String(), Tone: SeverityTone(c.Severity), Address: c.Page}
	for _, change := range c.Changes[min(1, len(c.Changes)):] {
		if change.Severity >= diff.Medium {
			v.Details = append(v.Details, strings.TrimSpace(strings.ReplaceAll(string(change.Kind), "-", " ")+" "+change.Operation))
		}
	}
	return v
}

// titleOfChange is the title of a change. That of an agent names the members of its record in words.
func titleOfChange(c feed.Change) string {
	title := c.Title
	if c.Agent == "" {
		return title
	}
	title = strings.Replace(title, " ("+c.Agent+") ", " ", 1) // the page shows the id beside it
	agent, _, ok := strings.Cut(title, " changed its ")
	if !ok || c.Event != registry.EventUpdated || len(c.Fields) == 0 {
		return title
	}
	return agent + " changed its " + changefeed.DescribeFields(c.Fields)
}
