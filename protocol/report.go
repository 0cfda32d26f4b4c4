package protocol

import (
	"fmt"
	"slices"
)

// A Rule is one row of a draft's table of rules.
type Rule struct {
	Code     string   `json:"code"`
	Slug     string   `json:"name"`
	Severity Severity `json:"severity"`
	// Section is the place in the draft, for example "AI Discovery §3.3".
	Section string `json:"section"`
	// Basis is the origin of the rule: "must", "should" or "may" in the draft's own words,
	// "inferred" if the draft leaves it open, "own" for a limit of this reader.
	Basis string `json:"basis"`
	// Pass is the validation pass of AGIS §9.1, from 1 to 8; 0 where there is
	// none.
	Pass int `json:"pass,omitempty"`
	// Text states the rule in one or two sentences; Bad and Good show an excerpt that breaks it and
	// the corrected excerpt.
	Text string `json:"text"`
	Bad  string `json:"bad"`
	Good string `json:"good"`
}

// ByCode returns the rules by their codes, for [NewReport].
func ByCode(table []Rule) map[string]Rule {
	rules := make(map[string]Rule, len(table))
	for _, r := range table {
		rules[r.Code] = r
	}
	return rules
}

// CodeMore is the code of the finding that ends a list cut at [Limits.Findings]. Its severity is
// the highest of the omitted ones.
const CodeMore = "MORE"

// A Report collects the findings of one document, at most as many as its limit. When it is full, a
// finding replaces one of a lower severity whose code is listed more than once. [NewReport] creates
// one.
type Report struct {
	rules    map[string]Rule
	limit    int
	findings []Finding
	listed   map[string]int // findings by code
	fixed    Severity       // no finding below it can be replaced
	dropped  int
	worst    Severity // of the dropped
}

// NewReport returns an empty report whose findings take severity and section
// from rules.
func NewReport(rules map[string]Rule, l Limits) *Report {
	return &Report{rules: rules, limit: l.OrDefault().Findings}
}

// Add reports that the value n breaks the rule of that code. A nil node means the whole document.
func (r *Report) Add(code string, n *Node, message, help string) {
	f := r.newFinding(code, message, help)
	if n != nil {
		f.Pointer, f.Line, f.Column = n.Pointer, n.Line, n.Column
	}
	r.appendFinding(f)
}

// AddKey is like Add, but the place is the member's name, not its value.
func (r *Report) AddKey(code string, n *Node, message, help string) {
	f := r.newFinding(code, message, help)
	f.Pointer, f.Line, f.Column = n.Pointer, n.KeyLine, n.KeyColumn
	r.appendFinding(f)
}

// AddSyntax reports why a text could not be read.
func (r *Report) AddSyntax(code string, e *SyntaxError, help string) {
	f := r.newFinding(code, e.Message, help)
	f.Pointer, f.Line, f.Column = e.Pointer, e.Line, e.Column
	r.appendFinding(f)
}

// Findings returns the findings in the order of reporting.
func (r *Report) Findings() []Finding {
	if r.dropped == 0 {
		return r.findings
	}
	return append(r.findings[:len(r.findings):len(r.findings)], Finding{
		Code: CodeMore, Severity: r.worst,
		Message: fmt.Sprintf("%d more findings are not listed", r.dropped),
		Help:    "fix the ones above and check again",
	})
}

func (r *Report) newFinding(code, message, help string) Finding {
	rule, ok := r.rules[code]
	if !ok {
		panic("protocol: no rule " + code) // a rule used but not in its table
	}
	return Finding{Code: code, Severity: rule.Severity, Section: rule.Section, Message: message, Help: help}
}

func (r *Report) appendFinding(f Finding) {
	if len(r.findings) >= r.limit {
		r.dropped++
		at := r.findReplaceable(f.Severity)
		if at < 0 {
			r.worst = max(r.worst, f.Severity)
			return
		}
		replaced := r.findings[at]
		r.worst = max(r.worst, replaced.Severity)
		r.listed[replaced.Code]--
		r.findings = slices.Delete(r.findings, at, at+1)
		r.fixed = Info
	}
	if r.listed == nil {
		r.listed = map[string]int{}
	}
	r.listed[f.Code]++
	r.findings = append(r.findings, f)
}

// findReplaceable returns the index of the last finding of the lowest severity below s whose code is
// listed more than once, -1 if there is none.
func (r *Report) findReplaceable(s Severity) int {
	for lower := r.fixed; lower < s; lower++ {
		for i, f := range slices.Backward(r.findings) {
			if f.Severity == lower && r.listed[f.Code] > 1 {
				return i
			}
		}
		r.fixed = lower + 1
	}
	return -1
}
