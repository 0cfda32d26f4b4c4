// Package expressions knows the everyday expressions of people ("put on some jazz", "is it still free"),
// of which services use none, with the words that services use instead: everyday.txt. [Longest] finds
// the expression that words begin with.
package expressions

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed everyday.txt
var everydayText string

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

// A Match is a beginning of words that is an expression.
type Match struct {
	Length   int    // the number of its words; 0 for no expression
	Stands   string // the words that it stands for, the most important one first
	literals int    // the number of its words that are not in a gap
	gaps     uint64 // a bit for each word in a gap
	before   int    // the place of what follows the expression, 0 for nothing
}

// InGap reports whether the word at a place is any word, not one of the expression: the songs in "put
// our songs online".
func (m Match) InGap(at int) bool { return m.gaps&(1<<at) != 0 }

// SaysTooLittle reports whether the expression stands for no words: another one would match, although it
// says too little or something else.
func (m Match) SaysTooLittle() bool { return m.Stands == nothing }

// A matcher matches patterns with words of a clause.
type matcher struct {
	words []string
	ends  []bool // for each word, whether a phrase ends with it
	best  Match
}

// match finds the match of parts with most literal words.
func (m *matcher) match(parts [][][]string, at int, found Match) {
	if len(parts) == 0 {
		if found.Length = cmp.Or(found.before, at); found.literals > m.best.literals {
			m.best = found
		}
		return
	}
	for _, alternative := range parts[0] {
		m.matchWords(alternative, parts[1:], at, found)
	}
}

// matchWords matches the words of an alternative, and then the parts that follow it.
func (m *matcher) matchWords(sequence []string, rest [][][]string, at int, found Match) {
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

// Longest returns the expression that words begin with, of length 0 for none. The one with
// most words counts, of several with as many the first of the file, but one that says too little
// counts before all others. ends tells for each word whether a phrase ends with it.
func Longest(words []string, ends []bool) (longest Match) {
	of := everydayExpressions()[words[0]]
	if of == nil {
		return Match{}
	}
	order := 0
	try := func(patterns []*pattern) {
		for _, p := range patterns {
			m := matcher{words: words, ends: ends}
			m.match(p.parts, 0, Match{Stands: p.stands})
			n := m.best.literals
			if n == 0 || n < longest.literals {
				continue
			}
			isNothing, wasNothing := p.stands == nothing, longest.Stands == nothing
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

// Begins reports whether an expression begins with a word.
func Begins(word string) bool { return everydayExpressions()[word] != nil }
