package api

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestFormatExposition(t *testing.T) {
	samples := "a_total" + formatLabels("host", "a\"b\\c\nd", "n", "é") + " 1\nb 2\na_total 3\n" +
		"go_gc_pauses_seconds_bucket{le=\"1\"} 4\ngo_gc_pauses_seconds_bucket{le=\"+Inf\"} 5\ngo_cgo_calls_count 6\n"
	want := "# HELP a_total \n# TYPE a_total counter\na_total{host=\"a\\\"b\\\\c\\nd\",n=\"é\"} 1\na_total 3\n" +
		"# HELP b \n# TYPE b gauge\nb 2\n" +
		"# HELP go_gc_pauses_seconds pauses of the garbage collector, as a histogram\n# TYPE go_gc_pauses_seconds histogram\n" +
		"go_gc_pauses_seconds_bucket{le=\"1\"} 4\ngo_gc_pauses_seconds_bucket{le=\"+Inf\"} 5\ngo_gc_pauses_seconds_count 5\n"
	if got := string(formatExposition([]byte(samples))); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestMetricsPage checks that docs/operating.md lists the metrics of this program with their help.
func TestMetricsPage(t *testing.T) {
	const path, head = "../docs/operating.md", "| metric | type | what it shows |\n|---|---|---|\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), head)
	_, after, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatal("the page has no table of metrics")
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(metricHelp)) {
		if strings.HasPrefix(name, "gazetteer_") {
			b.WriteString("| `" + name + "` | " + metricType(name) + " | " + metricHelp[name] + " |\n")
		}
	}
	want := before + head + b.String() + "\n" + after
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Error("docs/operating.md is out of date: run UPDATE=1 go test -run TestMetricsPage ./api")
	}
}
