package answer

import (
	"errors"
	"fmt"
	"gazetteer/lint"
	"gazetteer/protocol"
)

// ErrNoRule: no rule has that code. Test with errors.Is.
var ErrNoRule = errors.New("no rule has this code")

// RuleView is one rule for documents.
type RuleView struct {
	Code     string            `json:"code" doc:"names the rule; a code never changes"`
	Name     string            `json:"name" doc:"what the rule is about, in a few words joined by hyphens"`
	Severity protocol.Severity `json:"severity" enum:"error,warning,info" doc:"how much breaking it weighs; only an error makes a document invalid"`
	Section  string            `json:"section" doc:"the place in the draft"`
	Basis    string            `json:"basis" doc:"the origin of the rule: must, should or may as in the draft; inferred if the draft does not decide; own for our rules"`
	Pass     int               `json:"pass,omitempty" doc:"the validation pass of AGIS 9.1, 1 to 8"`
	Text     string            `json:"text" doc:"what the rule asks for"`
	Bad      string            `json:"bad" doc:"an excerpt that breaks it"`
	Good     string            `json:"good" doc:"the same excerpt, fixed"`
}

// Rules lists every rule for documents, draft by draft.
func (a *Answers) Rules() []RuleView {
	rules := lint.Rules()
	views := make([]RuleView, len(rules))
	for i, r := range rules {
		views[i] = viewRule(r)
	}
	return views
}

// Rule returns the rule of a code, in any letter case, and [ErrNoRule] when
// there is none.
func (a *Answers) Rule(code string) (RuleView, error) {
	r, ok := lint.Rule(code)
	if !ok {
		return RuleView{}, fmt.Errorf("%w: %.40q", ErrNoRule, code)
	}
	return viewRule(r), nil
}

func viewRule(r protocol.Rule) RuleView {
	return RuleView{
		Code: r.Code, Name: r.Slug, Severity: r.Severity, Section: r.Section, Basis: r.Basis,
		Pass: r.Pass, Text: r.Text, Bad: r.Bad, Good: r.Good,
	}
}
