package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"gazetteer/store"
)

func moveHorizon(t testing.TB, s store.Store, seq uint64) {
	t.Helper()
	upTo := s.Head()
	upTo.Seq = seq
	if err := s.Forget(t.Context(), upTo); err != nil {
		t.Fatalf("Forget(%d): %v", seq, err)
	}
}

func mustCompact(t testing.TB, subject Subject, s store.Store) {
	t.Helper()
	if err := subject.Compact(t, s); err != nil {
		t.Fatalf("Compact: %v", err)
	}
}

// requireCursorGone checks that a cursor yields ErrCursorGone and nothing else.
func requireCursorGone(t testing.TB, s store.Store, after store.Cursor) {
	t.Helper()
	n := 0
	for r, err := range s.Changes(t.Context(), after) {
		if n++; !errors.Is(err, store.ErrCursorGone) {
			t.Fatalf("the cursor %d behind the horizon yields %s, error %v", after.Seq, formatRecord(r), err)
		}
	}
	if n != 1 {
		t.Fatalf("the cursor %d yields %d errors, want one", after.Seq, n)
	}
}

func testHorizon(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	if h := s.Horizon(); h.Seq != 0 || h.Store != s.Head().Store {
		t.Fatalf("the horizon of an empty store is %+v", h)
	}
	moveHorizon(t, s, 0)
	mustApply(t, s, store.Put("a", []byte("1")), store.Put("b", []byte("1")), store.Put("c", []byte("1"))) // 1 2 3
	second := s.Head()
	mustApply(t, s, store.Delete("a"))           // 4
	mustApply(t, s, store.Put("d", []byte("1"))) // 5
	mustApply(t, s, store.Delete("b"))           // 6
	mustApply(t, s, store.Put("c", []byte("2"))) // 7
	for _, wrong := range []store.Cursor{
		{Store: "another", Incarnation: second.Incarnation, Seq: 1},
		{Store: second.Store, Incarnation: second.Incarnation + 1, Seq: 1},
		{Store: second.Store, Incarnation: second.Incarnation, Seq: 100},
	} {
		wantErr(t, s.Forget(t.Context(), wrong), store.ErrCursorGone)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, s.Forget(ended, second), context.Canceled)

	at := func(seq uint64) store.Cursor {
		return store.Cursor{Store: second.Store, Incarnation: second.Incarnation, Seq: seq}
	}
	for range 2 {
		moveHorizon(t, s, 5)
		moveHorizon(t, s, 2) // it never moves back
		if h := s.Horizon(); h != at(5) {
			t.Fatalf("the horizon is %+v, want %+v", h, at(5))
		}
		wantRecords(t, "from zero", readChanges(t, s, store.Cursor{}), "d=1@5", "b-@6", "c=2@7")
		wantRecords(t, "from the beginning of a named log", readChanges(t, s, at(0)), "d=1@5", "b-@6", "c=2@7")
		wantRecords(t, "from the horizon", readChanges(t, s, at(5)), "b-@6", "c=2@7")
		wantRecords(t, "living records", listRecords(t, s, "", ""), "c=2@7", "d=1@5")
		requireCursorGone(t, s, at(4))
		requireCursorGone(t, s, at(1))
		mustCompact(t, subject, s)
	}
	wantRecords(t, "a forgotten key", []string{getRecord(t, s, "a")}, "")
	_, err := s.Apply(t.Context(), store.PutIf("a", nil, 4))
	wantErr(t, err, store.ErrConflict)
	if seq := mustApply(t, s, store.PutIf("a", []byte("back"), 0)); seq != 8 {
		t.Fatalf("the next write has sequence %d, want 8", seq)
	}
	if seq := mustApply(t, s, store.Delete("b")); seq != 8 {
		t.Fatalf("deleting what is deleted returned %d, want 8", seq)
	}
	wantRecords(t, "in the end", readChanges(t, s, store.Cursor{}), "d=1@5", "b-@6", "c=2@7", "a=back@8")
}

