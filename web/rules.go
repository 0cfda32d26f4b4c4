package web

import (
	"errors"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/protocol"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

type rulesView struct {
	Total  int
	Groups []ruleGroup
}

// A ruleGroup is the rules of one draft.
type ruleGroup struct {
	ID, Title string
	Rules     []answer.RuleView
}

// ruleGroups names the drafts by the letters that their codes begin with.
var ruleGroups = []struct{ prefix, title string }{
	{"AI", "AI Discovery, /.well-known/ai"},
	{"AGIS", "AGIS documents"},
	{"WK", "AGIS summary, /.well-known/agis.json"},
	{"", "Fetching and recognising documents"},
}

// rulesPage lists every rule that documents are judged by.
func (p *Pages) rulesPage(*gin.Context) (frame.View, error) {
	rules := p.answers.Rules()
	v := rulesView{Total: len(rules)}
	for _, g := range ruleGroups {
		v.Groups = append(v.Groups, ruleGroup{ID: "rules-" + strings.ToLower(g.prefix), Title: g.title})
	}
	for _, r := range rules {
		group := &v.Groups[groupOf(r.Code)]
		group.Rules = append(group.Rules, r)
	}
	return frame.View{Name: "rules", Title: "Rules", Body: v}, nil
}

// groupOf returns the place in ruleGroups of a code.
func groupOf(code string) int {
	letters := strings.TrimRight(code, "0123456789")
	for i, g := range ruleGroups {
		if g.prefix == letters {
			return i
		}
	}
	return len(ruleGroups) - 1
}

type ruleView struct {
	answer.RuleView
	Title    string
	Tone     string
	Severity string
	Basis    string
}

// bases says what the basis of a rule means.
var bases = map[string]string{
	"must":     "The draft demands it.",
	"should":   "The draft recommends it.",
	"may":      "The draft allows a reader to refuse it.",
	"inferred": "The draft leaves it open; this is how it is read here.",
	"own":      "This is a rule of Gazetteer, not of a draft.",
}

// weights says what a severity means.
var weights = map[protocol.Severity]string{
	protocol.Error:   "Error: a document that breaks it is not valid",
	protocol.Warning: "Warning: the document stays valid",
	protocol.Info:    "Note: the document stays valid",
}

// rulePage explains one rule.
func (p *Pages) rulePage(c *gin.Context) (frame.View, error) {
	code := c.Param("code")
	r, err := p.answers.Rule(code)
	if errors.Is(err, answer.ErrNoRule) {
		return frame.View{}, &noRule{code}
	}
	if err != nil {
		return frame.View{}, err
	}
	v := ruleView{
		RuleView: r, Title: titleOf(r.Name), Tone: r.Severity.String(),
		Severity: weights[r.Severity], Basis: bases[r.Basis],
	}
	return frame.View{Name: "rule", Title: r.Code + ": " + v.Title, Body: v}, nil
}

// titleOf makes words of a rule's name: "version-not-1.0" is "Version not 1.0".
func titleOf(name string) string {
	if name == "" {
		return name
	}
	return strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " ")
}
