package index

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"gazetteer/protocol/english"
)

// How a verb that is offered stands to a word that was asked for. The order is
// that in which a relation is preferred. Exact and stem are of the word itself,
// the others are WordNet's (package protocol/english).
const (
	relationSynonym  = "synonym"  // the two share one of their common senses
	relationHypernym = "hypernym" // one is the more general word for the other
	relationAntonym  = "antonym"  // the two are opposites: named so that nobody is misled
)

var relations = []string{relationExact, relationStem, relationSynonym, relationHypernym, relationAntonym}

func relationRank(relation string) int { return slices.Index(relations, relation) }

// maxSenses is how many senses of a verb are looked at: the rarer ones lead to
// words that nobody would call related.
const maxSenses = 3

// relateVerb tells how an offered verb stands to a word, in any case: one of
// relations, or "" when they are not related.
func relateVerb(word, offered string) string {
	word, offered = strings.ToLower(word), strings.ToLower(offered)
	if word == "" || offered == "" {
		return ""
	}
	if word == offered {
		return relationExact
	}
	if StemOf(word) == StemOf(offered) {
		return relationStem
	}
	best := ""
	for _, verb := range verbsOf(word) {
		if r := relateVerbs(verb, offered); r != "" && (best == "" || relationRank(r) < relationRank(best)) {
			best = r
		}
	}
	return best
}

// A relationCache remembers how words and verbs stand to each other, because the same
// few are asked for in every hit. It may be used from any goroutine.
type relationCache struct {
	mu    sync.Mutex // guards following
	known map[[2]string]string
}

// maxRelations bounds what a relationCache remembers.
const maxRelations = 1 << 15

// relateVerb is the function relate.
func (g *relationCache) relateVerb(word, offered string) string {
	key := [2]string{word, offered}
	g.mu.Lock()
	defer g.mu.Unlock()
	if r, ok := g.known[key]; ok {
		return r
	}
	if g.known == nil || len(g.known) >= maxRelations {
		g.known = make(map[[2]string]string)
	}
	r := relateVerb(word, offered)
	if len(word) <= maxPrefix { // a longer one is no word that comes again
		g.known[key] = r
	}
	return r
}

// verbsOf returns the verbs that a word is a form of, or, for a noun, is made
// from: found gives find, cancellation cancel.
func verbsOf(word string) []string {
	verbs := english.Base(word)
	if english.Lookup(word).Verb {
		verbs = append([]string{word}, verbs...)
	}
	if len(verbs) == 0 {
		verbs = english.VerbsOf(word)
	}
	return verbs
}

func relateVerbs(asked, offered string) string {
	switch {
	case asked == offered:
		return relationStem
	case slices.Contains(english.Synonyms(asked, maxSenses), offered), slices.Contains(english.Synonyms(offered, maxSenses), asked):
		return relationSynonym
	case english.Antonyms(asked, offered):
		return relationAntonym
	case slices.Contains(english.Hypernyms(asked), offered), slices.Contains(english.Hypernyms(offered), asked):
		return relationHypernym
	}
	return ""
}

// findOpposedVerbs returns a function that tells whether an operation's verb is the
// opposite of a word, and related to none in another way; nil when no verb is. It is
// asked for every candidate, so all the work is done here.
func (x *Index) findOpposedVerbs(snapshot *scorch.IndexSnapshot, v *view, words []queryWord) (func(entryRef) bool, error) {
	var opposites []string
	for _, w := range words {
		for _, verb := range verbsOf(strings.ToLower(strings.TrimFunc(w.asked, notLetter))) {
			opposites = append(opposites, english.Opposites(verb)...)
		}
	}
	if len(opposites) == 0 {
		return nil, nil
	}
	offered, err := v.joinColumns(snapshot, verbField)
	if err != nil {
		return nil, err
	}
	var marked []bool
	for _, opposite := range opposites {
		for _, at := range offered.folded()[opposite] {
			asked := x.explainVerb(offered.all[at], Query{}, words)
			if asked == nil || asked.Relation != relationAntonym {
				continue
			}
			if marked == nil {
				marked = make([]bool, len(offered.all))
			}
			marked[at] = true
		}
	}
	if marked == nil {
		return nil, nil
	}
	return func(p entryRef) bool { return marked[offered.valueNumber(p)] }, nil
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// A RelatedVerb is a verb that is offered, and how it stands to another.
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
		if r := relateVerb(word, o.Verb); r != "" {
			related = append(related, RelatedVerb{o, r})
		}
	}
	slices.SortStableFunc(related, func(a, b RelatedVerb) int {
		return cmp.Or(cmp.Compare(relationRank(a.Relation), relationRank(b.Relation)), cmp.Compare(b.Operations, a.Operations))
	})
	return related
}
