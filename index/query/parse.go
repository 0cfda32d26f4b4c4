package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a query.
const (
	maxQueryLength = 2000 // characters
	maxQueryItems  = 200  // words and filter values
	defaultLimit   = 20
	MaxLimit       = 100
	maxOffset      = 10000
	maxFacets      = 16
)

// Parse reads a query:
//
//	query  = { item }, with spaces between
//	item   = word | text | "-" word | key ":" ( word | text ) | "-is:" word
//	key    = "verb" | "ns" | "class" | "host" | "domain" | "protocol" | "effect" | "auth" |
//	         "lang" | "level" | "state" | "source" | "idempotent" | "is", in any case
//	text   = '"' characters other than '"' '"'
//
// Plain words match the texts of operations; more matches rank higher. A text in quotes must occur
// there in the same order, but word endings may differ; a colon or a minus sign in it has no
// meaning. Beside words it may be a value of the request, see [Query.QuotedAsValues]. A word with a minus sign before it must not occur there. A key with a value is a filter:
// values of one key are alternatives, but those of is: must all hold, as must filters of different
// keys. A minus sign before is: asks for hosts without that state. A query has at most 2,000
// characters and 200 words and values.
//
// The error is a *[Error] that points at the character.
func Parse(text string) (Query, error) {
	p := &parser{text: text}
	if err := p.checkCharacters(); err != nil {
		return Query{}, err
	}
	for p.skipSpace(); len(p.rest) > 0; p.skipSpace() {
		if err := p.parseItem(); err != nil {
			return Query{}, err
		}
	}
	q := p.query
	q.Words = strings.Join(p.words, " ")
	if len(q.Phrases) > 0 && len(p.words) > 0 {
		q.inPlace = strings.Join(p.inPlace, " ")
	}
	if len(q.Without) > 0 && q.IsEmpty() {
		return Query{}, p.errorAt(0, "the query only says what to leave out", "say what to look for, too, such as book -hotel")
	}
	if q.IsEmpty() {
		return Query{}, p.errorAt(0, "the query is empty", "give words, such as book a table, or a filter, such as verb:BOOK")
	}
	return q, nil
}

// A parser reads one query from left to right.
type parser struct {
	text  string
	rest  []rune // the rest of the input
	at    int    // characters read
	query Query
	words []string
	// inPlace has the words, and the texts in quotes as values.
	inPlace []string
	items   int
}

// straightQuote keeps a quotation mark in a value from ending it.
func straightQuote(r rune) rune {
	if r == '“' || r == '”' {
		return '\''
	}
	return r
}

func (p *parser) errorAt(at int, message, help string) error {
	return &Error{Query: p.text, Offset: at, Message: message, Help: help}
}

// checkCharacters refuses characters that no query needs, before parsing.
func (p *parser) checkCharacters() error {
	n := 0
	for i := 0; i < len(p.text); n++ {
		r, size := utf8.DecodeRuneInString(p.text[i:])
		switch {
		case n == maxQueryLength:
			return p.errorAt(n, fmt.Sprintf("the query has more than %d characters", maxQueryLength), "say it in fewer words")
		case r == utf8.RuneError && size == 1:
			return p.errorAt(n, fmt.Sprintf("byte %#02x is not UTF-8", p.text[i]), "send the query in UTF-8")
		case unicode.IsControl(r) && !unicode.IsSpace(r), IsBidiControl(r):
			return p.errorAt(n, fmt.Sprintf("control character %U", r), "remove it")
		}
		i += size
	}
	p.rest = []rune(p.text)
	return nil
}

