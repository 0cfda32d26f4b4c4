package index

import (
	"slices"
	"strings"
	"sync"
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
)

// maxTextLength is how many characters of one text count. Text comes from strangers:
// a longer one is more likely stuffing than description.
const maxTextLength = 500

// New returns the chain that makes the forms of a prepared text, the same
// for documents and queries. It is built from its parts instead of being named
// in bleve's registry, which would need a package variable changed in init.
//
// Words are kept in the form in which they are written, without their stem: the
// vector of "booking" is another than that of "book". What a query looks for is
// the stem, and each segment's vocabulary tells the forms of one.
func New() (analysis.Analyzer, error) {
	stopWords := analysis.NewTokenMap()
	if err := stopWords.LoadBytes(en.EnglishStopWords); err != nil {
		return nil, err
	}
	for _, word := range moreStopWords {
		stopWords.AddToken(word)
	}
	return &analyzer{stopWords, &analysis.DefaultAnalyzer{
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

// moreStopWords are words of questions that bleve's list takes for nouns or leaves
// out; in a small index they are rare, and would seem to tell much.
var moreStopWords = []string{"will", "shall", "may", "might", "must", "much", "many"}

// StemOf returns what the English forms of one word have in common. Terms of other
// scripts are their own stem.
func StemOf(form string) string {
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
	// The tokenizer gives wrong places in a text that is not UTF-8.
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

// isPlainText reports whether split would change nothing: the usual sentence, in
// which capitals stand only at the beginning of words.
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

// isSeparator reports whether r stands between words. A dot does: in a name it
// parts words, at the end of a sentence it does no harm; "3.5" becoming "3 5"
// costs little.
func isSeparator(r rune) bool {
	switch r {
	case '_', '-', '/', '.', ':', '{', '}', '\\', '#', '+', '=', '&', '?', '~':
		return true
	}
	return unicode.IsSpace(r) || unicode.IsControl(r)
}

// splitCamel writes the parts of word to b with spaces between and returns how
// many there are: HTTPServer gives HTTP Server, getUserIDs gives get User IDs.
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
	// The last capital of a run belongs to the word it begins (HTTPServer),
	// except before a plural s (APIs, URLsOf).
	if !unicode.IsUpper(runes[i-1]) || i+1 >= len(runes) || !unicode.IsLower(runes[i+1]) {
		return false
	}
	plural := runes[i+1] == 's' && (i+2 == len(runes) || !unicode.IsLower(runes[i+2]))
	return !plural
}

// A word is one word of a query and what it is looked up by.
type queryWord struct {
	asked  string
	terms  []token
	clause int // see numberClauses; noClause for a word that belongs to none
}

// A term is one unit of a text: its stem, the form of it that the index holds, and
// the word it came from.
type token struct{ stem, form, surface string }

// Tokenize analyses a prepared text.
func Tokenize(a analysis.Analyzer, prepared string) []token {
	tokens := a.Analyze([]byte(prepared))
	terms := make([]token, len(tokens))
	for i, t := range tokens {
		form := string(t.Term)
		terms[i] = token{StemOf(form), form, prepared[t.Start:t.End]}
	}
	return terms
}

// maxTerms bounds the terms of a query after analysis: a word without spaces
// (Chinese, Japanese, Korean) gives one for each pair of characters.
const maxTerms = 64

// queryWords makes words of a query's free text: politeness is stripped, and
// words that leave no term (stop words, punctuation) are dropped.
func queryWords(a analysis.Analyzer, text string) []queryWord {
	var words []queryWord
	left := maxTerms
	fields := strings.Fields(norm.NFKC.String(text))
	from, to := trimPoliteness(fields)
	wishes := numberClauses(fields)
	for i := from; i < to; i++ {
		asked := fields[i]
		terms := Tokenize(a, PrepareText(asked))
		terms = terms[:min(len(terms), left)]
		left -= len(terms)
		if len(terms) > 0 {
			words = append(words, queryWord{strings.TrimFunc(asked, unicode.IsPunct), terms, wishes[i]})
		}
	}
	return words
}

// freeText is all that a query says in words: phrases are words, too.
func (q Query) freeText() string { return strings.Join(append([]string{q.Words}, q.Phrases...), " ") }

// distinctStems returns the stems of words in order of first appearance.
func distinctStems(words []queryWord) []string {
	var stems []string
	for _, w := range words {
		for _, t := range w.terms {
			if !slices.Contains(stems, t.stem) {
				stems = append(stems, t.stem)
			}
		}
	}
	return stems
}

// wordForms returns the forms of all words, in order.
func wordForms(words []queryWord) []string {
	var forms []string
	for _, w := range words {
		for _, t := range w.terms {
			forms = append(forms, t.form)
		}
	}
	return forms
}

// trimPoliteness tells where in words the wish itself begins and ends, without
// what people say around it: "I would like to book a table, please" asks for "book
// a table". If nothing else was said, all of it is the wish.
func trimPoliteness(words []string) (from, to int) {
	to = len(words)
	for n := 1; n > 0; from += n {
		n = longestPhraseLength(words[from:to], politeOpeningSet(), func(w []string, n int) []string { return w[:n] })
	}
	for n := 1; n > 0; to -= n {
		n = longestPhraseLength(words[from:to], politeClosingSet(), func(w []string, n int) []string { return w[len(w)-n:] })
	}
	if from == to {
		return 0, len(words)
	}
	return from, to
}

// longestPhraseLength returns the length of the longest of phrases that cut takes
// from words, 0 when none matches.
func longestPhraseLength(words []string, phrases map[string]bool, cut func([]string, int) []string) int {
	for n := min(maxPolitePhrase, len(words)); n > 0; n-- {
		phrase := strings.ToLower(strings.Join(cut(words, n), " "))
		phrase = strings.ReplaceAll(strings.TrimFunc(phrase, unicode.IsPunct), "’", "'")
		if phrases[phrase] {
			return n
		}
	}
	return 0
}

var (
	politeOpeningSet = sync.OnceValue(func() map[string]bool { return parseLines(politeOpenings) })
	politeClosingSet = sync.OnceValue(func() map[string]bool { return parseLines(politeClosings) })
)

// parseLines returns the lines of a text that are not empty.
func parseLines(text string) map[string]bool {
	lines := make(map[string]bool)
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		lines[line] = true
	}
	return lines
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
