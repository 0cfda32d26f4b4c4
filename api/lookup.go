package api

import (
	"cmp"
	"context"
	"fmt"
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

// Verb returns a verb with one page of the operations that bear it, and
// [ErrNoVerb] when none does. The case of the verb does not matter.
func (a *Answers) Verb(ctx context.Context, verb string, limit, offset int) (VerbAnswer, error) {
	verb = strings.ToUpper(verb)
	counts, err := a.Index.Verbs(ctx)
	if err != nil {
		return VerbAnswer{}, err
	}
	for _, c := range counts {
		if c.Verb != verb {
			continue
		}
		r, err := a.Index.Search(ctx, index.Query{Verbs: []string{verb}, Limit: limit, Offset: offset})
		return VerbAnswer{VerbCount: c, Hits: orEmpty(r.Hits), Total: r.Total, Seq: r.Seq}, err
	}
	return VerbAnswer{}, fmt.Errorf("%w: %s", ErrNoVerb, verb)
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

// Resolve answers where to write to. An AIR ID, a handle or a did:wba leads to
// the agent; NAMESPACE.VERB to every operation that bears the name, of which
// none is picked when there are several services ([Resolution.Ambiguous]). The
// error is [ErrNoName], or [registry.ErrNoAgent], when the name leads nowhere, and
// a [*registry.Refusal] for an agent that is gone. The DID of another host is
// looked for when admit lets it; nil: never.
func (a *Answers) Resolve(ctx context.Context, name string, admit func() error) (Resolution, error) {
	name = strings.TrimSpace(name)
	if namespace, verb, ok := splitVerb(name); ok {
		return a.resolveVerb(ctx, name, namespace, verb)
	}
	return a.contact(ctx, name, admit)
}

func (a *Answers) resolveVerb(ctx context.Context, name, namespace, verb string) (Resolution, error) {
	r, err := a.Index.Search(ctx, index.Query{Namespaces: []string{namespace}, Verbs: []string{verb}, Limit: maxLimit})
	if err != nil {
		return Resolution{}, err
	}
	if len(r.Hits) == 0 {
		return Resolution{}, fmt.Errorf("%w: %s", ErrNoName, name)
	}
	hosts := map[string]bool{}
	for _, h := range r.Hits {
		hosts[h.Host] = true
	}
	return Resolution{Asked: name, Kind: "verb", Candidates: r.Hits, Ambiguous: len(hosts) > 1, Seq: r.Seq}, nil
}

// splitVerb cuts NAMESPACE.VERB at the last dot. Handles and AIR IDs have no
// dot, and a DID has colons, so what has a dot and no colon names a verb.
func splitVerb(name string) (namespace, verb string, ok bool) {
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || dot == len(name)-1 || strings.Contains(name, ":") || strings.HasPrefix(name, "@") {
		return "", "", false
	}
	return name[:dot], strings.ToUpper(name[dot+1:]), true
}

// orEmpty writes [] where nothing was found.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
