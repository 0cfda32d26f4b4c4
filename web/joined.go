package web

import (
	"context"
	"errors"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/join"
	"gazetteer/registry"
	"gazetteer/registry/evidence"
)

// joinedView is the agents that serve a service, and by what they are joined.
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
	Source externalLink
	Date   moment
}

type leftView struct{ DID, Why string }

// joinWords are the strengths of a join.
var joinWords = map[join.Strength]string{
	join.Proved:  "Proved",
	join.Mutual:  "Said by both sides",
	join.Claimed: "Claimed by one side only",
}

// linkWords say by what an agent is joined.
var linkWords = map[string]string{
	evidence.AssociationDomain:   "Its domain is proved",
	evidence.AssociationParent:   "A domain above is proved by DNS",
	evidence.AssociationCreator:  "The DID of its creator lists its key",
	evidence.AssociationEndpoint: "It has an endpoint at the host",
	evidence.AssociationClaim:    "It claims, and that does not hold",
	join.LinkDocument:            "A document of the service names it",
	join.LinkDIDHost:             "Its DID lies on the host",
}

// joinedAgents lists the agents of a host; nil where no agents are kept.
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
		row := joinedAgent{Name: a.Name, DID: a.DID, Word: joinWords[a.Strength], Says: asSentence(a.Says), Inbox: a.Inbox, Unknown: asSentence(a.Unresolved)}
		if !a.UpdatedAt.IsZero() { // this registry's
			row.Page = agentPath(a.AirID)
		}
		if a.Key != nil {
			row.Key = a.Key.PublicKeyMultibase
		}
		for _, l := range a.Links {
			row.Links = append(row.Links, joinedLink{By: linkWords[l.By], What: l.What, Source: externalLinkOf(l.Source), Date: p.momentOf(l.Date)})
		}
		v.Agents = append(v.Agents, row)
	}
	for _, l := range all.Left {
		v.Left = append(v.Left, leftView{l.DID, asSentence(l.Why)})
	}
	if len(v.Agents) == 0 && len(v.Left) == 0 {
		v.None = asSentence(all.None)
	}
	return v, nil
}

// maxOffered is how many operations the page of an agent shows of its domains.
const maxOffered = 20

// offeredOperations lists the operations of the services at the domains that an agent has
// proved, and how many more there are. While the index cannot be read the page
// does without.
func (p *Pages) offeredOperations(ctx context.Context, a registry.Agent) (hits []offeredView, more int, err error) {
	var hosts []string
	for _, d := range a.Domains {
		if d.Proved() {
			hosts = append(hosts, d.Name)
		}
	}
	if len(hosts) == 0 {
		return nil, 0, nil
	}
	r, err := p.answers.Search(ctx, query.Query{Hosts: hosts, Limit: maxOffered})
	if errors.Is(err, index.ErrUnavailable) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	for _, h := range r.Hits {
		o := operationOf(h.Operation, h.Service)
		hits = append(hits, offeredView{Host: h.Host, KindID: string(h.Kind), ID: o.ID, Verb: o.Verb, Path: o.Path, Title: strings.TrimSpace(o.Title)})
	}
	return hits, max(0, r.Total-len(r.Hits)), nil
}

// offeredView is an operation of a domain of an agent.
type offeredView struct{ Host, KindID, ID, Verb, Path, Title string }
