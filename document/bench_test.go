package document_test

import (
	"encoding/json"
	"testing"

	"gazetteer/document"
)

// BenchmarkRead reads documents with all rules, findings and operations.
// BenchmarkUnmarshal is the reference: encoding/json into any, of the same
// bytes, without any rule.
func BenchmarkRead(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			text := vector(b, c.draft, c.file)
			in := input(c.kind, string(text))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if d, err := document.Read(in); err != nil || len(d.Operations) == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	for _, c := range benchmarks {
		if c.yaml {
			continue
		}
		b.Run(c.name, func(b *testing.B) {
			text := vector(b, c.draft, c.file)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				var v any
				if err := json.Unmarshal(text, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

var benchmarks = []struct {
	name, draft, file string
	kind              document.Kind
	yaml              bool
}{
	{"ai-6k", "aidiscovery", "valid/repo-case-github.json", document.AI, false},
	{"ai-13k", "aidiscovery", "valid/capabilities-101.json", document.AI, false},
	{"agis-json", "agis", "valid/seed-finance.json", document.AGIS, false},
	{"agis-yaml", "agis", "valid/seed-finance.yaml", document.AGIS, true},
	{"summary", "agis", "wellknown/seed-restaurant.json", document.AGISSummary, false},
}
