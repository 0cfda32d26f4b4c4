package cli

import (
	"io"
	"os"

	"gazetteer/lint/format"
)

// A Style writes text for a user: with colors on a terminal, without colors elsewhere. It escapes
// all hidden characters.
type Style struct{ color bool }

// NewStyle returns the style of a stream. NO_COLOR (https://no-color.org) turns colors off.
func NewStyle(w io.Writer) Style {
	return Style{IsTerminal(w) && os.Getenv("NO_COLOR") == ""}
}

// Bold returns text in bold.
func (s Style) Bold(text string) string { return s.wrapCode("1", text) }

// Dim returns text in a less visible color.
func (s Style) Dim(text string) string { return s.wrapCode("2", text) }

// Accent returns text in the color of names that the user can copy unchanged.
func (s Style) Accent(text string) string { return s.wrapCode("36", text) }

func (s Style) wrapCode(code, text string) string {
	text = format.Visible(text)
	if !s.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
