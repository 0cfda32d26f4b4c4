package translate

import (
	"iter"
	"strings"
)

// accents are the accented letters of a language by the plain letters that people type instead.
var accents = map[string]map[byte][]string{
	German:     {'a': {"ä"}, 'o': {"ö"}, 'u': {"ü"}, 's': {"ß"}},
	Spanish:    {'a': {"á"}, 'e': {"é"}, 'i': {"í"}, 'o': {"ó"}, 'u': {"ú", "ü"}, 'n': {"ñ"}},
	French:     {'a': {"à", "â"}, 'c': {"ç"}, 'e': {"é", "è", "ê", "ë"}, 'i': {"î", "ï"}, 'o': {"ô"}, 'u': {"û", "ù"}},
	Portuguese: {'a': {"ã", "á", "â", "à"}, 'c': {"ç"}, 'e': {"é", "ê"}, 'i': {"í"}, 'o': {"õ", "ó", "ô"}, 'u': {"ú"}},
	Italian:    {'a': {"à"}, 'e': {"è", "é"}, 'i': {"ì"}, 'o': {"ò"}, 'u': {"ù"}},
}

// maxAccented is the maximum number of bytes of a word whose accents are looked for.
const maxAccented = 24

// withOneAccent returns the words that differ from one by a single accent, from its end to its
// beginning: endings such as -ción and -té are the most frequent.
func withOneAccent(language, word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for at := len(word) - 1; at >= 0; at-- {
			for _, letter := range accents[language][word[at]] {
				if !yield(word[:at] + letter + word[at+1:]) {
					return
				}
			}
		}
	}
}

// lookupAccented returns the translations of a word that was typed without its accents, which are one or
// two, nil if the table has no such word.
func lookupAccented(language, word string) []string {
	if len(word) > maxAccented || strings.ContainsFunc(word, func(r rune) bool { return r >= 0x80 }) {
		return nil
	}
	for one := range withOneAccent(language, word) {
		if m := lookupWord(language, one); m != nil {
			return m
		}
	}
	table := unpacked()[language]
	for one := range withOneAccent(language, word) {
		for two := range withOneAccent(language, one) {
			if m := table[two]; m != nil {
				return m
			}
		}
	}
	return nil
}
