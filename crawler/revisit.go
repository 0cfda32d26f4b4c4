package crawler

import (
	"hash/fnv"
	"time"

	"gazetteer/fetch"
)

const oneDay = 24 * time.Hour

// outcomeClass groups the outcomes that share a revisit rule.
type outcomeClass uint8

const (
	classGood    outcomeClass = iota // a document, or its absence from our side only (304)
	classGone                        // a clear answer without a document
	classBusy                        // 429 and 5xx: retried soon, a few times
	classDown                        // no answer
	classRefused                     // robots.txt forbids it
)

func classOf(o fetch.Outcome) outcomeClass {
	switch o {
	case fetch.OK, fetch.Unchanged:
		return classGood
	case fetch.Throttled, fetch.ServerError:
		return classBusy
	case fetch.TLSFailed, fetch.DNSFailed, fetch.Timeout, fetch.Unreachable:
		return classDown
	case fetch.RefusedByRobots:
		return classRefused
	default:
		return classGone
	}
}

// The revisit ladders: the waits after the first, second … consecutive result of a class. The last
// step repeats.
var (
	// At least 24 hours after a 404 (AI Discovery §4.3).
	goneLadder = []time.Duration{oneDay, 7 * oneDay, 30 * oneDay, 90 * oneDay}
	downLadder = []time.Duration{oneDay, 7 * oneDay, 30 * oneDay}
	// The name servers gave no answer, and usually do minutes later; the host itself was asked nothing.
	namesLadder = []time.Duration{5 * time.Minute, time.Hour, oneDay, 7 * oneDay, 30 * oneDay}
	// Three tries with growing gaps (AI Discovery §4.3 allows one more), then a day.
	busyLadder = []time.Duration{time.Minute, 5 * time.Minute, oneDay}
)

const (
	defaultFreshness = oneDay
	minFreshness     = time.Hour
	maxFreshness     = 30 * oneDay
	// mergeWindow is the maximum distance between the due times of two kinds that are requested in
	// one visit.
	mergeWindow = 10 * time.Minute
)

// countRepeats counts the consecutive results of one class before cur. Failures of name servers count
// apart from those of the host.
func countRepeats(prev, cur fetch.Fetch) int {
	if prev.Outcome == "" || classOf(prev.Outcome) != classOf(cur.Outcome) || prev.NamesFailed != cur.NamesFailed {
		return 0
	}
	return prev.Repeats + 1
}

// waitAfter returns the time for which a kind is not requested after this fetch, whose Repeats is
// set. A document that declares its freshness is requested when that ends; otherwise the rate of
// its changes decides.
func waitAfter(host string, f fetch.Fetch, rate Rate) time.Duration {
	wait := ladderWait(f)
	if classOf(f.Outcome) == classGood && f.Fresh == 0 {
		wait = rate.revisitInterval()
	}
	if wait < time.Hour || f.RetryAfter == wait {
		return wait
	}
	// Spread hosts that were added together: only later, never earlier. All kinds of one host are
	// shifted equally, so they stay due together.
	h := fnv.New32a()
	h.Write([]byte(host))
	wait += wait / 10 * time.Duration(h.Sum32()%1024) / 1024
	if classOf(f.Outcome) == classGood {
		return min(wait, maxFreshness)
	}
	return wait
}

func ladderWait(f fetch.Fetch) time.Duration {
	step := func(ladder []time.Duration) time.Duration { return ladder[min(f.Repeats, len(ladder)-1)] }
	switch classOf(f.Outcome) {
	case classGood:
		return min(max(f.Fresh, minFreshness), maxFreshness)
	case classBusy:
		wait := step(busyLadder)
		if f.RetryAfter == 0 {
			return wait
		}
		// The host sets the time, but cannot cause a visit every second: after the retries, a day
		// is the minimum.
		if f.Repeats < len(busyLadder)-1 {
			return f.RetryAfter
		}
		return max(wait, f.RetryAfter)
	case classDown:
		if f.NamesFailed {
			return step(namesLadder)
		}
		return step(downLadder)
	case classRefused:
		return fetch.RobotsAge
	default:
		return step(goneLadder)
	}
}

// dueAfter returns the due time of the next visit: the earliest time of the next request, or a
// little later if others are then possible, too.
func dueAfter(notBefore map[string]time.Time) time.Time {
	var due time.Time
	for kind, at := range notBefore {
		if kind != fetch.KindRobots && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	first := due
	for kind, at := range notBefore {
		if kind != fetch.KindRobots && at.After(due) && at.Sub(first) <= mergeWindow {
			due = at
		}
	}
	return due
}
