// Package testclock is a clock for tests. A server reads it in its own goroutines while the test
// sets it, which a variable of the test would not allow.
package testclock

import (
	"sync/atomic"
	"time"
)

// A Clock stands still until the test sets it.
type Clock struct{ at atomic.Int64 } // nanoseconds since 1970

// New returns a clock that shows at.
func New(at time.Time) *Clock {
	c := &Clock{}
	c.Set(at)
	return c
}

// Now returns the time that the clock shows, in UTC.
func (c *Clock) Now() time.Time { return time.Unix(0, c.at.Load()).UTC() }

// Set sets the clock.
func (c *Clock) Set(at time.Time) { c.at.Store(at.UnixNano()) }

// Advance moves the clock by d, which may be negative.
func (c *Clock) Advance(d time.Duration) { c.at.Add(int64(d)) }
