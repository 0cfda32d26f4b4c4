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

// A syllableKey is the number of syllables of a word, and its first or its last one.
type syllableKey struct {
	syllables int
	last      bool
	syllable  rune
}

// hangulBySyllable holds the Korean words of the table by their first and by their last syllable,
// in order. A word with one wrong letter keeps one of the two.
var hangulBySyllable = sync.OnceValue(func() map[syllableKey][]spelledHangul {
	by := make(map[syllableKey][]spelledHangul)
	for word, meanings := range unpacked()[Korean] {
		n := utf8.RuneCountInString(word)
		if n < minHangul || n > maxHangul || len(meanings[0]) == 1 || !isHangul(word) {
			continue
		}
		first, _ := utf8.DecodeRuneInString(word)
		last, _ := utf8.DecodeLastRuneInString(word)
		spelled := spelledHangul{word, []rune(norm.NFD.String(word))}
		for _, key := range []syllableKey{{n, false, first}, {n, true, last}} {
			by[key] = append(by[key], spelled)
		}
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
	words := segmentText(Korean, field)
	if isWordWithParticle(words) {
		return ""
	}
	for _, w := range words {
		if w.Meanings != nil && utf8.RuneCountInString(w.Text) >= minHangul {
			return ""
		}
	}
	syllables := []rune(field)
	for n := min(maxHangul, len(syllables)); n >= minHangul; n-- {
		if word := nearestHangul(syllables[:n]); word != "" {
			return word + string(syllables[n:])
		}
	}
	return ""
}

// isWordWithParticle reports whether words are a noun of one syllable and a particle, which are too
// short to be misspelt by one letter: 글이.
func isWordWithParticle(words []Translation) bool {
	return len(words) == 2 && len(words[0].Meanings) > 0 && len(words[0].Meanings[0]) > 1 && len(words[1].Meanings) > 0 && words[1].Meanings[0] == Nothing
}

// nearestHangul returns the word of as many syllables that differs in one letter, "" when there is
// none. Of several the one with the most common English meaning is taken, then the first in order.
func nearestHangul(syllables []rune) string {
	n, letters := len(syllables), []rune(norm.NFD.String(string(syllables)))
	best, most := "", -1
	for _, key := range []syllableKey{{n, false, syllables[0]}, {n, true, syllables[n-1]}} {
		for _, w := range hangulBySyllable()[key] {
			if !differInOneLetter(letters, w.letters) {
				continue
			}
			u := english.Lookup(unpacked()[Korean][w.word][0])
			if uses := u.NounCount + u.VerbCount + u.AdjectiveCount; uses > most || uses == most && w.word < best {
				best, most = w.word, uses
			}
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
