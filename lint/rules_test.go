package lint_test

import (
	"regexp"
	"strings"
	"testing"

	"gazetteer/lint"
)

func TestRuleMatches(t *testing.T) {
	for code, cases := range map[string]map[string]bool{
		"AI418":   {"": true, "ai418": true, "METHOD value": true, "method path": false, "3.3": true, "§3.3": true, "§3": true, "3.30": false, "13.3": false},
		"AGIS302": {"4.2": true, "§4": true, "action §4.2": true, "§4.1": false},
		"AGIS706": {"8.2(d)": true, "8.2": true, "§10": true, "8.2(a)": false},
		"AGIS810": {"c.2": true, "7": false, "§7": true},
		"WK110":   {"11.1": true, "§1": false, "1.1": false},
	} {
		r, ok := lint.Rule(code)
		if !ok {
			t.Fatal(code)
		}
		for words, want := range cases {
			if got := lint.RuleMatches(r, words); got != want {
				t.Errorf("%s (%s) matches %q: %v", code, r.Section, words, got)
			}
		}
	}
}

// TestTextsOfRulesMarkNames checks that the names in the texts of rules are in backquotes, which pages show
// as code.
func TestTextsOfRulesMarkNames(t *testing.T) {
	name := regexp.MustCompile(`[a-z]+_[a-z]+|\b[a-z]+\.[a-z]+\b|\b(aiendpoint|agis|auth|params)\b`)
	for _, r := range lint.Rules() {
		parts := strings.Split(r.Text, "`")
		if len(parts)%2 == 0 {
			t.Errorf("%s has a backquote without another one: %s", r.Code, r.Text)
		}
		for i := 0; i < len(parts); i += 2 {
			if found := name.FindString(parts[i]); found != "" && found != "robots.txt" && found != "llms.txt" {
				t.Errorf("%s has %q without backquotes: %s", r.Code, found, r.Text)
			}
		}
	}
}