// testHorizonAtTheEnd forgets everything: the newest write stays, even if it is a deletion, so that
// a reader that starts again ends at Head.
func testHorizonAtTheEnd(t *testing.T, subject Subject) {
	dir := t.TempDir()
	s := subject.Open(t, dir)
	mustApply(t, s, store.Put("a", nil), store.Put("b", nil))
	mustApply(t, s, store.Delete("a"))
	mustApply(t, s, store.Delete("b"))
	moveHorizon(t, s, s.Head().Seq)
	if h := s.Horizon(); h.Seq != 3 {
		t.Fatalf("the horizon is %d, want 3: one behind the newest write", h.Seq)
	}
	mustCompact(t, subject, s)
	wantRecords(t, "from zero", readChanges(t, s, store.Cursor{}), "b-@4")
	s = reopen(t, subject, s, dir)
	defer s.Close()
	wantRecords(t, "after reopening", readChanges(t, s, store.Cursor{}), "b-@4")
	mustApply(t, s, store.Put("c", nil))
	moveHorizon(t, s, 4)
	wantRecords(t, "after another write", readChanges(t, s, store.Cursor{}), "c=@5")
}

// testHorizonPassesReaders moves the horizon while sequences of Changes run.
func testHorizonPassesReaders(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	const n = 1_000 // several pages
	var writes []store.Write
	for i := range n {
		writes = append(writes, store.Put(fmt.Sprintf("k/%04d", i), nil))
	}
	mustApply(t, s, writes...)
	mustApply(t, s, store.Delete("k/0000"))
	read := func(after store.Cursor, move func()) (got []string, err error) {
		for r, err := range s.Changes(t.Context(), after) {
			if err != nil {
				return got, err
			}
			if got = append(got, formatRecord(r)); len(got) == 1 {
				move()
			}
			if r.Seq == s.Head().Seq {
				break
			}
		}
		return got, nil
	}
	// A reader from the beginning misses nothing when deletions from before its start are
	// forgotten.
	got, err := read(store.Cursor{}, func() { moveHorizon(t, s, n) })
	if err != nil || len(got) != n {
		t.Fatalf("a reader from the beginning got %d of %d records, error %v", len(got), n, err)
	}
	// It would miss the deletion of a record that it has already read.
	_, err = read(store.Cursor{}, func() {
		mustApply(t, s, store.Delete("k/0001"))
		mustApply(t, s, store.Put("end", nil))
		moveHorizon(t, s, s.Head().Seq)
	})
	wantErr(t, err, store.ErrCursorGone)
	// So would a reader from the middle.
	middle := s.Horizon()
	mustApply(t, s, writes...)
	_, err = read(middle, func() {
		mustApply(t, s, store.Delete("k/0002"))
		mustApply(t, s, store.Put("end", nil))
		moveHorizon(t, s, s.Head().Seq)
	})
	wantErr(t, err, store.ErrCursorGone)
	// A follower that waits at the end has missed nothing, and continues.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	records, ended := make(chan string), make(chan error, 1)
	head := s.Head()
	go func() {
		var last error
		for r, err := range s.Changes(ctx, head) {
			if last = err; err != nil {
				break
			}
			records <- formatRecord(r)
		}
		ended <- last
	}()
	moveHorizon(t, s, s.Head().Seq)
	seq := mustApply(t, s, store.Put("more", nil))
	if got := <-records; got != fmt.Sprintf("more=@%d", seq) {
		t.Fatalf("a reader at the end got %s", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatalf("a reader at the end: %v", err)
	}
}

func testKeptDeletions(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	mustApply(t, s, store.Put(KeptPrefix+"a", nil), store.Put("b", nil))
	mustApply(t, s, store.Delete(KeptPrefix+"a"), store.Delete("b"))
	mustApply(t, s, store.Put("end", nil))
	for range 2 {
		moveHorizon(t, s, 4)
		wantRecords(t, "from zero", readChanges(t, s, store.Cursor{}), KeptPrefix+"a-@3", "end=@5")
		mustCompact(t, subject, s)
	}
}

func testHorizonReopened(t *testing.T, subject Subject) {
	dir := t.TempDir()
	s := subject.Open(t, dir)
	mustApply(t, s, store.Put("a", nil), store.Put("b", nil), store.Put("c", nil))
	old := s.Head()
	mustApply(t, s, store.Delete("a"))
	mustApply(t, s, store.Put("end", nil))
	moveHorizon(t, s, 4)
	mustCompact(t, subject, s)
	horizon := s.Horizon()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.Forget(t.Context(), old), store.ErrClosed)
	s = subject.Open(t, dir)
	defer s.Close()
	if s.Horizon() != horizon {
		t.Fatalf("after reopening the horizon is %+v, it was %+v", s.Horizon(), horizon)
	}
	requireCursorGone(t, s, old)
	wantRecords(t, "from zero", readChanges(t, s, store.Cursor{}), "b=@2", "c=@3", "end=@5")
}

