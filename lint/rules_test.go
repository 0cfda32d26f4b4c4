package lint_test

import (
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
