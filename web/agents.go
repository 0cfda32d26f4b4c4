package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"gazetteer/protocol/did"
	"gazetteer/registry"

	"github.com/gin-gonic/gin"
)

// agents is the form that looks up an agent; with an id it leads to its page.
func (p *Pages) agents(c *gin.Context) (view, error) {
	id := strings.TrimSpace(c.Query("id"))
	if id == "" {
		return view{name: "agents", title: "Agents"}, nil
	}
	a, err := p.answers.Agent(c.Request.Context(), id)
	if err != nil {
		return view{}, agentError(id, err)
	}
	return view{status: http.StatusSeeOther, location: agentPath(a.Agent.AirID)}, nil
}

func agentPath(airID string) string { return "/agents/" + url.PathEscape(airID) }

type agentView struct {
	Name         string
	AirID        string
	Handle       string
	Description  string
	DID          string
	Aliases      []string
	Inbox        string
	Key          string
	Status       string
	Creator      string
	CreatorDID   string
	CreatorType  string
	Capabilities []string
	Certificates []string
	OpenSource   bool
	Repository   outside
	Docs         outside
	Endpoints    []did.Service
	Document     string // the DID document, indented
	Created      moment
	Updated      moment
	Trust        trustView
}

// agent is the page of one agent. Another id than the AIR ID leads to the page
// under the AIR ID, so that each agent has one address.
func (p *Pages) agent(c *gin.Context) (view, error) {
	id := c.Param("id")
	r, err := p.answers.Agent(c.Request.Context(), id)
	if err != nil {
		return view{}, agentError(id, err)
	}
	a := r.Agent
	if id != a.AirID {
		return view{status: http.StatusSeeOther, location: agentPath(a.AirID)}, nil
	}
	text, err := json.MarshalIndent(r.DID, "", "  ")
	if err != nil {
		return view{}, err
	}
	v := agentView{
		Name:         a.Name,
		AirID:        a.AirID,
		Handle:       a.Handle,
		Description:  a.Description,
		DID:          r.DID.ID,
		Aliases:      r.DID.AlsoKnownAs,
		Inbox:        r.DID.Inbox(),
		Status:       a.Status,
		Creator:      a.CreatorName,
		CreatorDID:   a.CreatorDID,
		CreatorType:  a.CreatorType,
		Capabilities: a.Capabilities,
		Certificates: a.SecurityCertifications,
		OpenSource:   a.OpenSource,
		Repository:   outsideOf(a.CodeRepository),
		Docs:         outsideOf(a.DocumentationURL),
		Document:     string(text),
		Endpoints:    r.DID.Service,
		Created:      p.moment(a.Created),
		Updated:      p.moment(a.Updated),
		Trust:        trustOf(a),
	}
	for _, m := range r.DID.VerificationMethod {
		if m.ID == r.DID.ID+did.KeyFragment {
			v.Key = m.PublicKeyMultibase
		}
	}
	return view{name: "agent", title: plain(a.Name), body: v}, nil
}

// trustView is the trust score as the owner's own words make it.
type trustView struct {
	Score int
	Grade string
	Parts []trustPart
}

type trustPart struct {
	Name   string
	Points int
}

func trustOf(a registry.Agent) trustView {
	s := registry.TrustScore(a)
	return trustView{Score: s.Total, Grade: s.Grade, Parts: []trustPart{
		{"Provenance", s.Components.Provenance},
		{"Behaviour", s.Components.Behavioral},
		{"Transparency", s.Components.Transparency},
		{"Security", s.Components.Security},
		{"Attestations by peers", s.Components.PeerAttestations},
	}}
}
