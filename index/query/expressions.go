package query

import (
	"cmp"
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
	order  int    // its place in the file
}

// A patternTable has patterns by the first word of an expression.
type patternTable map[string]*patternsOfWord

// patternsOfWord has the patterns of expressions that begin with a word, by the second word.
type patternsOfWord struct {
	bySecond map[string][]*pattern
	others   []*pattern // of a single word, or with a gap after it
}

// nothing is written for the words that an expression stands for if it says too little.
const nothing = "-"

var everydayExpressions = sync.OnceValue(func() patternTable {
	table, order := make(patternTable), 0
	for line := range strings.Lines(everydayText) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		list, stands, _ := strings.Cut(line, ": ")
		for _, expression := range splitOutsideBraces(list) {
			order++
			table.add(&pattern{parsePattern(expression), stands, order})
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

// add adds a pattern at all words that it may begin with.
func (t patternTable) add(p *pattern) {
	var visit func(parts [][][]string, words []string)
	visit = func(parts [][][]string, words []string) {
		if len(words) < 2 && len(parts) > 0 {
			for _, alternative := range parts[0] {
				visit(parts[1:], append(words[:len(words):len(words)], alternative...))
			}
			return
		}
		if len(words) == 0 {
			return
		}
		of := t[words[0]]
		if of == nil {
			of = &patternsOfWord{bySecond: make(map[string][]*pattern)}
			t[words[0]] = of
		}
		appendNew := func(list []*pattern) []*pattern {
			if n := len(list); n > 0 && list[n-1] == p {
				return list // it has the same beginning in another alternative
			}
			return append(list, p)
		}
		switch {
		case len(words) == 1, words[1] == gap, words[1] == number, words[1] == closing:
			of.others = appendNew(of.others)
		case words[1] == somebody:
			for _, word := range referents {
				of.bySecond[word] = appendNew(of.bySecond[word])
			}
		default:
			of.bySecond[words[1]] = appendNew(of.bySecond[words[1]])
		}
	}
	visit(p.parts, nil)
}

// maxGap is the maximum number of words in a gap of a pattern.
const maxGap = 4

// A gap stands for a few words of any kind in a pattern, and somebody for one that refers to a
// person or a thing: put * online, drop somebody a line. A number begins with a digit, and closing is
// the end of a phrase, not a word. What comes after the mark of what follows is no part of the
// expression: put it into French > please.
const (
	gap      = "*"
	somebody = "@"
	number   = "#"
	closing  = "."
	follows  = ">"
)

// referents are the words that the mark of somebody stands for.
var referents = strings.Fields("everybody everyone he her hers him his it its me mine my our ours she someone somebody that their them these they this those us we your")

// A matched is a beginning of words that a pattern matches.
type matched struct {
	length, literals int    // words of the beginning, and those of them that are not in a gap
	gaps             uint64 // a bit for each word in a gap
	before           int    // the place of what follows the expression, 0 for nothing
	stands           string
}

// A matcher matches patterns with words of a clause.
type matcher struct {
	words []string
	ends  []bool // for each word, whether a phrase ends with it
	best  matched
}

// match finds the match of parts with most literal words.
func (m *matcher) match(parts [][][]string, at int, found matched) {
	if len(parts) == 0 {
		if found.length = cmp.Or(found.before, at); found.literals > m.best.literals {
			m.best = found
		}
		return
	}
	for _, alternative := range parts[0] {
		m.matchWords(alternative, parts[1:], at, found)
	}
}

// matchWords matches the words of an alternative, and then the parts that follow it.
func (m *matcher) matchWords(sequence []string, rest [][][]string, at int, found matched) {
	for i, word := range sequence {
		switch {
		case word == gap:
			for n := 1; n <= maxGap && at+n <= min(len(m.words), 64); n++ {
				found.gaps |= 1 << (at + n - 1)
				m.matchWords(sequence[i+1:], rest, at+n, found)
				if m.ends[at+n-1] {
					return
				}
			}
			return
		case word == follows:
			found.before = at
			continue
		case word == closing:
			if at < len(m.words) && !m.ends[at-1] {
				return
			}
			continue
		case at >= len(m.words) || !isWordOfPattern(word, m.words[at]):
			return
		}
		at, found.literals = at+1, found.literals+1
	}
	m.match(rest, at, found)
}

// isWordOfPattern reports whether a word is that of a pattern, or of the kind that it asks for.
func isWordOfPattern(wanted, word string) bool {
	switch wanted {
	case somebody:
		return slices.Contains(referents, word)
	case number:
		return word != "" && strings.IndexByte("+0123456789", word[0]) >= 0
	}
	return word == wanted
}

// longestExpression returns the expression that words begin with, of length 0 for none. The one with
// most words counts, of several with as many the first of the file, but one that says too little
// counts before all others. ends tells for each word whether a phrase ends with it.
func longestExpression(words []string, ends []bool) (longest matched) {
	of := everydayExpressions()[words[0]]
	if of == nil {
		return matched{}
	}
	order := 0
	try := func(patterns []*pattern) {
		for _, p := range patterns {
			m := matcher{words: words, ends: ends}
			m.match(p.parts, 0, matched{stands: p.stands})
			n := m.best.literals
			if n == 0 || n < longest.literals {
				continue
			}
			isNothing, wasNothing := p.stands == nothing, longest.stands == nothing
			if n > longest.literals || isNothing && !wasNothing || isNothing == wasNothing && p.order < order {
				longest, order = m.best, p.order
			}
		}
	}
	try(of.others)
	if len(words) > 1 {
		try(of.bySecond[words[1]])
	}
	return longest
}

// An expression is a part of a request that stands for other words.
type expression struct {
	matched
	start int // among the fields of the request
}

// own calls f with each place of the words of the expression that are not in a gap.
func (e *expression) own(f func(at int)) {
	for i := range e.length {
		if e.gaps&(1<<i) == 0 {
			f(e.start + i)
		}
	}
}

// findExpressions finds the expressions in the words of a request, the longest at each place, and
// lowers the weights of the words of those of several words. Arguments are none, and a request that
// says the first of the words that services use needs no other ones.
func findExpressions(fields, lower []string, weights []float32, from int, clauses []int) []expression {
	var found []expression
	table := everydayExpressions()
	ends := make([]bool, len(lower))
	for i := range lower {
		ends[i] = strings.ContainsAny(lastRune(fields[i]), ",;:.!?")
	}
	for i := from; i < len(lower); i++ {
		end := i + 1
		for end < len(lower) && clauses[end] == clauses[i] {
			end++
		}
		e := expression{longestExpression(lower[i:end], ends[i:end]), i}
		if e.length == 0 {
			joined := strings.ReplaceAll(lower[i], "-", "") // to-do
			if singular := cmp.Or(english.Singular(joined), joined); singular != lower[i] && table[singular] != nil {
				e = expression{longestExpression([]string{singular}, ends[i:i+1]), i}
			}
		}
		about, _, _ := strings.Cut(e.stands, " ")
		if e.length == 0 || e.stands == nothing || e.length > 1 && slices.Contains(lower[i:end], about) {
			continue
		}
		strong := false // a word that is no argument
		e.own(func(at int) { strong = strong || weights[at] >= 1 })
		if !strong {
			continue
		}
		found = append(found, e)
		if e.length > 1 {
			e.weighIdiom(lower, weights)
		}
		for i++; i < e.start+e.length && e.gaps&(1<<(i-e.start)) == 0; i++ {
		}
		i--
	}
	return found
}

// weighIdiom lowers the weights of the words of an expression, unless it stands for these words.
func (e *expression) weighIdiom(lower []string, weights []float32) {
	stands, literal := strings.Fields(e.stands), true
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
		if e.length > 1 && e.start >= start && e.start < end {
			e.own(func(at int) { negative = negative || slices.Contains(negations, lower[at]) })
		}
	}
	return negative
}

// verbsOfExpressions returns the verbs that the expressions among the words from start up to end
// stand for: put it online stands for publish and upload.
func verbsOfExpressions(found []expression, start, end int) (verbs []string) {
	for _, e := range found {
		if e.length == 1 || e.start < start || e.start >= end {
			continue
		}
		for i, w := range strings.Fields(e.stands) {
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
		stands := tokens.Tokenize(a, e.stands)
		if e.length == 1 || len(stands) == 0 || r.hasStem(stands[0].Stem, clauses[e.start]) {
			continue
		}
		var words []string
		for i, w := range fields[e.start : e.start+e.length] {
			switch inGap := e.gaps&(1<<i) != 0; {
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
		if e.start == at && e.length == 1 {
			return tokens.Tokenize(a, e.stands)
		}
	}
	return nil
}

// synonymsOf returns the words that the first expression in English words stands for.
func synonymsOf(a analysis.Analyzer, words []string) []tokens.Token {
	for i := range words {
		if e := longestExpression(words[i:], make([]bool, len(words)-i)); e.length > 0 && e.stands != nothing {
			return tokens.Tokenize(a, e.stands)
		}
	}
	return nil
}
