package census

import (
	"time"

	"gazetteer/conformance"
	"gazetteer/document"
)

// week is the time between two points of a series.
const week = 7 * 24 * time.Hour

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

// The families of series.
const (
	seriesFormats = "format"  // hosts that publish a format
	seriesStates  = "state"   // hosts with a verdict on a state
	seriesClasses = "class"   // hosts of a class
	seriesChanges = "changes" // new versions of documents in the week up to the point
	seriesHosts   = "hosts"   // hosts known
)

// seriesKey names a series.
type seriesKey struct{ family, name string }

// seriesBuilder counts facts week by week. Index 0 is the date, 1 a week earlier.
type seriesBuilder struct {
	at     time.Time
	values map[seriesKey]*[maxWeeks + 1]int32
	oldest int       // the largest index with a figure
	turns  time.Time // of the first turn, zero without one
}

// indexOf is the index of the first point at or after a time, -1 for a time after the date.
func (b *seriesBuilder) indexOf(t time.Time) int {
	if t.After(b.at) {
		return -1
	}
	return min(int(b.at.Sub(t)/week), maxWeeks)
}

// addSpan counts something that lasted from a time until another, zero for still.
func (b *seriesBuilder) addSpan(family, name string, from, until time.Time) {
	first, last := b.indexOf(from), -1
	if !until.IsZero() {
		last = b.indexOf(until)
	}
	if first <= last {
		return
	}
	v := b.valuesOf(family, name)
	for i := last + 1; i <= first; i++ {
		v[i]++
	}
	b.oldest = max(b.oldest, first)
}

// addEvent counts something that happened at a time, in the week of its point.
func (b *seriesBuilder) addEvent(family, name string, at time.Time) {
	i := b.indexOf(at)
	if i < 0 {
		return
	}
	b.valuesOf(family, name)[i]++
	b.oldest = max(b.oldest, i)
}

func (b *seriesBuilder) valuesOf(family, name string) *[maxWeeks + 1]int32 {
	key := seriesKey{family, name}
	v := b.values[key]
	if v == nil {
		v = new([maxWeeks + 1]int32)
		b.values[key] = v
	}
	return v
}

// addHost counts the history of a host.
func (b *seriesBuilder) addHost(added time.Time, spans []Span, versions []Version, turns []Turn) {
	b.addSpan(seriesHosts, "known", added, time.Time{})
	for _, s := range spans {
		b.addSpan(seriesFormats, s.Kind, s.From, s.Until)
	}
	for _, v := range versions {
		if !v.First {
			b.addEvent(seriesChanges, v.Kind, v.Seen)
		}
	}
	for i, t := range turns {
		if b.turns.IsZero() || t.At.Before(b.turns) {
			b.turns = t.At
		}
		until := time.Time{}
		if i+1 < len(turns) {
			until = turns[i+1].At
		}
		b.addSpan(seriesClasses, string(t.Standing.Class), t.At, until)
		for _, name := range conformance.Names() {
			b.addSpan(seriesStates, string(name)+"="+string(t.Standing.Verdict(name)), t.At, until)
		}
	}
}

// listSeries returns the series in a fixed order: every format and state, also those without a
// host.
func (b *seriesBuilder) listSeries() []Series {
	var all []Series
	add := func(family, name string) {
		v := b.values[seriesKey{family, name}]
		if v == nil && (family == seriesClasses || family == seriesChanges) {
			return
		}
		s := Series{Family: family, Name: name}
		for i := b.oldest; i >= 0; i-- {
			p := Point{At: b.at.Add(-time.Duration(i) * week)}
			if v != nil {
				p.Value = int(v[i])
			}
			s.Points = append(s.Points, p)
		}
		all = append(all, s)
	}
	add(seriesHosts, "known")
	for _, k := range document.Kinds() {
		add(seriesFormats, string(k))
	}
	if !b.turns.IsZero() {
		for _, name := range conformance.Names() {
			for _, v := range verdicts {
				add(seriesStates, string(name)+"="+string(v))
			}
		}
		for _, c := range conformance.Classes() {
			add(seriesClasses, string(c))
		}
	}
	for _, k := range document.Kinds() {
		add(seriesChanges, string(k))
	}
	return all
}

// verdicts are all of them, in the order in which tables list them.
var verdicts = []conformance.Verdict{conformance.Yes, conformance.No, conformance.Unknown}

// classUnknown is the class of a host that was visited after the date only, and has no history of
// the time before.
const classUnknown conformance.PublisherClass = "unknown"
