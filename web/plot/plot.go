// Package plot draws figures over time as SVG, with labeled axes. [New] returns the drawing as
// values; the template "plot" of package frame writes them.
package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The size of a plot and of the margins for its axes, in its own units. It is that of a phone, so
// that nobody has to scroll sideways or to read small letters.
const (
	Width, Height = 400, 200
	left, right   = 60, 12
	top, bottom   = 12, 28
)

// Point is a figure at a time.
type Point struct {
	At    time.Time
	Value float64
}

// Plot is a line over time.
type Plot struct {
	Title  string
	Says   string // what it shows, for those who do not see it
	Line   string // points of a polyline
	Area   string // points of a polygon below the line
	X, Y   []Tick
	Points []TableRow // what the table below the drawing shows
}

// holdValues inserts a point before each change, so that a line through the points keeps each value
// until the next one instead of suggesting values between them.
func holdValues(points []Point) []Point {
	var held []Point
	for i, p := range points {
		if i > 0 && points[i-1].Value != p.Value {
			held = append(held, Point{p.At, points[i-1].Value})
		}
		held = append(held, p)
	}
	return held
}

// Tick is a mark on an axis, with its position in the drawing.
type Tick struct {
	At     string
	Text   string
	Middle string // where the middle of the text is, on a horizontal axis
}

// letterWidth is the greatest width of the letters below an axis, also on a phone, where they are larger;
// textGap is between two texts.
const letterWidth, textGap = 9, 8

// appendTick appends a mark of a horizontal axis. The text of one near the end is moved to the left, so
// that the drawing does not clip it; the mark is left out if the text does not fit after the one before.
func appendTick(ticks []Tick, at float64, text string) []Tick {
	width := letterWidth * float64(len(text))
	middle := min(at, Width-width/2)
	if n := len(ticks); n > 0 {
		before, err := strconv.ParseFloat(ticks[n-1].Middle, 64)
		if err != nil || before+letterWidth*float64(len(ticks[n-1].Text))/2+textGap > middle-width/2 {
			return ticks
		}
	}
	return append(ticks, Tick{At: formatNumber(at), Text: text, Middle: formatNumber(middle)})
}

// TableRow is a figure as a table shows it.
type TableRow struct{ When, Value string }

// maxRows bounds the table.
const maxRows = 24

// New draws points, which must be in order of time; it returns nil for fewer than two, or if all
// have the same time. The unit follows each figure, "" for none.
func New(title, unit string, points []Point) *Plot { return newPlot(title, unit, points, points) }

// NewTotals is New for totals that were recorded when they changed: the line keeps each value until the
// next one.
func NewTotals(title, unit string, points []Point) *Plot {
	return newPlot(title, unit, points, holdValues(points))
}

// newPlot draws a line through drawn, which describes the same figures as points.
func newPlot(title, unit string, points, drawn []Point) *Plot {
	if len(points) < 2 {
		return nil
	}
	first, last := points[0], points[len(points)-1]
	span := last.At.Sub(first.At)
	if span <= 0 {
		return nil
	}
	highest, whole := 0.0, true
	for _, p := range points {
		highest, whole = max(highest, p.Value), whole && isWhole(p.Value)
	}
	step := niceStep(highest, whole)
	roof := step * math.Max(1, math.Ceil(highest/step))
	x := func(t time.Time) float64 {
		return left + (Width-left-right)*float64(t.Sub(first.At))/float64(span)
	}
	y := func(v float64) float64 { return top + (Height-top-bottom)*(1-v/roof) }
	v := &Plot{Title: title}
	var line []string
	for _, p := range drawn {
		line = append(line, formatNumber(x(p.At))+","+formatNumber(y(p.Value)))
	}
	v.Line = strings.Join(line, " ")
	v.Area = fmt.Sprintf("%s,%s %s %s,%s", formatNumber(x(first.At)), formatNumber(y(0)), v.Line, formatNumber(x(last.At)), formatNumber(y(0)))
	for n := 0.0; n <= roof+step/2; n += step {
		v.Y = append(v.Y, Tick{At: formatNumber(y(n)), Text: formatValue(n)})
	}
	v.X = timeTicks(first.At, last.At, x)
	begin, end := spanFormats(first.At.UTC(), last.At.UTC())
	v.Says = fmt.Sprintf("%s: from %s to %s between %s and %s UTC", title, formatUnit(first.Value, unit), formatUnit(last.Value, unit),
		first.At.UTC().Format(begin), last.At.UTC().Format(end))
	if highest > max(first.Value, last.Value) {
		v.Says += ", highest " + formatUnit(highest, unit)
	}
	every := (len(points) + maxRows - 1) / maxRows
	for i := len(points) - 1; i >= 0; i -= every {
		v.Points = append(v.Points, TableRow{points[i].At.UTC().Format("2 January 2006 15:04:05 UTC"), formatUnit(points[i].Value, unit)})
	}
	return v
}

