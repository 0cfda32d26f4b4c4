package api

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"gazetteer/index"
)

// Search returns one page of operations, best first. Read q from text with
// [index.ParseQuery], or fill it in. Where nothing is found and no verb is near to
// what was asked, those that are offered most are named.
func (a *Answers) Search(ctx context.Context, q index.Query) (index.Result, error) {
	r, err := a.Index.Search(ctx, q)
	if err != nil || r.Total > 0 || len(r.Near) > 0 {
		return r, err
	}
	verbs, err := a.Index.Verbs(ctx)
	if err != nil {
		return r, err
	}
	slices.SortStableFunc(verbs, func(a, b index.VerbCount) int { return cmp.Compare(b.Operations, a.Operations) })
	for _, v := range verbs[:min(len(verbs), maxNear)] {
		r.Near = append(r.Near, v.Verb)
	}
	return r, nil
}

// maxNear is how many verbs are proposed where nothing is found.
const maxNear = 5

// Behind is how many records of the store the index has not taken in yet.
func (a *Answers) Behind() uint64 {
	index, head := a.Index.Cursor(), a.Store.Head()
	if index.Store != head.Store || index.Incarnation != head.Incarnation {
		return head.Seq // it follows another log, or none yet
	}
	return max(head.Seq, index.Seq) - index.Seq
}

// Verbs lists every verb that is offered, in order of verb.
func (a *Answers) Verbs(ctx context.Context) ([]index.VerbCount, error) {
	return a.Index.Verbs(ctx)
}

// Agent finds an agent by AIR ID, handle (with or without "@") or did:wba. The
// error is [registry.ErrNoAgent] when there is none.
func (a *Answers) Agent(ctx context.Context, id string) (AgentAnswer, error) {
	agent, seq, err := a.Registry.Find(ctx, strings.TrimPrefix(id, "@"))
	if err != nil {
		return AgentAnswer{}, err
	}
	return AgentAnswer{Agent: agent, DID: a.Registry.DIDDocument(agent), Seq: seq}, nil
}

// orEmpty writes [] where nothing was found.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
