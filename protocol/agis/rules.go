package agis

import (
	_ "embed"
	"maps"
	"slices"
	"strings"

	"gazetteer/protocol"
)

//go:embed rules.txt
var ruleText string

var (
	ruleTable       = setPasses(protocol.ParseRules(ruleText))
	rules           = protocol.ByCode(ruleTable)
	rulesOfLevelTwo = rulesAtLevelTwo(rules)
)

// setPasses sets the validation passes, which are the hundreds of the codes.
func setPasses(table []protocol.Rule) []protocol.Rule {
	for i := range table {
		if digits, ok := strings.CutPrefix(table[i].Code, "AGIS"); ok {
			table[i].Pass = int(digits[0] - '0')
		}
	}
	return table
}

// rulesAtLevelTwo returns the rules with the severities that they have at Level 2.
func rulesAtLevelTwo(rules map[string]protocol.Rule) map[string]protocol.Rule {
	rules = maps.Clone(rules)
	recommended := rules["AGIS520"]
	recommended.Severity = protocol.Error
	rules[recommended.Code] = recommended
	return rules
}

// Rules returns all rules in the order of their codes, each with its text and an example.
func Rules() []protocol.Rule { return slices.Clone(ruleTable) }
