package protocol

import (
	"fmt"
	"strings"
)

// ParseRules reads the table of rules of a package, from an embedded file. It panics if a rule is
// malformed or occurs twice, and names it. A rule has a line with its code, slug, severity, basis and
// section; its text, with names and values in backquotes; and two examples, which end with a line break unless they begin with |-:
//
//	AI301 name-missing error must AI Discovery §3.2
//	The service needs a name.
//	bad: |
//	  {"description": "Notes"}
//	good: |-
//	  {"name": "Acme", "description": "Notes"}
//
// A blank line separates rules. A paragraph of lines that begin with # is a comment.
func ParseRules(text string) []Rule {
	var rules []Rule
	seen := map[string]bool{}
	for _, paragraph := range splitRules(text) {
		r, err := parseRule(paragraph)
		if err == nil && seen[r.Code] {
			err = fmt.Errorf("the code occurs twice")
		}
		if err != nil {
			head, _, _ := strings.Cut(paragraph, "\n")
			panic(fmt.Sprintf("rule %q: %v", head, err))
		}
		seen[r.Code] = true
		rules = append(rules, r)
	}
	return rules
}

// splitRules returns the paragraphs of rules. A blank line before an indented one is part of an
// example.
func splitRules(text string) []string {
	var rules []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		switch {
		case strings.HasPrefix(paragraph, "#"):
		case strings.HasPrefix(paragraph, "  ") && len(rules) > 0:
			rules[len(rules)-1] += "\n\n" + paragraph
		default:
			rules = append(rules, paragraph)
		}
	}
	return rules
}

func parseRule(paragraph string) (Rule, error) {
	head, rest, _ := strings.Cut(paragraph, "\n")
	text, rest, hasBad := strings.Cut(rest, "\nbad: |")
	bad, good, hasGood := strings.Cut(rest, "\ngood: |")
	fields := strings.SplitN(head, " ", 5)
	if len(fields) < 5 || text == "" || !hasBad || !hasGood {
		return Rule{}, fmt.Errorf("want a line of code, slug, severity, basis and section, then a text, bad: | and good: |")
	}
	r := Rule{Code: fields[0], Slug: fields[1], Basis: fields[3], Section: fields[4], Text: strings.ReplaceAll(text, "\n", " ")}
	err := r.Severity.UnmarshalText([]byte(fields[2]))
	if err != nil {
		return Rule{}, err
	}
	if r.Bad, err = parseExample(bad); err != nil {
		return Rule{}, err
	}
	r.Good, err = parseExample(good)
	return r, err
}

// parseExample removes the indentation of a text that stands behind "bad: |" or "good: |".
func parseExample(text string) (string, error) {
	style, block, _ := strings.Cut(text, "\n")
	var lines []string
	for line := range strings.SplitSeq(block, "\n") {
		unindented, isIndented := strings.CutPrefix(line, "  ")
		if !isIndented && line != "" {
			return "", fmt.Errorf("the line %q of an example is not indented by two spaces", line)
		}
		lines = append(lines, unindented)
	}
	switch style {
	case "":
		lines = append(lines, "")
	case "-":
	default:
		return "", fmt.Errorf("an example begins with |%s, want | or |-", style)
	}
	return strings.Join(lines, "\n"), nil
}