// testFollowersBehindTheHorizon lets followers run, stop, fall behind and start again, while
// writers put and delete and the store forgets and is compacted. In the end each must hold exactly
// the content of the store.
func testFollowersBehindTheHorizon(t *testing.T, subject Subject) {
	const writers, rounds = 4, 200
	s := openStore(t, subject)
	mustApply(t, s, store.Put("a", nil), store.Put("b", nil), store.Put("c", nil), store.Put("d", nil), store.Put("e", nil))
	var writing, maintaining, following sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			for n := range rounds {
				key := func(n int) string { return fmt.Sprintf("k/%d/%d", w, n%50) }
				writes := []store.Write{store.Put(key(n), fmt.Append(nil, n))}
				if n%50 >= 25 {
					writes = append(writes, store.Delete(key(n-25)))
				}
				if _, err := s.Apply(t.Context(), writes...); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	maintaining.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			if err := s.Forget(t.Context(), s.Head()); err != nil {
				t.Errorf("Forget: %v", err)
			}
			if n%5 == 0 {
				if err := subject.Compact(t, s); err != nil {
					t.Errorf("Compact: %v", err)
				}
			}
		}
	})
	views := make([]map[string]string, 3)
	rebuilds := make([]int, len(views))
	for f := range views {
		following.Go(func() { views[f], rebuilds[f] = followAndRebuild(t, s, f*2) })
	}
	writing.Wait()
	close(done)
	maintaining.Wait()
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
		if !maps.Equal(view, truth) {
			t.Errorf("follower %d has %d records and the store %d, or other ones", f, len(view), len(truth))
		}
	}
	if rebuilds[1] == 0 || rebuilds[2] == 0 {
		t.Errorf("the followers began anew %v times: those that stopped must have", rebuilds)
	}
}

// followAndRebuild keeps a copy of the store until it reads the record "end", and starts again if
// its cursor is gone. If most is not 0, it stops after that many records, three times, and resumes
// from its cursor after the horizon has passed it.
func followAndRebuild(t *testing.T, s store.Store, most int) (view map[string]string, rebuilds int) {
	view = map[string]string{}
	cursor := store.Cursor{}
	for {
		n := 0
		for r, err := range s.Changes(t.Context(), cursor) {
			if errors.Is(err, store.ErrCursorGone) {
				view, cursor = map[string]string{}, store.Cursor{}
				rebuilds++
				break
			}
			if err != nil {
				t.Errorf("Changes: %v", err)
				return view, rebuilds
			}
			cursor = s.Head()
			cursor.Seq = r.Seq
			if r.Deleted {
				delete(view, r.Key)
			} else {
				view[r.Key] = formatRecord(r)
			}
			if r.Key == "end" {
				return view, rebuilds
			}
			if n++; n == most && rebuilds < 3 {
				if err := s.Forget(t.Context(), s.Head()); err != nil {
					t.Errorf("Forget: %v", err)
				}
				break
			}
		}
	}
}
