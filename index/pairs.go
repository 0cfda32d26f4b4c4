package index

import (
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// tokenizer adds to the words of Unicode's rules (UAX 29) those that the rules leave
// to dictionaries: Thai, Lao, Khmer and Burmese are written without spaces, and a
// tokenizer that has no dictionary leaves them out. Each run of them is a token.
type tokenizer struct{ words analysis.Tokenizer }

// Tokenize implements analysis.Tokenizer.
func (t tokenizer) Tokenize(text []byte) analysis.TokenStream {
	words := t.words.Tokenize(text)
	if !has(text, unspaced) {
		return words
	}
	out := make(analysis.TokenStream, 0, len(words)+8)
	add := func(one *analysis.Token) {
		one.Position = len(out) + 1
		out = append(out, one)
	}
	between := func(from, to int) {
		for {
			begin, end := firstRun(text[from:to], unspaced)
			if begin == end {
				return
			}
			begin, end = from+begin, from+end
			add(&analysis.Token{Term: text[begin:end:end], Start: begin, End: end, Type: analysis.AlphaNumeric})
			from = end
		}
	}
	at := 0
	for _, word := range words {
		between(at, word.Start)
		add(word)
		at = word.End
	}
	between(at, len(text))
	return out
}

// firstRun returns where in a text the first run of characters of a sort begins and
// ends, both the end of the text when there is none. No sort has ASCII in it.
func firstRun(text []byte, is func(rune) bool) (from, to int) {
	size := 1
	for ; from < len(text); from += size {
		if size = 1; text[from] < utf8.RuneSelf {
			continue
		}
		var r rune
		if r, size = utf8.DecodeRune(text[from:]); is(r) {
			break
		}
	}
	for to = from; to < len(text); to += size {
		var r rune
		if r, size = utf8.DecodeRune(text[to:]); !is(r) {
			break
		}
	}
	return from, to
}

func has(text []byte, is func(rune) bool) bool {
	from, to := firstRun(text, is)
	return from < to
}

// unspaced reports whether r is of a script that is written without spaces between
// words and that Unicode's rules do not part.
func unspaced(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
		unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet)
}

// paired reports whether words with r in them are looked up by pairs of characters.
func paired(r rune) bool { return r >= 0x0E00 && (unicode.Is(unicode.Hangul, r) || unspaced(r)) }

// pairsOfLetters cuts Korean words into pairs of syllables, so that a word is found
// whatever particle it carries (예약, 예약을, 예약해), and what is unspaced into pairs
// of characters, so that a word is found wherever it stands. bleve's cjk filter
// leaves both alone because they are called letters. Every pair keeps the place of
// its whole word, which is what an explanation shows.
type pairsOfLetters struct{}

// Filter implements analysis.TokenFilter.
func (pairsOfLetters) Filter(in analysis.TokenStream) analysis.TokenStream {
	out := make(analysis.TokenStream, 0, len(in))
	for _, t := range in {
		if !has(t.Term, paired) {
			out = append(out, t)
			continue
		}
		// A word such as "API를" has Latin and Hangul in one token.
		for term := t.Term; len(term) > 0; {
			run, in := leadingRun(term)
			term = term[len(run):]
			for _, part := range bigrams(run, in) {
				c := *t
				c.Term = part
				out = append(out, &c)
			}
		}
	}
	return out
}

// leadingRun returns the longest beginning of term that is all of paired characters
// or has none.
func leadingRun(term []byte) (run []byte, in bool) {
	from, to := firstRun(term, paired)
	if from > 0 {
		return term[:from], false
	}
	return term[:to], true
}

// bigrams returns the overlapping pairs of a run of paired characters, or the run
// itself when it is one character or of others.
func bigrams(run []byte, paired bool) [][]byte {
	if !paired || utf8.RuneCount(run) < 2 {
		return [][]byte{run}
	}
	var pairs [][]byte
	for {
		_, first := utf8.DecodeRune(run)
		_, second := utf8.DecodeRune(run[first:])
		if second == 0 {
			return pairs
		}
		pairs = append(pairs, run[:first+second])
		run = run[first:]
	}
}
