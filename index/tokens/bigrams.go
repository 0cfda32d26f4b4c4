package tokens

import (
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
)

// wordTokenizer adds to the words of Unicode's rules (UAX 29) the words that the rules leave to
// dictionaries: Thai, Lao, Khmer and Burmese are written without spaces, and a tokenizer without a
// dictionary omits them. Each run of them is a token.
type wordTokenizer struct{ words analysis.Tokenizer }

// Tokenize implements analysis.Tokenizer.
func (t wordTokenizer) Tokenize(text []byte) analysis.TokenStream {
	words := t.words.Tokenize(text)
	if !containsRune(text, isUnspacedScript) {
		return words
	}
	out := make(analysis.TokenStream, 0, len(words)+8)
	add := func(one *analysis.Token) {
		one.Position = len(out) + 1
		out = append(out, one)
	}
	between := func(from, to int) {
		for {
			begin, end := findRun(text[from:to], isUnspacedScript)
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

// findRun returns the beginning and the end of the first run of characters of a class in a text, or
// twice the end of the text if there is none. No class contains ASCII.
func findRun(text []byte, is func(rune) bool) (from, to int) {
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

func containsRune(text []byte, is func(rune) bool) bool {
	from, to := findRun(text, is)
	return from < to
}

// isUnspacedScript reports whether r is of a script that is written without spaces between words
// and that Unicode's rules do not split.
func isUnspacedScript(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
		unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet)
}

// IsBigramScript reports whether words with r in them are looked up by pairs of characters.
func IsBigramScript(r rune) bool {
	return r >= 0x0E00 && (unicode.Is(unicode.Hangul, r) || isUnspacedScript(r))
}

// bigramFilter cuts Korean words into pairs of syllables, so that a word is found with any particle
// (예약, 예약을, 예약해), and runs of unspaced scripts into pairs of characters, so that a word is found
// anywhere in them. bleve's cjk filter leaves both alone because Unicode classifies them as
// letters. Every pair keeps the position of its whole word, which an explanation shows.
type bigramFilter struct{}

// Filter implements analysis.TokenFilter.
func (bigramFilter) Filter(in analysis.TokenStream) analysis.TokenStream {
	out := make(analysis.TokenStream, 0, len(in))
	for _, t := range in {
		if !containsRune(t.Term, IsBigramScript) {
			out = append(out, t)
			continue
		}
		// A word such as "API를" has Latin and Hangul in one token.
		for term := t.Term; len(term) > 0; {
			run, in := cutLeadingRun(term)
			term = term[len(run):]
			for _, part := range splitBigrams(run, in) {
				c := *t
				c.Term = part
				out = append(out, &c)
			}
		}
	}
	return out
}

// cutLeadingRun returns the longest prefix of term that consists only of paired characters or only
// of others.
func cutLeadingRun(term []byte) (run []byte, in bool) {
	from, to := findRun(term, IsBigramScript)
	if from > 0 {
		return term[:from], false
	}
	return term[:to], true
}

// splitBigrams returns the overlapping pairs of a run of paired characters, or the run itself if it
// is one character or consists of others.
func splitBigrams(run []byte, paired bool) [][]byte {
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
