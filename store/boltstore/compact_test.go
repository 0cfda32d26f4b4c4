package boltstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// numberFromEnv returns the number in an environment variable, or another.
func numberFromEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// TestTombstonesAreForgotten fills a store with tombstones of the crawl log among living
// records: 20,000, or as many as TOMBSTONES says. After a compaction the file takes less than 1.2
// times the bytes of the living records with their headers and their entries in the log.
func TestTombstonesAreForgotten(t *testing.T) {
	tombstones := numberFromEnv("TOMBSTONES", 20_000)
	living := tombstones / 20
	s := openStore(t, t.TempDir())
	defer s.Close()
	order := rand.New(rand.NewPCG(1, 2)).Perm(tombstones)
	crawlLogKey := func(i int) string {
		return fmt.Sprintf("log/com.example%08d/20260101T000000.000Z-www.example.com", i)
	}
	apply := func(writes []store.Write) {
		if _, err := s.Apply(t.Context(), writes...); err != nil {
			t.Fatal(err)
		}
	}
	for part := range slices.Chunk(order, 10_000) {
		var puts, deletions []store.Write
		for _, i := range part {
			puts = append(puts, store.Put(crawlLogKey(i), make([]byte, 200)))
			deletions = append(deletions, store.Delete(crawlLogKey(i)))
		}
		apply(puts)
		apply(deletions)
	}
	live := int64(0)
	var writes []store.Write
	for i := range living {
		key, value := benchKey(i), make([]byte, 400)
		// Key and value, the header of the record, the entry of the log, two headers of bbolt.
		live += int64(2*len(key) + len(value) + headerSize + 8 + 2*16)
		if writes = append(writes, store.Put(key, value)); len(writes) == 1_000 || i == living-1 {
			apply(writes)
			writes = nil
		}
	}
	before, entries := countStored(t, s)
	if before != tombstones+living || entries != before {
		t.Fatalf("%d records and %d entries before", before, entries)
	}
	begun := time.Now()
	c, err := s.Compact(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d tombstones and %d records of %d bytes: file of %d bytes, then %d, %.2f times what lives; forgotten and copied in %v, of which writers waited %v",
		c.Forgotten, living, live, c.Before, c.After, float64(c.After)/float64(live), time.Since(begun), c.Pause)
	if c.Forgotten != tombstones {
		t.Errorf("%d of %d tombstones were dropped", c.Forgotten, tombstones)
	}
	if float64(c.After) > 1.2*float64(live) {
		t.Errorf("the file has %d bytes for %d that live", c.After, live)
	}
	verifyStore(t, s)
}

// BenchmarkCompact compacts a store of STORE_MB (64) megabytes while 8 callers write one record
// after another, and reports how long the slowest of their writes took, with a compaction and
// without.
func BenchmarkCompact(b *testing.B) {
	size := numberFromEnv("STORE_MB", 64) << 20
	const value = 4_000
	s := openStore(b, b.TempDir())
	defer s.Close()
	n := size / (value + 200)
	for part := range slices.Chunk(rand.New(rand.NewPCG(1, 2)).Perm(n), 1_000) {
		var writes []store.Write
		for _, i := range part {
			writes = append(writes, store.Put(benchKey(i), make([]byte, value)))
		}
		if _, err := s.Apply(b.Context(), writes...); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	var pause, took time.Duration
	var beside, alone []time.Duration
	for range b.N {
		beside = append(beside, whileWriting(b, s, n, func() {
			c, err := s.Compact(b.Context(), time.Hour)
			if err != nil {
				b.Error(err)
			}
			pause, took = max(pause, c.Pause), took+c.Took
		})...)
		alone = append(alone, whileWriting(b, s, n, func() { time.Sleep(took / time.Duration(b.N)) })...)
	}
	usage, err := s.file.Usage(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(usage.Bytes)/1e6, "MB")
	b.ReportMetric(took.Seconds()/float64(b.N), "s/compaction")
	b.ReportMetric(float64(pause)/1e6, "pause-ms")
	for name, times := range map[string][]time.Duration{"beside": beside, "alone": alone} {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)-1])/1e6, name+"-max-ms")
		b.ReportMetric(float64(times[len(times)*99/100])/1e6, name+"-p99-ms")
	}
}

// whileWriting has 8 callers write while work runs, and returns how long their writes took.
func whileWriting(b *testing.B, s *Store, n int, work func()) (took []time.Duration) {
	ctx, stop := context.WithCancel(b.Context())
	var mu sync.Mutex
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			var mine []time.Duration
			for ctx.Err() == nil {
				begun := time.Now()
				if _, err := s.Apply(b.Context(), store.Put(benchKey(rand.IntN(n)), make([]byte, 1000))); err != nil {
					b.Error(err)
					return
				}
				mine = append(mine, time.Since(begun))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, mine...)
		})
	}
	work()
	stop()
	callers.Wait()
	return took
}

