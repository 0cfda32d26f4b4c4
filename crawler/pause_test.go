package crawler

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/fetch"
	"gazetteer/internal/teststore"
)

// silentNet is a network in which every host accepts connections and says nothing.
func silentNet(ctx context.Context, _, _ string) (net.Conn, error) {
	client, _ := net.Pipe()
	return client, nil
}

// TestPausesDoNotCountAsFailures checks that a host that did not answer while this process was
// stopped is asked again, and nothing is recorded against it. Without a pause, its silence is.
func TestPausesDoNotCountAsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := teststore.New(t)
		results := make(chan Result, 10)
		c, err := New(Options{Store: db, Dial: silentNet, Rate: -1, Observe: func(r Result) { results <- r }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		if err := c.Add(ctx, "silent.test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		c.pauses.mu.Lock()
		c.pauses.last = c.pauses.last.Add(-time.Minute) // as if no tick had come for a minute
		c.pauses.mu.Unlock()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if h, _, err := c.readHost(ctx, "silent.test"); err != nil || h.Visits != 0 || len(h.Fetches) != 0 || len(results) != 0 {
			t.Errorf("after the pause: %v, %+v, %d results", err, h, len(results))
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		h, _, err := c.readHost(ctx, "silent.test")
		if err != nil || h.Visits != 1 || len(results) != 1 || (<-results).Outcome() == fetch.OK {
			t.Errorf("without a pause: %v, %+v, %d results", err, h, len(results))
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestPauseWhileHostsWaitRepeatsNoVisit checks that hosts that waited for the rate during a pause, and
// refuse the connection after it, are contacted once.
func TestPauseWhileHostsWaitRepeatsNoVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		contacts := map[string]int{}
		refuse := func(_ context.Context, _, address string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			contacts[address]++
			return nil, syscall.ECONNREFUSED
		}
		c, err := New(Options{Store: teststore.New(t), Dial: refuse, Rate: 1})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		const hosts = 10
		for i := range hosts {
			if err := c.Add(ctx, fmt.Sprintf("h%d.test", i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(3500 * time.Millisecond)
		c.pauses.mu.Lock()
		c.pauses.last = c.pauses.last.Add(-time.Minute) // as if no tick had come for a minute
		c.pauses.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(contacts) != hosts {
			t.Errorf("%d hosts were contacted", len(contacts))
		}
		for address, n := range contacts {
			if n != 1 {
				t.Errorf("%s was contacted %d times", address, n)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestPauseWatch checks that ticks that come in time are not a pause, also long after; a late one is.
func TestPauseWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w pauseWatch
		begun := time.Now()
		w.beginSession()
		time.Sleep(time.Hour)
		if w.pausedSince(begun) {
			t.Error("an hour of ticks is taken for a pause")
		}
		w.endSession()
		time.Sleep(time.Hour) // nothing runs, nothing is watched
		begun = time.Now()
		w.beginSession()
		if w.pausedSince(begun.Add(-time.Minute)) {
			t.Error("an hour without sessions is taken for a pause")
		}
		time.Sleep(500 * time.Millisecond)
		w.mu.Lock()
		w.last = w.last.Add(-10 * time.Second)
		w.mu.Unlock()
		if !w.pausedSince(begun) {
			t.Error("ten seconds without a tick are no pause")
		}
		if w.pausedSince(time.Now()) {
			t.Error("a pause that is over counts for a later session")
		}
		w.endSession()
	})
}
