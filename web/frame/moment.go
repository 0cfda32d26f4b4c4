package frame

import (
	"fmt"
	"time"
)

// A Moment is a time as template "moment" shows it: relative for reading, exact for machines and in
// the tooltip. The zero moment is "never".
type Moment struct {
	Exact string // RFC 3339, for the datetime attribute
	Full  string // 2 January 2006 15:04:05 UTC
	Ago   string // 3 minutes ago, in 2 hours
}

func (f *Frame) MomentOf(t time.Time) Moment {
	if t.IsZero() {
		return Moment{}
	}
	t = t.UTC()
	return Moment{
		Exact: t.Format(time.RFC3339),
		Full:  t.Format("2 January 2006 15:04:05 UTC"),
		Ago:   relativeTime(f.Now().Sub(t)),
	}
}

// MomentOfDue is MomentOf for a time at which something is due: "due now" once it has come.
func (f *Frame) MomentOfDue(t time.Time) Moment {
	m := f.MomentOf(t)
	if !t.IsZero() && t.Sub(f.Now()) < 10*time.Second {
		m.Ago = "now"
	}
	return m
}

// relativeTime returns how long ago a time was, or for a negative span how far ahead, in the
// largest unit that counts at least two (or "a day ago").
func relativeTime(span time.Duration) string {
	ahead := span < 0
	if ahead {
		span = -span
	}
	if span < 10*time.Second {
		return "just now"
	}
	words := FormatSpan(span)
	if ahead {
		return "in " + words
	}
	return words + " ago"
}

// FormatSpan writes a time span in its largest unit: "3 hours", "a day".
func FormatSpan(span time.Duration) string {
	const day = 24 * time.Hour
	for _, u := range []struct {
		span time.Duration
		one  string
		many string
	}{
		{365 * day, "a year", "years"},
		{30 * day, "a month", "months"},
		{day, "a day", "days"},
		{time.Hour, "an hour", "hours"},
		{time.Minute, "a minute", "minutes"},
		{time.Second, "a second", "seconds"},
	} {
		n := int(span / u.span)
		if n == 1 {
			return u.one
		}
		if n > 1 {
			return fmt.Sprintf("%d %s", n, u.many)
		}
	}
	return "a moment"
}
