package translate

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"gazetteer/protocol/english"
)

// LanguageOf returns the language of a description, "" for English and for languages that the table
// lacks. A text in Latin letters is only in another language if it has one of its function words: one
// that English lacks ("einen"), or one that it knows ("de") where it lacks most of the other words, or
// if it is a title of words that the table knows and English mostly lacks ("Buchung stornieren").
func LanguageOf(text string) string {
	own, shared := countFunctionWords(text)
	switch {
	case own > 0, shared > 0 && isMostlyUnknown(text), strings.IndexFunc(text, isEastAsian) >= 0:
		return Detect(text)
	case shared == 0:
		return languageOfTitle(text)
	}
	return ""
}

// languageOfTitle returns the language of a text of two or more words without function words, "" if
// English knows more than half of them, or if the table lacks one.
func languageOfTitle(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	if len(words) < 2 || len(words) > maxTitle {
		return ""
	}
	unknown := 0
	for _, w := range words {
		if !isEnglish(w) && english.Singular(w) == "" {
			unknown++
		}
	}
	if 2*unknown < len(words) {
		return ""
	}
	language := Detect(text)
	if language == "" || slices.ContainsFunc(words, func(w string) bool { return lookupWord(language, w) == nil }) {
		return ""
	}
	return language
}

// maxTitle is the maximum number of words of a title.
const maxTitle = 6

// isMostlyUnknown reports whether English lacks at least half of the words of a text that have content.
func isMostlyUnknown(text string) bool {
	known, unknown := 0, 0
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch {
		case foreignFunctionWords()[word] || englishFunctionWords()[word]:
		case isEnglish(word):
			known++
		default:
			unknown++
		}
	}
	return unknown > 0 && unknown >= known
}

// isEastAsian reports whether a character belongs to the scripts by which [Detect] tells a language.
func isEastAsian(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.In(r, unicode.Hangul, unicode.Hiragana, unicode.Katakana, unicode.Han)
}

// countFunctionWords counts the function words of other languages in a text: those that English lacks,
// and those that are no function words of English. It is asked of each description, so it reads
// bytes: those of a character outside ASCII belong to a word.
func countFunctionWords(text string) (own, shared int) {
	words := foreignWords()
	for from := 0; from < len(text); {
		to := from
		for to < len(text) && isWordByte(text[to]) {
			to++
		}
		if from < to {
			switch words[strings.ToLower(text[from:to])] {
			case ownWord:
				own++
			case sharedWord:
				shared++
			}
		}
		from = to + 1
	}
	return own, shared
}

// isWordByte reports whether a byte of a text belongs to a word.
func isWordByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

// The kinds of function words of other languages.
const (
	ownWord    = iota + 1 // English lacks it
	sharedWord            // a word of English, but no function word
)

// foreignWords returns the kinds of the function words of other languages.
var foreignWords = sync.OnceValue(func() map[string]int {
	kinds := make(map[string]int)
	for w := range foreignFunctionWords() {
		switch {
		case len(w) < 2 || englishFunctionWords()[w]: // "s" is the end of "service's"
		case isEnglish(w):
			kinds[w] = sharedWord
		default:
			kinds[w] = ownWord
		}
	}
	return kinds
})

// meaningsOfWord is the number of meanings of a word that count in a description, which is longer
// than a request; each further meaning is less likely.
const meaningsOfWord = 2

// TranslateText returns the words of a description in a language that have content, with their
// likeliest English meanings, so that requests in any language find what is described in another one.
// It returns nil for the language "".
func TranslateText(language, text string) (words []Translation) {
	if language == "" {
		return nil
	}
	fields := strings.Fields(text)
	if language == German {
		fields = JoinSeparated(fields)
	}
	for _, field := range JoinPhrases(language, fields) {
		for _, part := range Translate(language, field) {
			if len(part.Meanings) > 0 && !isFunctionWord(part.Meanings) {
				part.Meanings = part.Meanings[:min(meaningsOfWord, len(part.Meanings))]
				words = append(words, part)
			}
		}
	}
	return words
}

// Verbs returns the likeliest meanings of the words of a description in a language that can be its
// verb: the last one in Japanese and Korean, the first one in others, and in German also the last one
// of a title ("Alle Termine löschen"). It returns nil if the table lacks them.
func Verbs(language, text string) (verbs []string) {
	words := TranslateText(language, text)
	if len(words) == 0 {
		return nil
	}
	first, last := words[0].Meanings[0], words[len(words)-1].Meanings[0]
	switch {
	case language == Japanese || language == Korean:
		return []string{last}
	case language == German && endsWithInfinitive(text):
		return []string{first, last}
	default:
		return []string{first}
	}
}

// endsWithInfinitive reports whether a German text is one clause that ends with an infinitive. A noun
// begins with an uppercase letter.
func endsWithInfinitive(text string) bool {
	text = strings.TrimRight(text, ".! ")
	first, _ := utf8.DecodeRuneInString(text[strings.LastIndexByte(text, ' ')+1:])
	return unicode.IsLower(first) && strings.HasSuffix(text, "n") && !strings.ContainsAny(text, ",;:.")
}

// languages are those of the table.
var languages = append(slices.Clone(latinLanguages), Japanese, Korean, Chinese)

// LanguageNumber returns the number of a language of the table from 1, 0 for another one.
func LanguageNumber(language string) int { return slices.Index(languages, language) + 1 }
