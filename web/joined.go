package web

import (
	"context"
	"errors"

	"gazetteer/api/answer"
	"gazetteer/join"
	"gazetteer/registry/evidence"
	"gazetteer/web/frame"
)

// joinedView lists the agents that serve a service, with the evidence for each association.
type joinedView struct {
	Agents []joinedAgent
	More   int
	Left   []leftView
	None   string
}

type joinedAgent struct {
	Name    string // as it calls itself, or its DID
	DID     string
	Page    string // on this site, "" for an agent of another registry
	Word    string
	Says    string
	Inbox   string
	Unknown string // why nothing more is known
	Key     string
	Links   []joinedLink
}

type joinedLink struct {
	By     string
	What   string
	Source frame.ExternalLink
	Date   frame.Moment
}

type leftView struct{ DID, Why string }

// joinWords are the strengths of a join.
var joinWords = map[join.Strength]string{
	join.Proved:  "Proved",
	join.Mutual:  "Confirmed by both sides",
	join.Claimed: "Claimed by one side only",
}

// linkWords describe the kinds of evidence for an association.
var linkWords = map[string]string{
	evidence.AssociationDomain:   "Proved domain",
	evidence.AssociationParent:   "Proved parent domain",
	evidence.AssociationCreator:  "DID of its creator",
	evidence.AssociationEndpoint: "Endpoint on this host",
	evidence.AssociationClaim:    "Claim, not confirmed",
	join.LinkDocument:            "Named in a document",
	join.LinkDIDHost:             "DID on the host",
}

// joinedAgents lists the agents of a host; nil if this server has no agents.
func (p *Pages) joinedAgents(ctx context.Context, host string) (*joinedView, error) {
	all, err := p.answers.AgentsOf(ctx, host)
	if errors.Is(err, answer.ErrNoDirectory) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := &joinedView{More: all.More}
	for _, a := range all.Agents {
		row := joinedAgent{Name: a.Name, DID: a.DID, Word: joinWords[a.Strength], Says: frame.AsSentence(a.Says), Inbox: a.Inbox, Unknown: frame.AsSentence(a.Unresolved)}
		if !a.UpdatedAt.IsZero() { // this registry's
			row.Page = frame.AgentPath(a.AirID)
		}
		if a.Key != nil {
			row.Key = a.Key.PublicKeyMultibase
		}
		for _, l := range a.Links {
			row.Links = append(row.Links, joinedLink{By: linkWords[l.By], What: l.What, Source: frame.ExternalLinkOf(l.Source), Date: p.MomentOf(l.Date)})
		}
		v.Agents = append(v.Agents, row)
	}
	for _, l := range all.Omitted {
		v.Left = append(v.Left, leftView{l.DID, frame.AsSentence(l.Why)})
	}
	if len(v.Agents) == 0 && len(v.Left) == 0 {
		v.None = frame.AsSentence(all.None)
	}
	return v, nil
}
