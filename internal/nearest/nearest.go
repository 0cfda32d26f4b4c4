// Package nearest finds the names that a person may have meant.
package nearest

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// maxSuggestions is how many names a suggestion has at most.
const maxSuggestions = 3

// maxWord is the longest word, in bytes, that suggestions are looked for: the distance takes time in
// proportion to the square of the length.
const maxWord = 100

// findNearest returns up to three of the names that are close to word, the closest first: one error
// in a word of up to four letters, two in a longer one, letter case aside. A name that begins with
// a word of three letters or more is close, too. Two neighboring letters that are swapped are one error.
func findNearest(word string, names []string) []string {
	if word == "" || len(word) > maxWord {
		return nil
	}
	type match struct {
		name     string
		distance int
	}
	lower := strings.ToLower(word)
	reach := 1
	if utf8.RuneCountInString(word) > 4 {
		reach = 2
	}
	var found []match
	for _, name := range names {
		if len(name) > maxWord {
			continue
		}
		candidate := strings.ToLower(name)
		d := levenshtein.ComputeDistance(lower, candidate)
		if d == 2 && isSwap(lower, candidate) {
			d = 1
		}
		switch {
		case d <= reach:
			found = append(found, match{name, d})
		case len(lower) >= 3 && strings.HasPrefix(candidate, lower):
			found = append(found, match{name, reach + 1})
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return a.distance - b.distance })
	var out []string
	for _, m := range found[:min(maxSuggestions, len(found))] {
		out = append(out, m.name)
	}
	return out
}

// isSwap reports whether swapping two neighboring letters turns one word into the other.
func isSwap(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) != len(y) {
		return false
	}
	for i := range len(x) - 1 {
		if x[i] != y[i] {
			x[i], x[i+1] = x[i+1], x[i]
			return slices.Equal(x, y)
		}
	}
	return false
}

// Question returns "did you mean X or Y?" for the names close to word, and "" when none is, or when
// the word is one of the names.
func Question(word string, names []string) string {
	if slices.Contains(names, word) {
		return ""
	}
	near := findNearest(word, names)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}
