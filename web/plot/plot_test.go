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

// TestTextsOfTimesFit checks for spans of seconds to months that the time axis has two marks at least, and that no text below the time axis is clipped
// at the end of the drawing, or stands over the one before.
func TestTextsOfTimesFit(t *testing.T) {
	const letter = 6.8 * 16 / 13 // as on the narrowest screens, whose letters are larger
	for span := time.Second; span < 200*24*time.Hour; span += span / 9 {
		p := plot.New("Leaves", "", []plot.Point{{At: began}, {At: began.Add(span), Value: 9}})
		if len(p.X) < 2 {
			t.Errorf("%s: the time axis has the marks %v", span, p.X)
		}
		free := 0.0
		for _, tick := range p.X {
			middle, err := strconv.ParseFloat(tick.Middle, 64)
			half := letter * float64(len(tick.Text)) / 2
			if err != nil || middle-half < free || middle+half > plot.Width {
				t.Errorf("%s: %q goes from %.0f to %.0f, after %.0f", span, tick.Text, middle-half, middle+half, free)
			}
			free = middle + half
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
	if want := "Visits: from 2 a minute to 1,500 a minute between 14 March 09:26 and 10:26 UTC"; p.Says != want {
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
	mark := regexp.MustCompile(`<text x="([0-9.]+)" y="231" text-anchor="middle">((?:[A-Z][a-z]{2} )?[0-9]{4}|[0-9]+ [A-Z][a-z]{2})</text>`)
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

// TestTextsFitDrawing draws charts with long names and large figures: no text may begin or end
// outside of the drawing, which is as wide as a phone.
func TestTextsFitDrawing(t *testing.T) {
	long := "withheld-by-robots-and-more-than-that"
	var lines []plot.Line
	var bars []plot.Bar
	for n := range 6 {
		lines = append(lines, plot.Line{Name: long, Points: []plot.Point{{At: began, Value: 1}, {At: began.AddDate(0, n+1, 0), Value: 999_999}}})
		bars = append(bars, plot.Bar{Label: long, Value: 999_999 / float64(n+1)})
	}
	text := regexp.MustCompile(`<text x="([0-9.]+)" y="[0-9.]+"(?: dy="[0-9]")?(?: text-anchor="([a-z]+)")?>([^<]*)</text>`)
	group := regexp.MustCompile(`<g text-anchor="([a-z]+)">(.*?)</g>`)
	for name, c := range map[string]*plot.Chart{
		"lines": plot.NewLines("Hosts", "", lines), "bars": plot.NewBars("Hosts", "class", long, bars),
		"steps": plot.NewSteps("Survival", long, "share", []int{0, 3, 4000}, []float64{1, .5, .25}),
	} {
		// A group gives its texts their alignment.
		drawing := group.ReplaceAllStringFunc(string(c.SVG()), func(g string) string {
			m := group.FindStringSubmatch(g)
			return strings.ReplaceAll(m[2], `">`, `" text-anchor="`+m[1]+`">`)
		})
		texts := text.FindAllStringSubmatch(drawing, -1)
		if len(texts) < 5 {
			t.Fatalf("%s: %d texts", name, len(texts))
		}
		for _, m := range texts {
			x, _ := strconv.ParseFloat(m[1], 64)
			letter := 7.8
			if strings.Trim(m[3], "0123456789,.%") == "" {
				letter = 7
			}
			wide := letter * float64(len([]rune(m[3])))
			begin := map[string]float64{"": x, "middle": x - wide/2, "end": x - wide}[m[2]]
			if begin < 0 || begin+wide > plot.Width {
				t.Errorf("%s: %q goes from %.0f to %.0f of %d", name, m[3], begin, begin+wide, plot.Width)
			}
		}
	}
	if plot.Width > 400 {
		t.Errorf("a drawing of %d units is too wide for a phone", plot.Width)
	}
}

// TestLabelsFit draws bars and lines with labels of wide letters of several scripts. A label beside its
// bar is complete; one that is too long stands above its bar, and ends inside the drawing.
func TestLabelsFit(t *testing.T) {
	// The widths of letters in DejaVu Sans and Noto Sans CJK at 13 pixels, as a browser draws them.
	widths := map[rune]float64{'W': 12.9, 'm': 12.7, 'O': 10.3, 'a': 8, 'l': 3.7, '-': 4.7, '8': 8.3, '漢': 13, 'Ж': 10.3, '…': 13, '.': 4.2}
	measure := func(text string) (sum float64) {
		for _, r := range text {
			sum += widths[r]
		}
		return sum
	}
	label := regexp.MustCompile(`<text x="([0-9]+)" y="[0-9]+">([^<0-9]{3,}|8{9,}…?)</text>`)
	for letter := range widths {
		for _, n := range []int{9, 19, 25, 60} {
			long := strings.Repeat(string(letter), n)
			drawing := string(plot.NewBars("Hosts", "1", "1", []plot.Bar{{Label: long, Value: 3}, {Label: "al", Value: 2}}).SVG())
			found := label.FindStringSubmatch(drawing)
			if found == nil {
				t.Fatalf("%s: no label in %s", long, drawing)
			}
			x, _ := strconv.ParseFloat(found[1], 64)
			begin, end := x, x+measure(found[2])
			if strings.Contains(drawing, `<g text-anchor="end">`) {
				begin, end = x-measure(found[2]), x
				if found[2] != long {
					t.Errorf("%s: beside its bar the label is %s", long, found[2])
				}
			}
			if begin < 0 || end > plot.Width {
				t.Errorf("%s goes from %.0f to %.0f of %d", found[2], begin, end, plot.Width)
			}
			if measure(long) < 280 && letter != 'l' && letter != '漢' && found[2] != long {
				t.Errorf("%s was cut to %s", long, found[2])
			}
		}
	}
}

// TestLongLabelsHaveTwoLines checks that a label that is too long for the drawing goes on in a second
// line, and that no bar covers it.
func TestLongLabelsHaveTwoLines(t *testing.T) {
	label := "AI311 Each value of the member categories must be among the eighteen categories of the draft"
	drawing := string(plot.NewBars("Rules", "rule", "hosts", []plot.Bar{{Label: label, Value: 3}, {Label: "short", Value: 2}}).SVG())
	var lines []string
	last := 0
	for _, found := range regexp.MustCompile(`<text x="12" y="([0-9]+)">([^<:]*)</text>`).FindAllStringSubmatch(drawing, -1) {
		y, _ := strconv.Atoi(found[1])
		if y < last+15 {
			t.Errorf("%q stands %d units below the line before", found[2], y-last)
		}
		lines, last = append(lines, found[2]), y
	}
	if len(lines) != 3 || lines[0]+" "+lines[1] != label || lines[2] != "short" {
		t.Errorf("the labels are %q", lines)
	}
	for _, bar := range regexp.MustCompile(`M12 ([0-9]+)H[0-9.]+v([0-9]+)H12z`).FindAllStringSubmatch(drawing, -1) {
		top, _ := strconv.Atoi(bar[1])
		height, _ := strconv.Atoi(bar[2])
		for _, found := range regexp.MustCompile(`<text x="12" y="([0-9]+)">`).FindAllStringSubmatch(drawing, -1) {
			if y, _ := strconv.Atoi(found[1]); y > top-2 && y-12 < top+height {
				t.Errorf("a bar from %d to %d covers the label at %d", top, top+height, y)
			}
		}
	}
}

// TestAxesAreNamed has the name of what each axis counts, and of what the bars are.
func TestAxesAreNamed(t *testing.T) {
	points := []plot.Point{{At: began, Value: 1}, {At: began.AddDate(0, 1, 0), Value: 2}}
	var lines []plot.Line
	for _, name := range strings.Fields("a b c d e f g h") {
		lines = append(lines, plot.Line{Name: name, Points: points})
	}
	long := strings.Repeat("a-", 20)
	for want, c := range map[string]*plot.Chart{
		">hosts<": plot.NewLines("Formats", "hosts", lines[:2]), ">hosts (6 of 8 shown)<": plot.NewLines("Classes", "hosts", lines),
		">bytes<": plot.NewBars("Sizes", "bytes", "hosts", []plot.Bar{{Label: "1", Value: 1}}), ">percent<": plot.NewBars("Changes", "format", "percent", []plot.Bar{{Label: "1", Value: 1}}),
		">format: hosts<": plot.NewBars("Sizes", "format", "hosts", []plot.Bar{{Label: long, Value: 1}}), ">" + long + "<": plot.NewBars("Sizes", "format", "hosts", []plot.Bar{{Label: long, Value: 1}}),
	} {
		if !strings.Contains(c.File(), want) {
			t.Errorf("%s: no %s in %s", c.Title, want, c.File())
		}
	}
}

// TestMarksOfBars draws bars of few and of many: the marks of the axis are whole numbers, and none
// covers the one before it.
func TestMarksOfBars(t *testing.T) {
	mark := regexp.MustCompile(`<text x="([0-9.]+)" y="68">([0-9.,]+)</text>`)
	for _, highest := range []float64{1, 2, 3, 7, 40, 999, 20_000, 40_000, 1_234_567} {
		c := plot.NewBars("Hosts", "class", "hosts", []plot.Bar{{Label: "a", Value: highest}})
		end := 0.0
		marks := mark.FindAllStringSubmatch(string(c.SVG()), -1)
		for _, m := range marks {
			x, _ := strconv.ParseFloat(m[1], 64)
			half := 3.5 * float64(len(m[2]))
			if x-half < end || strings.Contains(m[2], ".") {
				t.Errorf("%.0f: the mark %s begins at %.0f, the one before it ends at %.0f", highest, m[2], x-half, end)
			}
			end = x + half
		}
		if len(marks) < 2 {
			t.Errorf("%.0f: the marks are %v", highest, marks)
		}
	}
}

// TestAxesOfCounts has no marks between whole numbers for counts, and has them for shares.
func TestAxesOfCounts(t *testing.T) {
	for highest := 1.0; highest <= 12; highest++ {
		lines := []plot.Line{{Name: "New", Points: []plot.Point{{At: began, Value: 1}, {At: began.Add(time.Hour), Value: highest}}}}
		drawn := plot.NewLines("New", "", lines).File() + plot.NewBars("New", "Week", "New", []plot.Bar{{Label: "1", Value: highest}}).File()
		for _, tick := range plot.New("New", "", lines[0].Points).Y {
			drawn += ">" + tick.Text + "<"
		}
		if mark := regexp.MustCompile(`>[0-9]+\.[0-9]+<`).FindString(drawn); mark != "" {
			t.Errorf("up to %v: a mark %s", highest, mark)
		}
	}
	shares := plot.New("Share", "", []plot.Point{{At: began, Value: .2}, {At: began.Add(time.Hour), Value: .5}})
	if len(shares.Y) < 3 {
		t.Errorf("an axis of shares has the marks %v", shares.Y)
	}
}

// TestTotalsAreSteps checks that a line of totals changes only where a new one was recorded, so that it
// suggests no growth between two points.
func TestTotalsAreSteps(t *testing.T) {
	points := []plot.Point{{At: began, Value: 0}, {At: began.Add(time.Hour), Value: 0}, {At: began.Add(2 * time.Hour), Value: 8}}
	p := plot.NewTotals("Leaves", "", points)
	if want := "60.0,172.0 224.0,172.0 388.0,172.0 388.0,12.0"; p.Line != want {
		t.Errorf("the line is %s, want %s", p.Line, want)
	}
	if len(p.Points) != len(points) {
		t.Errorf("the table has the rows %v", p.Points)
	}
	drawing := plot.NewLines("Formats", "hosts", []plot.Line{{Name: "ai", Points: points}}).File()
	line := regexp.MustCompile(`points="([^"]*)"`).FindStringSubmatch(drawing)
	if line == nil || len(strings.Fields(line[1])) != 4 {
		t.Errorf("the line over time is %v", line)
	}
}
