package boltfile

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestGroupWaitsForExpectedCallers checks that a group waits for the callers that the commit before
// answered: for none of them longer than its patience, and for all of them no longer than that commit
// took to write.
func TestGroupWaitsForExpectedCallers(t *testing.T) {
	const patience = waitMost
	before := commitTimes{took: time.Hour, writing: 3 * patience}
	for name, test := range map[string]struct {
		expected int
		after    []time.Duration // when others come
		closed   time.Duration   // when the store is closed; 0 for never
		group    int
		took     time.Duration
	}{
		"nobody is expected":            {expected: 1, after: []time.Duration{time.Millisecond}, group: 1},
		"all come in time":              {expected: 3, after: []time.Duration{time.Millisecond, 2 * time.Millisecond}, group: 3, took: 2 * time.Millisecond},
		"one comes no more":             {expected: 3, after: []time.Duration{time.Millisecond}, group: 2, took: time.Millisecond + patience},
		"they keep coming":              {expected: 3, after: []time.Duration{patience - 1, 2*patience - 2}, group: 3, took: 2*patience - 2},
		"they come for too long":        {expected: 5, after: []time.Duration{patience - 1, 2*patience - 2, 3*patience - 3, 4*patience - 4}, group: 4, took: 3 * patience},
		"one comes too late":            {expected: 2, after: []time.Duration{patience + 1}, group: 1, took: patience},
		"the store is closed meanwhile": {expected: 2, closed: time.Millisecond, group: 1, took: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &File{requests: make(chan *pending), closing: make(chan struct{})}
				done := make(chan struct{})
				for _, at := range test.after {
					go func() {
						select {
						case <-time.After(at):
						case <-done:
							return
						}
						select {
						case f.requests <- &pending{}:
						case <-done:
						}
					}()
				}
				if test.closed > 0 {
					time.AfterFunc(test.closed, func() { close(f.closing) })
				}
				begun := time.Now()
				group := slices.Collect(f.gatherGroup(&pending{}, test.expected, before))
				if took := time.Since(begun); len(group) != test.group || took != test.took {
					t.Errorf("%d callers after %s, want %d after %s", len(group), took, test.group, test.took)
				}
				close(done)
			})
		})
	}
}
