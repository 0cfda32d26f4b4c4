package repair_test

import (
	"testing"

	"gazetteer/lint/repair"
)

// BenchmarkFix compares the cost of repairing, which reads a document a few times, with that of
// validating.
func BenchmarkFix(b *testing.B) {
	all := vectors(b)
	for b.Loop() {
		for kind, texts := range all {
			for _, text := range texts {
				repair.Fix(kind, text)
			}
		}
	}
}
