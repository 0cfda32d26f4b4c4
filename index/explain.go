package index

import (
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/document"
)

// explain says why an operation of a document matches, from the query's words and
// the operation's own texts. It is computed for the hits that are shown only.
func explain(a analysis.Analyzer, t *text, o *document.Operation, q Query, words []word) Why {
	e := operationEntry(o)
	why := Why{Coverage: 1, Verb: explainVerb(a, canonicalVerb(o.Verb), q, words)}
	if len(words) == 0 {
		return why
	}
	found := [numFields][]term{
		actField:  termsOf(a, e.text[actField]),
		whatField: termsOf(a, e.text[whatField]),
		ctxField:  append(slices.Clip(t.serviceTerms(a)), termsOf(a, e.text[ctxField])...),
	}
	for _, w := range words {
		missing := true
		for f, terms := range found {
			if at, kind, ok := match(w, terms); ok {
				why.Matched = append(why.Matched, Match{Term: w.asked, Field: field(f).String(), Kind: kind, Text: at})
				missing = false
			}
		}
		if missing {
			why.Missing = append(why.Missing, w.asked)
		}
	}
	why.Coverage = float64(len(words)-len(why.Missing)) / float64(len(words))
	return why
}

// The kinds of a match.
const (
	exact    = "exact"
	sameStem = "stem"
)

// match looks for a word among the terms of a field and returns the word found
// there. An exact match is preferred over one of the stem.
func match(w word, terms []term) (text, kind string, ok bool) {
	for _, asked := range w.terms {
		for _, t := range terms {
			if t.stem != asked.stem {
				continue
			}
			if strings.EqualFold(t.surface, asked.surface) {
				return t.surface, exact, true
			}
			if !ok {
				text, kind, ok = t.surface, sameStem, true
			}
		}
	}
	return text, kind, ok
}

// explainVerb relates the verb offered to the one asked for: the filter's, or
// the query's word that has the same stem. It is nil when no verb was asked for
// that relates.
func explainVerb(a analysis.Analyzer, offered string, q Query, words []word) *Verb {
	if slices.Contains(q.Verbs, offered) {
		return &Verb{Asked: offered, Offered: offered, Relation: exact}
	}
	stems := termsOf(a, splitName(offered))
	if len(stems) != 1 {
		return nil // no verb, or one of several words
	}
	for _, w := range words {
		if _, kind, ok := match(w, stems); ok {
			return &Verb{Asked: w.asked, Offered: offered, Relation: kind}
		}
	}
	return nil
}
