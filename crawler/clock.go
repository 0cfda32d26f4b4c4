package crawler

import "time"

// longestWait is longer than any interval between two visits to a host: the last step of the
// longest ladder with its spread. A later due time is the result of a clock that was ahead.
const longestWait = 100 * oneDay

// clockCheck is the interval in which an idle crawler compares its clocks.
const clockCheck = 10 * time.Minute

// minJump is the minimum jump of the clock that gets a line in the log.
const minJump = time.Minute

// A clockReading is the same moment by the clock that decides when hosts are due, and by the
// monotonic one.
type clockReading struct {
	due, monotonic time.Time
}

// checkClock detects that the clock was set. Afterwards, hosts that are due later than the longest
// interval are due at once.
func (o *frontierLoop) checkClock() {
	last := o.clock
	o.clock = clockReading{o.c.now().Round(0), time.Now()}
	if last.monotonic.IsZero() {
		return
	}
	jump := o.clock.due.Sub(last.due) - o.clock.monotonic.Sub(last.monotonic)
	if jump.Abs() < minJump {
		return
	}
	o.c.log.Warn("the clock jumped", "by", jump.Round(time.Second))
	if jump < 0 {
		o.c.robots.forgetAll()
		o.pullInHosts()
	}
}

// pullInHosts makes hosts due if no interval explains their due time.
func (o *frontierLoop) pullInHosts() {
	now := o.c.now()
	if n := o.frontier.AdvanceHosts(now, now.Add(longestWait)); n > 0 {
		o.c.log.Warn("hosts were due later than any interval explains, as after a clock that was ahead; they are due now", "hosts", n)
	}
}

// forgetImpossibleTimes removes the effects of a clock that was ahead from a host's record: times
// before which nothing is requested that no interval explains, and a robots.txt from the future.
func (h *Host) forgetImpossibleTimes(now time.Time) {
	for kind, at := range h.NotBefore {
		if at.After(now.Add(longestWait)) {
			delete(h.NotBefore, kind)
		}
	}
	if h.Robots != nil && h.Robots.FetchedAt.After(now.Add(minJump)) {
		h.Robots = nil
	}
}