// IsBidiControl reports whether r changes the visible order of the text around it.
func IsBidiControl(r rune) bool {
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

// advance reads n characters.
func (p *parser) advance(n int) string {
	s := string(p.rest[:n])
	p.rest, p.at = p.rest[n:], p.at+n
	return s
}

func (p *parser) skipSpace() {
	n := 0
	for n < len(p.rest) && unicode.IsSpace(p.rest[n]) {
		n++
	}
	p.advance(n)
}

// parseItem reads a word, a text in quotes, or a filter.
func (p *parser) parseItem() error {
	start := p.at
	if p.rest[0] == '"' {
		return p.parseQuoted(start, func(v string) {
			p.query.Phrases = append(p.query.Phrases, v)
			p.inPlace = append(p.inPlace, "“"+strings.Map(straightQuote, v)+"”")
		})
	}
	if p.rest[0] == '-' && len(p.rest) > 1 && (unicode.IsLetter(p.rest[1]) || p.rest[1] == '"') {
		return p.parseExclusion(start)
	}
	addWord := func(v string) {
		p.words = append(p.words, v)
		p.inPlace = append(p.inPlace, v)
	}
	key, ok := p.peekKey()
	if !ok {
		return p.parseWord(start, addWord)
	}
	f, ok := lookupFilter(key)
	if !ok {
		after := p.rest[utf8.RuneCountInString(key)+1:]
		if len(after) == 0 || unicode.IsSpace(after[0]) {
			return p.parseWord(start, addWord) // the colon of a sentence: this mail: is it spam
		}
		return p.errorAt(start, fmt.Sprintf("unknown key %s:", key), suggestKeys(key))
	}
	return p.parseFilter(start, key, f, "")
}

// parseFilter reads the value of a filter whose key comes next. sign is the minus sign that stood
// before the key, or "".
func (p *parser) parseFilter(start int, key string, f Filter, sign string) error {
	p.advance(utf8.RuneCountInString(key) + 1)
	if len(p.rest) == 0 || unicode.IsSpace(p.rest[0]) {
		return p.errorAt(p.at, fmt.Sprintf("the filter %s: has no value", key), "write the value directly after the colon, as in verb:BOOK")
	}
	var wrong error
	at := p.at
	add := func(v string) {
		v = f.canonical(sign + v)
		if message, help := f.validateValue(v); message != "" {
			wrong = p.errorAt(at, message, help)
		} else if to := f.Values(&p.query); !slices.Contains(*to, v) {
			*to = append(*to, v)
		}
	}
	read := p.parseBareWord
	if p.rest[0] == '"' {
		read = p.parseQuoted
	}
	if err := read(start, add); err != nil {
		return err
	}
	return wrong
}

// parseExclusion reads an excluded word.
func (p *parser) parseExclusion(start int) error {
	p.advance(1)
	if p.rest[0] == '"' {
		return p.errorAt(start, "a minus sign before a text in quotes", "only single words can be left out, as in -hotel")
	}
	if key, ok := p.peekKey(); ok {
		switch f, known := lookupFilter(key); {
		case known && f.Negatable:
			return p.parseFilter(start, key, f, "-")
		case known:
			return p.errorAt(start, fmt.Sprintf("a minus sign before %s:", key), "filters cannot be turned around; ask for the values that are wanted")
		}
	}
	return p.parseBareWord(start, func(v string) { p.query.Without = append(p.query.Without, v) })
}

// peekKey returns the letters before a colon that begins a filter. An address such
// as https://example.com and a time such as 10:30 have none.
func (p *parser) peekKey() (string, bool) {
	n := 0
	for n < len(p.rest) && unicode.IsLetter(p.rest[n]) {
		n++
	}
	if n == 0 || n == len(p.rest) || p.rest[n] != ':' {
		return "", false
	}
	if n+2 < len(p.rest) && p.rest[n+1] == '/' && p.rest[n+2] == '/' {
		return "", false
	}
	return string(p.rest[:n]), true
}

// parseQuoted reads a text in quotes.
func (p *parser) parseQuoted(start int, add func(string)) error {
	open := p.at
	p.advance(1)
	end := slices.Index(p.rest, '"')
	if end < 0 {
		return p.errorAt(open, "a quotation mark is not closed", `add the closing " or remove this one`)
	}
	v := strings.TrimSpace(p.advance(end))
	p.advance(1)
	if v == "" {
		return p.errorAt(open, "there is nothing between the quotation marks", "write a text between them or remove them")
	}
	return p.addValue(start, v, add)
}

// parseWord reads a word of the request up to the next space. A quotation mark in it is a sign like any
// other: color_name("#7fffd4"), a 5" pipe.
func (p *parser) parseWord(start int, add func(string)) error {
	return p.addValue(start, p.advance(p.wordLength()), add)
}

// parseBareWord reads a word of the query language, up to the next space.
func (p *parser) parseBareWord(start int, add func(string)) error {
	n := p.wordLength()
	if at := slices.Index(p.rest[:n], '"'); at >= 0 {
		return p.errorAt(p.at+at, "a quotation mark in the middle of a word", "put a space before it, or remove it")
	}
	return p.addValue(start, p.advance(n), add)
}

// wordLength returns the number of characters up to the next space.
func (p *parser) wordLength() int {
	if n := slices.IndexFunc(p.rest, unicode.IsSpace); n >= 0 {
		return n
	}
	return len(p.rest)
}

// addValue adds a value unless there are too many.
func (p *parser) addValue(start int, v string, add func(string)) error {
	if p.items += countFields(v); p.items > maxQueryItems {
		return p.errorAt(start, tooMany, "say it in fewer words")
	}
	add(v)
	return nil
}

// countFields returns the number of words of a text.
func countFields(text string) (n int) {
	for range strings.FieldsSeq(text) {
		n++
	}
	return n
}

var tooMany = fmt.Sprintf("the query has more than %d words and values", maxQueryItems)

// Canonical checks a query and returns it with its values in the indexed forms, and the default
// limit.
func (q Query) Canonical() (Query, error) {
	fail := func(at int, message, help string) (Query, error) {
		return Query{}, &Error{Query: q.Words, Offset: at, Message: message, Help: help}
	}
	q.Limit = cmp.Or(q.Limit, defaultLimit)
	words := countFields(q.Text()) + len(q.Without)
	length := utf8.RuneCountInString(q.Text())
	for _, w := range q.Without {
		length += utf8.RuneCountInString(w)
	}
	for _, f := range q.Facets {
		if !slices.Contains(FacetFields(), f) {
			return fail(0, fmt.Sprintf("no facet %.40q", f), "the facets are "+strings.Join(FacetFields(), ", "))
		}
	}
	switch {
	case q.Limit < 1 || q.Limit > MaxLimit:
		return fail(0, fmt.Sprintf("a limit of %d", q.Limit), fmt.Sprintf("ask for 1 to %d operations", MaxLimit))
	case q.Offset < 0 || q.Offset > maxOffset:
		return fail(0, fmt.Sprintf("an offset of %d", q.Offset), fmt.Sprintf("at most %d operations can be passed over; add a filter instead", maxOffset))
	case !(q.MinFit >= 0 && q.MinFit <= 1):
		return fail(0, fmt.Sprintf("a least fit of %g", q.MinFit), "ask for a fit from 0 to 1")
	case len(q.Facets) > maxFacets:
		return fail(0, fmt.Sprintf("%d facets", len(q.Facets)), fmt.Sprintf("ask for at most %d at once", maxFacets))
	case q.IsEmpty():
		return fail(0, "the query is empty", "give words, such as book a table, or a filter, such as verb:BOOK")
	case length > maxQueryLength:
		return fail(maxQueryLength, fmt.Sprintf("the query has more than %d characters", maxQueryLength), "say it in fewer words")
	case words+q.filterValues() > maxQueryItems:
		return fail(0, tooMany, "say it in fewer words")
	}
	for _, f := range filters {
		values := f.Values(&q)
		*values = mapValues(*values, f.canonical)
		for _, v := range *values {
			if message, help := f.validateValue(v); message != "" {
				return fail(0, message, help)
			}
		}
	}
	return q, nil
}

// mapValues applies f to a copy of values.
func mapValues(values []string, f func(string) string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = f(v)
	}
	return out
}
