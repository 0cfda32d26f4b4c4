package semantic

import (
	"slices"
	"strings"
	"sync"

	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
	"gazetteer/protocol/english"
)

// The relations of an offered verb to a requested word, in the order of preference. Exact and stem
// are of the word itself, the others are WordNet's (package protocol/english).
const (
	RelationExact    = "exact"
	RelationStem     = "stem"
	RelationSynonym  = "synonym"  // the two share one of their common senses
	RelationHypernym = "hypernym" // one is the more general word for the other
	RelationAntonym  = "antonym"  // the two are opposites: shown so that nobody is misled
)

var Relations = []string{RelationExact, RelationStem, RelationSynonym, RelationHypernym, RelationAntonym}

func RelationRank(relation string) int { return slices.Index(Relations, relation) }

// maxSenses is the number of senses of a verb that are used: rarer senses lead to unrelated words.
const maxSenses = 3

// RelateVerb returns the relation of an offered verb to a word, in any letter case: one of
// relations, or "" if they are not related.
func RelateVerb(word, offered string) string {
	word, offered = strings.ToLower(word), strings.ToLower(offered)
	if word == "" || offered == "" {
		return ""
	}
	if word == offered {
		return RelationExact
	}
	if tokens.StemOf(word) == tokens.StemOf(offered) {
		return RelationStem
	}
	best := ""
	for _, verb := range VerbsOf(word) {
		if r := relateVerbs(verb, offered); r != "" && (best == "" || RelationRank(r) < RelationRank(best)) {
			best = r
		}
	}
	return best
}

// A RelationCache caches the relations of words and verbs, because every hit needs the same few. It
// may be used from any goroutine.
type RelationCache struct {
	mu    sync.Mutex // guards the following fields
	known map[[2]string]string
}

// maxCachedWord is the maximum length in bytes of a cached word.
const maxCachedWord = 64

// maxRelations is the maximum number of relations in a RelationCache.
const maxRelations = 1 << 15

// RelateVerb returns the result of the function [RelateVerb], from the cache if possible.
func (g *RelationCache) RelateVerb(word, offered string) string {
	key := [2]string{word, offered}
	g.mu.Lock()
	defer g.mu.Unlock()
	if r, ok := g.known[key]; ok {
		return r
	}
	if g.known == nil || len(g.known) >= maxRelations {
		g.known = make(map[[2]string]string)
	}
	r := RelateVerb(word, offered)
	if len(word) <= maxCachedWord { // a longer one is unlikely to occur again
		g.known[key] = r
	}
	return r
}

// VerbsOf returns the verbs of which a word is a form or, for a noun, from which it is derived:
// found gives find, cancellation cancel.
func VerbsOf(word string) []string {
	verbs := english.Base(word)
	if english.Lookup(word).Verb {
		verbs = append([]string{word}, verbs...)
	}
	if len(verbs) == 0 {
		verbs = english.VerbsOf(word)
	}
	return verbs
}

// makesWhatEnds reports whether the requested verb makes something and the offered one may end something:
// to clear a way is to make one, but CLEAR /calendar creates nothing.
func makesWhatEnds(asked, offered string) bool {
	return (asked == "create" || asked == "make") && effect.Of(offered)&effect.End != 0
}

func relateVerbs(asked, offered string) string {
	switch {
	case asked == offered:
		return RelationStem
	case slices.Contains(english.Synonyms(asked, maxSenses), offered), slices.Contains(english.Synonyms(offered, maxSenses), asked):
		return RelationSynonym
	case english.Antonyms(asked, offered):
		return RelationAntonym
	case makesWhatEnds(asked, offered):
		return ""
	case slices.Contains(english.Hypernyms(asked), offered), slices.Contains(english.Hypernyms(offered), asked):
		return RelationHypernym
	}
	return ""
}
