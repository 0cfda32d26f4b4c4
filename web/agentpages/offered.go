package agentpages

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/registry"
)

// maxOffered is the number of operations of an agent's domains that its page shows.
const maxOffered = 20

// offeredOperations lists the operations of the services at an agent's proved domains, and the
// number of further ones. It lists none if the index cannot be read.
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
		o := h.Operation
		title := strings.TrimSpace(cmp.Or(o.Intent, o.ID))
		hits = append(hits, offeredView{Host: h.Host, KindID: string(h.Kind), ID: o.ID, Verb: o.Verb, Path: o.Path, Title: title})
	}
	return hits, max(0, r.Total-len(r.Hits)), nil
}

// offeredView is an operation of a domain of an agent.
type offeredView struct{ Host, KindID, ID, Verb, Path, Title string }
