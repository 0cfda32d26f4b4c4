package query

import (
	"slices"
)

// The keyword fields, for filters and facets. Those of the second group belong to the service and
// are in its entry; a protocol may belong to either.
const (
	VerbField       = "verb"
	EffectField     = "effect"
	IdempotentField = "idempotent"
	CapabilityField = "capability"

	NamespaceField = "ns"
	ClassField     = "class"
	DomainField    = "domain"
	AuthField      = "auth"
	LanguageField  = "lang"
	LevelField     = "level"
	StateField     = "state"
	SourceField    = "source"
	CategoryField  = "category"

	ProtocolField = "protocol"
)

// UnknownValue is the value of a property that a document does not state.
const UnknownValue = "unknown"

// The states of a document.
const (
	StateValid   = "valid"   // no finding is worse than a remark
	StateFlawed  = "flawed"  // warnings were found
	StateInvalid = "invalid" // errors were found
)

// FacetFields returns the fields whose values can be counted, sorted: the keys of the query
// language, and two that are not filters: category and capability.
func FacetFields() []string {
	fields := []string{CategoryField, CapabilityField}
	for _, f := range filters {
		fields = append(fields, f.Key)
	}
	slices.Sort(fields)
	return fields
}
