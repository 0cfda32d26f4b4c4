package query

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/expressions"
	"gazetteer/index/tokens"
	"gazetteer/protocol/english"
)

const (
	// expressionWeight is the weight of the words that an expression of several words stands for.
	expressionWeight = 0.8
	// idiomWeight is the factor of the weights of its own words, which do not mean what they say.
	idiomWeight = 0.8
)

// An expression is a part of a request that stands for other words.
type expression struct {
	expressions.Match
	start int // among the fields of the request
}

// own calls f with each place of the words of the expression that are not in a gap.
func (e *expression) own(f func(at int)) {
	for i := range e.Length {
		if !e.InGap(i) {
			f(e.start + i)
		}
	}
}

// findExpressions finds the expressions in the words of a request, the longest at each place, and
// lowers the weights of the words of those of several words. Arguments are none, and a request that
// says the first of the words that services use needs no other ones.
func findExpressions(fields, lower []string, weights []float32, from int, clauses []int) []expression {
	var found []expression
	ends := make([]bool, len(lower))
	for i := range lower {
		ends[i] = strings.ContainsAny(lastRune(fields[i]), ",;:.!?")
	}
	for i := from; i < len(lower); i++ {
		end := i + 1
		for end < len(lower) && clauses[end] == clauses[i] {
			end++
		}
		e := expression{expressions.Longest(lower[i:end], ends[i:end]), i}
		if e.Length == 0 {
			joined := strings.ReplaceAll(lower[i], "-", "") // to-do
			if singular := cmp.Or(english.Singular(joined), joined); singular != lower[i] && expressions.Begins(singular) {
				e = expression{expressions.Longest([]string{singular}, ends[i:i+1]), i}
			}
		}
		about, _, _ := strings.Cut(e.Stands, " ")
		if e.Length == 0 || e.SaysTooLittle() || e.Length > 1 && slices.Contains(lower[i:end], about) {
			continue
		}
		strong := false // a word that is no argument
		e.own(func(at int) { strong = strong || weights[at] >= 1 })
		if !strong {
			continue
		}
		found = append(found, e)
		if e.Length > 1 {
			e.weighIdiom(lower, weights)
		}
		for i++; i < e.start+e.Length && !e.InGap(i-e.start); i++ {
		}
		i--
	}
	return found
}

// weighIdiom lowers the weights of the words of an expression, unless it stands for these words.
func (e *expression) weighIdiom(lower []string, weights []float32) {
	stands, literal := strings.Fields(e.Stands), true
	e.own(func(at int) {
		literal = literal && (slices.Contains(stands, lower[at]) || slices.Contains(articles, lower[at]) || slices.Contains(prepositions, lower[at]))
	})
	if !literal {
		e.own(func(at int) { weights[at] *= idiomWeight })
	}
}

// negates reports whether an expression among the words from start up to end contains a negation
// itself, so that the words forbid nothing: don't let me forget to pay.
func negates(found []expression, lower []string, start, end int) bool {
	negative := false
	for _, e := range found {
		if e.Length > 1 && e.start >= start && e.start < end {
			e.own(func(at int) { negative = negative || slices.Contains(negations, lower[at]) })
		}
	}
	return negative
}

// verbsOfExpressions returns the verbs that the expressions among the words from start up to end
// stand for: put it online stands for publish and upload.
func verbsOfExpressions(found []expression, start, end int) (verbs []string) {
	for _, e := range found {
		if e.Length == 1 || e.start < start || e.start >= end {
			continue
		}
		for i, w := range strings.Fields(e.Stands) {
			u := english.Lookup(w)
			if !u.Verb || actionOf(w) == 0 || i > 0 && u.Noun && u.NounCount >= u.VerbCount {
				break
			}
			verbs = append(verbs, w)
		}
	}
	return verbs
}

// addExpressions adds the words that expressions stand for. A request that says the first of them
// itself needs no other words: convert it to pdf.
func (r *Request) addExpressions(a analysis.Analyzer, found []expression, fields []string, clauses []int) {
	for _, e := range found {
		stands := tokens.Tokenize(a, e.Stands)
		if e.Length == 1 || len(stands) == 0 || r.hasStem(stands[0].Stem, clauses[e.start]) {
			continue
		}
		var words []string
		for i, w := range fields[e.start : e.start+e.Length] {
			switch inGap := e.InGap(i); {
			case !inGap:
				words = append(words, w)
			case words[len(words)-1] != "…":
				words = append(words, "…")
			}
		}
		asked := strings.TrimFunc(strings.Join(words, " "), unicode.IsPunct)
		r.Words = append(r.Words, Word{Asked: asked, Meanings: stands, Clause: clauses[e.start], Weight: expressionWeight, Expression: true})
	}
}

// hasStem reports whether a clause of the request has a stem in its own words.
func (r *Request) hasStem(stem string, clause int) bool {
	return slices.ContainsFunc(r.Words, func(w Word) bool {
		return w.Clause == clause && slices.ContainsFunc(w.Terms, func(t tokens.Token) bool { return t.Stem == stem })
	})
}

// synonymsAt returns the words that the single word at a place stands for.
func synonymsAt(a analysis.Analyzer, found []expression, at int) []tokens.Token {
	for _, e := range found {
		if e.start == at && e.Length == 1 {
			return tokens.Tokenize(a, e.Stands)
		}
	}
	return nil
}

// synonymsOf returns the words that the first expression in English words stands for.
func synonymsOf(a analysis.Analyzer, words []string) []tokens.Token {
	for i := range words {
		if e := expressions.Longest(words[i:], make([]bool, len(words)-i)); e.Length > 0 && !e.SaysTooLittle() {
			return tokens.Tokenize(a, e.Stands)
		}
	}
	return nil
}
