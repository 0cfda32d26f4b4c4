package query

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/tokens"
)

// People name things by everyday expressions ("put on some jazz", "is it still free") of which
// services use none. everyday.txt has such expressions with the words that services use.

//go:embed everyday.txt
var everydayText string

const (
	// expressionWeight is the weight of the words that an expression of several words stands for.
	expressionWeight = 0.8
	// idiomWeight is the factor of the weights of its own words, which do not mean what they say.
	idiomWeight = 0.8
)

// An expressionTable maps expressions to the words to search for as well, by their first word, the
// longest first.
type expressionTable map[string][]expressionEntry

type expressionEntry struct {
	rest   []string // the other words of the expression
	stands string   // the words that it stands for
}

var everydayExpressions = sync.OnceValue(func() expressionTable {
	table := make(expressionTable)
	for line := range strings.Lines(everydayText) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		list, stands, _ := strings.Cut(line, ": ")
		for expression := range strings.SplitSeq(list, ",") {
			words := strings.Fields(expression)
			table[words[0]] = append(table[words[0]], expressionEntry{words[1:], stands})
		}
	}
	for _, entries := range table {
		slices.SortStableFunc(entries, func(a, b expressionEntry) int { return len(b.rest) - len(a.rest) })
	}
	return table
})

// An expression is a part of a request that stands for other words.
type expression struct {
	start, length int // among the fields of the request
	stands        string
}

// findExpressions finds the expressions in the words of a request, the longest at each place, and
// lowers the weights of the words of those of several words. Arguments are none.
func findExpressions(lower []string, weights []float32, from int, clauses []int) []expression {
	var found []expression
	for i := from; i < len(lower); i++ {
		for _, e := range everydayExpressions()[lower[i]] {
			end := i + 1 + len(e.rest)
			if end > len(lower) || clauses[end-1] != clauses[i] || !slices.Equal(lower[i+1:end], e.rest) || slices.Max(weights[i:end]) < 1 {
				continue
			}
			found = append(found, expression{i, end - i, e.stands})
			for k := i; len(e.rest) > 0 && k < end; k++ {
				weights[k] *= idiomWeight
			}
			i = end - 1
			break
		}
	}
	return found
}

// addExpressions adds the words that expressions stand for, unless the request has all of them anyway:
// convert it to pdf.
func (r *Request) addExpressions(a analysis.Analyzer, found []expression, fields []string, clauses []int) {
	for _, e := range found {
		stands := tokens.Tokenize(a, e.stands)
		said := !slices.ContainsFunc(stands, func(t tokens.Token) bool { return !r.hasStem(t.Stem, clauses[e.start]) })
		if e.length > 1 && !said {
			r.Words = append(r.Words, Word{Asked: strings.Join(fields[e.start:e.start+e.length], " "), Meanings: stands, Clause: clauses[e.start], Weight: expressionWeight})
		}
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
		if e.start == at && e.length == 1 {
			return tokens.Tokenize(a, e.stands)
		}
	}
	return nil
}
