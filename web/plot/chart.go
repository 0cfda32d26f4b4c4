package plot

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"
)

// A Chart is a plot of figures, with their table. The plot is one string of SVG that takes its
// colors from the classes s1 to s6, grid and text, so that a style sheet decides them:
// [ChartStyle] is one for a separate page.
type Chart struct {
	Title string
	Says  string // what it shows, for those who do not see it
	// Columns and Rows are the table.
	Columns []string
	Rows    [][]string

	width, height int
	body          string
}

// SVG returns the drawing for use inside a page.
func (c *Chart) SVG() template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %d %d" role="img" aria-label="%s">%s</svg>`, c.width, c.height, html.EscapeString(c.Says), c.body))
}

// File returns the plot as a separate file, with its title and style.
func (c *Chart) File() string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -30 %d %d" width="%d" height="%d" role="img"><title>%s</title><desc>%s</desc><style>%s</style><text class="title" x="4" y="-10">%s</text>%s</svg>`+"\n",
		c.width, c.height+30, c.width, c.height+30, html.EscapeString(c.Title), html.EscapeString(c.Says), ChartStyle, html.EscapeString(c.Title), c.body)
}

// WithNames returns the chart with other names of its lines in the legend: each pair is an old name and
// a new one.
func (c *Chart) WithNames(pairs ...string) *Chart {
	var quoted []string
	for _, name := range pairs {
		quoted = append(quoted, ">"+html.EscapeString(name)+"<")
	}
	named := *c
	named.body = strings.NewReplacer(quoted...).Replace(c.body)
	return &named
}

// ChartStyle is a style sheet for charts: readable on light and dark backgrounds, and in print
// without colors, where the dashes distinguish the lines.
const ChartStyle = `
text{fill:#4a4d46;font:13px system-ui,"Noto Sans","DejaVu Sans",sans-serif}
.title{font-weight:600;font-size:15px;fill:#1f211e}
.grid{stroke:#e2dfd6;stroke-width:1}
.s1{--c:#0c5f56}.s2{--c:#a1261c}.s3{--c:#7d4e00}.s4{--c:#2a4d9b}.s5{--c:#6b2a86}.s6{--c:#4a4d46}
polyline{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}
.key{stroke:var(--c);stroke-width:3}
.bars{fill:var(--c)}
.d2{stroke-dasharray:8 4}.d3{stroke-dasharray:2 3}.d4{stroke-dasharray:10 3 2 3}.d5{stroke-dasharray:5 2}.d6{stroke-dasharray:1 5;stroke-linecap:round}
@media (prefers-color-scheme:dark){text{fill:#b4b6ad}.title{fill:#e7e6df}.grid{stroke:#2f332e}
.s1{--c:#83cdc1}.s2{--c:#f39b8f}.s3{--c:#e6bd72}.s4{--c:#9db8f2}.s5{--c:#d6a5ea}.s6{--c:#b4b6ad}}
@media print{text{fill:#000}.title{fill:#000}.grid{stroke:#bbb}.s1{--c:#0c5f56}.s2{--c:#a1261c}.s3{--c:#7d4e00}.s4{--c:#2a4d9b}.s5{--c:#6b2a86}.s6{--c:#4a4d46}}
`

// A Line is one line of a chart. Points are in order of time.
type Line struct {
	Name   string
	Points []Point
}

// maxLines is the number of lines that one chart can distinguish.
const maxLines = 6

// The size of a chart with lines, of its margins and of its legend.
const (
	chartWidth              = Width
	linesHeight             = 240
	chartLeft, chartRight   = left, right
	chartTop, chartBottom   = 30, 30
	legendWidth, legendLine = 168, 20
	legendKey, legendText   = 24, 138
)

