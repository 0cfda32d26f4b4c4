package plot_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gazetteer/web/plot"
)

var began = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

func TestMarksOfAxesDiffer(t *testing.T) {
	for _, span := range []time.Duration{2 * time.Second, time.Minute, time.Hour, 12 * time.Hour, 26 * time.Hour, 40 * 24 * time.Hour, 3 * 365 * 24 * time.Hour} {
		for _, highest := range []float64{0, .3, 1, 7, 1234, 5e6} {
			p := plot.New("Hosts", "", []plot.Point{{At: began, Value: 0}, {At: began.Add(span / 2), Value: highest / 3}, {At: began.Add(span), Value: highest}})
			for axis, ticks := range map[string][]plot.Tick{"time": p.X, "figures": p.Y} {
				var texts []string
				for _, tick := range ticks {
					if slices.Contains(texts, tick.Text) {
						t.Errorf("%s, up to %v: the axis of %s says %q twice", span, highest, axis, tick.Text)
					}
					texts = append(texts, tick.Text)
					at, err := strconv.ParseFloat(tick.At, 64)
					if err != nil || at < 0 || at > plot.Width {
						t.Errorf("a mark at %s", tick.At)
					}
				}
				if len(ticks) == 0 || len(ticks) > 8 {
					t.Errorf("%s, up to %v: %d marks on the axis of %s", span, highest, len(ticks), axis)
				}
			}
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	if plot.New("Hosts", "", []plot.Point{{At: began}}) != nil || plot.New("Hosts", "", []plot.Point{{At: began}, {At: began}}) != nil {
		t.Error("one moment was drawn")
	}
}

func TestPlotHasTextDescription(t *testing.T) {
	p := plot.New("Visits", "a minute", []plot.Point{{At: began, Value: 2}, {At: began.Add(time.Hour), Value: 1500}})
	if want := "Visits: from 2 a minute to 1,500 a minute between 14 March 09:26 and 14 March 10:26 UTC, highest 1,500 a minute"; p.Says != want {
		t.Errorf("%q, want %q", p.Says, want)
	}
	if len(p.Points) != 2 || !strings.HasPrefix(p.Points[0].Value, "1,500") {
		t.Errorf("the table: %v", p.Points)
	}
}

// TestAxisOfMonths has between three and seven marks for every span that a census has, none of them
// over another.
func TestAxisOfMonths(t *testing.T) {
	from := time.Date(2019, 11, 21, 23, 59, 59, 0, time.UTC)
	mark := regexp.MustCompile(`<text x="([0-9.]+)" y="211" text-anchor="middle">((?:[A-Z][a-z]{2} )?[0-9]{4}|[0-9]+ [A-Z][a-z]{2})</text>`)
	for _, days := range []int{20, 57, 80, 200, 365, 800, 2500} {
		c := plot.NewLines("Hosts", "", []plot.Line{{Name: "ai", Points: []plot.Point{{At: from, Value: 1}, {At: from.AddDate(0, 0, days), Value: 2}}}})
		last := -100.0
		marks := mark.FindAllStringSubmatch(string(c.SVG()), -1)
		for _, m := range marks {
			x, _ := strconv.ParseFloat(m[1], 64)
			if x-last < 70 {
				t.Errorf("%d days: the mark %s covers the one before it", days, m[2])
			}
			last = x
		}
		if len(marks) < 2 || len(marks) > 7 {
			t.Errorf("%d days: the marks are %v", days, marks)
		}
	}
}
