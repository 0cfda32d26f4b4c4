package query

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"gazetteer/document"
	"gazetteer/index/tokens"
	"gazetteer/protocol/english"
)

// A Filter is one key of the query language. Its row is the only definition of a filter: parsing,
// the parameters and bodies of the API, its description, the command line and the help page use it.
type Filter struct {
	Key    string // in a query, as a parameter, a member of a body and a flag
	Plural string // the member of an answer that lists the values asked for
	Field  string // of the index; "" for hosts, which are part of the ids, and for their states
	// Doc describes the values; Example shows one in a query.
	Doc, Example string
	// Allowed lists all valid values, nil if the set is open.
	Allowed []string
	// All is set if several values must all match; otherwise one matching value is enough.
	All bool
	// Negatable is set if a minus sign before a value or before the key negates it.
	Negatable bool
	// Values returns the member of a query that contains the values of the filter.
	Values    func(*Query) *[]string
	canonical func(string) string
}

// filters has a row for each key, in the order in which messages name them.
var filters = []Filter{
	{Key: "verb", Plural: "verbs", Field: VerbField, Doc: "the verb of the operation, in the imperative", Example: "BOOK",
		Values: func(q *Query) *[]string { return &q.Verbs }, canonical: CanonicalVerb},
	{Key: "ns", Plural: "namespaces", Field: NamespaceField, Doc: "the namespace that qualifies the verbs of the service, or its domain if it declares none", Example: "taxi",
		Values: func(q *Query) *[]string { return &q.Namespaces }, canonical: CanonicalWord},
	{Key: "class", Plural: "classes", Field: ClassField, Doc: "a class of data that the service holds", Example: "appointment",
		Values: func(q *Query) *[]string { return &q.Classes }, canonical: CanonicalWord},
	{Key: HostKey, Plural: "hosts", Doc: "the host that publishes the service", Example: "taxi.test",
		Values: func(q *Query) *[]string { return &q.Hosts }, canonical: CanonicalHost},
	{Key: "domain", Plural: "domains", Field: DomainField, Doc: "the field of business of the service, such as hospitality", Example: "transport",
		Values: func(q *Query) *[]string { return &q.Domains }, canonical: CanonicalWord},
	{Key: "protocol", Plural: "protocols", Field: ProtocolField, Doc: "how the operation is called (http, agtp), or an interaction protocol of the service (request, negotiate, confirm, query)", Example: "confirm",
		Values: func(q *Query) *[]string { return &q.Protocols }, canonical: CanonicalWord},
	{Key: "effect", Plural: "effects", Field: EffectField, Doc: "the effect of a call: informational (it only reads), reversible, irreversible, or unknown", Example: "informational",
		Allowed: []string{"informational", "reversible", "irreversible", UnknownValue},
		Values:  func(q *Query) *[]string { return &q.Effects }, canonical: strings.ToLower},
	{Key: "auth", Plural: "auths", Field: AuthField, Doc: "how callers authenticate, such as none, apikey or oauth2; unknown if the document does not say", Example: "none",
		Values: func(q *Query) *[]string { return &q.Auths }, canonical: CanonicalWord},
	{Key: "lang", Plural: "languages", Field: LanguageField, Doc: "a language of the service; en finds en-GB, too", Example: "en",
		Values: func(q *Query) *[]string { return &q.Languages }, canonical: CanonicalWord},
	{Key: "level", Plural: "levels", Field: LevelField, Doc: "the conformance level of the document: 0, 1 or 2 (2: its operations are described in full)", Example: "2",
		Allowed: []string{"0", "1", "2"},
		Values:  func(q *Query) *[]string { return &q.Levels }, canonical: strings.ToLower},
	{Key: "state", Plural: "states", Field: StateField, Doc: "whether the document conforms to its draft: valid, flawed (with warnings) or invalid (with errors)", Example: "valid",
		Allowed: []string{StateValid, StateFlawed, StateInvalid},
		Values:  func(q *Query) *[]string { return &q.States }, canonical: strings.ToLower},
	{Key: "source", Plural: "sources", Field: SourceField, Doc: "where the document was found: owner-published, or linked by the host's own document", Example: "owner-published",
		Allowed: []string{string(document.OwnerPublished), string(document.Linked)},
		Values:  func(q *Query) *[]string { return &q.Sources }, canonical: strings.ToLower},
	{Key: "idempotent", Plural: "idempotent", Field: IdempotentField, Doc: "whether calling the operation twice does no more than calling it once, as declared: yes, no or unknown", Example: "yes",
		Allowed: []string{"yes", "no", UnknownValue},
		Values:  func(q *Query) *[]string { return &q.Idempotent }, canonical: strings.ToLower},
	{Key: IsKey, Plural: "is", Doc: "a state of the host, measured at its last visit: reachable, well-formed, conformant, consistent (its documents agree with one another) or answers; with a minus sign, hosts that are not known to be in that state; of several states, all must hold", Example: "conformant",
		Allowed: []string{"reachable", "well-formed", "conformant", "consistent", "answers"}, All: true, Negatable: true,
		Values: func(q *Query) *[]string { return &q.Is }, canonical: strings.ToLower},
}

