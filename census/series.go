package census

import (
	"time"

	"gazetteer/census/tally"
	"gazetteer/conformance"
	"gazetteer/document"
)

// The families of series.
const (
	seriesFormats = "format"  // hosts that publish a format
	seriesStates  = "state"   // hosts with a verdict on a state
	seriesClasses = "class"   // hosts of a class
	seriesChanges = "changes" // new versions of documents in the week up to the point
	seriesHosts   = "hosts"   // hosts known
)

// seriesBuilder counts the history of hosts week by week.
type seriesBuilder struct {
	weeks *tally.Weeks
	turns time.Time // of the first turn, zero without one
}

// addHost counts the history of a host.
func (b *seriesBuilder) addHost(added time.Time, spans []Span, versions []Version, turns []Turn) {
	b.weeks.AddSpan(seriesHosts, "known", added, time.Time{})
	for _, s := range spans {
		b.weeks.AddSpan(seriesFormats, s.Kind, s.From, s.Until)
	}
	for _, v := range versions {
		if !v.First {
			b.weeks.AddEvent(seriesChanges, v.Kind, v.Seen)
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
		b.weeks.AddSpan(seriesClasses, string(t.Standing.Class), t.At, until)
		for _, name := range conformance.Names() {
			b.weeks.AddSpan(seriesStates, string(name)+"="+string(t.Standing.Verdict(name)), t.At, until)
		}
	}
}

// listSeries returns the series in a fixed order: every format and state, also those without a
// host.
func (b *seriesBuilder) listSeries() []tally.Series {
	var all []tally.Series
	add := func(family, name string) {
		s, counted := b.weeks.Series(family, name)
		if counted || family != seriesClasses && family != seriesChanges {
			all = append(all, s)
		}
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
