package tokens

import (
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// An analyzer returns the forms of a text. Most texts are ASCII: one pass then replaces the seven
// passes of the chain.
type analyzer struct {
	stopWords analysis.TokenMap
	chain     analysis.Analyzer

	mu     sync.RWMutex       // guards cached
	cached map[string][]Token // what [Tokenize] returns for short texts
}

// Analyze implements analysis.Analyzer.
func (a *analyzer) Analyze(text []byte) analysis.TokenStream {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return a.chain.Analyze(text)
		}
	}
	return a.analyzeASCII(text)
}

// analyzeASCII returns the same result as the chain for a prepared text in ASCII.
func (a *analyzer) analyzeASCII(text []byte) analysis.TokenStream {
	lower := make([]byte, len(text))
	for i, c := range text {
		lower[i] = lowerASCII(c)
	}
	tokens := make([]analysis.Token, 0, len(text)/6+1)
	position := 0
	for from := 0; from < len(lower); {
		if !isLetter(lower[from]) && !isDigit(lower[from]) {
			from++
			continue
		}
		to := endOfWord(lower, from)
		term := lower[from:to:to]
		if n := len(term); n > 2 && term[n-1] == 's' && term[n-2] == '\'' {
			term = term[: n-2 : n-2] // the user's
		}
		position++
		if !a.stopWords[string(term)] {
			tokens = append(tokens, analysis.Token{Term: term, Start: from, End: to, Position: position, Type: analysis.AlphaNumeric})
		}
		from = to
	}
	stream := make(analysis.TokenStream, len(tokens))
	for i := range tokens {
		stream[i] = &tokens[i]
	}
	return stream
}

// endOfWord returns the end of the word that begins at from: Unicode Standard Annex 29 for ASCII. A
// word can contain an apostrophe between letters and between digits, and a comma or semicolon
// between digits. PrepareText has replaced the other characters that a word could contain (a dot, a
// colon, an underscore) by spaces.
func endOfWord(lower []byte, from int) int {
	for at := from + 1; at < len(lower); at++ {
		c := lower[at]
		if isLetter(c) || isDigit(c) {
			continue
		}
		if at+1 == len(lower) {
			return at
		}
		before, after := lower[at-1], lower[at+1]
		letters, digits := isLetter(before) && isLetter(after), isDigit(before) && isDigit(after)
		if !(c == '\'' && (letters || digits) || (c == ',' || c == ';') && digits) {
			return at
		}
	}
	return len(lower)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func lowerASCII(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
