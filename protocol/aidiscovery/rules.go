package aidiscovery

import (
	_ "embed"
	"slices"

	"gazetteer/protocol"
)

//go:embed rules.txt
var ruleText string

var (
	ruleTable = protocol.ParseRules(ruleText)
	rules     = protocol.ByCode(ruleTable)
)

// Rules returns all rules in the order of their codes, each with its explanation and an example
// text that breaks it, broken and corrected.
func Rules() []protocol.Rule { return slices.Clone(ruleTable) }
