package tally

import "time"

// Week is the time between two points of a series.
const Week = 7 * 24 * time.Hour

// maxWeeks is how far back a series reaches at most: ten years.
const maxWeeks = 522

// A Point is a figure at a time.
type Point struct {
	At    time.Time `json:"at"`
	Value int       `json:"value"`
}

// A Series is a figure over time: one point at the date of the census, and one for each week before
// it, oldest first.
type Series struct {
	Family string  `json:"family"`
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// seriesKey names a series.
type seriesKey struct{ family, name string }

// Weeks counts facts week by week up to a date. Index 0 is the date, 1 a week earlier.
type Weeks struct {
	at     time.Time
	values map[seriesKey]*[maxWeeks + 1]int32
	oldest int // the largest index with a figure
}

// NewWeeks returns a count without facts.
func NewWeeks(at time.Time) *Weeks {
	return &Weeks{at: at, values: map[seriesKey]*[maxWeeks + 1]int32{}}
}

// indexOf is the index of the first point at or after a time, -1 for a time after the date.
func (w *Weeks) indexOf(t time.Time) int {
	if t.After(w.at) {
		return -1
	}
	return min(int(w.at.Sub(t)/Week), maxWeeks)
}

// AddSpan counts something that lasted from a time until another, zero for still.
func (w *Weeks) AddSpan(family, name string, from, until time.Time) {
	first, last := w.indexOf(from), -1
	if !until.IsZero() {
		last = w.indexOf(until)
	}
	if first <= last {
		return
	}
	v := w.valuesOf(family, name)
	for i := last + 1; i <= first; i++ {
		v[i]++
	}
	w.oldest = max(w.oldest, first)
}

// AddEvent counts something that happened at a time, in the week of its point.
func (w *Weeks) AddEvent(family, name string, at time.Time) {
	i := w.indexOf(at)
	if i < 0 {
		return
	}
	w.valuesOf(family, name)[i]++
	w.oldest = max(w.oldest, i)
}

func (w *Weeks) valuesOf(family, name string) *[maxWeeks + 1]int32 {
	key := seriesKey{family, name}
	v := w.values[key]
	if v == nil {
		v = new([maxWeeks + 1]int32)
		w.values[key] = v
	}
	return v
}

// Series returns a figure over time, zeros if nothing was counted, and whether something was.
func (w *Weeks) Series(family, name string) (s Series, counted bool) {
	v := w.values[seriesKey{family, name}]
	s = Series{Family: family, Name: name}
	for i := w.oldest; i >= 0; i-- {
		p := Point{At: w.at.Add(-time.Duration(i) * Week)}
		if v != nil {
			p.Value = int(v[i])
		}
		s.Points = append(s.Points, p)
	}
	return s, v != nil
}
