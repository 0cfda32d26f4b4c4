package protocol

import (
	"strings"
	"unicode/utf8"
)

// ClipBytes shortens a text to at most that many bytes of whole characters, and ends a shortened text
// with "…". Messages quote other people's texts through it.
func ClipBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// ClipRunes shortens a text to at most that many characters, of which the last is then "…".
func ClipRunes(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:most-1])) + "…"
}
