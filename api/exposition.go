package api

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// A metricFamily is all samples of one metric, with everything that belongs to a histogram or to a
// summary.
type metricFamily struct {
	name    string
	samples []string
}

// formatExposition brings samples into the order that the text format of Prometheus asks for: one
// group for each family, below its HELP and TYPE line. The families keep the order in which they
// begin. Samples of [omittedMetrics] are left out.
func formatExposition(samples []byte) []byte {
	var families []metricFamily
	places := map[string]int{}
	for line := range strings.Lines(string(samples)) {
		name := familyName(line)
		if slices.Contains(omittedMetrics, name) {
			continue
		}
		place, found := places[name]
		if !found {
			place = len(families)
			places[name] = place
			families = append(families, metricFamily{name: name})
		}
		f := &families[place]
		f.samples = append(f.samples, line)
		// A histogram has a number of observations, which is that of its last bucket.
		if count, found := strings.CutPrefix(line, name+`_bucket{le="+Inf"}`); found {
			f.samples = append(f.samples, name+"_count"+count)
		}
	}
	var b bytes.Buffer
	for _, f := range families {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", f.name, escapeHelp(metricHelp[f.name]), f.name, metricType(f.name))
		for _, line := range f.samples {
			b.WriteString(line)
		}
	}
	return b.Bytes()
}

// Families of more than one metric; all others are counters and gauges.
var (
	histograms = []string{"go_gc_pauses_seconds", "go_sched_latencies_seconds"}
	summaries  = []string{"go_gc_duration_seconds"}
)

// omittedMetrics are metrics of the Go runtime whose names are reserved for histograms, and one that
// repeats go_info with a path of the machine that built the program.
var omittedMetrics = []string{"go_cgo_calls_count", "go_cpu_count", "go_gc_forced_count", "go_info_ext"}

// familyName returns the family of a sample.
func familyName(line string) string {
	name := line[:strings.IndexAny(line+" ", "{ ")]
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if family, found := strings.CutSuffix(name, suffix); found && (slices.Contains(histograms, family) || slices.Contains(summaries, family)) {
			return family
		}
	}
	return name
}

// metricType returns the type of a family.
func metricType(family string) string {
	switch {
	case slices.Contains(histograms, family):
		return "histogram"
	case slices.Contains(summaries, family):
		return "summary"
	case strings.HasSuffix(family, "_total"):
		return "counter"
	default:
		return "gauge"
	}
}

func escapeHelp(text string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(text)
}

// formatLabels writes pairs of a name and a value as the labels of a sample.
func formatLabels(pairs ...string) string {
	var b strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&b, `%c%s="%s"`, "{,"[min(i, 1)], pairs[i], escape.Replace(pairs[i+1]))
	}
	return b.String() + "}"
}
