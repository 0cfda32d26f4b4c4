// Package agentpages has the pages of agents, with the evidence for their claims, and the page of
// the transparency log. Begin with [New] and [Pages.Mount].
package agentpages

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/url"

	"gazetteer/api/answer"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/directory"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// Answers is the data of the pages of agents. [answer.Answers] implements it.
type Answers interface {
	// Search returns a page of operations, best first.
	Search(ctx context.Context, q query.Query) (index.Result, error)
	// Agent finds an agent by AIR ID, handle or did:wba.
	Agent(ctx context.Context, id string) (answer.AgentAnswer, error)
	// FindAgents returns a page of the agents that match a query, and their total; with a verb,
	// only agents of a domain that offers it.
	FindAgents(ctx context.Context, q directory.Query, verb string) ([]directory.Result, int, error)
	// RegistrationPolicy returns how new agents are admitted.
	RegistrationPolicy(ctx context.Context) (admission.PolicyState, error)
	// AgentDetails returns all that is known of an agent.
	AgentDetails(ctx context.Context, id string) (answer.AgentDetails, error)
	// Report stores a report about an agent for the operator.
	Report(ctx context.Context, airID string, q admission.ReportRequest) (admission.Report, error)
	// ReportByID returns the public part of a report.
	ReportByID(ctx context.Context, id string) (admission.Report, error)
	// LogStatus describes the transparency log, with the newest leaves below an index, or of all.
	LogStatus(ctx context.Context, before int64) (answer.LogStatus, error)
}

//go:embed templates/*.html
var agentTemplates embed.FS

// Pages are the pages of agents and of the transparency log.
type Pages struct {
	*frame.Frame
	answers Answers
}

// New prepares the pages of agents within a frame.
func New(f *frame.Frame, a Answers) *Pages {
	p := &Pages{Frame: f, answers: a}
	p.AddTemplates(agentTemplates)
	return p
}

// Mount adds the pages below /agents, and /log.
func (p *Pages) Mount(e *gin.Engine) {
	for path, h := range map[string]gin.HandlerFunc{
		"/agents":                    p.Handle(p.agentsPage, "q", "id", "capability", "verb", "require", "page"),
		"/agents/:id":                p.Handle(p.agentPage),
		"/agents/:id/report":         p.Handle(p.reportForm),
		"/agents/:id/report/:report": p.Handle(p.reportPage),
		"/log":                       p.Handle(p.logPage, "before"),
	} {
		e.GET(path, h)
		e.HEAD(path, h)
	}
	e.POST("/agents/:id/report", p.Handle(p.submitReport))
}

// newUnknownAgent returns the problem of an id that no agent has.
func newUnknownAgent(id string) *frame.Problem {
	return frame.NewNotFound("agent",
		fmt.Sprintf("No agent is registered here as %q.", frame.ClipPlain(120, id)),
		"Check the ID. Agents of other registries are not listed here.",
		frame.Link{Text: "Search for its name", Address: "/agents?q=" + url.QueryEscape(id)}, frame.Link{Text: "All agents", Address: "/agents"})
}

// newRefusedID returns the problem of a text that cannot be the ID of an agent.
func newRefusedID(id, message, help string) *frame.Problem {
	v := newUnknownAgent(id)
	v.What = fmt.Sprintf("%q cannot be the ID of an agent: %s.", frame.ClipPlain(120, id), frame.PlainText(message))
	v.Help = frame.AsSentence(frame.PlainText(help))
	return v
}

// idFields are the names by which the registry reports an id that it cannot read.
var idFields = map[string]bool{"id": true, "air_id": true, "username": true}

// agentError converts a "not found" error to a problem that names the requested id.
func agentError(id string, err error) error {
	if e, ok := errors.AsType[*did.Error](err); ok {
		return newRefusedID(id, e.Message, e.Help)
	}
	if e, ok := errors.AsType[*registry.Error](err); ok && idFields[e.Field] {
		return newRefusedID(id, e.Message, e.Help)
	}
	if errors.Is(err, registry.ErrNoAgent) {
		return newUnknownAgent(id)
	}
	return err
}
