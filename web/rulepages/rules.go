// Package rulepages has the pages of the rules that documents are checked against. Begin with [New] and
// [Pages.Mount].
package rulepages

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/census"
	"gazetteer/protocol"
	"gazetteer/protocol/wording"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// Answers is the data of the pages. [answer.Answers] implements it.
type Answers interface {
	// Rules lists the rules for documents that match a query, by draft.
	Rules(q answer.RuleQuery) []answer.RuleView
	// Rule returns the rule of a code.
	Rule(code string) (answer.RuleView, error)
	// CountedHosts lists hosts that a figure counts.
	CountedHosts(ctx context.Context, figure, after string, limit int) (answer.CountedHosts, error)
}

// Pages are the pages. Any number of requests may use them at once.
type Pages struct {
	*frame.Frame
	answers Answers
	contact frame.ExternalLink // of the operator
}

//go:embed templates/*.html
var templateFiles embed.FS

// New prepares the pages within a frame. contact is how to reach the operator of this server.
func New(f *frame.Frame, a Answers, contact frame.ExternalLink) *Pages {
	f.AddTemplates(templateFiles)
	return &Pages{Frame: f, answers: a, contact: contact}
}

// Mount adds /rules and what is below it to e.
func (p *Pages) Mount(e *gin.Engine) {
	for path, h := range map[string]gin.HandlerFunc{
		"/rules":       p.Handle(p.rulesPage, "q", "family", "severity", "basis"),
		"/rules/:code": p.Handle(p.rulePage),
	} {
		e.GET(path, h)
		e.HEAD(path, h)
	}
}

// rulesView is the filtered list of rules.
type rulesView struct {
	All, Total int
	Unknown    []frame.UnknownFilter
	Query      string
	Family     string
	Severity   string
	Families   []ruleFamily
	Severities []frame.Choice
	Basis      string
	Bases      []frame.Choice
	Groups     []ruleGroup
}

// A ruleGroup is the rules about one subject: a draft, or the way documents are fetched and recognized.
type ruleGroup struct {
	ID, Title string
	Path      string // of its documents, "" for none
	Rules     []ruleLine
}

type ruleLine struct {
	Code, Text string
	Word, Tone string
	// The script filters by these, too.
	Name, Section string
}

// ruleFamily is a subject that the list can be narrowed to.
type ruleFamily struct {
	ID, Title string
	Count     int
	Chosen    bool
}

// rulesPage lists the rules that documents are checked against.
func (p *Pages) rulesPage(c *gin.Context) (frame.WebPage, error) {
	rules := p.answers.Rules(answer.RuleQuery{})
	v := rulesView{All: len(rules), Query: strings.TrimSpace(c.Query("q")), Family: c.Query("family"), Severity: c.Query("severity"), Basis: c.Query("basis")}
	families := answer.RuleFamilies()
	for _, f := range families {
		title, path, _ := strings.Cut(f.Title, ", /")
		if path != "" {
			path = "/" + path
		}
		v.Groups = append(v.Groups, ruleGroup{ID: "rules-" + f.ID, Title: title, Path: path})
		v.Families = append(v.Families, ruleFamily{ID: f.ID, Title: title, Chosen: f.ID == v.Family})
	}
	for _, s := range []protocol.Severity{protocol.Error, protocol.Warning, protocol.Info} {
		v.Severities = append(v.Severities, frame.Choice{Value: s.String(), Name: frame.SeverityName(s), Chosen: s.String() == v.Severity})
	}
	for _, b := range []string{"must", "should", "may", "inferred", "own"} {
		v.Bases = append(v.Bases, frame.Choice{Value: b, Name: basisNames[b], Chosen: b == v.Basis})
	}
	for _, r := range rules {
		v.Families[answer.FamilyOfRule(families, r.Code)].Count++
	}
	v.Unknown = v.findUnknown()
	found := p.answers.Rules(answer.RuleQuery{Words: v.Query, Family: v.Family, Severity: v.Severity, Basis: v.Basis})
	v.Total = len(found)
	for _, r := range found {
		group := &v.Groups[answer.FamilyOfRule(families, r.Code)]
		group.Rules = append(group.Rules, ruleLine{r.Code, r.Text, frame.SeverityName(r.Severity), r.Severity.String(), r.Name, r.Section})
	}
	return frame.WebPage{Name: "rules", Title: "Rules", Description: "The rules by which documents for agents are checked, each with its section, an example and the repair.", Body: v, JSON: rulesAddress(v)}, nil
}

