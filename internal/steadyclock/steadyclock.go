// Package steadyclock detects changes of the machine's clock, and prevents actions that wait for a
// date from happening all at once after a forward jump. Start with [New].
//
// There are three times. [Clock.Now] is the time of the machine: signatures and records use it.
// [Clock.Due] is for actions that cannot be reversed: expiring mail, completing a recovery,
// expiring a registration, freeing a handle. After a forward jump, Due catches up with Now at catchUp times the
// speed of a clock, so that a jump that is corrected within minutes ends nothing; Due follows a
// backward jump at once. [Clock.Steady] is for intervals: it ignores all jumps.
package steadyclock

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"gazetteer/internal/wait"
)

const (
	// minJump is by how much the clock must jump to be noticed.
	minJump = time.Minute
	// catchUp is how many seconds Due advances in one second while it is behind Now.
	catchUp = 60
	// checkInterval is how often an idle program compares its clocks.
	checkInterval = 10 * time.Second
)

// Jumps has the number of jumps since the start of the program, and the last jump.
type Jumps struct {
	Count int
	At    time.Time     // by the clock after the jump
	By    time.Duration // ahead, or back if negative
	// Behind is how far Due is behind Now.
	Behind time.Duration
}

// A Clock tells the time. Its methods may be called from any goroutine.
type Clock struct {
	wall      func() time.Time
	monotonic func() time.Duration
	log       *slog.Logger
	begun     time.Time // by wall, when monotonic showed begunAt
	begunAt   time.Duration

	mu      sync.Mutex // guards the following fields
	last    time.Time  // the last reading of wall
	elapsed time.Duration
	due     time.Time
	jumps   Jumps
}

// New returns a clock that reads wall, and compares it with the monotonic clock of the process. The log
// has a line for each jump.
func New(wall func() time.Time, log *slog.Logger) *Clock {
	begun := time.Now()
	return newClock(wall, func() time.Duration { return time.Since(begun) }, log)
}

func newClock(wall func() time.Time, monotonic func() time.Duration, log *slog.Logger) *Clock {
	now, elapsed := wall().Round(0), monotonic()
	return &Clock{wall: wall, monotonic: monotonic, log: log, begun: now, begunAt: elapsed, last: now, elapsed: elapsed, due: now}
}

// Now returns the time of the machine.
func (c *Clock) Now() time.Time {
	now := c.wall()
	c.mu.Lock()
	c.compare(now)
	c.mu.Unlock()
	return now
}

// Due returns the time for what cannot be undone: see the package.
func (c *Clock) Due() time.Time {
	now := c.wall()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compare(now)
	return c.due
}

// Steady returns the time when the clock was made plus what the monotonic clock has measured since.
// It may differ from the time of the machine: use it only to compare it with itself.
func (c *Clock) Steady() time.Time { return c.begun.Add(c.monotonic() - c.begunAt) }

// Jumps returns the jumps.
func (c *Clock) Jumps() Jumps {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jumps
	j.Behind = max(0, now.Sub(c.due).Round(time.Second))
	return j
}

// Run compares the clocks of a program that does nothing else, until ctx ends. It returns nil.
func (c *Clock) Run(ctx context.Context) error {
	for wait.For(ctx, checkInterval) == nil {
		c.Now()
	}
	return nil
}

// compare notices a jump, and advances due. The caller holds mu.
func (c *Clock) compare(now time.Time) {
	now = now.Round(0) // the monotonic part would hide that the clock was set
	elapsed := c.monotonic()
	passed := elapsed - c.elapsed
	jump := now.Sub(c.last) - passed
	if passed < 0 || jump.Abs() < minJump && now.Before(c.last) {
		return // another goroutine has read the clock later than this one
	}
	c.last, c.elapsed = now, elapsed
	if jump.Abs() >= minJump {
		c.jumps.Count, c.jumps.At, c.jumps.By = c.jumps.Count+1, now, jump.Round(time.Second)
		c.log.Warn("the clock of the machine jumped", "by", c.jumps.By.String(), "now", now.UTC().Format(time.RFC3339))
	}
	switch behind := now.Sub(c.due); {
	case behind <= passed+minJump:
		c.due = now // also after a jump back
	default:
		c.due = c.due.Add(min(behind, catchUp*passed))
	}
}
