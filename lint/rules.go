package lint

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/protocol"
)

//go:embed rules.txt
var ruleText string

// own lists the rules of this package.
var own = protocol.ParseRules(ruleText)

var byCode = sync.OnceValue(func() map[string]protocol.Rule { return protocol.ByCode(Rules()) })

// Rules returns the rules of all drafts, of fetches, and of this package.
func Rules() []protocol.Rule {
	return slices.Concat(document.Rules(), fetch.Rules(), own)
}

// Rule returns the rule of a code, in any letter case, and false when there is
// none.
func Rule(code string) (protocol.Rule, bool) {
	r, ok := byCode()[strings.ToUpper(code)]
	return r, ok
}

// sectionNumber matches a word that names a section of a draft, such as 3.3 or §7.
var sectionNumber = regexp.MustCompile(`^(?:§[0-9A-Z]+|[0-9A-Z]+\.[0-9]+)[0-9.]*(?:\([A-Z]\))?$`)

// RuleMatches reports whether a rule has each of some words in its code, its name or its text, in any
// letter case. A word that is the number of a section selects the rules of that section and of those
// below it.
func RuleMatches(r protocol.Rule, words string) bool {
	text := strings.ToLower(r.Code + " " + r.Slug + " " + r.Text)
	for word := range strings.FieldsSeq(words) {
		if !strings.Contains(text, strings.ToLower(word)) && !isOfSection(r, word) {
			return false
		}
	}
	return true
}

func isOfSection(r protocol.Rule, word string) bool {
	if word = strings.ToUpper(word); !sectionNumber.MatchString(word) {
		return false
	}
	word = strings.TrimPrefix(word, "§")
	for section := range strings.FieldsSeq(strings.ToUpper(r.Section)) {
		section = strings.TrimRight(strings.TrimPrefix(section, "§"), ",")
		if rest, ok := strings.CutPrefix(section, word); ok && (rest == "" || rest[0] == '.' || rest[0] == '(') {
			return true
		}
	}
	return false
}

// newFinding returns a finding of this package's rules about the whole text.
func newFinding(code, message, help string) protocol.Finding {
	r, _ := Rule(code)
	return protocol.Finding{Code: code, Severity: r.Severity, Section: r.Section, Message: message, Help: help}
}
