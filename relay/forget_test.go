package relay_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/relay"
)

// TestReplayEntriesOutliveClockAhead checks that a clock that is ahead for less than six minutes forgets
// no replay entries: envelopes that were captured before are fresh again when it is right. A correct
// clock forgets them.
func TestReplayEntriesOutliveClockAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64 // a time.Duration
		var last atomic.Pointer[time.Time]
		queue := newMemoryQueue()
		queue.expired = func(forget time.Time) {
			last.Store(&forget)
			if forget.After(time.Now()) {
				t.Errorf("%s ahead: entries are forgotten by a time %s ahead", time.Duration(ahead.Load()), time.Until(forget))
			}
		}
		r := newRelay(t, queue, func(o *relay.Options) {
			o.Due = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			o.Steady = time.Now
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		pass(90 * time.Second)
		ahead.Store(int64(10 * time.Hour)) // just after a start
		pass(4 * time.Minute)
		ahead.Store(0)
		pass(20 * time.Minute)
		ahead.Store(int64(10 * time.Hour))
		pass(5 * time.Minute)
		ahead.Store(0)
		pass(20 * time.Minute)
		if age := time.Since(*last.Load()); age > 8*time.Minute {
			t.Errorf("entries are forgotten by the time of %s ago", age)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
