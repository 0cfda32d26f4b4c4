package steadyclock

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestJumps checks that a jump is detected once, with its size, and that due times follow a forward
// jump slowly, a backward jump at once, and a correct clock exactly. The steady time ignores jumps.
func TestJumps(t *testing.T) {
	var log bytes.Buffer
	start := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	wall, monotonic := start, time.Duration(0)
	c := newClock(func() time.Time { return wall }, func() time.Duration { return monotonic }, slog.New(slog.NewTextHandler(&log, nil)))
	pass := func(d time.Duration) {
		for range int(d / time.Second) {
			wall, monotonic = wall.Add(time.Second), monotonic+time.Second
			c.Now()
		}
	}
	expect := func(what string, jumps int, by, behind time.Duration) {
		t.Helper()
		j := c.Jumps()
		if j.Count != jumps || j.By != by || j.Behind != behind || !c.Due().Equal(wall.Add(-behind)) {
			t.Errorf("%s: %+v, due %s at %s", what, j, c.Due(), wall)
		}
		if steady := c.Steady(); !steady.Equal(start.Add(monotonic)) {
			t.Errorf("%s: the steady time is %s after %s", what, steady, monotonic)
		}
	}
	pass(time.Hour)
	wall = wall.Add(30 * time.Second) // as when the time is adjusted
	expect("a small step", 0, 0, 0)
	wall = wall.Add(2 * time.Hour)
	expect("ahead", 1, 2*time.Hour, 2*time.Hour)
	pass(time.Minute)
	expect("a minute later", 1, 2*time.Hour, time.Hour+time.Minute)
	wall = wall.Add(-2 * time.Hour)
	expect("back again", 2, -2*time.Hour, 0)
	wall = wall.Add(365 * 24 * time.Hour)
	pass(10 * time.Second)
	expect("a year ahead", 3, 365*24*time.Hour, 365*24*time.Hour-590*time.Second)
	wall = wall.Add(-366 * 24 * time.Hour)
	expect("a day behind", 4, -366*24*time.Hour, 0)
	if n := strings.Count(log.String(), "\n"); n != 4 {
		t.Errorf("%d lines: %s", n, log.String())
	}
}
