package protocol

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity is the weight of a finding. The zero value is [Info].
type Severity uint8

// The severities, lightest first. Only an [Error] makes a document invalid.
const (
	Info Severity = iota
	Warning
	Error
)

// String returns the word used in every output: "info", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	default:
		return "info"
	}
}

// MarshalText writes the severity as its word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Severity) UnmarshalText(text []byte) error {
	switch string(text) {
	case "error":
		*s = Error
	case "warning":
		*s = Warning
	case "info":
		*s = Info
	default:
		return fmt.Errorf("severity %q: want error, warning or info", text)
	}
	return nil
}

// A Finding is one violation of a draft by a document. The drafts require that a reader can act on
// it (AGIS §9.1: "specific, actionable"), so it names the rule, the place, the problem and the
// correction.
type Finding struct {
	// Code names the rule permanently, for example "AI303" or "AGIS117".
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	// Pointer is the RFC 6901 JSON Pointer of the offending node; "" is the
	// whole document.
	Pointer string `json:"pointer"`
	// Line and Column count from 1, Column in characters. Both are 0 when the
	// finding has no place in a text (a transport rule, for instance).
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Message describes the problem, Help the correction. Both may quote the document, so they are
	// untrusted text: escape them on output.
	Message string `json:"message"`
	Help    string `json:"help,omitempty"`
	// Section is the place in the draft, for example "AI Discovery §3.3".
	Section string `json:"section"`
}

// Worst returns the highest severity among findings, and false if there are none.
func Worst(findings []Finding) (Severity, bool) {
	if len(findings) == 0 {
		return Info, false
	}
	return slices.MaxFunc(findings, func(a, b Finding) int {
		return int(a.Severity) - int(b.Severity)
	}).Severity, true
}

// Limits bounds the work that an untrusted document may cause. The zero value means
// [DefaultLimits].
type Limits struct {
	Bytes    int // size of the text, in bytes
	Depth    int // nesting of objects and arrays
	Members  int // members of one object, elements of one array
	Number   int // length of a number literal, in bytes
	Findings int // findings reported before "and more" is said instead
}

// DefaultLimits are the limits for documents fetched from the network: 262,144
// bytes is the refusal size of AI Discovery §4.5, the rest leaves ample room
// over any conforming document.
var DefaultLimits = Limits{Bytes: 262144, Depth: 64, Members: 5000, Number: 32, Findings: 500}

// OrDefault returns l with each zero member replaced by its default.
func (l Limits) OrDefault() Limits {
	d := DefaultLimits
	return Limits{cmp.Or(l.Bytes, d.Bytes), cmp.Or(l.Depth, d.Depth), cmp.Or(l.Members, d.Members), cmp.Or(l.Number, d.Number), cmp.Or(l.Findings, d.Findings)}
}
