package wordvec

import (
	"iter"
	"maps"
	"slices"
)

// Words returns all words that have a vector, sorted.
func (t *Table) Words() []string { return slices.Sorted(maps.Keys(t.words)) }

// Unsorted yields the same in any order, which takes a tenth of the time.
func (t *Table) Unsorted() iter.Seq[string] { return maps.Keys(t.words) }
