package web

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/web/frame"
)

// A nameUser is a service that uses a name. Anyone may write any name into a document.
type nameUser struct {
	Host    string
	Service string
	Word    string // how well it stands, "" where nothing can be said
	Says    string
	Since   frame.Moment // when its document was first seen, or fetched last
	Caution string       // why callers should not rely on the name, "" for no reason
}

// A nameWarning is something about a name that a person should know before using it.
type nameWarning struct {
	Word  string
	Text  string
	Hosts []string
	Names []frame.Link
}

// maxUsers bounds the services that a page names.
const maxUsers = 30

// claimWords describe the relation of a host to a namespace.
var claimWords = map[string]string{
	"own-domain":     "A name of its own domain",
	"own-name":       "Begins with the name of its own domain",
	"declared":       "Declared",
	"domain-only":    "Not declared",
	"foreign-name":   "Begins with the name of another domain",
	"foreign-domain": "A name of another domain",
}

// concernWords describe the kinds of problems with a namespace.
var concernWords = map[string]string{
	"collision":      "Several owners use it",
	"foreign-domain": "Possible squatting",
	"foreign-name":   "Possible squatting",
	"lookalike":      "Easily confused",
}

// namespaceUsers lists the services that use a namespace, the evidence for each, and the problems.
func (p *Pages) namespaceUsers(ctx context.Context, s listing, name string) ([]nameUser, []nameWarning, error) {
	n, err := p.answers.Namespace(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	var users []nameUser
	for _, c := range n.Claims {
		user := nameUser{
			Host: c.Host, Service: cmp.Or(c.Service, c.Host), Word: claimWords[c.Relation],
			Says: frame.AsSentence(c.Proof), Since: p.MomentOf(c.Since),
		}
		if c.Foreign() {
			user.Caution = concernWords[c.Relation] + ": " + user.Says
		}
		users = append(users, user)
	}
	var warnings []nameWarning
	for _, c := range n.Concerns {
		w := nameWarning{Word: concernWords[c.Code], Text: frame.AsSentence(c.Message), Hosts: c.Hosts}
		for _, name := range c.Names {
			w.Names = append(w.Names, frame.Link{Text: name, Address: s.valueAddress(name)})
		}
		warnings = append(warnings, w)
	}
	return users, warnings, nil
}

// orderByEvidence puts the operations of the services with the best evidence first, as users are ordered,
// and marks those of services without it.
func orderByEvidence(hits []hitView, users []nameUser) {
	place := func(h hitView) int {
		return slices.IndexFunc(users, func(u nameUser) bool { return u.Host == h.Host })
	}
	slices.SortStableFunc(hits, func(a, b hitView) int { return cmp.Compare(uint(place(a)), uint(place(b))) })
	for i := range hits {
		if at := place(hits[i]); at >= 0 {
			hits[i].Caution = cmp.Or(hits[i].Caution, users[at].Caution)
		}
	}
}

// classUsers lists the services that hold a data class, with their descriptions of it.
func (p *Pages) classUsers(ctx context.Context, _ listing, name string) ([]nameUser, []nameWarning, error) {
	c, err := p.answers.DataClass(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	var users []nameUser
	for _, h := range c.Holders {
		users = append(users, nameUser{Host: h.Host, Service: cmp.Or(h.Service, h.Host), Says: holderText(h), Since: p.MomentOf(h.FetchedAt)})
	}
	return users, nil, nil
}

// holderText is a service's description of a data class that it holds.
func holderText(h answer.Holder) string {
	var parts []string
	if h.Description != "" {
		parts = append(parts, frame.AsSentence(h.Description))
	}
	if h.Sensitivity != "" {
		parts = append(parts, "Sensitivity: "+h.Sensitivity+".")
	}
	if h.RequiresAuthorization {
		parts = append(parts, "Restricted access.")
	}
	return strings.Join(parts, " ")
}