// spanFormats returns the formats of two times in UTC that a sentence names: with seconds below an hour,
// and with the day and the year only where they differ.
func spanFormats(from, to time.Time) (first, last string) {
	clock := "15:04"
	if to.Sub(from) < time.Hour {
		clock = "15:04:05"
	}
	switch {
	case from.Year() != to.Year():
		return "2 January 2006 " + clock, "2 January 2006 " + clock
	case from.YearDay() != to.YearDay():
		return "2 January " + clock, "2 January " + clock
	}
	return "2 January " + clock, clock
}

// niceStep returns the distance of the marks on an axis up to the highest of some figures: 1, 2 or 5
// times a power of ten, for about four marks. Counts have no marks between whole numbers.
func niceStep(highest float64, whole bool) float64 {
	if highest <= 0 || whole && highest < 4 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(highest/4)))
	for _, n := range []float64{1, 2, 5} {
		if n*power*4 >= highest {
			return n * power
		}
	}
	return 10 * power
}

func isWhole(v float64) bool { return v == math.Trunc(v) }

// timeSteps are the possible distances of the marks on the time axis.
var timeSteps = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 2 * 24 * time.Hour, 4 * 24 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour,
}

// month is the length of a short one.
const month = 28 * 24 * time.Hour

// maxTimeTicks is the number of marks that fit on the time axis, one more at its end.
const maxTimeTicks = 4

// timeTicks returns marks at round times, with a different label for each mark.
func timeTicks(from, to time.Time, x func(time.Time) float64) []Tick {
	if to.Sub(from) >= 2*month {
		return monthTicks(from, to, x)
	}
	longest := slices.IndexFunc(timeSteps, func(step time.Duration) bool { return to.Sub(from)/step < maxTimeTicks })
	var ticks []Tick
	for i := longest; i >= 0 && len(ticks) < 2; i-- { // one mark shows no scale
		ticks = stepTicks(from, to, timeSteps[i], x)
	}
	return ticks
}

// stepTicks returns marks at the multiples of a step.
func stepTicks(from, to time.Time, step time.Duration, x func(time.Time) float64) []Tick {
	layout := "2 Jan"
	switch {
	case step < time.Second:
		layout = "15:04:05.0"
	case step < time.Minute:
		layout = "15:04:05"
	case step < 12*time.Hour:
		layout = "15:04"
	case step < 24*time.Hour:
		layout = "2 Jan 15:04"
	}
	var ticks []Tick
	for t := from.UTC().Truncate(step); !t.After(to); t = t.Add(step) {
		if at := x(t); at >= left && at <= Width-right-10 {
			ticks = appendTick(ticks, at, t.Format(layout))
		}
	}
	return ticks
}

// monthTicks returns marks at the beginning of months: each, each second one and so on, or of years.
func monthTicks(from, to time.Time, x func(time.Time) float64) []Tick {
	months := 1
	for _, months = range []int{1, 2, 3, 6, 12, 24, 60, 120} {
		if to.Sub(from)/(time.Duration(months)*month) <= maxTimeTicks {
			break
		}
	}
	layout := "Jan 2006"
	if months >= 12 {
		layout = "2006"
	}
	var ticks []Tick
	begin := from.UTC()
	for t := time.Date(begin.Year(), 1, 1, 0, 0, 0, 0, time.UTC); !t.After(to); t = t.AddDate(0, months, 0) {
		if at := x(t); !t.Before(from) && at >= left && at <= Width-right-10 {
			ticks = appendTick(ticks, at, t.Format(layout))
		}
	}
	return ticks
}

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func formatUnit(v float64, unit string) string {
	return strings.TrimSpace(formatValue(v) + " " + unit)
}

// formatValue writes a figure in few characters: 0.5, 12, 731, 3,400, 1.2M, 12.3B.
func formatValue(v float64) string {
	if v >= 100 {
		v = math.Round(v)
	}
	switch {
	case v >= 999_500_000:
		return roundDigits(v/1e9, 3) + "B"
	case v >= 1e6:
		return roundDigits(v/1e6, 3) + "M"
	case v >= 1000:
		s := strconv.Itoa(int(v))
		return s[:len(s)-3] + "," + s[len(s)-3:]
	case v == math.Trunc(v):
		return strconv.Itoa(int(v))
	}
	return roundDigits(v, 2)
}

// roundDigits writes a number with at most that many digits that are not zeros, and no exponent.
func roundDigits(v float64, digits int) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		rounded = v // of a number that is none
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
