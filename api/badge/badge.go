// Package badge draws badges: two texts side by side, as SVG, for other sites. [Draw] measures the
// texts, so that the badge has the right width in any script.
package badge

import (
	"fmt"
	"html"
	"math"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/width"
)

// A Style is the form of a badge.
type Style string

// The styles.
const (
	Flat        Style = "flat"
	forTheBadge Style = "for-the-badge"
)

// A Color is that of the right half. White text on each has a contrast of at least 4.5.
type Color string

// The colors.
const (
	Green Color = "#2e7d32"
	Blue  Color = "#0b65a8"
	Red   Color = "#b3261e"
	Amber Color = "#8a5a00"
	Grey  Color = "#616161"
)

// A Badge has a label (Left) and a state (Right). The texts may be untrusted.
type Badge struct {
	Left, Right string
	Color       Color
	Style       Style // Flat when ""
	// Detail, if any, follows both texts in the title.
	Detail string
}

// maxText is the number of characters of a text that are drawn.
const maxText = 80

// form is what makes a style.
type form struct {
	height, baseline, padding, radius int
	size, spacing                     float64 // of the font, and between characters
	bold, upper                       bool
}

func formOf(s Style) form {
	if s == forTheBadge {
		return form{height: 28, baseline: 18, padding: 12, radius: 0, size: 10, spacing: 1, bold: true, upper: true}
	}
	return form{height: 20, baseline: 14, padding: 6, radius: 3, size: 11}
}

// Draw returns the badge as an SVG document.
func Draw(b Badge) []byte {
	f := formOf(b.Style)
	left, right := cleanText(b.Left), cleanText(b.Right)
	label := left + ": " + right
	title := label
	if b.Detail != "" {
		title += " — " + cleanText(b.Detail)
	}
	if f.upper {
		left, right = strings.ToUpper(left), strings.ToUpper(right)
	}
	t1, t2 := f.textWidth(left, false), f.textWidth(right, f.bold)
	w1, w2 := t1+2*f.padding, t2+2*f.padding
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`, w1+w2, f.height, w1+w2, f.height, html.EscapeString(label))
	fmt.Fprintf(&s, `<title>%s</title>`, html.EscapeString(title))
	fmt.Fprintf(&s, `<clipPath id="r"><rect width="%d" height="%d" rx="%d"/></clipPath>`, w1+w2, f.height, f.radius)
	fmt.Fprintf(&s, `<g clip-path="url(#r)"><rect width="%d" height="%d" fill="#444"/><rect x="%d" width="%d" height="%d" fill="%s"/></g>`, w1, f.height, w1, w2, f.height, b.Color)
	fmt.Fprintf(&s, `<g fill="#fff" font-family="Helvetica,Arial,sans-serif" font-size="%g">`, f.size)
	f.drawText(&s, left, f.padding, t1, false)
	f.drawText(&s, right, w1+f.padding, t2, f.bold)
	s.WriteString("</g></svg>\n")
	return []byte(s.String())
}

// drawText writes a text into its measured width. Glyphs are stretched together with the spaces
// between them, so that joined scripts stay joined. A right-to-left text begins at its right end.
func (f form) drawText(s *strings.Builder, text string, x, measured int, bold bool) {
	if text == "" {
		return
	}
	direction := ""
	if isRightToLeft(text) {
		x, direction = x+measured, ` direction="rtl"`
	}
	if bold {
		direction += ` font-weight="bold"`
	}
	fmt.Fprintf(s, `<text x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs"%s>%s</text>`, x, f.baseline, measured, direction, html.EscapeString(text))
}

// cleanText removes invisible and misleading characters from a text, and cuts it between
// characters.
func cleanText(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == unicode.ReplacementChar, unicode.IsControl(r) && !unicode.IsSpace(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	var short strings.Builder
	n := 0
	for clusters := uniseg.NewGraphemes(text); clusters.Next(); n++ {
		if n == maxText {
			return short.String() + "…"
		}
		// A character with any number of marks counts as one.
		if runes := clusters.Runes(); len(runes) > maxMarks {
			short.WriteString(string(runes[:maxMarks]))
		} else {
			short.WriteString(clusters.Str())
		}
	}
	return short.String()
}

// maxMarks is the number of code points of one character that are drawn: emoji of families have
// eleven.
const maxMarks = 12

// isRightToLeft reports whether the first letter of a text is of a script from right to left.
func isRightToLeft(text string) bool {
	for _, r := range text {
		if unicode.IsLetter(r) {
			return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam)
		}
	}
	return false
}

// textWidth measures a text, in pixels.
func (f form) textWidth(text string, bold bool) int {
	data := goregular.TTF
	if bold {
		data = gobold.TTF
	}
	typeface, err := sfnt.Parse(data)
	if err != nil {
		typeface = nil // the font comes with the program; without it all letters count as unknown ones
	}
	m := meter{font: typeface}
	ems := 0.0
	n := 0
	for clusters := uniseg.NewGraphemes(text); clusters.Next(); n++ {
		ems += m.clusterWidth(clusters.Runes())
	}
	return int(math.Ceil(ems*f.size + float64(n)*f.spacing))
}

// A meter measures characters, in parts of the size of the font.
type meter struct {
	font *sfnt.Font // nil: none is known
	room sfnt.Buffer
}

// The widths of characters that the font does not have, in parts of its size.
const (
	wideEm    = 1.0  // of the East Asian scripts, whose characters fill a square
	emojiEm   = 1.25 // as the common fonts of emoji draw them
	cursiveEm = 0.55 // of the scripts whose letters join
	complexEm = 0.68 // of the scripts of India and its neighbors
	otherEm   = 0.62
)

// clusterWidth returns the width of one visible character: marks and joined parts have no width of
// their own, except for vowel signs beside their letter.
func (m *meter) clusterWidth(runes []rune) float64 {
	for _, r := range runes {
		if r == 0xFE0F || r >= 0x1F000 && r <= 0x1FAFF || r >= 0x1F1E6 && r <= 0x1F1FF {
			return emojiEm
		}
	}
	ems := 0.0
	for i, r := range runes {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case i == 0 || unicode.Is(unicode.Mc, r) || unicode.IsLetter(r):
			ems += m.runeWidth(r)
		}
	}
	return ems
}

func (m *meter) runeWidth(r rune) float64 {
	if m.font != nil {
		const unit = 1000
		if glyph, err := m.font.GlyphIndex(&m.room, r); err == nil && glyph != 0 {
			if advance, err := m.font.GlyphAdvance(&m.room, glyph, fixed.I(unit), font.HintingNone); err == nil {
				return float64(advance) / 64 / unit
			}
		}
	}
	switch kind := width.LookupRune(r).Kind(); {
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth || unicode.In(r, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return wideEm
	case unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Hebrew, unicode.Thaana, unicode.Nko):
		return cursiveEm
	case unicode.In(r, unicode.Devanagari, unicode.Bengali, unicode.Tamil, unicode.Telugu, unicode.Malayalam, unicode.Kannada, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Gujarati, unicode.Gurmukhi, unicode.Oriya):
		return complexEm
	}
	return otherEm
}
