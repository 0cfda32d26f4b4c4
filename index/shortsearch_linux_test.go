package index

import (
	"context"
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/index/query"
)

// BenchmarkShortSearch measures the processor time of everyday requests among the operations of the
// development sets, ten lean hits each.
func BenchmarkShortSearch(b *testing.B) {
	var docs []*document.Document
	for i, line := range judgedLines(b, "corpus.jsonl.gz") {
		var r judgedRecord
		if err := json.Unmarshal(line, &r); err != nil {
			b.Fatal(err)
		}
		docs = append(docs, r.document(i))
	}
	x, _ := indexed(b, docs...)
	var texts []string
	for _, set := range []string{"everyday", "agents", "fresh", "round5"} {
		for _, line := range judgedLines(b, set+"-queries.jsonl") {
			var q struct{ Text string }
			if err := json.Unmarshal(line, &q); err != nil {
				b.Fatal(err)
			}
			texts = append(texts, q.Text)
		}
	}
	searchAll := func() {
		for _, text := range texts {
			if _, err := x.Search(context.Background(), query.Query{Words: text, Limit: 10, Brief: true}); err != nil {
				b.Fatal(err)
			}
		}
	}
	searchAll() // fill the caches
	began := processorTime(b)
	for b.Loop() {
		searchAll()
	}
	b.ReportMetric(float64((processorTime(b)-began).Microseconds())/float64(b.N*len(texts)), "cpu-µs/search")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
