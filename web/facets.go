package web

import (
	"net/url"
	"slices"
	"strings"

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
	Total int          // of the values, also of those that are not shown
	List  frame.Link   // where all values of the field are listed, if they are
	// AtLeast is set if a filter can find more than its count: of a query with words, the operations near in
	// meaning are then found among those that pass the filter alone.
	AtLeast bool
}

// Shown is the number of values on the page.
func (v facetView) Shown() int { return len(v.First) + len(v.Rest) }

type facetValue struct {
	Text    string
	Address string // "" where no query can say it
	Count   int
	On      bool // the query has this filter
}

// facetTitles are the fields that results can be narrowed by, in their order on
// the page. Each is a key of the query language, too.
var facetTitles = []struct {
	field, title string
	has          func(value string) bool // nil: every value of the field
}{
	{"verb", "Verb", nil}, {"effect", "Effect", nil}, {"idempotent", "Repeating", nil}, {"ns", "Namespace", nil}, {"class", "Class of data", nil},
	{"domain", "Category", nil}, {"protocol", "Protocol", isTransport}, {"protocol", "Interaction protocol", isInteraction},
	{"auth", "Authentication", nil}, {"lang", "Language", nil},
	{"level", "Level of the document", nil}, {"state", "State of the document", nil}, {"is", "State of the host", nil}, {"source", "Source", nil},
}

// facetLists are the pages that list all values of a field, whatever the query.
var facetLists = map[string]frame.Link{
	"verb": {Text: "All verbs", Address: "/verbs"}, "ns": {Text: "All namespaces", Address: "/namespaces"}, "class": {Text: "All classes of data", Address: "/data-classes"},
	"domain": {Text: "All categories", Address: "/census#category"}, "lang": {Text: "All languages", Address: "/census#language"},
}

// The filter "protocol" takes two kinds of values: how an operation is called, and how the service
// negotiates. The page shows them as two facets.
func isTransport(value string) bool   { return value == "http" || value == "agtp" }
func isInteraction(value string) bool { return !isTransport(value) }

func facetFields() []string {
	fields := make([]string, 0, len(facetTitles))
	for _, f := range facetTitles {
		if !slices.Contains(fields, f.field) {
			fields = append(fields, f.field)
		}
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
		counts, asked := r.Facets[f.field], q.FilterValues(f.field)
		if f.has != nil {
			other := func(value string) bool { return !f.has(value) }
			counts = slices.DeleteFunc(slices.Clone(counts), func(c index.Count) bool { return other(c.Value) })
			asked = slices.DeleteFunc(slices.Clone(asked), other)
		}
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
		for _, value := range asked {
			if !slices.ContainsFunc(counts, func(c index.Count) bool { return c.Value == value }) {
				on = append(on, valueOf(q, f.field, index.Count{Value: value}))
			}
		}
		if len(on) == 0 && !narrows {
			continue
		}
		all := append(on, off...)
		v := facetView{Title: f.title, Total: len(all), List: facetLists[f.field], AtLeast: hasWords(q) && r.Total > 0}
		if len(all) > valuesMost { // the result has the most frequent ones of the field
			v.Total += max(0, r.FacetValues[f.field]-len(r.Facets[f.field]))
		}
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

// hasWords reports whether operations are ranked by words.
func hasWords(q query.Query) bool { return strings.TrimSpace(q.Text()) != "" }

// searchPath is the address of the results of a query; that of an empty one is
// the front page.
func searchPath(query string) string {
	if query == "" {
		return "/"
	}
	return "/?" + url.Values{"q": {query}}.Encode()
}

// facetText describes the values of the closed fields, and languages.
func facetText(field, value string) string {
	if field == "lang" {
		return frame.DescribeLanguage(value)
	}
	if w, ok := valueWords[field+":"+value]; ok {
		return w
	}
	return value
}

var valueWords = map[string]string{
	"effect:informational":   "Only reads",
	"effect:reversible":      "Can be undone",
	"effect:irreversible":    "Cannot be undone, or ends something",
	"effect:unknown":         "Not declared",
	"level:0":                "Level 0",
	"level:1":                "Level 1",
	"level:2":                "Level 2",
	"protocol:http":          "HTTP",
	"protocol:agtp":          "AGTP",
	"idempotent:yes":         "Safe to repeat",
	"idempotent:no":          "Not safe to repeat",
	"idempotent:unknown":     "Not declared",
	"auth:unknown":           "Not declared",
	"auth:none":              "None needed",
	"auth:apikey":            "API key",
	"auth:bearer":            "Bearer token",
	"auth:oauth2":            "OAuth 2",
	"state:valid":            "Valid",
	"state:flawed":           "With warnings",
	"state:invalid":          "With errors",
	"is:reachable":           "Reachable",
	"is:well-formed":         "Readable documents",
	"is:conformant":          "Conforms to its draft",
	"is:consistent":          "Documents agree",
	"is:answers":             "Answers today",
	"source:owner-published": "Published by the host",
	"source:linked":          "Named by the host's document",
}
