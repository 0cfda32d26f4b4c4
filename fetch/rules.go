package fetch

import (
	_ "embed"
	"slices"

	"gazetteer/protocol"
)

//go:embed rules.txt
var ruleText string

// transportRules have the severities and sections of rules that no draft names but people need to know.
var transportRules = protocol.ParseRules(ruleText)

// Rules returns the rules of this package by code: problems that no draft of a format names, but
// that publishers need to know. Where the draft of a format has a rule for the same problem, that
// one is reported instead.
func Rules() []protocol.Rule { return slices.Clone(transportRules) }
