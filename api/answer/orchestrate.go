package answer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"gazetteer/call"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/join"
)

// A ServedOperation is an operation with the agents that serve its service.
type ServedOperation struct {
	Hit
	// How is the call of the hit again, under its original name.
	How call.How `json:"how" doc:"how to call it, and the place of each parameter: as call"`
	join.Joined
}

// ServedOperations is one page of served operations, in the ranking of a search.
type ServedOperations struct {
	Operations []ServedOperation `json:"operations" doc:"in the order of a search"`
	// Total counts the operations that match, with an agent or not.
	Total int `json:"total" doc:"operations that match, with an agent or without"`
	// Passed counts the operations that were left out because they have no agent.
	Passed int `json:"passed,omitempty" doc:"operations left out here because they have no agent"`
	// Unresolved is set if another registry was not asked or did not answer: its agents are known
	// by their DIDs alone.
	Unresolved bool `json:"unresolved,omitempty" doc:"true if some data about agents of other registries is missing; each agent says which"`
	// Concerns are the concerns about the requested namespaces.
	Concerns []namedConcern `json:"concerns,omitempty" doc:"collisions and possible squatting of the requested namespaces; on the first page"`
	Note     string         `json:"note,omitempty" doc:"what a person should know about the answer"`
	Near     []string       `json:"near,omitempty" doc:"verbs to try instead, when nothing was found"`
	Seq      uint64         `json:"seq" doc:"the sequence number of the store that the answer is based on"`
	Behind   uint64         `json:"behind,omitempty" doc:"the number of records that the index is behind the store"`
	// NextOffset is how many operations of the ranking were read; More is set if others follow.
	NextOffset int  `json:"-"`
	More       bool `json:"-"`
	// hits are the operations as the index has them.
	hits []index.Hit
}

// A namedConcern is a concern about one of several namespaces.
type namedConcern struct {
	Namespace string `json:"namespace"`
	Concern
}

const (
	// maxPassed bounds how many operations one page reads to find some with an agent.
	maxPassed       = 500
	orchestrateStep = 50
	// maxJudged bounds the namespaces of a query that are judged.
	maxJudged = 10
)

// Orchestrate returns the operations of a search, in its order, each with the agents that serve it
// ([join.Joiner]). With joined, it leaves out operations without an agent, and reads at most 500 of
// the ranking for one page. Freshness is judged for the time now. If the query names namespaces,
// [ServedOperations.Concerns] has the concerns about them. The error is that of a search, and
// [ErrNoDirectory] in a process without a directory of agents.
func (a *Answers) Orchestrate(ctx context.Context, q query.Query, w join.Want, joined bool, now time.Time) (ServedOperations, error) {
	if a.Joiner == nil {
		return ServedOperations{}, ErrNoDirectory
	}
	limit, first := q.Limit, q.Offset
	var concerns []namedConcern
	if first == 0 {
		for _, namespace := range q.Namespaces[:min(len(q.Namespaces), maxJudged)] {
			_, found, err := a.judgeClaims(ctx, namespace)
			if err != nil {
				return ServedOperations{}, err
			}
			for _, c := range found {
				concerns = append(concerns, namedConcern{strings.ToLower(namespace), c})
			}
		}
	}
	out := ServedOperations{Operations: []ServedOperation{}, Concerns: concerns, NextOffset: first, More: true}
	for len(out.Operations) < limit && out.More && out.NextOffset-first < maxPassed {
		q.Offset, q.Limit = out.NextOffset, limit
		if joined {
			q.Limit = max(limit, orchestrateStep)
		}
		note := out.Note
		if err := a.addServedOperations(ctx, q, w, joined, limit, now, &out); err != nil {
			return ServedOperations{}, err
		}
		if q.Offset > first {
			out.Note = note // a note about the end of the ranking does not fit its beginning
		}
		if !joined {
			return out, nil
		}
	}
	if len(out.Operations) == 0 && out.Passed > 0 {
		out.Note = "none of the examined operations has such an agent: leave out join, joined and require to see them"
	} else if out.Note == "" {
		out.Note = missingWordsNote(out.hits)
	}
	return out, nil
}

// addServedOperations reads one page of the ranking.
func (a *Answers) addServedOperations(ctx context.Context, q query.Query, w join.Want, joined bool, limit int, now time.Time, out *ServedOperations) error {
	least := q.MinFit
	q.MinFit = 0 // the offset of the next page counts what does not fit, too
	r, err := a.Search(ctx, q)
	if err != nil {
		return err
	}
	if r.Total == 0 && r.Note == "" {
		if r.Note, err = a.NoteEmptyFilters(ctx, q); err != nil {
			return err
		}
	}
	out.Total, out.Note, out.Near, out.Seq, out.More = r.Total, r.Note, r.Near, r.Seq, r.More
	if joined && r.Note == missingWordsNote(r.Hits) {
		out.Note = "" // some of these are not shown
	}
	out.Behind = a.Behind(r.Seq)
	var hosts []string
	for _, h := range r.Hits {
		hosts = append(hosts, h.Host)
	}
	agents, err := a.Joiner.Join(ctx, hosts, w)
	if err != nil {
		return err
	}
	hits, err := a.Hits(ctx, r.Hits, now)
	if err != nil {
		return err
	}
	for i, h := range hits {
		if len(out.Operations) == limit {
			out.NextOffset, out.More = q.Offset+i, true
			return nil
		}
		if h.Fit < least {
			continue
		}
		found := agents[h.Host]
		if joined && len(found.Agents) == 0 {
			out.Passed++
			continue
		}
		out.Unresolved = out.Unresolved || slices.ContainsFunc(found.Agents, func(a join.ServingAgent) bool { return a.Unresolved != "" })
		out.Operations = append(out.Operations, ServedOperation{Hit: h, How: h.Call, Joined: *found})
		out.hits = append(out.hits, r.Hits[i])
	}
	// A page is shorter than requested if the index is behind: the omitted operations were read,
	// too.
	out.NextOffset = q.Offset + len(r.Hits)
	if r.More {
		out.NextOffset = q.Offset + q.Limit
	}
	return nil
}

// AgentsOf returns the agents that serve a host, which is a normalized name. It asks no other
// registries, so that a page about the host does not wait for them. The error is [ErrNoDirectory]
// in a process without a directory of agents.
func (a *Answers) AgentsOf(ctx context.Context, host string) (join.Joined, error) {
	if a.Joiner == nil {
		return join.Joined{}, ErrNoDirectory
	}
	all, err := a.Joiner.Join(ctx, []string{host}, join.Want{})
	if err != nil {
		return join.Joined{}, err
	}
	if all[host] == nil {
		return join.Joined{}, errors.New("nothing was joined")
	}
	return *all[host], nil
}
