package query

import (
	"strings"
	"unicode/utf8"
)

// A Query selects operations. Parse one from text with [Parse], or set its fields. Within one
// filter any value may match (OR), across filters all must. The limits of a query text also apply
// to a Query whose fields were set directly.
type Query struct {
	Words   string   // free text; may be "" when a filter is set
	Phrases []string // texts in quotes, which the operation must contain word by word
	inPlace string   // the words and phrases in their order, the latter as values; see QuotedAsValues
	Without []string // words with a minus sign, which the operation must not contain

	Verbs      []string // verb:
	Namespaces []string // ns:
	Classes    []string // class:
	Hosts      []string // host:
	Domains    []string // domain:
	Protocols  []string // protocol:, how it is called ("http", "agtp") or an interaction protocol
	Effects    []string // effect:, of document.Effect
	Auths      []string // auth:, "unknown" where the document does not say
	Languages  []string // lang:, "en" finds "en-gb", too
	Levels     []string // level:, "0", "1" or "2"
	States     []string // state:, "valid", "flawed" (with warnings) or "invalid"
	Sources    []string // source:, of document.Source
	Idempotent []string // idempotent:, "yes", "no" or "unknown"
	// Is contains the values of is:, states that the host must have. It must not have a state with
	// a minus sign before it.
	Is []string
	// Aliases includes documents that were found at /ai only.
	Aliases bool
	// MinFit excludes hits with a lower fit, 0 to 1. A page can then be shorter than Limit.
	MinFit float64
	// Verbatim disables the correction of words.
	Verbatim bool
	// Safe excludes operations that end or remove something or cannot be undone, whether declared
	// in their document or inferred from their verb or intent.
	Safe bool
	// Brief omits all explanations of hits except the matching words.
	Brief bool

	Facets []string // fields whose values are counted, from FacetFields; at most 16
	Limit  int      // operations, 1 to 100; 20 when 0
	Offset int      // operations to skip, at most 10,000
}

// QuotedAsValues returns the query with its texts in quotes as values of the request: a text message
// saying “I am late”. It returns false for a query without such texts, or without words beside them,
// and for one that is to be taken as it is written.
func (q Query) QuotedAsValues() (Query, bool) {
	if len(q.Phrases) == 0 || strings.TrimSpace(q.Words) == "" || q.inPlace == "" || q.Verbatim {
		return q, false
	}
	q.Words, q.Phrases = q.inPlace, nil
	return q, true
}

// The usual size of a person's query: programs send longer texts and request later pages.
const (
	typicalWords  = 24
	typicalLength = 256
	typicalOffset = 1000
)

// Large reports whether a query exceeds the usual size of a person's query, so that it takes
// several times as long: many or long words, texts in quotes (which are looked for in the
// operations themselves), many filters, or a page far down.
func (q Query) Large() bool {
	words := strings.Join(append([]string{q.Words}, q.Without...), " ")
	return len(words) > typicalLength*utf8.UTFMax || utf8.RuneCountInString(words) > typicalLength || countFields(words) > typicalWords ||
		len(q.Phrases) > 0 || q.filterValues() > typicalWords || q.Offset > typicalOffset
}
