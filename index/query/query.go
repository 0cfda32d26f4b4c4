package query

import (
	"strings"
	"unicode/utf8"
)

// A Query asks for operations. Parse one from text with [Parse], or fill
// it in. Within one filter any value may match (OR), across filters all must.
// The limits of a query text hold for a Query that was filled in, too.
type Query struct {
	Words   string   // free text; may be "" when a filter is set
	Phrases []string // texts in quotes: each must stand in the operation as it is
	Without []string // words with a minus sign: operations that have one are left out

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
	// Is holds the values of is:, states of the host; all must hold. A state with a minus sign before
	// it must not.
	Is []string
	// Aliases lets documents through that only /ai answered.
	Aliases bool
	// MinFit leaves out hits that fit the request less, 0 to 1. A page can then be shorter than Limit.
	MinFit float64
	// Verbatim looks for the words as they are, and corrects none.
	Verbatim bool
	// Safe leaves out operations that end or remove something or cannot be undone, whether their
	// document declares it or it is inferred from their verb or intent.
	Safe bool
	// Brief leaves out of hits what explains them beyond the words that match.
	Brief bool

	Facets []string // fields to count the values of, of FacetFields; at most 16
	Limit  int      // operations, 1 to 100; 20 when 0
	Offset int      // operations to pass over, at most 10,000
}

// What people write: longer texts, and pages further on, come from programs.
const (
	typicalWords  = 24
	typicalLength = 256
	typicalOffset = 1000
)

// Large reports whether a query asks for more than people write, so that it takes
// several times as long: many or long words, texts in quotes (which are looked for
// in the operations themselves), many filters, or a page far down.
func (q Query) Large() bool {
	words := strings.Join(append([]string{q.Words}, q.Without...), " ")
	return len(words) > typicalLength*utf8.UTFMax || utf8.RuneCountInString(words) > typicalLength || len(strings.Fields(words)) > typicalWords ||
		len(q.Phrases) > 0 || q.filterValues() > typicalWords || q.Offset > typicalOffset
}
