package query

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"gazetteer/index/tokens"
)

// A Word is one word of a query with its search terms.
type Word struct {
	Asked  string
	Terms  []tokens.Token
	Clause int     // the number of the clause that it belongs to, or [NoClause]
	Weight float32 // its relative weight, 0 to 1
	Name   bool    // a capitalized word in a sentence: a name or a brand
	// Identifies reports whether the word may identify a thing: an order number, a name, but no
	// number of nights and no place.
	Identifies bool
	// Essential is set for what a question asks for and does not say in a word of its own, such as the
	// opening hours: an operation without it gives no answer.
	Essential bool
	// Argument reports whether the word names an argument of a request in the form of a function.
	Argument bool
	// Meanings contains the English translations of a foreign word, or the corrections of a
	// misspelt one, the likeliest first. The search looks for them and for the word itself.
	Meanings []tokens.Token
	// Whole reports whether the word is a German compound that the table of translations lacks. The
	// words for its two parts follow it, with the compound as their Compound. It counts only where
	// the index has it.
	Whole    bool
	Compound string
	// Native reports whether Terms are in a language other than English. Services write English
	// names and texts in their own language, so such a word is rarely part of a name.
	Native bool
	// Expression reports whether the word stands for an everyday expression. Its Meanings then are what
	// the request is about, the most specific first, rather than alternatives.
	Expression bool
	// Synonyms contains words that services may use instead. The search looks for those that more
	// operations have than the word itself.
	Synonyms []tokens.Token
}

// IsPartOf reports whether the word, or each word of a compound, is one of a phrase.
func (w Word) IsPartOf(phrase string) bool {
	words := strings.Fields(phrase)
	for part := range strings.FieldsSeq(w.Asked) {
		if !slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(strings.TrimFunc(word, unicode.IsPunct), part) }) {
			return false
		}
	}
	return true
}

// maxTerms bounds the terms of a query after analysis: a word without spaces
// (Chinese, Japanese, Korean) gives one for each pair of characters.
const maxTerms = 64

// Text returns all words of a query, including those in phrases.
func (q Query) Text() string { return strings.Join(append([]string{q.Words}, q.Phrases...), " ") }

// A Stem is a stem to look for, with its weight.
type Stem struct {
	Text   string
	Weight float32
	// Optional is set for a word with Meanings: an operation without the word itself is not
	// incomplete.
	Optional bool
}

// nativeWeight is the factor of the weight of a word in another language that occurs as it is.
const nativeWeight = 1.5

// meaningWeights contains the weights of the meanings of a word, the likeliest first.
var meaningWeights = [...]float32{1, 0.5, 0.35}

// MeaningWeight returns the weight of the i-th meaning.
func MeaningWeight(i int) float32 { return meaningWeights[min(i, len(meaningWeights)-1)] }

// WeighStems returns the stems of words in order of first appearance, each with its largest weight.
func WeighStems(words []Word) []Stem {
	var stems []Stem
	add := func(s Stem) {
		at := slices.IndexFunc(stems, func(o Stem) bool { return o.Text == s.Text })
		if at < 0 {
			stems = append(stems, s)
			return
		}
		stems[at].Weight = max(stems[at].Weight, s.Weight)
		stems[at].Optional = stems[at].Optional && s.Optional
	}
	for _, w := range words {
		own := w.Weight
		if w.Native {
			own *= nativeWeight
		}
		for _, t := range w.Terms {
			add(Stem{t.Stem, own, len(w.Meanings) > 0 || w.Whole})
		}
		for i, t := range w.Meanings {
			add(Stem{t.Stem, w.Weight * MeaningWeight(i), i > 0})
		}
	}
	return stems
}

// WordForms returns the forms of all words, in order, with their weights.
func WordForms(words []Word) (forms []string, weights []float32) {
	for _, w := range words {
		for _, t := range w.Terms {
			forms, weights = append(forms, t.Form), append(weights, w.Weight)
		}
		for i, t := range w.Meanings {
			forms, weights = append(forms, t.Form), append(weights, w.Weight*MeaningWeight(i))
		}
	}
	return forms, weights
}