// NewLines draws lines over time, above an axis that begins at 0. A line keeps the value of a point
// until the next one. The axis names what the figures count. It is nil if no line has two points of different times. Only the first six lines are drawn;
// the table has those.
func NewLines(title, axis string, lines []Line) *Chart {
	all := len(lines)
	lines = lines[:min(len(lines), maxLines)]
	var from, to time.Time
	highest := 0.0
	for _, l := range lines {
		for _, p := range l.Points {
			if from.IsZero() || p.At.Before(from) {
				from = p.At
			}
			if p.At.After(to) {
				to = p.At
			}
			highest = max(highest, p.Value)
		}
	}
	if !to.After(from) {
		return nil
	}
	x := func(t time.Time) float64 {
		return chartLeft + (chartWidth-chartLeft-chartRight)*float64(t.Sub(from))/float64(to.Sub(from))
	}
	ticks := timeTicks(from, to, x)
	c := &Chart{Title: title, Columns: []string{"Date"}}
	series := make([][]xy, len(lines))
	for i, l := range lines {
		c.Columns = append(c.Columns, l.Name)
		for _, p := range holdValues(l.Points) {
			series[i] = append(series[i], xy{x(p.At), p.Value})
		}
	}
	c.Says = fmt.Sprintf("%s, from %s to %s. At the end: ", title, from.UTC().Format("2 January 2006"), to.UTC().Format("2 January 2006"))
	if all > len(lines) {
		axis += fmt.Sprintf(" (%d of %d shown)", len(lines), all)
	}
	c.drawLines(lines, series, ticks, highest, "", axis)
	longest := 0
	for i, l := range lines {
		if len(l.Points) > len(lines[longest].Points) {
			longest = i
		}
	}
	every := (len(lines[longest].Points) + maxRows - 1) / maxRows
	for n := 0; n < len(lines[longest].Points); n += max(every, 1) {
		row := []string{}
		for i, l := range lines {
			at := len(l.Points) - 1 - n
			if i == 0 {
				row = append(row, lines[longest].Points[len(lines[longest].Points)-1-n].At.UTC().Format("2006-01-02"))
			}
			if at < 0 {
				row = append(row, "")
				continue
			}
			row = append(row, formatUnit(l.Points[at].Value, ""))
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

type xy struct{ x, value float64 }

// drawLines draws lines, their axes and a legend below them. The unit follows each figure.
func (c *Chart) drawLines(lines []Line, series [][]xy, ticks []Tick, highest float64, unit, axis string) {
	fractional := slices.ContainsFunc(series, func(points []xy) bool {
		return slices.ContainsFunc(points, func(p xy) bool { return !isWhole(p.value) })
	})
	step := niceStep(highest, !fractional)
	roof := step * math.Max(1, math.Ceil(highest/step))
	y := func(v float64) float64 { return chartTop + (linesHeight-chartTop-chartBottom)*(1-v/roof) }
	var b strings.Builder
	fmt.Fprintf(&b, `<text x="%d" y="14">%s</text>`, chartLeft, html.EscapeString(axis))
	for n := 0.0; n <= roof+step/2; n += step {
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%s" y2="%s"/><text x="%d" y="%s" dy="4" text-anchor="end">%s</text>`,
			chartLeft, chartWidth-chartRight, formatNumber(y(n)), formatNumber(y(n)), chartLeft-8, formatNumber(y(n)), formatValue(n)+unit)
	}
	for _, t := range ticks {
		fmt.Fprintf(&b, `<line class="grid" x1="%s" x2="%s" y1="%d" y2="%d"/><text x="%s" y="%d" text-anchor="middle">%s</text>`,
			t.At, t.At, linesHeight-chartBottom, linesHeight-chartBottom+6, t.Middle, linesHeight-chartBottom+21, html.EscapeString(t.Text))
	}
	perRow := (chartWidth - chartLeft) / legendWidth
	for i, l := range lines {
		fmt.Fprintf(&b, `<polyline class="s%d d%d" points="`, i+1, i+1)
		for n, p := range series[i] {
			if n > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(formatNumber(p.x) + "," + formatNumber(y(p.value)))
		}
		b.WriteString(`"></polyline>`)
		lx, ly := chartLeft+(i%perRow)*legendWidth, linesHeight+14+(i/perRow)*legendLine
		fmt.Fprintf(&b, `<line class="key s%d d%d" x1="%d" x2="%d" y1="%d" y2="%d"/><text x="%d" y="%d" dy="4">%s</text>`,
			i+1, i+1, lx, lx+legendKey, ly, ly, lx+legendKey+6, ly, html.EscapeString(clipText(l.Name, legendText)))
		if n := len(series[i]); n > 0 {
			c.Says += fmt.Sprintf("%s %s; ", l.Name, formatValue(series[i][n-1].value)+unit)
		}
	}
	c.width, c.height = chartWidth, linesHeight+14+legendLine*((len(lines)+perRow-1)/perRow)
	c.body = b.String()
}

// NewSteps draws shares between 0 and 100% over days: the part that is left after each number of
// days. The axis says what the shares are of.
func NewSteps(title, name, axis string, days []int, shares []float64) *Chart {
	if len(days) < 2 {
		return nil
	}
	last := float64(max(days[len(days)-1], 1))
	x := func(d float64) float64 { return chartLeft + (chartWidth-chartLeft-chartRight)*d/last }
	c := &Chart{Title: title, Columns: []string{"Days", name}, Says: title + ". At the end: "}
	var points []xy
	for i, d := range days {
		if i > 0 {
			points = append(points, xy{x(float64(d)), 100 * shares[i-1]})
		}
		points = append(points, xy{x(float64(d)), 100 * shares[i]})
		c.Rows = append(c.Rows, []string{fmt.Sprint(d), fmt.Sprintf("%.1f%%", 100*shares[i])})
	}
	var ticks []Tick
	step := niceStep(last, true)
	for d := 0.0; d <= last; d += step {
		ticks = appendTick(ticks, x(d), formatValue(d)+" d")
	}
	c.drawLines([]Line{{Name: name}}, [][]xy{points}, ticks, 100, "%", axis)
	return c
}

// A Bar is one bar of a chart.
type Bar struct {
	Label string
	Value float64
}

// The sizes of a chart with bars.
const (
	barLine  = 24
	barLeft  = 170
	barRight = 56
	barTop   = 20 // of the first bar, below the name of the labels
	// Labels that are too long for the place beside the bars stand above them, in two lines if one is
	// too short for some of them.
	stackedLine = 40
	stackedLeft = 12
	labelLine   = 17
	// digitWidth is the width of a digit in the font of charts.
	digitWidth = 8
)

// NewBars draws bars from left to right, on an axis that begins at 0, each with its figure. The label
// names what the bars are, the value what the axis counts. It returns nil without bars.
func NewBars(title, label, value string, bars []Bar) *Chart {
	if len(bars) == 0 {
		return nil
	}
	line, left, labelX, anchor := barLine, barLeft, barLeft-8, "end"
	labelWidth := float64(labelX)
	if textWidth(label) > labelWidth || slices.ContainsFunc(bars, func(bar Bar) bool { return textWidth(bar.Label) > labelWidth }) {
		line, left, labelX, anchor = stackedLine, stackedLeft, stackedLeft, "start"
		labelWidth = chartWidth - 2*stackedLeft
		if slices.ContainsFunc(bars, func(bar Bar) bool { return textWidth(bar.Label) > labelWidth }) {
			line += labelLine
		}
	}
	highest := 0.0
	for _, bar := range bars {
		highest = max(highest, bar.Value)
	}
	step := niceStep(highest, !slices.ContainsFunc(bars, func(bar Bar) bool { return !isWhole(bar.Value) }))
	roof := step * math.Max(1, math.Ceil(highest/step))
	x := func(v float64) float64 { return float64(left) + float64(chartWidth-left-barRight)*v/roof }
	bottom := barTop + len(bars)*line + 6
	c := &Chart{Title: title, Columns: []string{label, value}, width: chartWidth, height: bottom + 28}
	// Marks of one kind are one path, and texts of one alignment one group: a page has dozens of
	// charts.
	var grid, marks, labels, rectangles, figures strings.Builder
	// Labels that are wider than a step stand at every second or third mark.
	every := int(math.Ceil(float64(len(formatValue(roof))+1) * digitWidth / (x(step) - x(0))))
	for i := 0; float64(i)*step <= roof+step/2; i++ {
		at := formatNumber(x(float64(i) * step))
		fmt.Fprintf(&grid, "M%s %dV%d", at, bottom-4, bottom) // no line through the figures of the bars
		if i%every == 0 {
			fmt.Fprintf(&marks, `<text x="%s" y="%d">%s</text>`, at, bottom+18, formatValue(float64(i)*step))
		}
	}
	writeLabel := func(x, y int, text string, most float64) {
		fmt.Fprintf(&labels, `<text x="%d" y="%d">%s</text>`, x, y, html.EscapeString(clipText(text, most)))
	}
	if anchor == "end" {
		writeLabel(labelX, 14, label, labelWidth)
		writeLabel(labelX-8, bottom+18, value, labelWidth-8)
	} else {
		writeLabel(labelX, 14, label+": "+value, labelWidth)
	}
	c.Says = title + ": "
	for i, bar := range bars {
		top := barTop + i*line + 5
		baseline := top + barLine/2 + 2
		if line >= stackedLine {
			baseline -= 5 // no descender reaches the bar
		}
		first, rest := bar.Label, ""
		if line > stackedLine {
			first, rest = splitLabel(bar.Label, labelWidth)
		}
		if rest != "" {
			writeLabel(labelX, baseline, first, labelWidth)
			first = rest
		}
		top += line - barLine
		writeLabel(labelX, baseline+max(0, line-stackedLine), first, labelWidth)
		end := max(x(bar.Value), float64(left))
		fmt.Fprintf(&rectangles, "M%d %dH%sv%dH%dz", left, top, formatNumber(end), barLine-7, left)
		fmt.Fprintf(&figures, `<text x="%s" y="%d">%s</text>`, formatNumber(end+6), top+barLine/2+2, formatValue(bar.Value))
		c.Rows = append(c.Rows, []string{bar.Label, formatValue(bar.Value)})
		if i < maxLines {
			c.Says += fmt.Sprintf("%s %s; ", bar.Label, formatValue(bar.Value))
		}
	}
	c.body = fmt.Sprintf(`<path class="grid" d="%s"/><g text-anchor="middle">%s</g><g text-anchor="%s">%s</g><path class="s1 bars" d="%s"/>%s`,
		grid.String(), marks.String(), anchor, labels.String(), rectangles.String(), figures.String())
	return c
}

// textWidth estimates the width of a text in the font of charts, in units of the drawing. Texts are
// not narrower than it in the common fonts.
func textWidth(s string) float64 {
	sum := 0.0
	for _, r := range s {
		sum += runeWidth(r)
	}
	return sum
}

func runeWidth(r rune) float64 {
	switch kind := width.LookupRune(r).Kind(); {
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 16.5 // as emoji, the widest of them
	case strings.ContainsRune("WMmw@%…", r):
		return 13
	case strings.ContainsRune("iljt.,:;'|! frI-()[]/", r):
		return 5.7
	case unicode.IsUpper(r) || r > unicode.MaxLatin1:
		return 10.5
	}
	return 8.3
}

// splitLabel splits a text after the last word that ends within so many units; rest is "" for a text
// that is not longer, or has one word.
func splitLabel(s string, most float64) (first, rest string) {
	if textWidth(s) <= most {
		return s, ""
	}
	at := 0
	for i, r := range s {
		if r == ' ' && (at == 0 || textWidth(s[:i]) <= most) {
			at = i
		}
	}
	if at == 0 {
		return s, ""
	}
	return s[:at], s[at+1:]
}

// clipText shortens a text to so many units.
func clipText(s string, most float64) string {
	if textWidth(s) <= most {
		return s
	}
	most -= runeWidth('…')
	for i, r := range s {
		if most -= runeWidth(r); most < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
