package agentpages

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/directory"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// agentsView is the search for agents, with its results.
type agentsView struct {
	Words      string
	Where      string // address of this server, for commands
	Capability string
	Verb       string
	Signals    []signalChoice
	Narrowed   bool // something was asked for
	Filtered   bool // by more than words
	Agents     []agentRow
	Total      int
	First      int // number of the first agent shown, from 1
	Last       int
	Pages      frame.PageLinks
	// Reading says that the agents are still being read after the start. Without says that this
	// server has no directory.
	Reading, Without bool
	Admission        admissionView
}

// admissionView says how new agents are admitted.
type admissionView struct {
	Approval, Closed bool
	Note             string // of the operator, for those who are not admitted at once
}

// signalChoice is a kind of evidence in the form.
type signalChoice struct {
	Name    string
	Label   string
	Checked bool
}

type agentRow struct {
	AirID        string
	Name         string
	Handle       string
	Description  string
	Capabilities []string
	More         int      // capabilities that are not shown
	Holds        []string // signals, in words
	Created      frame.Moment
}

// signalNames are the signals in the form, in its order.
var signalNames = []struct{ name, label string }{
	{registry.SignalKey, "key proved"},
	{registry.SignalDomain, "domain proved"},
	{registry.SignalDID, "creator's DID lists the key"},
	{registry.SignalInbox, "inbox answers"},
	{registry.SignalAGIS, "its domain's documents name it"},
	{registry.SignalRepository, "repository names it"},
	{registry.SignalAttestations, "attested by other domains"},
	{registry.SignalAge, "key older than 30 days"},
}

// DescribeSignal names a kind of evidence for people.
func DescribeSignal(name string) string {
	for _, s := range signalNames {
		if s.name == name {
			return strings.ToUpper(s.label[:1]) + s.label[1:]
		}
	}
	return name
}

// agentsPage finds agents by words, capability and evidence. An id leads to its page.
func (p *Pages) agentsPage(c *gin.Context) (frame.WebPage, error) {
	words := strings.TrimSpace(c.Query("q"))
	id := strings.TrimSpace(c.Query("id"))
	if id == "" && (AgentID.MatchString(words) || strings.HasPrefix(words, "@")) {
		id = words
	}
	if id != "" {
		a, err := p.answers.Agent(c.Request.Context(), id)
		if err != nil {
			return frame.WebPage{}, agentError(id, err)
		}
		return frame.WebPage{Status: http.StatusSeeOther, Location: frame.AgentPath(a.Agent.AirID)}, nil
	}
	number, err := frame.PageNumber(c)
	if err != nil {
		return frame.WebPage{}, err
	}
	require, err := registry.ParseRequire(strings.Join(c.QueryArray("require"), ","))
	if err != nil {
		return frame.WebPage{}, requireError(err)
	}
	v := agentsView{Words: words, Where: p.BaseAddress, Capability: strings.TrimSpace(c.Query("capability")), Verb: strings.TrimSpace(c.Query("verb"))}
	v.Filtered = v.Capability != "" || v.Verb != "" || len(require) > 0
	v.Narrowed = v.Words != "" || v.Filtered
	for _, s := range signalNames {
		v.Signals = append(v.Signals, signalChoice{s.name, s.label, slices.Contains(require, s.name)})
	}
	q := directory.Query{Words: v.Words, Capability: v.Capability, Require: require, Offset: (number - 1) * frame.PerPage, Limit: frame.PerPage}
	found, total, err := p.answers.FindAgents(c.Request.Context(), q, v.Verb)
	switch {
	case errors.Is(err, answer.ErrReading):
		v.Reading = true
	case errors.Is(err, answer.ErrNoDirectory):
		v.Without = true
	case err != nil:
		return frame.WebPage{}, err
	}
	v.Total, v.First, v.Last = total, q.Offset+1, q.Offset+len(found)
	for _, a := range found {
		v.Agents = append(v.Agents, p.agentRow(a))
	}
	policy, err := p.answers.RegistrationPolicy(c.Request.Context())
	if err != nil {
		return frame.WebPage{}, err
	}
	if policy.Mode != admission.ModeOpen {
		v.Admission = admissionView{Approval: policy.Mode == admission.ModeApproval, Closed: policy.Mode == admission.ModeClosed, Note: policy.Note}
	}
	v.Pages = frame.LinkPages("/agents", queryOf(v, require), number, total, frame.PerPage)
	return frame.WebPage{Name: "agents", Title: "Agents", Description: "Registered agents: which key each signs with, where to write to it, and the evidence for both.", Body: v}, nil
}

// requireError names the kinds of evidence that do not exist.
func requireError(err error) error {
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return frame.BadRequest(e.Message, frame.AsSentence(e.Help))
	}
	return err
}

// queryOf returns the query as parameters, for the links to other pages.
func queryOf(v agentsView, require []string) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"q": v.Words, "capability": v.Capability, "verb": v.Verb, "require": strings.Join(require, ",")} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// maxRowCapabilities is the number of capabilities that a row of the list shows.
const maxRowCapabilities = 8

func (p *Pages) agentRow(a directory.Result) agentRow {
	row := agentRow{AirID: a.AirID, Name: a.Name, Handle: a.Handle, Description: a.Description, Created: p.MomentOf(a.Created)}
	row.Capabilities, row.More = frame.SplitAt(a.Capabilities, maxRowCapabilities)
	for _, s := range signalNames {
		if slices.Contains(a.Signals, s.name) {
			row.Holds = append(row.Holds, s.label)
		}
	}
	return row
}

// AgentID matches what could be the id of an agent rather than words.
var AgentID = regexp.MustCompile(`^(?i:AIR-[A-Z0-9-]+|did:wba:\S+)$`)
