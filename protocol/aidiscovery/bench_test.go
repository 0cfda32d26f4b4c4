package aidiscovery_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

// BenchmarkParse reads and validates one document. BenchmarkUnmarshal is the
// reference: encoding/json into any, of the same bytes, without any rule.
func BenchmarkParse(b *testing.B) {
	for name, file := range benchmarkFiles {
		b.Run(name, func(b *testing.B) {
			text := read(b, file)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := aidiscovery.Parse(text, options); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	for name, file := range benchmarkFiles {
		b.Run(name, func(b *testing.B) {
			text := read(b, file)
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

var benchmarkFiles = map[string]string{
	"6k":  "valid/repo-case-github.json",
	"13k": "valid/capabilities-101.json",
	"300": "valid/seed-8.1-minimal.json",
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// BenchmarkRatio prints, as "x-json", what reading and validating costs as a
// multiple of what encoding/json takes to decode the same bytes into any: the
// median over all documents of testdata that encoding/json decodes.
func BenchmarkRatio(b *testing.B) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(files) == 0 {
		b.Fatal(err)
	}
	var ratios, readOnly []float64
	for b.Loop() {
		ratios, readOnly = ratios[:0], readOnly[:0]
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			var v any
			if json.Unmarshal(text, &v) != nil {
				continue
			}
			decode := fastest(func() { var v any; _ = json.Unmarshal(text, &v) })
			ratios = append(ratios, fastest(func() { _, _, _ = aidiscovery.Parse(text, options) })/decode)
			readOnly = append(readOnly, fastest(func() { _, _ = protocol.ReadJSON(text, protocol.Limits{}) })/decode)
		}
	}
	slices.Sort(ratios)
	slices.Sort(readOnly)
	b.ReportMetric(ratios[len(ratios)/2], "x-json")
	b.ReportMetric(ratios[len(ratios)-1], "x-json-worst")
	b.ReportMetric(readOnly[len(readOnly)/2], "x-json-read")
}

// fastest returns the nanoseconds of one call: the best of many rounds, which a
// busy machine disturbs least.
func fastest(f func()) float64 { return fastestOf(30, f) }

func fastestOf(rounds int, f func()) float64 {
	best := time.Duration(1 << 62)
	for range rounds {
		const calls = 10
		start := time.Now()
		for range calls {
			f()
		}
		best = min(best, time.Since(start)/calls)
	}
	return float64(best.Nanoseconds())
}
