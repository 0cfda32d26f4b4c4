// Package a2atest holds the promises of [a2a.Store] as tests, which every
// implementation passes. Begin with [TestStore].
package a2atest

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"gazetteer/protocol/a2a"
)

// Options describe a store under test.
type Options struct {
	// Open returns an empty store. It may use t for a temporary directory and for cleanup.
	Open func(t *testing.T) a2a.Store
	// Reopen returns a store with the content of another one, as after a restart; nil for a store
	// in memory.
	Reopen func(t *testing.T, s a2a.Store) a2a.Store
	// PerThread is how many entries of one sender in one thread the store takes; 0 for
	// too many to try.
	PerThread int
}

var noon = time.Date(2026, 5, 28, 12, 0, 0, 0, time.UTC)

// entry returns an entry that expires after a minute.
func entry(from, id, thread, nonce string, content byte, seen time.Time) a2a.ReplayEntry {
	return a2a.ReplayEntry{From: from, ID: id, ThreadID: thread, Nonce: nonce, Digest: [32]byte{content}, Seen: seen, Until: seen.Add(time.Minute)}
}

// TestStore checks a store against the promises of [a2a.Store].
func TestStore(t *testing.T, o Options) {
	t.Run("replay", func(t *testing.T) { testReplay(t, o) })
	t.Run("threads", func(t *testing.T) { testThreads(t, o) })
	t.Run("expiry", func(t *testing.T) { testExpiry(t, o) })
	t.Run("races", func(t *testing.T) { testRaces(t, o) })
	if o.PerThread > 0 {
		t.Run("full", func(t *testing.T) { testFull(t, o) })
	}
}

func commit(t *testing.T, s a2a.Store, e a2a.ReplayEntry, thread *a2a.Thread) a2a.ReplayState {
	t.Helper()
	state, err := s.Commit(context.Background(), e, e.ThreadID, thread)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func testReplay(t *testing.T, o Options) {
	s := o.Open(t)
	if state := commit(t, s, entry("a", "1", "t", "n", 1, noon), nil); state != a2a.Fresh {
		t.Fatalf("the first entry: %d", state)
	}
	check := func(t *testing.T, s a2a.Store) {
		for name, c := range map[string]struct {
			entry a2a.ReplayEntry
			want  a2a.ReplayState
		}{
			"the same":                        {entry("a", "1", "t", "n", 1, noon), a2a.Repeated},
			"another content":                 {entry("a", "1", "t", "n", 2, noon), a2a.Taken},
			"the id alone":                    {entry("a", "1", "u", "m", 1, noon), a2a.Taken},
			"the nonce alone":                 {entry("a", "2", "t", "n", 1, noon), a2a.Taken},
			"the nonce in another thread":     {entry("a", "2", "u", "n", 1, noon), a2a.Fresh},
			"another sender":                  {entry("b", "1", "t", "n", 1, noon), a2a.Fresh},
			"texts that meet elsewhere":       {entry("a", "2", "tn", "", 1, noon), a2a.Fresh},
			"texts that meet elsewhere still": {entry("at", "1", "n", "", 1, noon), a2a.Fresh},
		} {
			found, err := s.FindReplay(context.Background(), c.entry)
			if err != nil || found != c.want {
				t.Errorf("%s: %d, %v, want %d", name, found, err, c.want)
			}
			if c.want == a2a.Fresh {
				continue
			}
			if state := commit(t, s, c.entry, &a2a.Thread{State: a2a.Offered}); state != c.want {
				t.Errorf("%s, committed: %d, want %d", name, state, c.want)
			}
			if thread, err := s.FindThread(context.Background(), c.entry.ThreadID); err != nil || !reflect.DeepEqual(thread, a2a.Thread{}) {
				t.Errorf("%s: an entry that is not fresh leaves the thread %+v, %v", name, thread, err)
			}
		}
	}
	check(t, s)
	if o.Reopen != nil {
		check(t, o.Reopen(t, s))
	}
}

func testThreads(t *testing.T, o Options) {
	s := o.Open(t)
	ctx := context.Background()
	if thread, err := s.FindThread(ctx, "t"); err != nil || !reflect.DeepEqual(thread, a2a.Thread{}) {
		t.Fatalf("an unknown thread is %+v, %v", thread, err)
	}
	want := a2a.Thread{State: a2a.Countered, Parties: [2]string{"a", "b"}, Outstanding: a2a.Proposal{ID: "2", From: "b", Price: a2a.Money{AmountCents: 1<<64 - 1, Currency: "USD"}}, Superseded: []a2a.Proposal{{ID: "1", From: "a"}}}
	commit(t, s, entry("a", "1", "t", "n", 1, noon), &want)
	commit(t, s, entry("a", "2", "u", "n", 1, noon), nil)
	if o.Reopen != nil {
		s = o.Reopen(t, s)
	}
	if got, err := s.FindThread(ctx, "t"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if got, err := s.FindThread(ctx, "u"); err != nil || !reflect.DeepEqual(got, a2a.Thread{}) {
		t.Errorf("a thread that was not given is %+v, %v", got, err)
	}
}

func testExpiry(t *testing.T, o Options) {
	s := o.Open(t)
	commit(t, s, entry("a", "1", "t", "n", 1, noon), nil)
	if state := commit(t, s, entry("a", "1", "t", "n", 1, noon.Add(time.Minute)), nil); state != a2a.Repeated {
		t.Errorf("at its last moment: %d", state)
	}
	if state := commit(t, s, entry("a", "1", "t", "n", 2, noon.Add(2*time.Hour)), nil); state != a2a.Fresh {
		t.Errorf("long after: %d", state)
	}
}

// testRaces commits one entry from many goroutines: exactly one commit finds it new.
func testRaces(t *testing.T, o Options) {
	s := o.Open(t)
	var group sync.WaitGroup
	states := make([]a2a.ReplayState, 20)
	for i := range states {
		group.Go(func() {
			var err error
			if states[i], err = s.Commit(context.Background(), entry("a", "1", "t", "n", 1, noon), "t", &a2a.Thread{State: a2a.Offered}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	fresh := 0
	for _, state := range states {
		if state == a2a.Fresh {
			fresh++
		} else if state != a2a.Repeated {
			t.Errorf("%d", state)
		}
	}
	if fresh != 1 {
		t.Errorf("%d of %d were the first", fresh, len(states))
	}
}

func testFull(t *testing.T, o Options) {
	s := o.Open(t)
	for i := range o.PerThread {
		if state := commit(t, s, entry("a", fmt.Sprint(i), "t", fmt.Sprint(i), 1, noon), nil); state != a2a.Fresh {
			t.Fatalf("%d: %d", i, state)
		}
	}
	if state := commit(t, s, entry("a", "x", "t", "x", 1, noon), &a2a.Thread{State: a2a.Offered}); state != a2a.Full {
		t.Errorf("one more: %d", state)
	}
	if thread, err := s.FindThread(context.Background(), "t"); err != nil || thread.State != "" {
		t.Errorf("an entry that does not fit leaves the thread %+v, %v", thread, err)
	}
	if state := commit(t, s, entry("a", "0", "t", "0", 1, noon), nil); state != a2a.Repeated {
		t.Errorf("a repetition: %d", state)
	}
	if state := commit(t, s, entry("b", "x", "t", "x", 1, noon), nil); state != a2a.Fresh {
		t.Errorf("another sender: %d", state)
	}
	if state := commit(t, s, entry("a", "x", "t", "x", 1, noon.Add(2*time.Hour)), nil); state != a2a.Fresh {
		t.Errorf("when the others are over: %d", state)
	}
}
