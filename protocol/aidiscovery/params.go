package aidiscovery

import "strings"

// Dialect says how a parameter description is written. Three forms are in use.
type Dialect uint8

// The dialects of parameter descriptions.
const (
	// FreeText names neither type nor requirement in a known place.
	FreeText Dialect = iota
	// Draft is the form of §3.3: "string, required, max 5 -- text".
	Draft
	// Documentation is "text (string, required)".
	Documentation
	// Converter is "string (required - text)".
	Converter
)

// A Param is what a parameter description says.
type Param struct {
	// Type is the type word, in lower case; "" when none was found.
	Type string
	// Required is false also when the text does not say; then Stated is false.
	Required, Stated bool
	// Constraints are the qualifiers between requirement and text, such as
	// "default 10" or "metric|imperial".
	Constraints []string
	Description string
	Dialect     Dialect
}

// paramTypes are the type words of §3.3.
var paramTypes = []string{"string", "integer", "number", "boolean", "array"}

// ParseParam reads a parameter description in any of the three dialects. A text
// in none of them is kept as the description.
func ParseParam(text string) Param {
	text = strings.TrimSpace(text)
	if p, ok := parseDraft(text); ok {
		return p
	}
	if p, ok := parseConverter(text); ok {
		return p
	}
	if p, ok := parseDocumentation(text); ok {
		return p
	}
	return Param{Description: text}
}

// parseDraft reads <type>, <requirement>[, <constraints>] [-- <description>].
// The draft's own examples write constraints after the dash too; those stay in
// the description.
func parseDraft(text string) (Param, bool) {
	head, description := cutDash(text)
	fields := strings.Split(head, ",")
	if len(fields) < 2 {
		return Param{}, false
	}
	typ, ok := typeWord(fields[0])
	if !ok {
		return Param{}, false
	}
	required, ok := requirement(fields[1])
	if !ok {
		return Param{}, false
	}
	p := Param{Type: typ, Required: required, Stated: true, Description: description, Dialect: Draft}
	for _, f := range fields[2:] {
		if f = strings.TrimSpace(f); f != "" {
			p.Constraints = append(p.Constraints, f)
		}
	}
	return p, true
}

// cutDash splits at the first separator of §3.3: a double hyphen, or an em or en
// dash with space around it.
func cutDash(text string) (head, tail string) {
	best := -1
	width := 0
	for _, dash := range []string{"--", " — ", " – ", "—"} {
		if i := strings.Index(text, dash); i >= 0 && (best < 0 || i < best) {
			best, width = i, len(dash)
		}
	}
	if best < 0 {
		return text, ""
	}
	return strings.TrimSpace(text[:best]), strings.TrimSpace(text[best+width:])
}

// parseConverter reads type (required - text), as the converter of the
// reference implementation writes it. It cuts long texts and may lose the
// closing parenthesis.
func parseConverter(text string) (Param, bool) {
	head, rest, ok := strings.Cut(text, "(")
	if !ok {
		return Param{}, false
	}
	typ, ok := typeWord(head)
	if !ok {
		return Param{}, false
	}
	rest = strings.TrimSuffix(strings.TrimSpace(rest), ")")
	word, description, _ := strings.Cut(rest, " - ")
	required, ok := requirement(word)
	if !ok {
		return Param{}, false
	}
	return Param{Type: typ, Required: required, Stated: true, Description: strings.TrimSpace(description), Dialect: Converter}, true
}

// parseDocumentation reads text (type, requirement[, constraints]).
func parseDocumentation(text string) (Param, bool) {
	inner, ok := strings.CutSuffix(text, ")")
	if !ok {
		return Param{}, false
	}
	open := strings.LastIndex(inner, "(")
	if open < 0 {
		return Param{}, false
	}
	p, ok := parseDraft(inner[open+1:])
	if !ok || p.Description != "" {
		return Param{}, false
	}
	p.Description = strings.TrimSpace(inner[:open])
	p.Dialect = Documentation
	return p, true
}

// typeWord reads one word of letters, with an optional [] or [item] behind it.
func typeWord(s string) (string, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	base, _, _ := strings.Cut(s, "[")
	if base == "" || len(s) > 40 || !only(base, alpha) {
		return "", false
	}
	return s, true
}

func requirement(s string) (required, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "required":
		return true, true
	case "optional":
		return false, true
	}
	return false, false
}
