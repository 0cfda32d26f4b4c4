package query

import (
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
)

// A request may be wrapped in one for who does it: "find a service that can book a table". What is to be
// done is to book a table.
var (
	seekingVerbs   = strings.Fields("discover find get give list locate need recommend search see seek show suggest want what which")
	seekingFillers = strings.Fields("for me us a an all any every some the")
	providers      = strings.Fields("agent agents api apis endpoint endpoints operation operations provider providers service services tool tools")
	ofProviders    = strings.Fields("that which who")
	abilities      = []string{"is able to", "are able to", "allows me to", "allow me to", "lets me", "let me", "helps me", "help me", "can", "could", "will", "would"}
)

// seekingLength returns the number of words at the beginning of a clause that ask for who does the rest,
// 0 if it does not begin so.
func seekingLength(words []string) int {
	i := 0
	if i < len(words) && slices.Contains(seekingVerbs, normalizeWord(words[i])) {
		i++
	}
	for i < len(words) && slices.Contains(seekingFillers, normalizeWord(words[i])) {
		i++
	}
	if i+2 >= len(words) || !slices.Contains(providers, normalizeWord(words[i])) {
		return 0
	}
	i++
	isQuestion := slices.Contains(questionWords, normalizeWord(words[0])) // which service lets me
	switch next := normalizeWord(words[i]); {
	case next == "to" && !isQuestion:
		return i + 1
	case slices.Contains(ofProviders, next):
		i++
	case !isQuestion:
		return 0
	}
	rest := strings.Join(lowerWords(words[i:]), " ")
	for _, ability := range abilities {
		if strings.HasPrefix(rest, ability+" ") {
			return i + len(strings.Fields(ability))
		}
	}
	if isQuestion || slices.Contains(auxiliaries, normalizeWord(words[i])) {
		return 0 // services that are free
	}
	return i
}

// withBaseVerb returns words in which the one at a place, a verb of the third person, is in its base
// form: an agent that books tables is to book tables.
func withBaseVerb(words []string, at int) []string {
	if verb := baseVerb(normalizeWord(words[at])); slices.Contains(ofProviders, normalizeWord(words[at-1])) && effect.Of(verb) != 0 {
		words = slices.Clone(words)
		words[at] = verb
	}
	return words
}

// seekingWeight is the weight of the words that ask for who does something. They count where a service
// does just this.
const seekingWeight = 0.3

// addSeeking adds the given words, which ask for who does something, as an expression.
func (r *Request) addSeeking(a analysis.Analyzer, fields []string, clause int) {
	r.Words = append(r.Words, Word{
		Asked: strings.Join(fields, " "), Meanings: tokens.Tokenize(a, "find service"), Clause: clause, Weight: seekingWeight, Expression: true,
	})
}
