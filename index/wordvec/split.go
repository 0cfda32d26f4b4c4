package wordvec

import (
	"unicode"
	"unicode/utf8"
)

// A Korean word carries particles and endings and is joined to others without a
// space, so it is rarely in the table as it is written. The table holds
// words, and every pair of neighboring syllables of the longer ones: an unknown
// word counts as its pairs that are known. 여행일정을 has 여행 and 일정 in it.

// syllablePairs appends the rows of the pairs of Hangul syllables in word. It looks at
// no more than maxWord bytes: text comes from strangers.
func (t *Table) syllablePairs(rows []uint32, word string) []uint32 {
	word = word[:min(len(word), maxWord)]
	from, before := 0, false // the character before, and whether it is Hangul
	for i, r := range word {
		hangul := unicode.Is(unicode.Hangul, r)
		if hangul && before {
			if at, ok := t.words[word[from:i+utf8.RuneLen(r)]]; ok {
				rows = append(rows, at)
			}
		}
		from, before = i, hangul
	}
	return rows
}