func TestMarks(t *testing.T) {
	const day = 24 * time.Hour
	begin := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	var marks []mark
	for d := range 30 {
		marks = addMark(marks, mark{begin.Add(time.Duration(d) * day), uint64(100 * d)}, 7*day)
		now := begin.Add(time.Duration(d) * day)
		if got, want := sequenceAt(marks, now.Add(-7*day)), uint64(max(100*(d-7), 0)); got != want {
			t.Errorf("day %d: seven days ago the log ended at %d, the marks say %d", d, want, got)
		}
	}
	if len(marks) > 8 {
		t.Errorf("%d marks are kept for seven days", len(marks))
	}
	if again := addMark(marks, mark{begin.Add(29*day + time.Minute), 2_901}, 7*day); len(again) != len(marks) {
		t.Errorf("a mark a minute later: %d marks, there were %d", len(again), len(marks))
	}
	// The clock was wrong: its times are dropped.
	wrong := addMark(marks, mark{begin.Add(10_000 * day), 3_000}, 7*day)
	right := addMark(wrong, mark{begin.Add(30 * day), 3_100}, 7*day)
	if got := sequenceAt(right, begin.Add(30*day)); got != 3_100 {
		t.Errorf("after the clock was put right the log ends at %d", got)
	}
	if got := sequenceAt(nil, begin); got != 0 {
		t.Errorf("without marks the log ended at %d", got)
	}
}

func TestMarksAreKept(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	if _, err := s.Apply(t.Context(), store.Put("a", nil)); err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	if seq, err := s.noteTime(t.Context(), begin, time.Hour); seq != 0 || err != nil {
		t.Errorf("the first mark: %d, %v", seq, err)
	}
	if _, err := s.Compact(t.Context(), 1<<60); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	defer s.Close()
	if _, err := s.Apply(t.Context(), store.Put("b", nil)); err != nil {
		t.Fatal(err)
	}
	if seq, err := s.noteTime(t.Context(), begin.Add(2*time.Hour), time.Hour); seq != 1 || err != nil {
		t.Errorf("two hours later: %d, %v, want 1", seq, err)
	}
}

// TestMaintain simulates days: each night the deletions older than two days are dropped.
func TestMaintain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, dir)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Maintain(ctx, MaintainOptions{Keep: 48 * time.Hour, KeepLeast: 1, Hour: 3}) }()
		time.Sleep(untilHour(time.Now(), 12)) // noon
		var horizons []uint64
		for day := range 6 {
			key := fmt.Sprintf("k/%d", day)
			for _, w := range []store.Write{store.Put(key, nil), store.Delete(key)} {
				if _, err := s.Apply(t.Context(), w); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			horizons = append(horizons, s.Horizon().Seq)
		}
		if want := []uint64{0, 0, 2, 4, 6, 8}; !slices.Equal(horizons, want) {
			t.Errorf("the horizon of each day is %v, want %v", horizons, want)
		}
		if records, _ := countStored(t, s); records != 2 {
			t.Errorf("%d tombstones are left, want 2", records)
		}
		u, err := s.Upkeep(t.Context())
		if err != nil || u.Forgotten != 4 || u.Compactions != 0 || u.Failures != 0 {
			t.Errorf("%+v, error %v", u, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Maintain(t.Context(), MaintainOptions{Hour: 3}); err != nil {
			t.Errorf("of a closed store: %v", err)
		}
	})
}

