package aidiscovery

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Dialect is the form of a parameter description. Three forms are in use.
type Dialect uint8

// The dialects of parameter descriptions.
const (
	// FreeText has neither type nor requirement in a known place.
	FreeText Dialect = iota
	// Draft is the form of §3.3: "string, required, max 5 -- text".
	Draft
	// Documentation is "text (string, required)".
	Documentation
	// Converter is "string (required - text)".
	Converter
)

// A Param is the content of a parameter description.
type Param struct {
	// Type is the type word, in lower case; "" when none was found.
	Type string
	// Required says whether the parameter is required. It is also false if the text does not say;
	// Stated is false then.
	Required, Stated bool
	// Constraints are the qualifiers between requirement and text, such as
	// "default 10" or "metric|imperial".
	Constraints []string
	Description string
	Dialect     Dialect
}

// paramTypes are the type words of §3.3.
var paramTypes = []string{"string", "integer", "number", "boolean", "array"}

// ParseParam reads a parameter description in any of the three dialects. A text in none of them
// becomes the description.
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
	required, ok := parseRequirement(fields[1])
	if !ok {
		return Param{}, false
	}
	p := Param{Type: typ, Required: required, Stated: true, Description: description, Dialect: Draft}
	for _, f := range fields[2:] {
		if f = trimConstraint(f); f != "" {
			p.Constraints = append(p.Constraints, f)
		}
	}
	return p, true
}

// trimConstraint removes white space and separating dashes at both ends. A leading hyphen is kept
// as a sign.
func trimConstraint(s string) string {
	s = strings.TrimRightFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '-' || r == '–' || r == '—' })
	return strings.TrimLeftFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '–' || r == '—' })
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
	required, ok := parseRequirement(word)
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
	base, item, _ := strings.Cut(s, "[")
	if base == "" || len(s) > 40 || !consistsOf(base, isAlpha) || !consistsOf(item, func(c byte) bool { return isAlphanumeric(c) || strings.IndexByte("[]_.", c) >= 0 }) {
		return "", false
	}
	return s, true
}

// String writes the parameter in the draft's form, whatever dialect it was read
// in: <type>, <requirement>[, <constraints>] [-- <description>]. ParseParam of
// the result has the same members with the dialect Draft. A parameter of which
// neither type nor requirement is known stays the free text it was.
func (p Param) String() string {
	if p.Type == "" && !p.Stated {
		return strings.TrimSpace(p.Description)
	}
	parts := []string{p.Type, "optional"}
	if p.Type == "" {
		parts[0] = "string"
	}
	if p.Required {
		parts[1] = "required"
	}
	for _, c := range p.Constraints {
		parts = append(parts, plainConstraint.Replace(c))
	}
	head := strings.Join(parts, ", ")
	if description := strings.TrimSpace(p.Description); description != "" {
		return head + " -- " + description
	}
	return head
}

// plainConstraint removes from a constraint the characters that would end it.
var plainConstraint = strings.NewReplacer(",", ";", "--", "-", "—", "-", " – ", "-")

// A Meaning holds the constraints of a parameter that have the forms of the draft (§3.3): "default
// 10", "max 50", "min 1" and values separated by "|". Numbers stay as written.
type Meaning struct {
	Default    string
	HasDefault bool
	Min, Max   string
	Enum       []string
}

// Meaning returns the constraints in a structured form. The draft's own examples (§8.2, §8.3) write
// some of them after the dash, so both sides of it are read.
func (p Param) Meaning() Meaning {
	var m Meaning
	for _, c := range p.Constraints {
		m.readConstraint(c)
	}
	for c := range strings.SplitSeq(p.Description, ",") {
		m.readConstraint(strings.TrimSpace(c))
	}
	return m
}

// Sample returns a value of a type that the constraints allow, in JSON: the default, the first of the
// possible values, or the smallest number. It returns "" if they name none.
func (m Meaning) Sample(of string) string {
	text := m.Default
	if !m.HasDefault && len(m.Enum) > 0 {
		text = m.Enum[0]
	}
	switch of {
	case "integer", "number":
		n, err := json.Number(cmp.Or(text, m.Min)).Float64()
		if err != nil || of == "integer" && n != math.Trunc(n) || math.Abs(n) > 1<<53 {
			return ""
		}
		return strconv.FormatFloat(n, 'f', -1, 64)
	case "boolean":
		if text == "true" || text == "false" {
			return text
		}
	case "", "string":
		const most = 80
		if text != "" && len(text) <= most {
			quoted, err := json.Marshal(text)
			if err == nil {
				return string(quoted)
			}
		}
	}
	return ""
}

// readConstraint adds one constraint. A text in no known form changes nothing.
func (m *Meaning) readConstraint(c string) {
	word, value, _ := strings.Cut(c, " ")
	value = strings.TrimSpace(value)
	oneWord := value != "" && !strings.ContainsAny(value, " \t")
	switch word = strings.ToLower(strings.TrimRight(word, ":=")); {
	case word == "default" && oneWord && !m.HasDefault:
		m.Default, m.HasDefault = strings.Trim(value, `"'`), true
	case (word == "min" || word == "minimum") && isNumber(value) && m.Min == "":
		m.Min = value
	case (word == "max" || word == "maximum") && isNumber(value) && m.Max == "":
		m.Max = value
	case m.Enum == nil && strings.Contains(c, "|") && !strings.ContainsAny(c, " \t"):
		for v := range strings.SplitSeq(c, "|") {
			if v != "" {
				m.Enum = append(m.Enum, v)
			}
		}
	}
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && consistsOf(s, func(c byte) bool { return isDigit(c) || strings.IndexByte("+-.eE", c) >= 0 })
}

func parseRequirement(s string) (required, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "required":
		return true, true
	case "optional":
		return false, true
	}
	return false, false
}
