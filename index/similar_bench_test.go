package index

import "testing"

// BenchmarkSimilar asks for ten services like each in turn, of some 20,000
// operations.
func BenchmarkSimilar(b *testing.B) {
	docs := benchServices(b)
	x, _ := indexed(b, docs...)
	i := 0
	for b.Loop() {
		if _, err := x.Similar(b.Context(), docs[i%len(docs)].Host, 10); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(len(docs)), "documents")
}
