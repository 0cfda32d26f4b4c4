package meaning

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// NormalizeSpace returns a text in Unicode's composed form with single spaces.
func NormalizeSpace(s string) string {
	if isNormalized(s) {
		return s
	}
	return strings.Join(strings.Fields(norm.NFC.String(s)), " ")
}

// isNormalized reports whether a text is ASCII with single spaces, as most texts are.
func isNormalized(s string) bool {
	space := true
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ' && !space:
			space = true
		case c <= ' ' || c > '~':
			return false
		default:
			space = false
		}
	}
	return !space || s == ""
}

// HaveSameLetters reports whether two texts differ in letter case, spaces and punctuation at most.
func HaveSameLetters(a, b string) bool { return lowerLetters(a) == lowerLetters(b) }

// lowerLetters returns the letters and digits of a text in lower case.
func lowerLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFC.String(s))
}
