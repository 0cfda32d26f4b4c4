package crawler

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A document that changes at random, so often on average, is soon looked at about
// once for each change, whatever it was looked at before; within a factor of two
// and the bounds.
func TestRateFollowsChangesOfDocument(t *testing.T) {
	for _, period := range []time.Duration{time.Hour, 6 * time.Hour, oneDay, 3 * oneDay, 10 * oneDay, 100 * oneDay} {
		want := min(max(period, minRevise), maxFreshness)
		random := rand.New(rand.NewPCG(1, uint64(period)))
		var sum time.Duration
		const looks, skipped = 400, 50
		var r Rate
		changed := time.Duration(random.ExpFloat64() * float64(period))
		now := time.Duration(0)
		for i := range looks {
			interval := r.revisitInterval()
			now += interval
			same := changed > now
			for changed <= now {
				changed += time.Duration(random.ExpFloat64() * float64(period))
			}
			r.countCheck(same, interval)
			if i >= skipped {
				sum += interval
			}
		}
		if mean := sum / (looks - skipped); mean < want/2 || mean > 2*want {
			t.Errorf("a document that changes every %v is looked at every %v", period, mean)
		}
	}
}
