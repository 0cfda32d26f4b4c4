package agentpages

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// reportView is the form that reports an agent to the operator, and the state of a report.
type reportView struct {
	AirID, Name   string
	Reasons       []reasonView
	Text, Contact string // as sent
	Trouble, Help string

	ID      string // of a report that was made, "" before
	Reason  string
	State   string
	Created frame.Moment
	Due     frame.Moment
	Settled frame.Moment
	Note    string
}

type reasonView struct {
	Value, Word string
	Chosen      bool
}

// reasonWords are the reasons for a report, in the words of the form.
var reasonWords = []reasonView{
	{Value: "spam", Word: "It sends unwanted messages"},
	{Value: "impersonation", Word: "It imitates someone else"},
	{Value: "malware", Word: "It spreads harmful programs"},
	{Value: "stolen-key", Word: "Its key was stolen"},
	{Value: "unlawful", Word: "It does something unlawful"},
	{Value: "other", Word: "Something else"},
}

// settledWords say how a report was settled.
var settledWords = map[string]string{
	admission.ReportDismissed: "The operator has reviewed it and takes no action.",
	admission.ReportSuspended: "The operator has suspended the agent.",
	admission.ReportDeleted:   "The operator has deleted the agent.",
}

// maxReportForm is the size of the form.
const maxReportForm = 32 << 10

// newReportView begins the page about reports of an agent.
func (p *Pages) newReportView(c *gin.Context) (reportView, error) {
	id := c.Param("id")
	found, err := p.answers.Agent(c.Request.Context(), id)
	if err != nil {
		return reportView{}, agentError(id, err)
	}
	v := reportView{AirID: found.Agent.AirID, Name: found.Agent.Name}
	v.Name = cmp.Or(v.Name, v.AirID) // erased
	return v, nil
}

func reportPage(status int, v reportView) frame.WebPage {
	return frame.WebPage{Name: "report", Title: "Report " + frame.PlainText(v.Name), Status: status, Body: v}
}

func (p *Pages) reportForm(c *gin.Context) (frame.WebPage, error) {
	v, err := p.newReportView(c)
	v.Reasons = reasonWords
	return reportPage(http.StatusOK, v), err
}

// submitReport accepts the form and redirects to the page of the report, so that a reload does not
// send it again.
func (p *Pages) submitReport(c *gin.Context) (frame.WebPage, error) {
	r := c.Request
	if err := frame.ReadForm(c, maxReportForm); err != nil {
		return frame.WebPage{}, err
	}
	v, err := p.newReportView(c)
	if err != nil {
		return frame.WebPage{}, err
	}
	v.Text, v.Contact = strings.ReplaceAll(r.PostFormValue("text"), "\r\n", "\n"), r.PostFormValue("contact")
	chosen := r.PostFormValue("reason")
	for _, w := range reasonWords {
		w.Chosen = w.Value == chosen
		v.Reasons = append(v.Reasons, w)
	}
	made, err := p.answers.Report(r.Context(), v.AirID, admission.ReportRequest{Reason: chosen, Text: v.Text, Contact: v.Contact, Client: frame.ClientOf(c)})
	if err != nil {
		return p.reportFormAgain(c, v, err)
	}
	return frame.WebPage{Status: http.StatusSeeOther, Location: frame.AgentPath(v.AirID) + "/report/" + made.ID}, nil
}

// reportFormAgain shows the form again with the reason.
func (p *Pages) reportFormAgain(c *gin.Context, v reportView, err error) (frame.WebPage, error) {
	if e, ok := errors.AsType[*registry.Error](err); ok {
		v.Trouble, v.Help = frame.AsSentence(e.Message), frame.AsSentence(e.Help)
		return reportPage(http.StatusBadRequest, v), nil
	}
	refused, ok := errors.AsType[*registry.Refusal](err)
	if !ok {
		return frame.WebPage{}, agentError(v.AirID, err)
	}
	v.Trouble, v.Help = frame.AsSentence(refused.Message), frame.AsSentence(refused.Help)
	status := http.StatusConflict
	switch {
	case errors.Is(err, registry.ErrTooMany):
		status = http.StatusTooManyRequests
		c.Header("Retry-After", fmt.Sprint(int(refused.Wait/time.Second)+1))
		v.Help = "Try again later; one report can cover several things."
	case errors.Is(err, registry.ErrForbidden):
		status = http.StatusForbidden
	case errors.Is(err, registry.ErrGone):
		status = http.StatusGone
	}
	return reportPage(status, v), nil
}

// reportPage is the page of one report, with its public part.
func (p *Pages) reportPage(c *gin.Context) (frame.WebPage, error) {
	v, err := p.newReportView(c)
	if err != nil {
		return frame.WebPage{}, err
	}
	found, err := p.answers.ReportByID(c.Request.Context(), c.Param("report"))
	if errors.Is(err, registry.ErrNotFound) || err == nil && found.AirID != v.AirID {
		return frame.WebPage{}, frame.NewNotFound("report", "This agent has no report with this ID.", "", frame.Link{Text: "The agent", Address: frame.AgentPath(v.AirID)})
	}
	if err != nil {
		return frame.WebPage{}, err
	}
	v.ID, v.Created, v.Due, v.Settled, v.Note = found.ID, p.MomentOf(found.Created), p.MomentOf(found.Due), p.MomentOf(found.Settled), found.Note
	for _, w := range reasonWords {
		if w.Value == found.Reason {
			v.Reason = w.Word
		}
	}
	switch {
	case !found.Settled.IsZero():
		v.State = settledWords[found.Outcome]
	case found.Overdue(p.Now()):
		v.State = "The operator has not reviewed it yet; the review is overdue."
	default:
		v.State = "The operator has not reviewed it yet."
	}
	return reportPage(http.StatusOK, v), nil
}
