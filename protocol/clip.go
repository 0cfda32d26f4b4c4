package protocol

import (
	"strings"
	"unicode/utf8"
)

// ClipBytes shortens a text to at most that many bytes without splitting a character, and ends a
// shortened text with "…". Messages use it to quote foreign texts.
func ClipBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// ClipRunes shortens a text to at most that many characters; the last one of a shortened text is
// "…".
func ClipRunes(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:most-1])) + "…"
}
