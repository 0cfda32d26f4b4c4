package wordvec

import (
	"maps"
	"slices"
)

// Words returns all words that have a vector, sorted.
func (t *Table) Words() []string { return slices.Sorted(maps.Keys(t.words)) }
