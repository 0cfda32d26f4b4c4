package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
	"github.com/blevesearch/bleve/v2/analysis/token/stop"
	tokens "github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"golang.org/x/text/unicode/norm"

	"gazetteer/protocol"
)

// maxTextLength is the number of characters of one text that count. Texts are untrusted: a longer
// one is more likely keyword stuffing than description.
const maxTextLength = 500

// NewAnalyzer returns the analyzer chain for prepared texts, the same for documents and queries. It
// is built from its parts instead of being named in bleve's registry, which would need a package
// variable changed in init.
//
// Words keep their written form instead of their stem: the vector of "booking" differs from that of
// "book". A query looks for the stem, and each segment's vocabulary lists the forms of a stem.
func NewAnalyzer() (analysis.Analyzer, error) {
	stopWords := analysis.NewTokenMap()
	if err := stopWords.LoadBytes(en.EnglishStopWords); err != nil {
		return nil, err
	}
	for _, word := range moreStopWords {
		stopWords.AddToken(word)
	}
	return &analyzer{stopWords: stopWords, cached: make(map[string][]Token), chain: &analysis.DefaultAnalyzer{
		Tokenizer: wordTokenizer{tokens.NewUnicodeTokenizer()},
		TokenFilters: []analysis.TokenFilter{
			en.NewPossessiveFilter(),
			cjk.NewCJKWidthFilter(),
			lowercase.NewLowerCaseFilter(),
			cjk.NewCJKBigramFilter(false),
			bigramFilter{},
			stop.NewStopTokensFilter(stopWords),
		},
	}}, nil
}

// moreStopWords are words of questions that bleve's list lacks or treats as nouns; in a small index
// they are rare, and would seem significant.
var moreStopWords = []string{"will", "shall", "may", "might", "must", "much", "many"}

// separateNouns are nouns in -ing, and their plurals, that mean something else than the word that the
// stemmer would find in them: a training is no train. Each has a stem of its own.
var separateNouns = map[string]string{
	"training": "training", "trainings": "training",
	"building": "building", "buildings": "building",
	"setting": "setting", "settings": "setting",
}

// StemOf returns the common stem of the English forms of a word. It has no accents, because many people
// type without them: kiné and kine have the same stem. Terms of other scripts are their own stem.
func StemOf(form string) string {
	if strings.ContainsFunc(form, func(r rune) bool { return r >= utf8.RuneSelf }) {
		form = protocol.WithoutMarks(form)
	}
	if noun := separateNouns[form]; noun != "" {
		return noun
	}
	stemmed := porter.NewPorterStemmer().Filter(analysis.TokenStream{{Term: []byte(form)}})
	return string(stemmed[0].Term)
}

// PrepareText prepares a sentence for the analyzer: compatibility forms are made
// plain, a compound such as createUser, user_id or a/b is cut, and a compound in
// camel case is kept whole beside its parts, because "GitHub" must also be found
// by "github". At most maxTextLength characters count.
func PrepareText(s string) string { return prepare(s, true) }

// PrepareName prepares an identifier or a path: its parts only.
func PrepareName(s string) string { return prepare(s, false) }

func prepare(s string, keepWhole bool) string {
	// The tokenizer returns wrong positions in a text that is not valid UTF-8.
	s = ClipText(norm.NFKC.String(strings.ToValidUTF8(ClipText(s), "\uFFFD")))
	if isPlainText(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, word := range strings.FieldsFunc(s, isSeparator) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		parts := splitCamel(&b, word)
		if parts > 1 && keepWhole {
			b.WriteByte(' ')
			b.WriteString(word)
		}
	}
	return b.String()
}

// ClipText returns the first maxTextLength characters of s.
func ClipText(s string) string {
	if len(s) <= maxTextLength {
		return s
	}
	n := 0
	for i := range s {
		if n == maxTextLength {
			return s[:i]
		}
		n++
	}
	return s
}

// isPlainText reports whether split would change nothing: in a usual sentence capitals occur only
// at the beginning of words.
func isPlainText(s string) bool {
	letter := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf, c != ' ' && isSeparator(rune(c)):
			return false
		case c >= 'A' && c <= 'Z':
			if letter {
				return false
			}
			letter = true
		default:
			letter = c >= 'a' && c <= 'z'
		}
	}
	return true
}

// isSeparator reports whether r separates words. A dot does: in a name it separates words, and at
// the end of a sentence it does no harm; that "3.5" becomes "3 5" costs little.
func isSeparator(r rune) bool {
	switch r {
	case '_', '-', '/', '.', ':', '{', '}', '\\', '#', '+', '=', '&', '?', '~':
		return true
	}
	return unicode.IsSpace(r) || unicode.IsControl(r)
}

// splitCamel writes the parts of word to b with spaces between them and returns their number:
// HTTPServer becomes HTTP Server, getUserIDs becomes get User IDs.
func splitCamel(b *strings.Builder, word string) int {
	runes := []rune(word)
	parts, from := 1, 0
	for i := 1; i < len(runes); i++ {
		if !camelBoundary(runes, i) {
			continue
		}
		b.WriteString(string(runes[from:i]))
		b.WriteByte(' ')
		parts, from = parts+1, i
	}
	b.WriteString(string(runes[from:]))
	return parts
}

// camelBoundary reports whether a new part begins at runes[i].
func camelBoundary(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i]) {
		return false
	}
	if prev := runes[i-1]; unicode.IsLower(prev) || unicode.IsDigit(prev) {
		return true
	}
	// The last capital of a run begins the next word (HTTPServer), except before a plural s (APIs,
	// URLsOf).
	if !unicode.IsUpper(runes[i-1]) || i+1 >= len(runes) || !unicode.IsLower(runes[i+1]) {
		return false
	}
	plural := runes[i+1] == 's' && (i+2 == len(runes) || !unicode.IsLower(runes[i+2]))
	return !plural
}

// A Token is one unit of a text: its stem, the form of it that the index holds, and the word it
// came from.
type Token struct{ Stem, Form, Surface string }

// Tokenize analyzes a prepared text. The caller must not change the tokens: those of short texts,
// such as the words of requests, are shared.
func Tokenize(a analysis.Analyzer, prepared string) []Token {
	known, ok := a.(*analyzer)
	if !ok || len(prepared) > maxCachedText {
		return tokenize(a, prepared)
	}
	known.mu.RLock()
	tokens, met := known.cached[prepared]
	known.mu.RUnlock()
	if met {
		return tokens
	}
	text := strings.Clone(prepared) // which may be a part of a long text
	tokens = tokenize(a, text)
	known.mu.Lock()
	defer known.mu.Unlock()
	if len(known.cached) >= maxCachedTexts {
		clear(known.cached)
	}
	known.cached[text] = tokens
	return tokens
}

// The bounds of cached texts: their length in bytes, and their number; about 5 MB.
const (
	maxCachedText  = 24
	maxCachedTexts = 1 << 14
)

func tokenize(a analysis.Analyzer, prepared string) []Token {
	tokens := a.Analyze([]byte(prepared))
	terms := make([]Token, len(tokens))
	for i, t := range tokens {
		form := string(t.Term)
		terms[i] = Token{StemOf(form), form, prepared[t.Start:t.End]}
	}
	return terms
}
