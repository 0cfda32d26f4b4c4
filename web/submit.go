package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"gazetteer/api/answer"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// submitView is the form that takes names of hosts, and what became of them.
type submitView struct {
	Hosts         string // as sent
	Trouble, Help string
	Results       []submittedView
}

type submittedView struct {
	Host    string
	Taken   bool // it has a page
	What    string
	Due     frame.Moment
	Detail  string
	Refused bool
}

// maxHostForm is the size of the form, maxHostLines how many names it may hold.
const (
	maxHostForm  = 64 << 10
	maxHostLines = 100
)

func (p *Pages) submitFormPage(c *gin.Context) (frame.View, error) {
	return submitPage(http.StatusOK, submitView{Hosts: c.Query("host")}), nil
}

func submitPage(status int, v submitView) frame.View {
	return frame.View{Name: "submit", Title: "Add a host", Status: status, Body: v}
}

// submitHosts hands the names of the form in.
func (p *Pages) submitHosts(c *gin.Context) (frame.View, error) {
	r := c.Request
	if err := frame.ReadForm(c, maxHostForm); err != nil {
		return frame.View{}, err
	}
	v := submitView{Hosts: strings.ReplaceAll(r.PostFormValue("hosts"), "\r\n", "\n")}
	names := splitNames(v.Hosts)
	switch {
	case len(names) == 0:
		v.Trouble, v.Help = "No host was entered.", "Give at least one, such as api.example.com."
		return submitPage(http.StatusBadRequest, v), nil
	case len(names) > maxHostLines:
		v.Trouble, v.Help = fmt.Sprintf("There are %d names; at most %d are accepted at once.", len(names), maxHostLines), "Send them in parts."
		return submitPage(http.StatusBadRequest, v), nil
	}
	list, err := p.answers.Submit(r.Context(), names, frame.ClientOf(c))
	if err != nil {
		return p.submitFormAgain(c, v, err)
	}
	for _, s := range list {
		v.Results = append(v.Results, p.submittedOf(s))
	}
	return submitPage(http.StatusOK, v), nil
}

// splitNames returns the names in a text, which stand on lines of their own or between commas. A
// name with spaces inside stays whole, and is refused as a whole.
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
func (p *Pages) submitFormAgain(c *gin.Context, v submitView, err error) (frame.View, error) {
	if over, ok := errors.AsType[*answer.QuotaError](err); ok {
		c.Header("Retry-After", fmt.Sprint(int(over.Wait/time.Second)+1))
		v.Trouble, v.Help = frame.AsSentence(over.Message), "Come back later."
		return submitPage(http.StatusTooManyRequests, v), nil
	}
	if errors.Is(err, answer.ErrNoCrawl) {
		v.Trouble, v.Help = "This server does not crawl.", "It shows what was found before."
		return submitPage(http.StatusServiceUnavailable, v), nil
	}
	return frame.View{}, err
}

func (p *Pages) submittedOf(s answer.Submission) submittedView {
	v := submittedView{Host: s.Host, Due: p.MomentOf(s.Due)}
	switch s.State {
	case "waiting":
		v.Taken, v.What = true, "It waits for its first visit."
	case "visited":
		v.Taken, v.What = true, "It is known and was visited."
	default:
		v.Refused, v.What, v.Detail = true, "Not accepted: "+s.Detail+".", frame.AsSentence(s.Help)
	}
	return v
}
