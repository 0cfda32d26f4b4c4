package lint

import (
	_ "embed"
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

// newFinding returns a finding of this package's rules about the whole text.
func newFinding(code, message, help string) protocol.Finding {
	r, _ := Rule(code)
	return protocol.Finding{Code: code, Severity: r.Severity, Section: r.Section, Message: message, Help: help}
}
