package answer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gazetteer/document"
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
	Text     string            `json:"text" doc:"what the rule asks for, with names and values in backquotes"`
	Bad      string            `json:"bad" doc:"an excerpt that breaks it"`
	Good     string            `json:"good" doc:"the same excerpt, fixed"`
}

// A RuleFamily is the rules of one format, whose codes begin with its letters, or last the family of
// all other rules.
type RuleFamily struct{ ID, Title, letters string }

// RuleFamilies returns the families of rules, in the order of the formats.
func RuleFamilies() []RuleFamily {
	var families []RuleFamily
	for _, f := range document.Formats {
		if f.RuleCodes != "" {
			families = append(families, RuleFamily{strings.ToLower(f.RuleCodes), f.RulesTitle, f.RuleCodes})
		}
	}
	return append(families, RuleFamily{"other", "Fetching and recognition", ""})
}

// FamilyOfRule returns the index of the family of a code in a list of all families.
func FamilyOfRule(families []RuleFamily, code string) int {
	letters := strings.TrimRight(code, "0123456789")
	if i := slices.IndexFunc(families, func(f RuleFamily) bool { return f.letters == letters }); i >= 0 {
		return i
	}
	return len(families) - 1
}

// A RuleQuery selects rules. A zero field selects all.
type RuleQuery struct {
	Words    string // see [lint.RuleMatches]
	Family   string // the ID of a [RuleFamily]
	Severity string
	Basis    string // as in [RuleView]
}

// Rules lists the rules for documents that match a query, draft by draft.
func (a *Answers) Rules(q RuleQuery) []RuleView {
	families, views := RuleFamilies(), []RuleView{}
	for _, r := range lint.Rules() {
		if !lint.RuleMatches(r, q.Words) || q.Severity != "" && r.Severity.String() != q.Severity || q.Basis != "" && r.Basis != q.Basis {
			continue
		}
		if q.Family != "" && families[FamilyOfRule(families, r.Code)].ID != q.Family {
			continue
		}
		views = append(views, viewRule(r))
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

// NearRules returns up to three codes that an unknown one may mean.
func (a *Answers) NearRules(code string) []string {
	return NearValues(strings.ToUpper(code), lint.Rules(), func(r protocol.Rule) string { return r.Code })
}

func viewRule(r protocol.Rule) RuleView {
	return RuleView{
		Code: r.Code, Name: r.Slug, Severity: r.Severity, Section: r.Section, Basis: r.Basis,
		Pass: r.Pass, Text: r.Text, Bad: r.Bad, Good: r.Good,
	}
}
