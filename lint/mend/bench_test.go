package mend_test

import (
	"testing"

	"gazetteer/lint/mend"
)

// Fix reads a document a few times: what mending costs beside validating.
func BenchmarkFix(b *testing.B) {
	all := vectors(b)
	for b.Loop() {
		for kind, texts := range all {
			for _, text := range texts {
				mend.Fix(kind, text)
			}
		}
	}
}
