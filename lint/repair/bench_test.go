package repair_test

import (
	"testing"

	"gazetteer/lint/repair"
)

// Fix reads a document a few times: what repairing costs beside validating.
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
