package tokens

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// lookalikes maps letters of other scripts to the Latin letter that they look like. They are
// replaced only in words that also have Latin letters.
var lookalikes = strings.NewReplacer(
	"а", "a", "с", "c", "ԁ", "d", "е", "e", "һ", "h", "і", "i", "ј", "j", "ӏ", "l", "о", "o", "р", "p", "ԛ", "q", "ѕ", "s", "ѵ", "v", "ԝ", "w", "х", "x", "у", "y",
	"А", "A", "В", "B", "С", "C", "Е", "E", "Н", "H", "І", "I", "Ј", "J", "К", "K", "М", "M", "О", "O", "Р", "P", "Ѕ", "S", "Т", "T", "Х", "X", "У", "Y",
	"α", "a", "ι", "i", "κ", "k", "ν", "v", "ο", "o", "ρ", "p", "υ", "u", "χ", "x",
	"Α", "A", "Β", "B", "Ε", "E", "Ζ", "Z", "Η", "H", "Ι", "I", "Κ", "K", "Μ", "M", "Ν", "N", "Ο", "O", "Ρ", "P", "Τ", "T", "Υ", "Y", "Χ", "X",
)

// maxMarks is the maximum number of consecutive combining marks in any script.
const maxMarks = 3

// PlainText normalizes a request: it replaces compatibility forms and, within a word, letters of
// other scripts that look like Latin ones, and removes runs of combining marks that no script has.
func PlainText(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		return text
	}
	text = norm.NFC.String(dropMarkRuns(norm.NFKD.String(text)))
	fields := strings.Fields(text)
	mixed := false
	for i, f := range fields {
		if hasLatin(f) && !isLatin(f) {
			if plain := lookalikes.Replace(f); isLatin(plain) {
				fields[i], mixed = plain, true
			}
		}
	}
	if !mixed {
		return text
	}
	for i, f := range fields { // between such words, one of lookalikes alone is not a word of another language
		if plain := lookalikes.Replace(f); isLatin(plain) {
			fields[i] = plain
		}
	}
	return strings.Join(fields, " ")
}

func hasLatin(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
}

// isLatin reports whether a text has no letter of another script.
func isLatin(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) })
}

// dropMarkRuns removes runs of more than maxMarks combining marks.
func dropMarkRuns(s string) string {
	var b strings.Builder
	var run []rune
	flush := func() {
		if len(run) <= maxMarks {
			b.WriteString(string(run))
		}
		run = run[:0]
	}
	for _, r := range s {
		if unicode.IsMark(r) {
			run = append(run, r)
			continue
		}
		flush()
		b.WriteRune(r)
	}
	flush()
	return b.String()
}