// trimPoliteness returns the beginning and the end of a clause without polite words: "I would like
// to book a table, please" asks for "book a table". If all words are polite words, it returns all
// of them.
func trimPoliteness(words []string) (from, to int) {
	to, from = len(words), numberingLength(words)
	for n := 1; n > 0; from += n {
		n = politeOpeningSet().longest(words[from:to])
	}
	for n := 1; n > 0; to -= n {
		n = politeClosingSet().longest(words[from:to])
	}
	if from == to {
		return 0, len(words)
	}
	return from, to
}

var (
	bulletForm   = regexp.MustCompile(`^(#?[0-9]{1,2}[.):]|[-*•]|(step|task|goal|todo|action|query|request|user):)$`)
	numberedWord = regexp.MustCompile(`^(step|task|subtask|goal|action|item) #?[0-9]{1,2}[.):-]$`)
)

// numberingLength returns the number of words before the first clause that number it or name its part
// of a plan: "Step 3:", "2)", "Task:".
func numberingLength(words []string) int {
	switch {
	case len(words) > 2 && numberedWord.MatchString(strings.ToLower(words[0]+" "+words[1])):
		return 2
	case len(words) > 1 && bulletForm.MatchString(strings.ToLower(words[0])):
		return 1
	}
	return 0
}

// politePhrases are phrases at one end of a clause.
type politePhrases struct {
	all map[string]bool
	// outer contains their outermost words: most clauses have none of them there.
	outer map[string]bool
	cut   func(words []string, n int) []string // the outermost n words
}

var (
	politeOpeningSet = sync.OnceValue(func() *politePhrases {
		return parsePhrases(politeOpenings, func(words []string, n int) []string { return words[:n] })
	})
	politeClosingSet = sync.OnceValue(func() *politePhrases {
		return parsePhrases(politeClosings, func(words []string, n int) []string { return words[len(words)-n:] })
	})
)

// parsePhrases reads the lines of a text.
func parsePhrases(text string, cut func([]string, int) []string) *politePhrases {
	p := &politePhrases{make(map[string]bool), make(map[string]bool), cut}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		p.all[line] = true
		p.outer[cut(strings.Fields(line), 1)[0]] = true
	}
	return p
}

// longest returns the length of the longest phrase at the end of words, 0 if there is none.
func (p *politePhrases) longest(words []string) int {
	if len(words) == 0 || !p.outer[plainPhrase(p.cut(words, 1))] {
		return 0
	}
	for n := min(maxPolitePhrase, len(words)); n > 0; n-- {
		if p.all[plainPhrase(p.cut(words, n))] {
			return n
		}
	}
	return 0
}

// plainPhrase joins words in lower case, without punctuation around them.
func plainPhrase(words []string) string {
	phrase := strings.ToLower(strings.Join(words, " "))
	return strings.ReplaceAll(strings.TrimFunc(phrase, unicode.IsPunct), "’", "'")
}

// maxPolitePhrase is the number of words of the longest phrase below.
const maxPolitePhrase = 6

const politeOpenings = `
can i
can we
can you
could i
could we
could you
dear
do you know
do you know how to
find somebody who can
find someone who can
give me
just give me
just let me know
just show me
just tell me
good morning
hello
help me
help me to
hey
hi
how can i
how could i
how do i
how do you
how to
i also need
i also need to
i also want
i also want to
i also would like to
i am looking for
i am looking to
i am trying to
i have to
i need
i need a service that can
i need an agent that can
i need somebody to
i need somebody who can
i need someone to
i need someone who can
i need to
i need you to
i wanna
i want
i want to
i want you to
i was wondering if you could
i wish to
i would like
i would like to
i would like you to
i'd also like
i'd also like to
i'd like
i'd like to
i'd like you to
i'd love to
i'll need to
i'm looking for
i'm looking to
i'm trying to
id like to
is it possible to
is there a service that can
is there a way to
is there an agent that can
is there anybody who can
is there anyone who can
is there somebody who can
is there someone who can
kindly
let me
let me know
let us
let's
may i
please
pls
show me
show us
so
tell me
we need
we need to
we want to
we would like to
what agent can
what service can
where can i
where can we
where could i
where do i
which agent can
which agents can
which api can
which service can
which services can
who can
who could
who is able to
who knows how to
who will
who would
will you
would you
would you mind
would you please
`

const politeClosings = `
cheers
for me
for me please
for us
if possible
if you can
if you could
many thanks
please
pls
thank you
thanks
해주세요
주세요
줘
줘요
싶어
싶어요
`
