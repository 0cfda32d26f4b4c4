package frame

import (
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// LanguageOf returns the language of a service as a lang attribute, or "" if it names none, several
// or something else.
func LanguageOf(languages []string) string {
	if len(languages) != 1 {
		return ""
	}
	t, err := language.Parse(languages[0])
	if err != nil || t == language.Und {
		return ""
	}
	return t.String()
}

// DescribeLanguage returns the English name of a language with its tag: "Brazilian Portuguese (pt-BR)".
// A tag without a name stands for itself.
func DescribeLanguage(tag string) string {
	t, err := language.Raw.Parse(tag) // which keeps the published subtags
	if base, _, _ := t.Raw(); err != nil || base.String() == "und" {
		return tag
	}
	name := display.English.Tags().Name(t)
	if name == "" {
		return tag
	}
	return name + " (" + t.String() + ")"
}