// findUnknown returns a note for each filter with an unknown value.
func (v rulesView) findUnknown() []frame.UnknownFilter {
	families := make([]frame.Choice, len(v.Families))
	for i, f := range v.Families {
		families[i] = frame.Choice{Value: f.ID, Name: f.Title, Chosen: f.Chosen}
	}
	var notes []frame.UnknownFilter
	for _, filter := range []struct {
		key, name, value string
		known            []frame.Choice
	}{{"family", "subject", v.Family, families}, {"severity", "severity", v.Severity, v.Severities}, {"basis", "basis", v.Basis, v.Bases}} {
		if filter.value == "" || slices.ContainsFunc(filter.known, func(c frame.Choice) bool { return c.Chosen }) {
			continue
		}
		note := frame.UnknownFilter{Text: fmt.Sprintf("There is no %s %q.", filter.name, frame.ClipPlain(40, filter.value))}
		for _, near := range answer.NearValues(strings.ToLower(filter.value), filter.known, func(c frame.Choice) string { return c.Value }) {
			note.Near = append(note.Near, frame.Link{Text: near, Address: "/rules?" + url.Values{filter.key: {near}}.Encode()})
		}
		notes = append(notes, note)
	}
	return notes
}

// rulesAddress returns the address of the same rules as JSON. A value that the API refuses is not in it.
func rulesAddress(v rulesView) string {
	q := url.Values{}
	if v.Query != "" {
		q.Set("q", v.Query)
	}
	for _, f := range v.Families {
		if f.Chosen {
			q.Set("family", f.ID)
		}
	}
	for _, s := range v.Severities {
		if s.Chosen {
			q.Set("severity", s.Value)
		}
	}
	for _, b := range v.Bases {
		if b.Chosen {
			q.Set("basis", b.Value)
		}
	}
	if len(q) == 0 {
		return "/api/v1/rules"
	}
	return "/api/v1/rules?" + q.Encode()
}

type ruleView struct {
	answer.RuleView
	Title    string // the first sentence of the text
	Rest     string // the other sentences
	Tone     string
	Severity string
	Basis    string
	Source   []sourcePart
	Counted  bool               // the census counts the hosts that break it
	Note     bool               // its severity is one that the census does not count
	Domains  int                // that these hosts are below
	Hosts    int                // that break it with a current document, if they are counted
	Of       int                // hosts that could break it
	OfAll    bool               // these are all known hosts
	At       frame.Moment       // of the count
	Contact  frame.ExternalLink // of the operator
}

// bases describes the basis of a rule.
var bases = map[string]string{
	"must":     "The draft requires it.",
	"should":   "The draft advises it.",
	"may":      "The draft allows a reader to refuse it.",
	"inferred": "The draft leaves it open; this is how it is read here.",
	"own":      "This is a rule of Gazetteer, not of a draft.",
}

// basisNames names the values of the filter by basis.
var basisNames = map[string]string{
	"must": "Required by a draft", "should": "Advised by a draft", "may": "Permitted to readers", "inferred": "Left open by a draft", "own": "Rules of Gazetteer",
}

// weights describes a severity.
var weights = map[protocol.Severity]string{
	protocol.Error:   "Error: a document that breaks it is not valid",
	protocol.Warning: "Warning: the document stays valid",
	protocol.Info:    "Note: the document stays valid",
}

// rulePage explains one rule.
func (p *Pages) rulePage(c *gin.Context) (frame.WebPage, error) {
	code := c.Param("code")
	r, err := p.answers.Rule(code)
	if errors.Is(err, answer.ErrNoRule) {
		return frame.WebPage{}, frame.NewNotFound("rule", fmt.Sprintf("No rule has the code %q.", frame.ClipPlain(40, code)), "Codes look like AI303, AGIS302 or WK104.",
			frame.Link{Text: "All rules", Address: "/rules"}, frame.Link{Text: "Check a document", Address: "/validate"})
	}
	if err != nil {
		return frame.WebPage{}, err
	}
	title := wording.FirstSentence(r.Text)
	v := ruleView{
		RuleView: r, Title: title, Rest: strings.TrimLeft(strings.TrimPrefix(r.Text, title), ". "), Tone: r.Severity.String(),
		Note: r.Severity == protocol.Info, Severity: weights[r.Severity], Basis: bases[r.Basis], Source: sourceParts(r.Section), Contact: p.contact,
	}
	if !v.Note { // the census counts errors and warnings
		counted, err := p.answers.CountedHosts(c.Request.Context(), "rule:"+r.Code, "", 1)
		if err != nil && !errors.Is(err, answer.ErrNoCensus) && !errors.Is(err, answer.ErrNoFigure) { // MORE is no figure
			return frame.WebPage{}, err
		}
		v.Counted, v.Hosts, v.Domains, v.Of, v.OfAll, v.At = err == nil, counted.All.Hosts, counted.All.Domains, counted.Of, census.FormatsOfRule(r.Code) == nil, p.MomentOf(counted.At)
	}
	return frame.WebPage{Name: "rule", Title: r.Code + ": " + strings.ReplaceAll(v.Title, "`", ""), Body: v,
		Description: frame.ClipPlain(200, "The rule "+r.Code+" of "+r.Section+": "+strings.ReplaceAll(r.Text, "`", ""))}, nil
}
