package query

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"gazetteer/document"
	"gazetteer/index/tokens"
)

// A filter is one key of the query language and the field of the index that
// answers it.
type Filter struct {
	Key   string
	Field string // "" for hosts, which the ids tell
	// values is the member of a query that holds what was asked for.
	Values    func(*Query) *[]string
	canonical func(string) string
	// allowed lists all values there are, nil when anybody may invent more.
	allowed []string
}

// filters has a row for each key, in the order in which messages name them.
var filters = []Filter{
	{"verb", VerbField, func(q *Query) *[]string { return &q.Verbs }, CanonicalVerb, nil},
	{"ns", NamespaceField, func(q *Query) *[]string { return &q.Namespaces }, CanonicalWord, nil},
	{"class", ClassField, func(q *Query) *[]string { return &q.Classes }, CanonicalWord, nil},
	{HostKey, "", func(q *Query) *[]string { return &q.Hosts }, CanonicalHost, nil},
	{"domain", DomainField, func(q *Query) *[]string { return &q.Domains }, CanonicalWord, nil},
	{"protocol", ProtocolField, func(q *Query) *[]string { return &q.Protocols }, CanonicalWord, nil},
	{"effect", EffectField, func(q *Query) *[]string { return &q.Effects }, strings.ToLower, []string{"informational", "reversible", "irreversible", UnknownValue}},
	{"auth", AuthField, func(q *Query) *[]string { return &q.Auths }, CanonicalWord, nil},
	{"lang", LanguageField, func(q *Query) *[]string { return &q.Languages }, CanonicalWord, nil},
	{"level", LevelField, func(q *Query) *[]string { return &q.Levels }, strings.ToLower, []string{"0", "1", "2"}},
	{"state", StateField, func(q *Query) *[]string { return &q.States }, strings.ToLower, []string{StateValid, StateFlawed, StateInvalid}},
	{"source", SourceField, func(q *Query) *[]string { return &q.Sources }, strings.ToLower, []string{string(document.OwnerPublished), string(document.Linked)}},
	{"idempotent", IdempotentField, func(q *Query) *[]string { return &q.Idempotent }, strings.ToLower, []string{"yes", "no", UnknownValue}},
}

// HostKey is the key of the one filter, and facet, that has no field in the index.
const HostKey = "host"

// Filters returns the row of each key, in the order in which messages name them. The caller must
// not change it.
func Filters() []Filter { return filters }

// lookupFilter returns the row of a key, in any letter case.
func lookupFilter(key string) (Filter, bool) {
	i := slices.IndexFunc(filters, func(f Filter) bool { return f.Key == strings.ToLower(key) })
	if i < 0 {
		return Filter{}, false
	}
	return filters[i], true
}

// describeKeys names the keys there are.
func describeKeys() string {
	var keys []string
	for _, f := range filters {
		keys = append(keys, f.Key+":")
	}
	last := len(keys) - 1
	return "the keys are " + strings.Join(keys[:last], ", ") + " and " + keys[last] +
		`, as in verb:BOOK; to search for a text with a colon, put it in quotes, as in "10:30"`
}

// validateValue says why a value is none that the filter has, "" when it is one.
func (f Filter) validateValue(value string) (message, help string) {
	if f.allowed == nil || slices.Contains(f.allowed, value) {
		return "", ""
	}
	return fmt.Sprintf("%s: has no value %.40q", f.Key, value), "it is one of " + strings.Join(f.allowed, ", ")
}

// Filtered reports whether the query has a filter.
func (q Query) Filtered() bool { return q.filterValues() > 0 }

// Narrowed reports whether the query leaves operations out that a search may return.
func (q Query) Narrowed() bool {
	return q.Filtered() || q.Safe || len(q.Without) > 0 || len(q.Phrases) > 0
}

// IsEmpty reports whether the query asks for nothing that could be found.
func (q Query) IsEmpty() bool {
	return strings.TrimSpace(q.Words) == "" && len(q.Phrases) == 0 && !q.Filtered()
}

// filterValues counts the values of all filters.
func (q Query) filterValues() int {
	n := 0
	for _, f := range filters {
		n += len(*f.Values(&q))
	}
	return n
}

// The canonical forms of filter values, the same in entries and queries. The
// length is bounded because a term lies in memory whole.

func CanonicalVerb(s string) string { return strings.ToUpper(tokens.ClipText(strings.TrimSpace(s))) }
func CanonicalWord(s string) string { return strings.ToLower(tokens.ClipText(strings.TrimSpace(s))) }

// CanonicalHost gives a host the form in which it is filed: ASCII lower case.
func CanonicalHost(s string) string {
	s = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(s)), ".")
	if ascii, err := idna.Lookup.ToASCII(s); err == nil {
		return ascii
	}
	return s // no host has such a name, so nothing will be found
}
