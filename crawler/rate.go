package crawler

import (
	"math"
	"time"
)

// A Rate is what is known of how often a document changes: so many times it was
// looked at again, so many times it was the same, over so long a time.
type Rate struct {
	Seen int           `json:"seen"`
	Same int           `json:"same"`
	Span time.Duration `json:"span_ns"`
}

const (
	minRateInterval = 3  // looks before a rate is believed
	maxRateInterval = 32 // looks that count: then the older ones count half
	minRevise       = 6 * time.Hour
)

// countCheck counts a look, so long after the one before.
func (r *Rate) countCheck(same bool, after time.Duration) {
	if r.Seen >= maxRateInterval {
		r.Seen, r.Same, r.Span = r.Seen/2, r.Same/2, r.Span/2
	}
	r.Seen++
	if same {
		r.Same++
	}
	r.Span += max(after, 0)
}

// revisitInterval is the interval in which one change is to be expected, for a document
// that does not say itself how long it is fresh. Looking at intervals I and
// finding X of n looks without a change, the rate of changes is estimated as
// −ln((X+½)/(n+½))/I, which does not mind that two changes between two looks are
// seen as one (Cho and Garcia-Molina, "Estimating frequency of change", 2003).
// The interval at most doubles from look to look: that nothing has changed so far
// says little of what comes.
func (r *Rate) revisitInterval() time.Duration {
	if r.Seen < minRateInterval {
		return defaultFreshness
	}
	mean := r.Span / time.Duration(r.Seen)
	expected := 2 * mean
	changes := -math.Log((float64(r.Same) + 0.5) / (float64(r.Seen) + 0.5))
	if changes > 0 {
		expected = min(expected, time.Duration(min(float64(mean)/changes, float64(maxFreshness))))
	}
	return min(max(expected, minRevise), maxFreshness)
}
