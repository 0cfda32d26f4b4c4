package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gazetteer/internal/nearest"
	"gazetteer/lint"
	"gazetteer/lint/format"
	"gazetteer/protocol"
)

// explainRule prints a rule, or a line for each rule of a list: all, those that begin with the letters
// of a draft, or those that mention some words or are of a section.
func (v *validateRun) explainRule(code string) error {
	if r, ok := lint.Rule(code); ok {
		return v.explainOne(r, true)
	}
	ofDraft := func(r protocol.Rule) bool {
		return strings.EqualFold(code, "all") || strings.EqualFold(code, strings.TrimRight(r.Code, "0123456789"))
	}
	mentions := func(r protocol.Rule) bool { return code != "" && lint.RuleMatches(r, code) }
	for _, selected := range []func(protocol.Rule) bool{ofDraft, mentions} {
		if rules := slices.DeleteFunc(slices.Clone(lint.Rules()), func(r protocol.Rule) bool { return !selected(r) }); len(rules) > 0 {
			return v.listRules(rules)
		}
	}
	if strings.EqualFold(code, "a2a") && v.Program == "gazetteer" {
		return usageErrorf("the rules of A2A are not among those of documents: gazetteer envelope check FILE judges an envelope, and names the rule that it breaks")
	}
	if question := nearest.Question(strings.ToLower(code), ruleWords()); question != "" {
		return usageErrorf("no rule has the code or the word %s: %s\nall rules: %s validate --rule all", code, question, v.Program)
	}
	return usageErrorf("no rule has the code or the word %s; codes look like AI418, AGIS302 or WK104\nthose of one draft: %s validate --rule AI, AGIS, WK, LLMS or FETCH; those of a section: --rule 3.3; all of them: --rule all", code, v.Program)
}

// ruleWords returns the words of the names of all rules.
func ruleWords() []string {
	var words []string
	for _, r := range lint.Rules() {
		words = append(words, strings.Split(r.Slug, "-")...)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// listRules prints a line for each of some rules.
func (v *validateRun) listRules(rules []protocol.Rule) error {
	for _, r := range rules {
		if err := v.explainOne(r, false); err != nil {
			return err
		}
	}
	return nil
}

func (v *validateRun) explainOne(r protocol.Rule, whole bool) error {
	switch {
	case v.format == "json":
		return json.NewEncoder(v.Out).Encode(r)
	case !whole:
		_, err := fmt.Fprintf(v.Out, "%-8s %-7s %-28s %s\n", r.Code, r.Severity, r.Slug, r.Section)
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n\n", r.Code, r.Slug)
	if r.Text != "" {
		fmt.Fprintf(&b, "%s\n\n", wrapText(r.Text, 78))
	}
	fmt.Fprintf(&b, "Breaking it is %s.\n", map[protocol.Severity]string{
		protocol.Error:   "an error: the document does not conform",
		protocol.Warning: "a warning: the document conforms, but should be repaired",
		protocol.Info:    "only noted",
	}[r.Severity])
	if basis := format.Basis(r); r.Basis == "own" {
		fmt.Fprintf(&b, "It is %s", basis)
		if r.Section != "lint" {
			fmt.Fprintf(&b, "; %s is about its subject", r.Section)
		}
		fmt.Fprintln(&b, ".")
	} else if basis != "" {
		fmt.Fprintf(&b, "It is in %s: %s.\n", r.Section, basis)
	}
	if r.Pass > 0 {
		fmt.Fprintf(&b, "It belongs to pass %d of the eight of AGIS §9.1.\n", r.Pass)
	}
	if r.Bad != "" {
		fmt.Fprintf(&b, "\nNot like this:\n\n%s\n", indentLines(r.Bad))
	}
	if r.Good != "" {
		fmt.Fprintf(&b, "\nLike this:\n\n%s\n", indentLines(r.Good))
	}
	_, err := fmt.Fprint(v.Out, b.String())
	return err
}

// indentLines indents each line by four spaces.
func indentLines(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

// wrapText wraps a text at words to lines of at most n characters.
func wrapText(text string, n int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		length := len([]rune(word))
		switch {
		case column == 0:
		case column+1+length > n:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	return b.String()
}
