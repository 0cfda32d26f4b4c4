package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"gazetteer/api/answer"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// submitView is the form for names of hosts, and the visits to them.
type submitView struct {
	Hosts         string // as sent
	Trouble, Help string
	Wrong         string // the ID of the field that the reader has to change, "" for none
	Refused       []refusedView
	Visits        []submittedView
	Again         string // address of the page that shows the visits now
	Running       bool   // a first visit is due within a minute, so the page looks again
}

// refusedView is a name that was not accepted.
type refusedView struct{ Host, What, Help string }

// submittedView is an accepted host with the state of its visit.
type submittedView struct {
	Host      string
	Waiting   bool // for its first visit
	Soon      bool // that begins now
	Due       frame.Moment
	Visited   frame.Moment
	Documents int
	Fetches   []fetchView
}

// maxHostForm is the size of the form in bytes, maxHostLines the number of names in it.
const (
	maxHostForm  = 64 << 10
	maxHostLines = 100
)

func (p *Pages) submitFormPage(c *gin.Context) (frame.WebPage, error) {
	v := submitView{Hosts: c.Query("host")}
	watched := c.QueryArray("watch")
	if len(watched) > maxHostLines {
		return frame.WebPage{}, frame.BadRequest(fmt.Sprintf("at most %d hosts can be watched", maxHostLines), "Watch fewer of them.")
	}
	for _, host := range watched {
		s, err := p.answers.Submission(c.Request.Context(), host)
		if err != nil {
			return frame.WebPage{}, p.hostError(c.Request.Context(), host, err)
		}
		if err := p.addSubmission(c, &v, s); err != nil {
			return frame.WebPage{}, err
		}
	}
	return submitPage(http.StatusOK, v), nil
}

func submitPage(status int, v submitView) frame.WebPage {
	return frame.WebPage{Name: "submit", Title: "Add a service", Description: "Name a host that publishes a description for agents, and follow its first visit.", Status: status, Body: v, Live: v.Running}
}

// submitHosts hands the names of the form in.
func (p *Pages) submitHosts(c *gin.Context) (frame.WebPage, error) {
	r := c.Request
	if err := frame.ReadForm(c, maxHostForm); err != nil {
		return frame.WebPage{}, err
	}
	v := submitView{Hosts: strings.ReplaceAll(r.PostFormValue("hosts"), "\r\n", "\n")}
	names := splitNames(v.Hosts)
	switch {
	case len(names) == 0:
		v.Trouble, v.Help = "No host was entered.", "Give at least one, such as api.example.com."
		v.Wrong = "hosts"
		return submitPage(http.StatusBadRequest, v), nil
	case len(names) > maxHostLines:
		v.Trouble, v.Help = fmt.Sprintf("There are %d names; at most %d are accepted at once.", len(names), maxHostLines), "Send them in parts."
		v.Wrong = "hosts"
		return submitPage(http.StatusBadRequest, v), nil
	}
	list, err := p.answers.Submit(r.Context(), names, frame.ClientOf(c))
	if err != nil {
		return p.submitFormAgain(c, v, err)
	}
	for _, s := range list {
		if err := p.addSubmission(c, &v, s); err != nil {
			return frame.WebPage{}, err
		}
	}
	return submitPage(http.StatusOK, v), nil
}

// splitNames returns the names in a text, which are on separate lines or between commas. A name
// that contains spaces stays whole, and is refused as a whole.
func splitNames(text string) []string {
	var names []string
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ',' }) {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// submitFormAgain shows the form again with the reason, where the reader can do
// something about it.
func (p *Pages) submitFormAgain(c *gin.Context, v submitView, err error) (frame.WebPage, error) {
	if over, ok := errors.AsType[*answer.QuotaError](err); ok {
		c.Header("Retry-After", fmt.Sprint(int(over.Wait/time.Second)+1))
		v.Trouble, v.Help = frame.AsSentence(over.Message), "Come back later."
		return submitPage(http.StatusTooManyRequests, v), nil
	}
	if errors.Is(err, answer.ErrNoCrawl) {
		v.Trouble, v.Help = "This server does not crawl.", "It shows what was found before."
		return submitPage(http.StatusServiceUnavailable, v), nil
	}
	return frame.WebPage{}, err
}

// maxWatchedFetches is the number of requests of a visit that the page lists.
const maxWatchedFetches = 12

// addSubmission adds a host to the view: as refused, or with the state of its visit.
func (p *Pages) addSubmission(c *gin.Context, v *submitView, s answer.Submission) error {
	if s.State == "refused" {
		if slices.ContainsFunc(v.Refused, func(r refusedView) bool { return r.Host == s.Host }) {
			return nil
		}
		v.Refused = append(v.Refused, refusedView{s.Host, s.Detail, frame.AsSentence(s.Help)})
		return nil
	}
	if slices.ContainsFunc(v.Visits, func(listed submittedView) bool { return listed.Host == s.Host }) {
		return nil // the text has it twice
	}
	visit := submittedView{Host: s.Host, Waiting: s.State == "waiting", Due: p.MomentOfDue(s.Due), Visited: p.MomentOf(s.Visited)}
	if visit.Waiting {
		v.Running = v.Running || s.Due.Before(p.Now().Add(time.Minute))
		visit.Soon = s.Due.Before(p.Now().Add(5 * time.Second))
	} else {
		service, err := p.answers.Service(c.Request.Context(), s.Host)
		if err != nil {
			return p.hostError(c.Request.Context(), s.Host, err)
		}
		visit.Documents = len(service.Documents)
		for _, f := range service.State.Fetches[:min(len(service.State.Fetches), maxWatchedFetches)] {
			visit.Fetches = append(visit.Fetches, p.fetchOf(f))
		}
	}
	v.Visits = append(v.Visits, visit)
	watch := url.Values{}
	for _, w := range v.Visits {
		watch.Add("watch", w.Host)
	}
	v.Again = "/submit?" + watch.Encode()
	return nil
}
