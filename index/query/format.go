package query

import (
	"slices"
	"strings"
	"unicode"
)

// String formats a query in the language of [Parse]: words, texts in quotes, excluded words, then
// the filters in the order of the keys. Values that did not come from a text may contain characters
// that the language cannot express, such as a quotation mark; then [Parse] does not return the same
// query.
func (q Query) String() string {
	var items []string
	if words := strings.TrimSpace(q.Words); words != "" {
		items = append(items, words)
	}
	for _, p := range q.Phrases {
		items = append(items, `"`+p+`"`)
	}
	for _, w := range q.Without {
		items = append(items, "-"+w)
	}
	for _, f := range filters {
		for _, v := range *f.Values(&q) {
			if v == "" || strings.ContainsFunc(v, unicode.IsSpace) {
				v = `"` + v + `"`
			}
			sign := ""
			if positive, negated := SplitNegation(v); f.Negatable && negated {
				v, sign = positive, "-"
			}
			items = append(items, sign+f.Key+":"+v)
		}
	}
	return strings.Join(items, " ")
}

// HasValue reports whether a query filters by a value of a facet.
func (q Query) HasValue(facet, value string) bool {
	f, ok := lookupFilter(facet)
	return ok && slices.Contains(q.FilterValues(facet), f.canonical(value))
}

// FilterValues returns the values of a facet that a query filters by, in their indexed form.
func (q Query) FilterValues(facet string) []string {
	f, ok := lookupFilter(facet)
	if !ok {
		return nil
	}
	return mapValues(*f.Values(&q), f.canonical)
}

// Toggled returns the query with the filter for a value of a facet added, or removed if it is
// present. It returns false if no text expresses that query: for facets that are not filters, and
// for values that the language cannot express.
func (q Query) Toggled(facet, value string) (Query, bool) {
	f, ok := lookupFilter(facet)
	if !ok {
		return q, false
	}
	value = f.canonical(value)
	values := f.Values(&q)
	if at := slices.Index(*values, value); at >= 0 {
		*values = slices.Delete(slices.Clone(*values), at, at+1)
		return q, true
	}
	*values = append(slices.Clip(*values), value)
	read, err := Parse(q.String())
	return q, err == nil && read.HasValue(facet, value)
}
