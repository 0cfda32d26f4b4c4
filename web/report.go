package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"gazetteer/registry"
	"gazetteer/registry/admission"

	"github.com/gin-gonic/gin"
)

// reportView is the form that reports an agent to the operator, and how a report
// stands.
type reportView struct {
	AirID, Name   string
	Reasons       []reasonView
	Text, Contact string // as sent
	Trouble, Help string

	ID      string // of a report that was made, "" before
	Reason  string
	State   string
	Created moment
	Due     moment
	Settled moment
	Note    string
}

type reasonView struct {
	Value, Word string
	Chosen      bool
}

// reasonWords are what an agent can be reported for, in the words of the form.
var reasonWords = []reasonView{
	{Value: "spam", Word: "It sends what nobody asked for"},
	{Value: "impersonation", Word: "It pretends to be somebody else"},
	{Value: "malware", Word: "It spreads harmful programs"},
	{Value: "stolen-key", Word: "Its key was stolen"},
	{Value: "unlawful", Word: "It does something unlawful"},
	{Value: "other", Word: "Something else"},
}

// settledWords say how a report was settled.
var settledWords = map[string]string{
	admission.ReportDismissed: "The operator has looked at it and does nothing.",
	admission.ReportSuspended: "The operator has suspended the agent.",
	admission.ReportDeleted:   "The operator has deleted the agent.",
}

// maxReportForm is the size of the form.
const maxReportForm = 32 << 10

// reported begins the page about reports of an agent.
func (p *Pages) reported(c *gin.Context) (reportView, error) {
	id := c.Param("id")
	found, err := p.answers.Agent(c.Request.Context(), id)
	if err != nil {
		return reportView{}, agentError(id, err)
	}
	v := reportView{AirID: found.Agent.AirID, Name: found.Agent.Name}
	if v.Name == "" {
		v.Name = v.AirID // erased
	}
	return v, nil
}

func reportPage(status int, v reportView) pageView {
	return pageView{name: "report", title: "Report " + plainText(v.Name), status: status, body: v}
}

func (p *Pages) reportForm(c *gin.Context) (pageView, error) {
	v, err := p.reported(c)
	v.Reasons = reasonWords
	return reportPage(http.StatusOK, v), err
}

// submitReport takes the form and leads to the page of the report, so that sending it
// again by reloading makes no second one.
func (p *Pages) submitReport(c *gin.Context) (pageView, error) {
	r := c.Request
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return pageView{}, &badRequest{"the form was sent by another site", "Use the form on the agent’s page."}
	}
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(formTime))
	r.Body = http.MaxBytesReader(c.Writer, r.Body, maxReportForm)
	if err := r.ParseForm(); err != nil {
		return pageView{}, &badRequest{"the form cannot be read", "Send it again from the agent’s page, with less text."}
	}
	v, err := p.reported(c)
	if err != nil {
		return pageView{}, err
	}
	v.Text, v.Contact = strings.ReplaceAll(r.PostFormValue("text"), "\r\n", "\n"), r.PostFormValue("contact")
	chosen := r.PostFormValue("reason")
	for _, w := range reasonWords {
		w.Chosen = w.Value == chosen
		v.Reasons = append(v.Reasons, w)
	}
	made, err := p.answers.Report(r.Context(), v.AirID, admission.ReportRequest{Reason: chosen, Text: v.Text, Contact: v.Contact, Client: clientOf(c)})
	if err != nil {
		return p.reportFormAgain(c, v, err)
	}
	return pageView{status: http.StatusSeeOther, location: agentPath(v.AirID) + "/report/" + made.ID}, nil
}

// reportFormAgain shows the form again with the reason.
func (p *Pages) reportFormAgain(c *gin.Context, v reportView, err error) (pageView, error) {
	if e, ok := errors.AsType[*registry.Error](err); ok {
		v.Trouble, v.Help = asSentence(e.Message), asSentence(e.Help)
		return reportPage(http.StatusBadRequest, v), nil
	}
	refused, ok := errors.AsType[*registry.Refusal](err)
	if !ok {
		return pageView{}, agentError(v.AirID, err)
	}
	v.Trouble, v.Help = asSentence(refused.Message), asSentence(refused.Help)
	status := http.StatusConflict
	switch {
	case errors.Is(err, registry.ErrTooMany):
		status = http.StatusTooManyRequests
		c.Header("Retry-After", fmt.Sprint(int(refused.Wait/time.Second)+1))
		v.Help = "Come back later; one report can tell of several things."
	case errors.Is(err, registry.ErrForbidden):
		status = http.StatusForbidden
	case errors.Is(err, registry.ErrGone):
		status = http.StatusGone
	}
	return reportPage(status, v), nil
}

// reportPage is the page of one report: what is public of it.
func (p *Pages) reportPage(c *gin.Context) (pageView, error) {
	v, err := p.reported(c)
	if err != nil {
		return pageView{}, err
	}
	found, err := p.answers.ReportByID(c.Request.Context(), c.Param("report"))
	if errors.Is(err, registry.ErrNotFound) || err == nil && found.AirID != v.AirID {
		return pageView{}, errNoPage
	}
	if err != nil {
		return pageView{}, err
	}
	v.ID, v.Created, v.Due, v.Settled, v.Note = found.ID, p.momentOf(found.Created), p.momentOf(found.Due), p.momentOf(found.Settled), found.Note
	for _, w := range reasonWords {
		if w.Value == found.Reason {
			v.Reason = w.Word
		}
	}
	switch {
	case !found.Settled.IsZero():
		v.State = settledWords[found.Outcome]
	case found.Overdue(p.now()):
		v.State = "It waits for the operator, longer than it should."
	default:
		v.State = "It waits for the operator."
	}
	return reportPage(http.StatusOK, v), nil
}
