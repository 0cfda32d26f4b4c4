package web

import (
	"net/url"
	"slices"

	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/web/frame"
)

// facetView is one field of the results with its values, each a link that adds the filter to the
// query or removes it.
type facetView struct {
	Title string
	First []facetValue
	Rest  []facetValue // shown when asked for
}

type facetValue struct {
	Text    string
	Address string // "" where no query can say it
	Count   int
	On      bool // the query has this filter
}

// facetTitles are the fields that results can be narrowed by, in their order on
// the page. Each is a key of the query language, too.
var facetTitles = []struct{ field, title string }{
	{"verb", "Verb"}, {"effect", "Effect"}, {"idempotent", "Repeating"}, {"ns", "Namespace"}, {"class", "Class of data"},
	{"domain", "Domain"}, {"protocol", "Protocol"}, {"auth", "Login"}, {"lang", "Language"},
	{"level", "Level of the document"}, {"state", "State of the document"}, {"is", "State of the host"}, {"source", "Source"},
}

func facetFields() []string {
	fields := make([]string, 0, len(facetTitles))
	for _, f := range facetTitles {
		fields = append(fields, f.field)
	}
	return fields
}

const (
	valuesFirst = 5  // shown of each facet
	valuesMost  = 12 // shown when asked for
)

// facetsOf returns the facets of a result. It omits a facet whose values would exclude no result,
// but always shows those of the query, so that they can be removed.
func facetsOf(q query.Query, r index.Result) []facetView {
	var views []facetView
	for _, f := range facetTitles {
		counts := r.Facets[f.field]
		var on, off []facetValue
		narrows := len(counts) > 1
		for _, c := range counts {
			v := valueOf(q, f.field, c)
			narrows = narrows || c.Operations < r.Total
			if v.On {
				on = append(on, v)
			} else {
				off = append(off, v)
			}
		}
		for _, value := range q.FilterValues(f.field) {
			if !slices.ContainsFunc(counts, func(c index.Count) bool { return c.Value == value }) {
				on = append(on, valueOf(q, f.field, index.Count{Value: value}))
			}
		}
		if len(on) == 0 && !narrows {
			continue
		}
		all := append(on, off...)
		v := facetView{Title: f.title}
		v.First, _ = frame.SplitAt(all, max(valuesFirst, len(on)))
		v.Rest, _ = frame.SplitAt(all[len(v.First):], valuesMost-valuesFirst)
		views = append(views, v)
	}
	return views
}

func valueOf(q query.Query, field string, c index.Count) facetValue {
	v := facetValue{Text: facetText(field, c.Value), Count: c.Operations, On: q.HasValue(field, c.Value)}
	if turned, ok := q.Toggled(field, c.Value); ok {
		v.Address = searchPath(turned.String())
	}
	return v
}

// searchPath is the address of the results of a query; that of an empty one is
// the front page.
func searchPath(query string) string {
	if query == "" {
		return "/"
	}
	return "/?" + url.Values{"q": {query}}.Encode()
}

// facetText describes the values of the closed fields.
func facetText(field, value string) string {
	if w, ok := valueWords[field+":"+value]; ok {
		return w
	}
	return value
}

var valueWords = map[string]string{
	"effect:informational":   "Only reads",
	"effect:reversible":      "Can be undone",
	"effect:irreversible":    "Cannot be undone",
	"effect:unknown":         "Not declared",
	"level:0":                "Level 0",
	"level:1":                "Level 1",
	"level:2":                "Level 2",
	"idempotent:yes":         "Safe to repeat",
	"idempotent:no":          "Not safe to repeat",
	"idempotent:unknown":     "Not declared",
	"auth:unknown":           "Not declared",
	"auth:none":              "None needed",
	"state:valid":            "Valid",
	"state:flawed":           "With warnings",
	"state:invalid":          "With errors",
	"is:reachable":           "Reachable",
	"is:well-formed":         "Documents can be read",
	"is:conformant":          "Keeps to its draft",
	"is:consistent":          "Documents agree",
	"is:answers":             "Answers today",
	"source:owner-published": "Published by the host itself",
	"source:linked":          "Named by the host's document",
}
