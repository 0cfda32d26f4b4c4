package crawler

import (
	"math"
	"time"
)

// A Rate estimates how often a document changes, from the number of checks, the number of checks
// without a change, and the time they span.
type Rate struct {
	Seen int           `json:"seen"`
	Same int           `json:"same"`
	Span time.Duration `json:"span_ns"`
}

const (
	minRateInterval = 3  // visits before a rate is reliable
	maxRateInterval = 32 // after this number of visits the older ones count half
	minRevise       = 6 * time.Hour
)

// countCheck counts one check, made this long after the previous one.
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

// revisitInterval returns the interval in which one change is expected, for a document that does
// not declare its freshness. With X of n checks at intervals I finding no change, the rate of
// changes is estimated as −ln((X+½)/(n+½))/I, which allows for two changes between two checks that
// look like one (Cho and Garcia-Molina, "Estimating frequency of change", 2003). The interval at
// most doubles from check to check, because the past says little about the future.
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
