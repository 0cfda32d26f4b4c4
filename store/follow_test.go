package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/store"
	"gazetteer/store/boltstore"
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

// following runs Follow beside the test. stop ends it and returns its error.
func following(t *testing.T, s store.Store, after store.Cursor, o store.FollowOptions) (batches <-chan batch, stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	applied := make(chan batch, 100)
	ended := make(chan error, 1)
	start := time.Now()
	go func() {
		ended <- store.Follow(ctx, s, after, o, func(records []store.Record, upTo store.Cursor) error {
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

func TestFollowCutsBatches(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		put(t, s, numbered(2_500)...)
		batches, stop := following(t, s, store.Cursor{}, store.FollowOptions{})
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
			t.Errorf("Follow returns %v when its context ends", err)
		}
	})
}

func TestFollowLingers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		batches, stop := following(t, s, store.Cursor{}, store.FollowOptions{Batch: 3})
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

func TestFollowResumes(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		put(t, s, "a", "b", "c")
		batches, stop := following(t, s, store.Cursor{}, store.FollowOptions{Batch: 2})
		first := <-batches
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		put(t, s, "b")
		batches, stop = following(t, s, first.upTo, store.FollowOptions{})
		if b := <-batches; !slices.Equal(first.keys, []string{"a", "b"}) || !slices.Equal(b.keys, []string{"c", "b"}) || b.upTo != s.Head() {
			t.Errorf("first %v, then %v up to %+v", first.keys, b.keys, b.upTo)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestFollowKeepsWhatItRead ends a follower while its batch fills.
func TestFollowKeepsWhatItRead(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		batches, stop := following(t, s, store.Cursor{}, store.FollowOptions{})
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

func TestFollowEndsWithTheErrorOfApply(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		put(t, s, numbered(50)...)
		broken := errors.New("broken")
		calls := 0
		err := store.Follow(t.Context(), s, store.Cursor{}, store.FollowOptions{Batch: 10}, func([]store.Record, store.Cursor) error {
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

func TestFollowEndsWithTheErrorOfTheLog(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		never := func([]store.Record, store.Cursor) error { t.Error("apply was called"); return nil }
		err := store.Follow(t.Context(), s, store.Cursor{Store: "another", Incarnation: 1, Seq: 7}, store.FollowOptions{}, never)
		if !errors.Is(err, store.ErrCursorGone) {
			t.Errorf("cursor of another log: %v", err)
		}
		ended := make(chan error)
		go func() { ended <- store.Follow(t.Context(), s, store.Cursor{}, store.FollowOptions{}, never) }()
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, store.ErrClosed) {
			t.Errorf("store closed: %v", err)
		}
	})
}

func TestKeys(t *testing.T) {
	seen := time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.FixedZone("", 3600))
	for _, c := range []struct {
		key, want string
		parts     []string
	}{
		{store.HostKey("www.example.com"), "host/com.example.www", []string{"host", "www.example.com"}},
		{store.DocumentKey("example.com", "ai"), "doc/com.example/ai", []string{"doc", "example.com", "ai"}},
		{store.VersionKey("example.com", "agis", seen, "sha256:00"), "ver/com.example/agis/20260304T040607.089Z-sha256:00", []string{"ver", "example.com", "agis", "20260304T040607.089Z-sha256:00"}},
		{store.BlobKey("sha256:00"), "blob/sha256:00", []string{"blob", "sha256:00"}},
		{store.LedgerKey("example.com", seen, "a.test"), "log/com.example/20260304T040607.089Z-a.test", []string{"log", "example.com", "20260304T040607.089Z-a.test"}},
		{store.BlockKey("example.com"), "block/com.example", []string{"block", "example.com"}},
		{store.DomainKey("example.co.uk"), "domain/uk.co.example", []string{"domain", "example.co.uk"}},
		{store.AgentKey("AIR-1"), "agent/AIR-1", []string{"agent", "AIR-1"}},
		{store.HandleKey("a.b"), "handle/a.b", []string{"handle", "a.b"}},
		{store.EntryKey("AIR-1", 12), "agent/AIR-1/00000012", []string{"agent", "AIR-1", "00000012"}},
		{store.KeyKey("z6Mk"), "key/z6Mk", []string{"key", "z6Mk"}},
		{store.AttestationKey(7), "attestation/0000000007", []string{"attestation", "0000000007"}},
		{store.AdmissionPolicyKey, "admission", []string{"admission"}},
		{store.PendingKey("AIR-1"), "pending/AIR-1", []string{"pending", "AIR-1"}},
		{store.BanKey("handle", "a.b"), "ban/handle/a.b", []string{"ban", "handle", "a.b"}},
		{store.ReportKey("x"), "report/x", []string{"report", "x"}},
	} {
		if c.key != c.want || !slices.Equal(store.SplitKey(c.key), c.parts) {
			t.Errorf("key %q of parts %q, want %q of %q", c.key, store.SplitKey(c.key), c.want, c.parts)
		}
	}
	if host := "a.b.example.com"; store.ReverseHost(store.ReverseHost(host)) != host {
		t.Error("a host reversed twice is another")
	}
}
