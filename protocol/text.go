package protocol

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// quoteLimit is the number of characters of a foreign text that a message quotes.
const quoteLimit = 60

// Quote returns s in quotes, shortened and with control characters escaped, for
// use in a message.
func Quote(s string) string {
	characters := 0
	for i := range s {
		if characters == quoteLimit {
			return strconv.Quote(s[:i] + "…")
		}
		characters++
	}
	return strconv.Quote(s)
}

// Length returns the length of s in characters (code points), the unit of the drafts' limits.
func Length(s string) int { return utf8.RuneCountInString(s) }

// LineLength returns the number of bytes before the first CR or LF in text. YAML has more line breaks.
func LineLength(text []byte) int {
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
		return i
	}
	return len(text)
}

// ControlRune returns the first control character in s, and false if there is
// none.
func ControlRune(s string) (rune, bool) {
	for _, r := range s {
		if r >= 0x20 && r < 0x7F {
			continue
		}
		if r < 0x20 || (r >= 0x7F && r < 0xA0) || r == 0x2028 || r == 0x2029 {
			return r, true
		}
	}
	return 0, false
}

// plainLetters are the letters that are no ASCII letter with a mark.
var plainLetters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ł", "l", "ı", "i", "Æ", "AE", "Œ", "OE", "Ø", "O", "Đ", "D", "Ł", "L")

// WithoutMarks returns a text in ASCII if its letters are those of ASCII with marks: habitación becomes
// habitacion. It returns a text in another script unchanged.
func WithoutMarks(text string) string {
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(plainLetters.Replace(text)))
	for i := range len(plain) {
		if plain[i] > unicode.MaxASCII {
			return text
		}
	}
	return plain
}
