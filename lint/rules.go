package lint

import (
	"slices"
	"strings"
	"sync"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/protocol"
)

// own lists the rules of this package. They belong to no draft: they say why no draft applies to a
// text.
var own = []protocol.Rule{
	{Code: "DOC101", Slug: "kind-unknown", Severity: protocol.Error, Section: "lint", Basis: "own",
		Text: "A text is checked against the rules of its format, so its format must be known: from its members, from its name, or from an option.",
		Bad:  `{"name": "Acme"}`,
		Good: `{"aiendpoint": "1.0", "service": {"name": "Acme", …}, "capabilities": […]}`},
	{Code: "DOC102", Slug: "other-format", Severity: protocol.Error, Section: "lint", Basis: "own",
		Text: "AI Discovery documents, AGIS documents and AGIS summaries are judged. Other published formats are recognised and named; some can be converted.",
		Bad:  `{"openapi": "3.1.0", "paths": {…}}`,
		Good: `{"aiendpoint": "1.0", "service": {…}, "capabilities": […]}`},
	{Code: "DOC103", Slug: "kind-unheard-of", Severity: protocol.Error, Section: "lint", Basis: "own",
		Text: "A text can be judged only by a format that is known here: validate --help lists their kinds.",
		Bad:  `--as openapi`,
		Good: `--as agis`},
	{Code: protocol.CodeMore, Slug: "more-findings", Severity: protocol.Error, Section: "lint", Basis: "own",
		Text: "A document with very many findings is reported up to a limit. The severity is that of the heaviest finding left out.",
		Bad:  `500 broken capabilities`,
		Good: `repair those that are listed, then check again`},
}

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