// IsKey is the key of the filter for the states of hosts. They are not in the index: a separate
// follower knows them.
const IsKey = "is"

// StateNames returns the values of the filter is:, in the order of the bits of a host's label. The
// caller must not change it.
func StateNames() []string {
	f, _ := lookupFilter(IsKey)
	return f.Allowed
}

// SplitNegation splits a value of a negatable filter from the minus sign before it.
func SplitNegation(value string) (positive string, negated bool) {
	return strings.CutPrefix(value, "-")
}

// HostKey is the key of the filter, and facet, for hosts, which have no field in the index.
const HostKey = "host"

// Filters returns the row of each key, in the order in which messages name them. The caller must
// not change it.
func Filters() []Filter { return filters }

// FiltersOf returns the rows of some keys, in their order. It panics for an unknown key, which is
// an error of the program.
func FiltersOf(keys ...string) []Filter {
	var rows []Filter
	for _, key := range keys {
		f, ok := lookupFilter(key)
		if !ok {
			panic("query: there is no filter " + key)
		}
		rows = append(rows, f)
	}
	return rows
}

// lookupFilter returns the row of a key, in any letter case.
func lookupFilter(key string) (Filter, bool) {
	i := slices.IndexFunc(filters, func(f Filter) bool { return f.Key == strings.ToLower(key) })
	if i < 0 {
		return Filter{}, false
	}
	return filters[i], true
}

// suggestKeys lists all keys, after a question for the key that resembles an unknown one.
func suggestKeys(unknown string) string {
	if unknown == "category" || unknown == "categories" {
		unknown = "domain" // AI Discovery's word for it
	}
	var keys []string
	for _, f := range filters {
		keys = append(keys, f.Key)
	}
	return english.DidYouMean(unknown, keys) + describeKeys()
}

// describeKeys lists all keys.
func describeKeys() string {
	var keys []string
	for _, f := range filters {
		keys = append(keys, f.Key+":")
	}
	last := len(keys) - 1
	return "the keys are " + strings.Join(keys[:last], ", ") + " and " + keys[last] +
		`, as in verb:BOOK; to search for a text with a colon, put it in quotes, as in "10:30"`
}

// Enum returns all valid values of the filter, including those with a minus sign; nil if the set is
// open.
func (f Filter) Enum() []string {
	values := slices.Clone(f.Allowed)
	if f.Negatable {
		for _, v := range f.Allowed {
			values = append(values, "-"+v)
		}
	}
	return values
}

// validateValue describes why a filter refuses a value, "" for a valid value.
func (f Filter) validateValue(value string) (message, help string) {
	positive := value
	if f.Negatable {
		positive, _ = SplitNegation(value)
	}
	if f.Allowed == nil || slices.Contains(f.Allowed, positive) {
		return "", ""
	}
	return fmt.Sprintf("%s: has no value %.40q", f.Key, value), english.DidYouMean(positive, f.Allowed) + "it is one of " + strings.Join(f.Allowed, ", ")
}

// Filtered reports whether the query has a filter.
func (q Query) Filtered() bool { return q.filterValues() > 0 }

// Narrowed reports whether the query excludes operations that a search may return.
func (q Query) Narrowed() bool {
	return q.Filtered() || q.Safe || len(q.Without) > 0 || len(q.Phrases) > 0
}

// IsEmpty reports whether the query has no words and no filters.
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

// CanonicalHost returns the indexed form of a host: ASCII lower case.
func CanonicalHost(s string) string {
	s = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(s)), ".")
	if ascii, err := idna.Lookup.ToASCII(s); err == nil {
		return ascii
	}
	return s // no host has this name, so the search finds nothing
}
