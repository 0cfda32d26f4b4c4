package format

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Visible makes foreign text safe to show: it writes every control, escape, bidirectional or
// invisible character as \u{...}, line breaks too, so that one field stays on one line.
func Visible(s string) string {
	if !strings.ContainsFunc(s, Hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if Hidden(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Hidden reports whether a rune could move the cursor, start an escape
// sequence, reorder a line or hide: C0, C1, DEL, format characters (bidi
// controls, zero-width, tags), fillers, variation selectors except that of
// emoji, line and paragraph separators, and bytes that are not UTF-8.
func Hidden(r rune) bool {
	switch {
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r >= 0xfe00 && r <= 0xfe0e, r >= 0xe0100 && r <= 0xe01ef:
		return true
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
}

// runeCell returns how a terminal shows one rune of a line, and how many columns it takes. A tab
// extends to the next multiple of four from column at.
func runeCell(r rune, at int) (text string, columns int) {
	switch {
	case r == '\t':
		n := tabStop - at%tabStop
		return strings.Repeat(" ", n), n
	case Hidden(r):
		s := fmt.Sprintf(`\u{%x}`, r)
		return s, len(s)
	case unicode.In(r, unicode.Mn, unicode.Me): // sits on the character before it
		return string(r), 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return string(r), 2
	}
	return string(r), 1
}

// Columns returns how many columns of a terminal a line takes.
func Columns(line string) int {
	n := 0
	for _, r := range line {
		_, columns := runeCell(r, n)
		n += columns
	}
	return n
}

// Cut returns a line that takes at most that many columns; a longer one ends with "…".
func Cut(line string, columns int) string {
	if Columns(line) <= columns {
		return line
	}
	n := 0
	for at, r := range line {
		_, wide := runeCell(r, n)
		if n += wide; n > columns-1 {
			return line[:at] + "…"
		}
	}
	return line
}

const tabStop = 4
