package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/web/frame"
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
	Effect      frame.Effect
	Repeat      string // whether it may be repeated, "" when the document does not say
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
	Need        string // required or optional, "" in the path, where every parameter is required
	Description string
}

// maxParameters is the number of parameters that a hit shows; its service page has all.
const maxParameters = 6

func operationOf(o document.Operation, s document.Service) operationView {
	v := operationView{
		ID:          o.ID,
		Verb:        o.Verb,
		VerbDerived: o.VerbDerived,
		Path:        o.Path,
		Title:       o.Intent,
		Lang:        frame.LanguageOf(s.Languages),
		Outcome:     o.Outcome,
		Returns:     o.Returns,
		Effect:      frame.EffectOf(index.EffectOf(&o)),
		Repeat:      repeatWords(o.Idempotent),
		Call:        callView{Protocol: strings.ToUpper(o.Call.Protocol), Method: o.Call.Method, URL: o.Call.URL},
		Errors:      strings.Join(o.Errors, ", "),
	}
	v.Title = cmp.Or(v.Title, o.ID)
	if v.Path == "" && v.Title != o.ID {
		v.Path = o.ID
	}
	if v.Call.Protocol == "AGTP" && v.Call.Method == "" {
		v.Call.Method = strings.TrimSpace(o.Verb + " " + o.Path)
	}
	for _, p := range o.Parameters {
		v.Parameters = append(v.Parameters, parameterView{
			Name: p.Name, Type: p.Type, Where: placeWords[p.In], Need: needOf(p), Description: p.Description,
		})
	}
	return v
}

// withFewParameters returns the operation with its first parameters only.
func (v operationView) withFewParameters() operationView {
	v.Parameters, v.More = frame.SplitAt(v.Parameters, maxParameters)
	return v
}

// needOf says whether a parameter must be given, "" for one in the path: its place says it.
func needOf(p document.Parameter) string {
	switch {
	case p.In == "path":
		return ""
	case p.Required:
		return "required"
	}
	return "optional"
}

// repeatWords describe whether an operation may be repeated safely.
func repeatWords(idempotent *bool) string {
	switch {
	case idempotent == nil:
		return ""
	case *idempotent:
		return "Safe to repeat"
	default:
		return "Not safe to repeat"
	}
}

var placeWords = map[string]string{
	"path":  "in the path",
	"query": "in the query",
	"body":  "in the body",
}

// whyView shows why an operation matched.
type whyView struct {
	Clause   string // which of several things that were asked for it answers
	Verb     string // the verb it offers, when the query asked for one
	Asked    string // the verb that was asked for, when it is another
	Relation string // how the one offered stands to the one asked for
	Opposite bool   // it does the opposite of what was asked for
	Terms    []termView
	Missing  []string
	Coverage string // 2 of 3 words found
	Whole    bool   // no word was found, only the sense of all of them together
}

// termView is a word of the query and the fields that contain it.
type termView struct {
	Term   string
	Places []placeView
}

type placeView struct {
	Field string
	Text  string // the word in the document, "" when it is the term
	Near  bool   // it is another word, near in meaning
}

var fieldWords = map[string]string{
	"act":  "verb or path",
	"what": "intent",
	"ctx":  "service or parameters",
}

// whyOf gathers the matches of each word, in the order of the query.
func whyOf(w index.Why) whyView {
	v := whyView{Clause: w.Clause}
	at := map[string]int{}
	for _, m := range w.Matched {
		i, seen := at[m.Term]
		if !seen {
			i = len(v.Terms)
			at[m.Term] = i
			v.Terms = append(v.Terms, termView{Term: m.Term})
		}
		place := placeView{Field: cmp.Or(fieldWords[m.Field], m.Field), Text: m.Text, Near: m.Kind == "vector"}
		if strings.EqualFold(m.Text, m.Term) {
			place.Text = ""
		}
		v.Terms[i].Places = append(v.Terms[i].Places, place)
	}
	words := slices.DeleteFunc(slices.Clone(v.Terms), func(t termView) bool { return strings.Contains(t.Term, " ") })
	missing := slices.DeleteFunc(slices.Clone(w.Missing), func(term string) bool { return strings.Contains(term, " ") })
	v.Missing = missing // of words alone, as they are counted
	if asked := len(words) + len(missing); asked > 0 {
		v.Coverage = fmt.Sprintf("%d of %s found", len(words), frame.FormatCount(asked, "word"))
	}
	v.Whole = len(v.Terms) == 0 && len(w.Missing) > 0
	if w.Verb != nil {
		v.Verb = w.Verb.Offered
		if w.Verb.Relation != "exact" {
			v.Asked, v.Relation, v.Opposite = w.Verb.Asked, verbRelations[w.Verb.Relation], w.Verb.Relation == "antonym"
		}
	}
	return v
}

// verbRelations describe the relation of the offered verb to the requested one.
var verbRelations = map[string]string{
	"stem":     "is a form of",
	"synonym":  "has almost the same meaning as",
	"hypernym": "is more general or more specific than",
	"antonym":  "is the opposite of",
}

// findingsWords describes the severity of a document's worst finding.
var findingsWords = map[string]string{
	"":        "Valid, no findings",
	"info":    "Valid, with notes",
	"warning": "Valid, with warnings",
	"error":   "Not valid",
}

// shortDigest returns as much of a digest as two people need to compare.
func shortDigest(d string) string {
	const shown = len("sha256:") + 12
	if len(d) <= shown {
		return d
	}
	return d[:shown]
}
