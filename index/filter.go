package index

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"gazetteer/document"
)

// A filter is one key of the query language and the field of the index that
// answers it.
type filter struct {
	key   string
	field string // "" for hosts, which the ids tell
	// values is the member of a query that holds what was asked for.
	values    func(*Query) *[]string
	canonical func(string) string
	// closed lists all values there are, nil when anybody may invent more.
	closed []string
}

// filters has a row for each key, in the order in which messages name them.
var filters = []filter{
	{"verb", verbField, func(q *Query) *[]string { return &q.Verbs }, canonicalVerb, nil},
	{"ns", namespaceField, func(q *Query) *[]string { return &q.Namespaces }, canonicalWord, nil},
	{"class", classField, func(q *Query) *[]string { return &q.Classes }, canonicalWord, nil},
	{hostKey, "", func(q *Query) *[]string { return &q.Hosts }, canonicalHost, nil},
	{"domain", domainField, func(q *Query) *[]string { return &q.Domains }, canonicalWord, nil},
	{"protocol", protocolField, func(q *Query) *[]string { return &q.Protocols }, canonicalWord, nil},
	{"effect", effectField, func(q *Query) *[]string { return &q.Effects }, strings.ToLower, []string{"informational", "reversible", "irreversible", unknown}},
	{"auth", authField, func(q *Query) *[]string { return &q.Auths }, canonicalWord, nil},
	{"lang", languageField, func(q *Query) *[]string { return &q.Languages }, canonicalWord, nil},
	{"level", levelField, func(q *Query) *[]string { return &q.Levels }, strings.ToLower, []string{"0", "1", "2"}},
	{"state", stateField, func(q *Query) *[]string { return &q.States }, strings.ToLower, []string{stateValid, stateFlawed, stateInvalid}},
	{"source", sourceField, func(q *Query) *[]string { return &q.Sources }, strings.ToLower, []string{string(document.OwnerPublished), string(document.Linked)}},
	{"idempotent", idempotentField, func(q *Query) *[]string { return &q.Idempotent }, strings.ToLower, []string{"yes", "no", unknown}},
}

// hostKey is the key of the one filter, and facet, that has no field in the index.
const hostKey = "host"

// filterOf returns the row of a key, in any letter case.
func filterOf(key string) (filter, bool) {
	i := slices.IndexFunc(filters, func(f filter) bool { return f.key == strings.ToLower(key) })
	if i < 0 {
		return filter{}, false
	}
	return filters[i], true
}

// keysHelp names the keys there are.
func keysHelp() string {
	var keys []string
	for _, f := range filters {
		keys = append(keys, f.key+":")
	}
	last := len(keys) - 1
	return "the keys are " + strings.Join(keys[:last], ", ") + " and " + keys[last] +
		`, as in verb:BOOK; to search for a text with a colon, put it in quotes, as in "10:30"`
}

// unknown says why a value is none that the filter has, "" when it is one.
func (f filter) unknown(value string) (message, help string) {
	if f.closed == nil || slices.Contains(f.closed, value) {
		return "", ""
	}
	return fmt.Sprintf("%s: has no value %.40q", f.key, value), "it is one of " + strings.Join(f.closed, ", ")
}

// Filtered reports whether the query has a filter.
func (q Query) Filtered() bool { return q.filterValues() > 0 }

// narrowed reports whether the query leaves operations out that a search may return.
func (q Query) narrowed() bool { return q.Filtered() || len(q.Without) > 0 || len(q.Phrases) > 0 }

// empty reports whether the query asks for nothing that could be found.
func (q Query) empty() bool {
	return strings.TrimSpace(q.Words) == "" && len(q.Phrases) == 0 && !q.Filtered()
}

// filterValues counts the values of all filters.
func (q Query) filterValues() int {
	n := 0
	for _, f := range filters {
		n += len(*f.values(&q))
	}
	return n
}

// The canonical forms of filter values, the same in entries and queries. The
// length is bounded because a term lies in memory whole.

func canonicalVerb(s string) string { return strings.ToUpper(clip(strings.TrimSpace(s))) }
func canonicalWord(s string) string { return strings.ToLower(clip(strings.TrimSpace(s))) }

// canonicalHost gives a host the form in which it is filed: ASCII lower case.
func canonicalHost(s string) string {
	s = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(s)), ".")
	if ascii, err := idna.Lookup.ToASCII(s); err == nil {
		return ascii
	}
	return s // no host has such a name, so nothing will be found
}
