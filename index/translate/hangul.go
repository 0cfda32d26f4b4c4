package translate

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"gazetteer/protocol/english"
)

// A Korean word is misspelt in one letter of one of its syllables more often than in a whole
// syllable, so words are compared by their letters (jamo).

const (
	// minHangul and maxHangul bound the number of syllables of a word that may be corrected.
	minHangul, maxHangul = 2, 6
)

// A spelledHangul is a Korean word of the table and its letters.
type spelledHangul struct {
	word    string
	letters []rune
}

// hangulBySyllables holds the Korean words of the table by their number of syllables, in order.
var hangulBySyllables = sync.OnceValue(func() [maxHangul + 1][]spelledHangul {
	var by [maxHangul + 1][]spelledHangul
	for word, meanings := range unpacked()[Korean] {
		n := utf8.RuneCountInString(word)
		if n < minHangul || n > maxHangul || len(meanings[0]) == 1 || !isHangul(word) {
			continue
		}
		by[n] = append(by[n], spelledHangul{word, []rune(norm.NFD.String(word))})
	}
	for _, words := range by {
		slices.SortFunc(words, func(a, b spelledHangul) int { return strings.Compare(a.word, b.word) })
	}
	return by
})

func isHangul(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return !unicode.Is(unicode.Hangul, r) })
}

// CorrectHangul returns a Korean word with one letter corrected so that the table knows its
// beginning, "" if the table knows it already or nothing is near. Particles stay unchanged.
func CorrectHangul(field string) string {
	field = strings.TrimFunc(field, unicode.IsPunct)
	if !isHangul(field) {
		return ""
	}
	for _, w := range segmentText(Korean, field) {
		if w.Meanings != nil && utf8.RuneCountInString(w.Text) >= minHangul {
			return ""
		}
	}
	syllables := []rune(field)
	for n := min(maxHangul, len(syllables)); n >= minHangul; n-- {
		if word := nearestHangul([]rune(norm.NFD.String(string(syllables[:n]))), n); word != "" {
			return word + string(syllables[n:])
		}
	}
	return ""
}

// nearestHangul returns the word of n syllables that differs in one letter, "" if there is none. Of
// several it returns the one with the most common English meaning.
func nearestHangul(letters []rune, n int) string {
	best, most := "", -1
	for _, w := range hangulBySyllables()[n] {
		if !differInOneLetter(letters, w.letters) {
			continue
		}
		u := english.Lookup(unpacked()[Korean][w.word][0])
		if uses := u.NounCount + u.VerbCount + u.AdjectiveCount; uses > most {
			best, most = w.word, uses
		}
	}
	return best
}

// differInOneLetter reports whether two words differ by one letter that is replaced, missing or
// added, or by two that are swapped.
func differInOneLetter(a, b []rune) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return slices.Equal(a[i:], b[i+1:])
	}
	if i == len(a) {
		return false // the same word
	}
	return slices.Equal(a[i+1:], b[i+1:]) || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && slices.Equal(a[i+2:], b[i+2:])
}
