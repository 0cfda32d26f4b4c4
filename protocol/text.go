package protocol

import (
	"strconv"
	"unicode/utf8"
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
