package api_test

import (
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gazetteer/crawler"
)

var (
	metricComment = regexp.MustCompile(`^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$`)
	metricSample  = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)((?:\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\["\\n])*",?)+\})?) (?:[-+]?[0-9][-+0-9.e]*|NaN|[-+]Inf)$`)
)

// checkExposition checks a text by the rules of the text format of Prometheus, and by those of
// promtool check metrics.
func checkExposition(t *testing.T, text string) {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line has no end")
	}
	var family, kind string
	begun, sampled := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if c := metricComment.FindStringSubmatch(line); c != nil {
			switch {
			case c[1] == "HELP" && begun[c[2]]:
				t.Errorf("the family %s begins twice", c[2])
			case c[1] == "TYPE" && (c[2] != family || kind != ""):
				t.Errorf("the type of %s does not follow its help", c[2])
			case c[1] == "TYPE":
				kind = c[3]
			default:
				family, kind, begun[c[2]] = c[2], "", true
			}
			continue
		}
		s := metricSample.FindStringSubmatch(line)
		if s == nil {
			t.Errorf("no sample: %q", line)
			continue
		}
		if sampled[s[1]+s[2]] {
			t.Errorf("%s%s is there twice", s[1], s[2])
		}
		sampled[s[1]+s[2]] = true
		suffixes := map[string][]string{"counter": {""}, "gauge": {""}, "summary": {"", "_sum", "_count"}, "histogram": {"_bucket", "_sum", "_count"}}[kind]
		if rest, found := strings.CutPrefix(s[1], family); !found || !slices.Contains(suffixes, rest) {
			t.Errorf("%s does not belong to %s %s", s[1], kind, family)
		}
		if strings.HasSuffix(family, "_total") != (kind == "counter") || kind == "gauge" && regexp.MustCompile(`_(bucket|sum|count)$`).MatchString(family) {
			t.Errorf("%s is not a name for a %s", family, kind)
		}
	}
	if len(begun) < 20 {
		t.Errorf("%d families", len(begun))
	}
}

// readMetrics returns what a server with a crawler writes at /metrics.
func readMetrics(t *testing.T) (*testServer, string) {
	t.Helper()
	h := newTestServer(t, options{})
	c, err := crawler.New(crawler.Options{Store: h.store})
	if err != nil {
		t.Fatal(err)
	}
	h.answers.Crawler = c
	w := httptest.NewRecorder()
	h.api.MetricsHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return h, w.Body.String()
}

// TestMetricsExposition checks that each metric has its help and its type, and that its samples are
// together.
func TestMetricsExposition(t *testing.T) {
	_, text := readMetrics(t)
	checkExposition(t, text)
	for _, want := range []string{
		"\n# TYPE gazetteer_limit_refused_total counter\ngazetteer_limit_refused_total{limit=",
		"\n# TYPE gazetteer_limit_waiting gauge\ngazetteer_limit_waiting{limit=",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
}
