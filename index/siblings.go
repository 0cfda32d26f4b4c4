package index

import (
	"context"
	"slices"

	"gazetteer/index/entry"
	"gazetteer/index/siblings"
	"gazetteer/index/view"
)

// nearName is the minimum cosine of a word of a name and a word of the request to count as the same
// thing.
const nearName = 0.3

// orderSiblings reorders the first entries of each host that has several, and those that may undo what
// the request wants: see [siblings.Comparer.Order]. Each place keeps its score, so that scores keep falling.
func (s *searcher) orderSiblings(ctx context.Context, entries []view.RankedEntry) error {
	entries = entries[:min(len(entries), siblings.Places)]
	comparer := siblings.NewComparer(&s.request, &s.index.verbs)
	operations, scores := make([]*siblings.Operation, len(entries)), make([]int64, len(entries))
	for i, e := range entries {
		scores[i] = e.Score
		host := s.view.RunOf(e.EntryRef).Host
		if !comparer.MayBeUndone() && !slices.ContainsFunc(entries, func(o view.RankedEntry) bool {
			return o.EntryRef != e.EntryRef && s.view.RunOf(o.EntryRef).Host == host
		}) {
			continue // there is nothing to compare
		}
		_, o, err := s.index.readOperation(ctx, s.view, e.EntryRef)
		if err != nil {
			return err
		}
		if o != nil {
			operations[i] = &siblings.Operation{
				Host: host, Verb: o.verb, Intent: o.Intent, Class: o.class,
				Name:   o.terms[entry.ActField].terms,
				IsNear: func(term int, has []bool) bool { return s.isNearLacking(o, term, has) },
			}
		}
	}
	ordered := slices.Clone(entries)
	for i, number := range comparer.Order(operations, scores) {
		entries[i].EntryRef = ordered[number].EntryRef
	}
	return nil
}

// isNearLacking reports whether a term of an operation's name has a meaning near to that of a word of
// the request that the name lacks.
func (s *searcher) isNearLacking(o *preparedOperation, term int, has []bool) bool {
	for k := range o.vectors {
		v := &o.vectors[k]
		if v.field != entry.ActField || v.term != term {
			continue
		}
		for i, w := range s.askedWords() {
			if !has[i] && slices.ContainsFunc(w.vectors, func(a askedVector) bool { return a.Cosine(&v.WordVector) > nearName }) {
				return true
			}
		}
	}
	return false
}
