package web

import (
	"strings"

	"gazetteer/document"
	"gazetteer/index"
)

// operationView is an operation as the lists of hits and of services show it.
type operationView struct {
	ID          string
	Verb        string
	VerbDerived bool
	Path        string
	Title       string // the intent, or the id when the document has none
	Lang        string
	Outcome     string
	Returns     string
	Effect      string
	Call        callView
	Parameters  []parameterView
	More        int // parameters that are not shown
	Errors      string
}

type callView struct {
	Protocol string // HTTP or AGTP
	Method   string
	URL      string
}

type parameterView struct {
	Name        string
	Type        string
	Where       string // in the path, in the query, in the body
	Required    bool
	Description string
}

// maxParameters is how many parameters a hit shows; its service page has all.
const maxParameters = 6

func operationOf(o document.Operation, s document.Service) operationView {
	v := operationView{
		ID:          o.ID,
		Verb:        o.Verb,
		VerbDerived: o.VerbDerived,
		Path:        o.Path,
		Title:       o.Intent,
		Lang:        languageOf(s.Languages),
		Outcome:     o.Outcome,
		Returns:     o.Returns,
		Effect:      effectWords[o.Effect],
		Call:        callView{Protocol: strings.ToUpper(o.Call.Protocol), Method: o.Call.Method, URL: o.Call.URL},
		Errors:      strings.Join(o.Errors, ", "),
	}
	if v.Title == "" {
		v.Title = o.ID
	}
	if v.Path == "" && v.Title != o.ID {
		v.Path = o.ID
	}
	if v.Call.Protocol == "AGTP" && v.Call.Method == "" {
		v.Call.Method = strings.TrimSpace(o.Verb + " " + o.Path)
	}
	for _, p := range o.Parameters {
		v.Parameters = append(v.Parameters, parameterView{
			Name: p.Name, Type: p.Type, Where: placeWords[p.In], Required: p.Required, Description: p.Description,
		})
	}
	return v
}

// short leaves the first parameters only.
func (v operationView) short() operationView {
	if n := len(v.Parameters) - maxParameters; n > 0 {
		v.Parameters, v.More = v.Parameters[:maxParameters], n
	}
	return v
}

var effectWords = map[document.Effect]string{
	document.Informational: "Only reads",
	document.Reversible:    "Changes something, can be undone",
	document.Irreversible:  "Changes something, cannot be undone",
	document.EffectUnknown: "Effect not declared",
	"":                     "Effect not declared",
}

var placeWords = map[string]string{
	"path":  "in the path",
	"query": "in the query",
	"body":  "in the body",
}

// whyView says why an operation matched.
type whyView struct {
	Verb     string // how the verb asked for and the one offered relate
	Matches  []matchView
	Missing  []string
	Found    int  // words of the query that matched
	Asked    int  // words of the query
	Filtered bool // nothing but filters was asked
}

type matchView struct {
	Term  string
	Text  string // the word in the document, "" when it is the term
	Where []string
}

var fieldWords = map[string]string{
	"act":  "verb or path",
	"what": "intent",
	"ctx":  "service or parameters",
}

// whyOf gathers the matches of each query word, in the order of the query.
func whyOf(w index.Why) whyView {
	v := whyView{Missing: w.Missing}
	at := map[[2]string]int{}
	terms := map[string]bool{}
	for _, m := range w.Matched {
		terms[m.Term] = true
		text := m.Text
		if strings.EqualFold(text, m.Term) {
			text = ""
		}
		key := [2]string{m.Term, text}
		i, seen := at[key]
		if !seen {
			i = len(v.Matches)
			at[key] = i
			v.Matches = append(v.Matches, matchView{Term: m.Term, Text: text})
		}
		where := fieldWords[m.Field]
		if where == "" {
			where = m.Field
		}
		v.Matches[i].Where = append(v.Matches[i].Where, where)
	}
	v.Found = len(terms)
	v.Asked = len(terms) + len(w.Missing)
	v.Filtered = v.Asked == 0
	if w.Verb != nil {
		v.Verb = verbWords(*w.Verb)
	}
	return v
}

func verbWords(v index.Verb) string {
	if v.Relation == "exact" {
		return "it offers the verb you asked for"
	}
	return "it offers " + v.Offered + ", another form of " + v.Asked
}

// findingsWords says what a document's worst finding means.
var findingsWords = map[string]string{
	"":        "No findings",
	"info":    "Notes only",
	"warning": "Has warnings",
	"error":   "Has errors",
}

// kindWords name the formats and the file that rules them.
var kindWords = map[string]string{
	string(document.AI):          "AI Discovery document",
	string(document.AIAlias):     "AI Discovery document at /ai",
	string(document.AGISSummary): "AGIS summary",
	string(document.AGIS):        "AGIS document",
	"robots":                     "robots.txt",
}

func kindOf(kind string) string {
	if w, ok := kindWords[kind]; ok {
		return w
	}
	return kind
}

// shortDigest leaves as much of a digest as two people need to compare.
func shortDigest(d string) string {
	const shown = len("sha256:") + 12
	if len(d) <= shown {
		return d
	}
	return d[:shown]
}