// TestMaintainKeepsTheNewestWrites checks that the tombstones of the newest writes stay, whatever
// their age.
func TestMaintainKeepsTheNewestWrites(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, dir)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Maintain(ctx, MaintainOptions{Keep: time.Hour, KeepLeast: 10, Hour: 3}) }()
		for i := range 15 {
			for _, w := range []store.Write{store.Put(benchKey(i), nil), store.Delete(benchKey(i))} {
				if _, err := s.Apply(t.Context(), w); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(72 * time.Hour)
		synctest.Wait()
		if h := s.Horizon().Seq; h != 20 {
			t.Errorf("the horizon is %d, want 20 of 30", h)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestClockAheadDropsNoDeletions checks that Maintain and Compact measure the age of deletions by the
// clock of the store: while that is behind the machine's, they stay.
func TestClockAheadDropsNoDeletions(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var stopped atomic.Pointer[time.Time] // nil: due is the time
		due := func() time.Time {
			if at := stopped.Load(); at != nil {
				return *at
			}
			return time.Now()
		}
		s, err := Open(t.Context(), dir, Options{MinFree: -1, Now: due})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- s.Maintain(ctx, MaintainOptions{Keep: 48 * time.Hour, KeepLeast: 1, Hour: 3})
		}()
		time.Sleep(untilHour(time.Now(), 12)) // noon
		for _, w := range []store.Write{store.Put("k", nil), store.Delete("k"), store.Put("l", nil)} {
			if _, err := s.Apply(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(24 * time.Hour) // the deletion gets its mark
		jump := time.Now()
		stopped.Store(&jump)
		time.Sleep(96 * time.Hour)
		synctest.Wait()
		if c, err := s.compactStore(t.Context(), 48*time.Hour, 1, true); err != nil || c.Forgotten != 0 { // Compact, without keepLeast
			t.Errorf("a compaction forgets %d deletions while the clock is ahead, want 0; %v", c.Forgotten, err)
		}
		if h := s.Horizon().Seq; h != 0 {
			t.Errorf("the horizon is %d while the clock is ahead, want 0", h)
		}
		stopped.Store(nil)
		time.Sleep(72 * time.Hour)
		synctest.Wait()
		if h := s.Horizon().Seq; h != 2 {
			t.Errorf("the horizon is %d when the due clock has caught up, want 2", h)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestMaintainCompacts has a file of which most is unused.
func TestMaintainCompacts(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	value := make([]byte, 8<<20)
	for i := range 12 {
		if _, err := s.Apply(t.Context(), store.Put(fmt.Sprintf("k/%d", i), value)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 11 {
		if _, err := s.Apply(t.Context(), store.Delete(fmt.Sprintf("k/%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, dir)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Maintain(ctx, MaintainOptions{Keep: time.Hour, Hour: 3}) }()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		u, err := s.Upkeep(t.Context())
		if err != nil || u.Compactions != 1 || u.Usage.Bytes > 20<<20 {
			t.Errorf("%+v, error %v", u, err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		verifyStore(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestForgetIsInterrupted fails each commit of Forget in turn. What was not dropped then is dropped
// the next time, and nothing else is.
func TestForgetIsInterrupted(t *testing.T) {
	const keys = 3 * forgetAtOnce // one commit for each, after the one that moves the horizon
	for fail := 1; fail <= 5; fail++ {
		t.Run(fmt.Sprint("commit ", fail), func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, dir)
			var puts, deletions []store.Write
			for i := range keys {
				puts = append(puts, store.Put(benchKey(i), nil), store.Put("alive/"+benchKey(i), nil))
				deletions = append(deletions, store.Delete(benchKey(i)))
			}
			for _, writes := range [][]store.Write{puts, deletions, {store.Put("end", nil)}} {
				if _, err := s.Apply(t.Context(), writes...); err != nil {
					t.Fatal(err)
				}
			}
			head := s.Head()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			commits := 0
			s, err := openWith(t.Context(), dir, Options{MinFree: -1}, &boltfile.Options{Commit: func(tx *bolt.Tx, file *os.File) error {
				if commits++; commits == fail {
					return errors.Join(file.Close(), tx.Commit())
				}
				return tx.Commit()
			}})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Forget(t.Context(), head)
			if (err == nil) != (fail > 4) || err != nil && !errors.Is(err, store.ErrUnknown) {
				t.Errorf("error %v", err)
			}
			_ = s.Close()
			s = openStore(t, dir)
			defer s.Close()
			if s.Head() != head {
				t.Errorf("Head is %+v, it was %+v", s.Head(), head)
			}
			verifyStore(t, s)
			if err := s.Forget(t.Context(), head); err != nil {
				t.Error(err)
			}
			if records, entries := countStored(t, s); records != keys+1 || entries != keys+1 {
				t.Errorf("%d records and %d entries of the log are left, want %d", records, entries, keys+1)
			}
			verifyStore(t, s)
		})
	}
}

// TestCompactWithoutRoom checks that on a disk without space for a copy the tombstones are dropped
// in place.
func TestCompactWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	for _, w := range []store.Write{store.Put("a", nil), store.Delete("a"), store.Put("b", nil)} {
		if _, err := s.Apply(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), dir, Options{MinFree: 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := s.Compact(t.Context(), 0)
	if !errors.Is(err, store.ErrFull) || c.Forgotten != 1 {
		t.Errorf("%+v, error %v, want ErrFull and one tombstone dropped", c, err)
	}
	if u, err := s.Upkeep(t.Context()); err != nil || u.Failures != 1 || u.Forgotten != 1 {
		t.Errorf("%+v, error %v", u, err)
	}
	if records, _ := countStored(t, s); records != 1 {
		t.Errorf("%d records are left, want 1", records)
	}
}

// TestMaintainRemovesErasedContent checks that a file with few unused pages is copied if those hold
// erased content, and that no file of the directory contains the erased bytes afterwards.
func TestMaintainRemovesErasedContent(t *testing.T) {
	dir := t.TempDir()
	const content = "content that has to be erased"
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, dir)
		for _, w := range []store.Write{store.Put("k/1", []byte(content)), store.Put("k/2", []byte("kept")), store.Delete("k/1")} {
			if _, err := s.Apply(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended, after := make(chan error, 1), 0
		go func() {
			ended <- s.Maintain(ctx, MaintainOptions{Keep: 48 * time.Hour, Hour: 3, MustCopy: func(context.Context) bool { return true }, After: func(context.Context) { after++ }})
		}()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if u, err := s.Upkeep(t.Context()); err != nil || u.Compactions != 1 || after != 1 {
			t.Errorf("%+v, error %v, %d calls afterwards", u, err, after)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil || strings.Contains(string(text), content) {
			t.Errorf("%s: it holds erased content, or cannot be read: %v", f.Name(), err)
		}
	}
}
