package query

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/tokens"
	"gazetteer/protocol/english"
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

// A pattern is an expression with alternatives: for each of its parts the sequences of words that
// it may be. An empty sequence makes a part optional.
type pattern struct {
	parts  [][][]string
	stands string // the words that it stands for
}

// patternTable has the patterns by the words that they may begin with, in the order of the file.
type patternTable map[string][]*pattern

// nothing is written for the words that an expression stands for if it says too little.
const nothing = "-"

var everydayExpressions = sync.OnceValue(func() patternTable {
	table := make(patternTable)
	for line := range strings.Lines(everydayText) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		list, stands, _ := strings.Cut(line, ": ")
		for _, expression := range splitOutsideBraces(list) {
			p := &pattern{parsePattern(expression), stands}
			for _, word := range p.firstWords() {
				table[word] = append(table[word], p)
			}
		}
	}
	return table
})

// splitOutsideBraces splits a list at its commas.
func splitOutsideBraces(list string) []string {
	depth := 0
	return strings.FieldsFunc(list, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return r == ',' && depth == 0
	})
}

// parsePattern reads an expression such as "{tap|faucet} is {badly |}leaking".
func parsePattern(text string) (parts [][][]string) {
	for text != "" {
		if inner, rest, ok := strings.Cut(text, "}"); ok && text[0] == '{' {
			var alternatives [][]string
			for a := range strings.SplitSeq(inner[1:], "|") {
				alternatives = append(alternatives, strings.Fields(a))
			}
			parts, text = append(parts, alternatives), rest
			continue
		}
		end := strings.IndexByte(text, '{')
		if end < 0 {
			end = len(text)
		}
		if words := strings.Fields(text[:end]); len(words) > 0 {
			parts = append(parts, [][]string{words})
		}
		text = text[end:]
	}
	return parts
}

// firstWords returns the words that the pattern may begin with.
func (p *pattern) firstWords() (words []string) {
	for _, part := range p.parts {
		optional := false
		for _, alternative := range part {
			if len(alternative) == 0 {
				optional = true
			} else if !slices.Contains(words, alternative[0]) {
				words = append(words, alternative[0])
			}
		}
		if !optional {
			break
		}
	}
	return words
}

// match returns the number of words of the longest beginning of words that parts match, 0 for none.
func match(parts [][][]string, words []string) int {
	longest := 0
	var visit func(part, at int)
	visit = func(part, at int) {
		if part == len(parts) {
			longest = max(longest, at)
			return
		}
		for _, alternative := range parts[part] {
			if end := at + len(alternative); end <= len(words) && slices.Equal(words[at:end], alternative) {
				visit(part+1, end)
			}
		}
	}
	visit(0, 0)
	return longest
}

// longestExpression returns the length of the longest expression that words begin with, 0 for none,
// and the words that it stands for. Of several of one length the first of the file counts, but
// one that says too little counts before all others.
func longestExpression(words []string) (length int, stands string) {
	for _, p := range everydayExpressions()[words[0]] {
		n := match(p.parts, words)
		if n > length || n == length && n > 0 && p.stands == nothing {
			length, stands = n, p.stands
		}
	}
	return length, stands
}

// An expression is a part of a request that stands for other words.
type expression struct {
	start, length int // among the fields of the request
	stands        string
}

// findExpressions finds the expressions in the words of a request, the longest at each place, and
// lowers the weights of the words of those of several words. Arguments are none, and a request that
// says the first of the words that services use needs no other ones.
func findExpressions(lower []string, weights []float32, from int, clauses []int) []expression {
	var found []expression
	for i := from; i < len(lower); i++ {
		end := i + 1
		for end < len(lower) && clauses[end] == clauses[i] {
			end++
		}
		n, stands := longestExpression(lower[i:end])
		if singular := english.Singular(lower[i]); n == 0 && singular != "" {
			n, stands = longestExpression([]string{singular})
		}
		about, _, _ := strings.Cut(stands, " ")
		if n == 0 || stands == nothing || slices.Max(weights[i:i+n]) < 1 || n > 1 && slices.Contains(lower[i:end], about) {
			continue
		}
		found = append(found, expression{i, n, stands})
		for k := i; n > 1 && k < i+n; k++ {
			weights[k] *= idiomWeight
		}
		i += n - 1
	}
	return found
}

// addExpressions adds the words that expressions stand for. A request that says the first of them
// itself needs no other words: convert it to pdf.
func (r *Request) addExpressions(a analysis.Analyzer, found []expression, fields []string, clauses []int) {
	for _, e := range found {
		stands := tokens.Tokenize(a, e.stands)
		if e.length == 1 || len(stands) == 0 || r.hasStem(stands[0].Stem, clauses[e.start]) {
			continue
		}
		asked := strings.TrimFunc(strings.Join(fields[e.start:e.start+e.length], " "), unicode.IsPunct)
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
		if e.start == at && e.length == 1 {
			return tokens.Tokenize(a, e.stands)
		}
	}
	return nil
}
