package index

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/index/view"
	"gazetteer/protocol/english"
)

// findOpposedVerbs returns a function that tells whether an operation's verb is the opposite of a
// word of the query, and related to none in another way; nil when no verb is. The function is
// called for every candidate, so all the work is done here.
func (s *searcher) findOpposedVerbs() (func(view.EntryRef) bool, error) {
	var opposites []string
	for _, w := range s.request.Words {
		for _, verb := range semantic.VerbsOf(strings.ToLower(strings.TrimFunc(w.Asked, notLetter))) {
			opposites = append(opposites, english.Opposites(verb)...)
		}
	}
	if len(opposites) == 0 {
		return nil, nil
	}
	offered, err := s.view.JoinColumns(query.VerbField)
	if err != nil {
		return nil, err
	}
	var marked []bool
	for _, opposite := range opposites {
		for _, at := range offered.Folded()[opposite] {
			asked := s.index.explainVerb(offered.All[at], query.Query{}, s.request.Words)
			if asked == nil || asked.Relation != semantic.RelationAntonym {
				continue
			}
			if marked == nil {
				marked = make([]bool, len(offered.All))
			}
			marked[at] = true
		}
	}
	if marked == nil {
		return nil, nil
	}
	return func(p view.EntryRef) bool { return marked[offered.ValueNumber(p)] }, nil
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// A RelatedVerb is an offered verb and its relation to another one.
type RelatedVerb struct {
	VerbCount
	Relation string `json:"relation"` // exact, stem, synonym, hypernym or antonym
}

// VerbFamily returns the verbs that are offered and related to a word, the
// nearest relation first and the most frequent verb of each. The word itself is
// among them when it is offered.
func (x *Index) VerbFamily(ctx context.Context, word string) ([]RelatedVerb, error) {
	offered, err := x.Verbs(ctx)
	if err != nil {
		return nil, err
	}
	return filterRelated(offered, strings.TrimSpace(word)), nil
}

func filterRelated(offered []VerbCount, word string) []RelatedVerb {
	related := []RelatedVerb{}
	for _, o := range offered {
		if r := semantic.RelateVerb(word, o.Verb); r != "" {
			related = append(related, RelatedVerb{o, r})
		}
	}
	slices.SortStableFunc(related, func(a, b RelatedVerb) int {
		return cmp.Or(cmp.Compare(semantic.RelationRank(a.Relation), semantic.RelationRank(b.Relation)), cmp.Compare(b.Operations, a.Operations))
	})
	return related
}
