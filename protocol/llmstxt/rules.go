package llmstxt

import (
	_ "embed"
	"slices"

	"gazetteer/protocol"
)

//go:embed rules.txt
var ruleText string

var ruleTable = protocol.ParseRules(ruleText)

// Rules returns every rule, in the order of the codes.
func Rules() []protocol.Rule { return slices.Clone(ruleTable) }
