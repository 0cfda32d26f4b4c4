package follow_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/store"
	"gazetteer/store/boltstore"
	"gazetteer/store/follow"
)

// inBubble runs f with an open store where time passes only when everybody waits; it fails when a
// goroutine is left over.
func inBubble(t *testing.T, f func(t *testing.T, s *boltstore.Store)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := boltstore.Open(t.Context(), dir, boltstore.Options{MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		f(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func put(t *testing.T, s store.Store, keys ...string) uint64 {
	t.Helper()
	var writes []store.Write
	for _, key := range keys {
		writes = append(writes, store.Put(key, nil))
	}
	seq, err := s.Apply(t.Context(), writes...)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func numbered(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("k/%05d", i)
	}
	return keys
}

// batch is one call of apply.
type batch struct {
	keys []string
	upTo store.Cursor
	at   time.Duration // since the follower began
}

// following runs ReadBatches beside the test. stop ends it and returns its error.
func following(t *testing.T, s store.Store, after store.Cursor, o follow.BatchOptions) (batches <-chan batch, stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	applied := make(chan batch, 100)
	ended := make(chan error, 1)
	start := time.Now()
	go func() {
		ended <- follow.ReadBatches(ctx, s, after, o, func(records []store.Record, upTo store.Cursor) error {
			b := batch{upTo: upTo, at: time.Since(start)}
			for _, r := range records {
				b.keys = append(b.keys, r.Key)
			}
			applied <- b
			return nil
		})
	}()
	return applied, func() error { cancel(); return <-ended }
}

func TestReadBatchesCutsBatches(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		put(t, s, numbered(2_500)...)
		batches, stop := following(t, s, store.Cursor{}, follow.BatchOptions{})
		var sizes []int
		var seen []string
		for len(seen) < 2_500 {
			b := <-batches
			sizes = append(sizes, len(b.keys))
			seen = append(seen, b.keys...)
			if b.upTo != (store.Cursor{Store: s.Head().Store, Incarnation: 1, Seq: uint64(len(seen))}) {
				t.Errorf("after %d records the cursor is %+v", len(seen), b.upTo)
			}
		}
		if !slices.Equal(sizes, []int{1000, 1000, 500}) || !slices.Equal(seen, numbered(2_500)) {
			t.Errorf("batches of %v", sizes)
		}
		if err := stop(); err != nil {
			t.Errorf("ReadBatches returns %v when its context ends", err)
		}
	})
}

func TestReadBatchesLingers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		batches, stop := following(t, s, store.Cursor{}, follow.BatchOptions{Batch: 3})
		time.Sleep(time.Second)
		put(t, s, "a") // at 1 s; the batch goes at 1.2 s
		time.Sleep(150 * time.Millisecond)
		put(t, s, "b") // joins it
		time.Sleep(350 * time.Millisecond)
		put(t, s, "c", "d", "e") // at 1.5 s: a full batch goes at once
		time.Sleep(time.Second)
		put(t, s, "f") // at 2.5 s; it goes alone at 2.7 s
		for _, want := range []struct {
			keys []string
			at   time.Duration
		}{
			{[]string{"a", "b"}, 1200 * time.Millisecond},
			{[]string{"c", "d", "e"}, 1500 * time.Millisecond},
			{[]string{"f"}, 2700 * time.Millisecond},
		} {
			if b := <-batches; !slices.Equal(b.keys, want.keys) || b.at != want.at {
				t.Errorf("batch %v at %v, want %v at %v", b.keys, b.at, want.keys, want.at)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestReadBatchesResumes(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		put(t, s, "a", "b", "c")
		batches, stop := following(t, s, store.Cursor{}, follow.BatchOptions{Batch: 2})
		first := <-batches
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		put(t, s, "b")
		batches, stop = following(t, s, first.upTo, follow.BatchOptions{})
		if b := <-batches; !slices.Equal(first.keys, []string{"a", "b"}) || !slices.Equal(b.keys, []string{"c", "b"}) || b.upTo != s.Head() {
			t.Errorf("first %v, then %v up to %+v", first.keys, b.keys, b.upTo)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestReadBatchesKeepsReadRecords ends a follower while its batch fills.
func TestReadBatchesKeepsReadRecords(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		batches, stop := following(t, s, store.Cursor{}, follow.BatchOptions{})
		put(t, s, "a")
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if b := <-batches; !slices.Equal(b.keys, []string{"a"}) || b.upTo != s.Head() {
			t.Errorf("batch %v up to %+v", b.keys, b.upTo)
		}
	})
}

func TestReadBatchesEndsWithTheErrorOfApply(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		put(t, s, numbered(50)...)
		broken := errors.New("broken")
		calls := 0
		err := follow.ReadBatches(t.Context(), s, store.Cursor{}, follow.BatchOptions{Batch: 10}, func([]store.Record, store.Cursor) error {
			if calls++; calls == 2 {
				return broken
			}
			return nil
		})
		if !errors.Is(err, broken) || calls != 2 {
			t.Errorf("error %v after %d calls", err, calls)
		}
	})
}

func TestReadBatchesEndsWithTheErrorOfTheLog(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		never := func([]store.Record, store.Cursor) error { t.Error("apply was called"); return nil }
		err := follow.ReadBatches(t.Context(), s, store.Cursor{Store: "another", Incarnation: 1, Seq: 7}, follow.BatchOptions{}, never)
		if !errors.Is(err, store.ErrCursorGone) {
			t.Errorf("cursor of another log: %v", err)
		}
		ended := make(chan error)
		go func() { ended <- follow.ReadBatches(t.Context(), s, store.Cursor{}, follow.BatchOptions{}, never) }()
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, store.ErrClosed) {
			t.Errorf("store closed: %v", err)
		}
	})
}

// TestRecordsInTurns checks that another goroutine runs while a single processor goes through a batch.
func TestRecordsInTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const records = 6400
	var turns atomic.Int64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			default:
				turns.Add(1)
				runtime.Gosched()
			}
		}
	}()
	var during int64
	for range follow.InTurns(make([]store.Record, records)) {
		during = turns.Load()
	}
	if during < records/64 {
		t.Errorf("%d turns during a batch of %d records", during, records)
	}
	close(end)
	<-ended
}
