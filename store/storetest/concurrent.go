package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"gazetteer/store"
)

// testOneWinner lets eight callers change one key from the same state, repeatedly: one must win
// each time.
func testOneWinner(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	var seq uint64
	for round := range 1000 {
		wins := make(chan uint64, 8)
		var callers sync.WaitGroup
		for i := range 8 {
			callers.Go(func() {
				won, err := s.Apply(t.Context(), store.PutIf("k", fmt.Append(nil, i), seq))
				switch {
				case err == nil:
					wins <- won
				case !errors.Is(err, store.ErrConflict):
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		callers.Wait()
		if len(wins) != 1 {
			t.Fatalf("round %d has %d winners", round, len(wins))
		}
		seq = <-wins
		if r, err := s.Get(t.Context(), "k"); err != nil || r.Seq != seq {
			t.Fatalf("round %d: the record has sequence %d, its winner was given %d (error %v)", round, r.Seq, seq, err)
		}
	}
}

// testGroupedCallers mixes callers that must succeed with callers that must fail. Each owns its
// keys, so every outcome is known.
func testGroupedCallers(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	mustApply(t, s, store.Put("taken", nil))
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			for n := range 20 {
				key := fmt.Sprintf("good/%02d/%02d", i, n)
				seq, err := s.Apply(t.Context(), store.PutIf(key, []byte("1"), 0), store.Put(key+"/b", nil))
				if err != nil {
					t.Errorf("%s: %v", key, err)
					return
				}
				if r, err := s.Get(t.Context(), key+"/b"); err != nil || r.Seq != seq {
					t.Errorf("%s: reads sequence %d after being given %d (error %v)", key, r.Seq, seq, err)
				}
				_, err = s.Apply(t.Context(), store.Put(fmt.Sprintf("bad/%02d/%02d", i, n), nil), store.PutIf("taken", nil, 0))
				if !errors.Is(err, store.ErrConflict) {
					t.Errorf("bad caller %d: error %v, want a conflict", i, err)
				}
			}
		})
	}
	callers.Wait()
	if n := len(listRecords(t, s, "good/", "")); n != 640 {
		t.Errorf("%d of 640 good records are there", n)
	}
	wantRecords(t, "records of callers that failed", listRecords(t, s, "bad/", ""))
	if head := s.Head(); head.Seq != 641 {
		t.Errorf("641 writes end at sequence %d", head.Seq)
	}
}

// testFollowers lets four followers, one of which starts again repeatedly, run beside eight writers
// that put, overwrite and delete. In the end each must hold exactly the content of the store.
func testFollowers(t *testing.T, subject Subject) {
	const writers, rounds = 8, 150
	s := openStore(t, subject)
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for n := range rounds {
				shared := fmt.Sprintf("shared/%d", n%7)
				own := fmt.Sprintf("own/%d/%d", w, n)
				writes := []store.Write{store.Put(own, fmt.Append(nil, n)), store.Put(shared, fmt.Append(nil, w, n))}
				if n%3 == 0 {
					writes = append(writes, store.Delete(fmt.Sprintf("own/%d/%d", w, n/2)))
				}
				if n%5 == 0 {
					writes[1] = store.Delete(shared)
				}
				if n == 0 {
					writes = writes[:2]
				}
				if _, err := s.Apply(t.Context(), writes...); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	views := make([]map[string]string, 4)
	var following sync.WaitGroup
	for f := range views {
		following.Go(func() { views[f] = followUntilEnd(t, s, f == 0) })
	}
	writing.Wait()
	mustApply(t, s, store.Put("end", nil))
	following.Wait()

	truth := map[string]string{}
	for r, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		truth[r.Key] = formatRecord(r)
	}
	for f, view := range views {
		for key, record := range truth {
			if view[key] != record {
				t.Errorf("follower %d has %q for %s, the store has %q", f, view[key], key, record)
			}
		}
		if len(view) != len(truth) {
			t.Errorf("follower %d has %d records, the store %d", f, len(view), len(truth))
		}
	}
}

// followUntilEnd keeps a copy of the store until it reads the record "end". An impatient follower
// stops after every few records and resumes from its cursor.
func followUntilEnd(t *testing.T, s store.Store, impatient bool) map[string]string {
	view := map[string]string{}
	cursor := s.Head()
	cursor.Seq = 0
	for {
		n := 0
		for r, err := range s.Changes(t.Context(), cursor) {
			if err != nil {
				t.Errorf("Changes: %v", err)
				return view
			}
			if r.Seq <= cursor.Seq {
				t.Errorf("sequence %d came after %d", r.Seq, cursor.Seq)
				return view
			}
			cursor.Seq = r.Seq
			if r.Deleted {
				delete(view, r.Key)
			} else {
				view[r.Key] = formatRecord(r)
			}
			if r.Key == "end" {
				return view
			}
			if n++; impatient && n == 5 {
				break
			}
		}
	}
}
