package main

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// wordsOf returns the English words of a text in lower case, with names in camel
// case and snake case cut: "getUserIDs of /users/{id}" gives get user ids of
// users id. What holds a digit or another script is left out.
func wordsOf(text string) []string {
	var out []string
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' }) {
		run, _, _ = strings.Cut(strings.ReplaceAll(run, "’", "'"), "'") // the user's, don't
		for _, w := range cutCamel(run) {
			if w = strings.ToLower(w); plain(w) {
				out = append(out, w)
			}
		}
	}
	return out
}

// plain reports whether w is written with a to z alone.
func plain(w string) bool {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return w != "" && len(w) <= maxWord
}

// maxWord is how long a word may be; longer ones are keys and hashes.
const maxWord = 24

// cutCamel cuts a name before each capital that begins a word: HTTPServer gives
// HTTP Server.
func cutCamel(name string) []string {
	runes := []rune(name)
	var parts []string
	from := 0
	for i := 1; i < len(runes); i++ {
		after := unicode.IsLower(runes[i-1])
		before := unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1]) && !pluralEnd(runes[i+1:])
		if unicode.IsUpper(runes[i]) && (after || before) {
			parts = append(parts, string(runes[from:i]))
			from = i
		}
	}
	return append(parts, string(runes[from:]))
}

// pluralEnd reports whether rest is the s of APIs and nothing else.
func pluralEnd(rest []rune) bool {
	return rest[0] == 's' && (len(rest) == 1 || unicode.IsUpper(rest[1]))
}

// A vocabulary numbers the words that get a vector, most frequent first.
type vocabulary struct {
	words  []string
	number map[string]int32
	share  []float32 // of all words, how many are this one
}

// newVocabulary takes the wanted words and the most frequent of the others, size
// in all. A word must have been used at least once.
func newVocabulary(counts map[string]int, wanted []string, size int) *vocabulary {
	v := &vocabulary{number: map[string]int32{}}
	first := map[string]bool{}
	for _, w := range wanted {
		first[w] = true
	}
	all := 0
	for w, n := range counts {
		all += n
		v.words = append(v.words, w)
	}
	byCount := func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b)) }
	slices.SortFunc(v.words, func(a, b string) int {
		if first[a] != first[b] {
			if first[a] {
				return -1
			}
			return 1
		}
		return byCount(a, b)
	})
	v.words = v.words[:min(size, len(v.words))]
	slices.SortFunc(v.words, byCount)
	for i, w := range v.words {
		v.number[w] = int32(i)
		v.share = append(v.share, float32(counts[w])/float32(all))
	}
	return v
}

// numbers leaves out the words that have none.
func (v *vocabulary) numbers(words []string) []int32 {
	var out []int32
	for _, w := range words {
		if n, ok := v.number[w]; ok {
			out = append(out, n)
		}
	}
	return out
}
