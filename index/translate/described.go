package translate

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// LanguageOf returns the language of a description, "" for English and for languages that the table
// lacks. A text in Latin letters is only in another language if it has a word such as "einen" or
// "para", because a name or a title says little of the language.
func LanguageOf(text string) string {
	if !hasForeignFunctionWord(text) && strings.IndexFunc(text, isEastAsian) < 0 {
		return ""
	}
	return Detect(text)
}

// isEastAsian reports whether a character belongs to the scripts by which [Detect] tells a language.
func isEastAsian(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.In(r, unicode.Hangul, unicode.Hiragana, unicode.Katakana, unicode.Han)
}

// hasForeignFunctionWord reports whether a text has a function word of another language that is no
// English word. It is asked of each description, so it reads bytes: those of a character outside
// ASCII belong to a word.
func hasForeignFunctionWord(text string) bool {
	set := foreignOnlyFunctionWords()
	for from := 0; from < len(text); {
		to := from
		for to < len(text) && isWordByte(text[to]) {
			to++
		}
		if from < to && set[strings.ToLower(text[from:to])] {
			return true
		}
		from = to + 1
	}
	return false
}

// isWordByte reports whether a byte of a text belongs to a word.
func isWordByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

// foreignOnlyFunctionWords returns the foreign function words that are no English words.
var foreignOnlyFunctionWords = sync.OnceValue(func() map[string]bool {
	set := make(map[string]bool)
	for w := range foreignFunctionWords() {
		if !isEnglish(w) && !englishFunctionWords()[w] {
			set[w] = true
		}
	}
	return set
})

// meaningsOfWord is the number of meanings of a word that count in a description, which is longer
// than a request; each further meaning is less likely.
const meaningsOfWord = 2

// Meanings returns the English meanings of the words of a description in a language, in their order
// and without repetitions, so that requests in any language find what is described in another one.
func Meanings(language, text string) string {
	if language == "" {
		return ""
	}
	fields := strings.Fields(text)
	if language == German {
		fields = JoinSeparated(fields)
	}
	var meanings []string
	for _, field := range JoinPhrases(language, fields) {
		for _, part := range Translate(language, field) {
			if len(part.Meanings) == 0 || isFunctionWord(part.Meanings) {
				continue
			}
			for _, m := range part.Meanings[:min(meaningsOfWord, len(part.Meanings))] {
				if !slices.Contains(meanings, m) {
					meanings = append(meanings, m)
				}
			}
		}
	}
	return strings.Join(meanings, " ")
}

// languages are those of the table.
var languages = append(slices.Clone(latinLanguages), Japanese, Korean, Chinese)

// LanguageNumber returns the number of a language of the table from 1, 0 for another one.
func LanguageNumber(language string) int { return slices.Index(languages, language) + 1 }
