package filetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

const rebuildKeys = 3_000

// fillForRebuild writes records and deletes most of them again.
func fillForRebuild(t testing.TB, h Handle) {
	t.Helper()
	var puts, deletions []Change
	for i := range rebuildKeys {
		puts = append(puts, Change{Key: fmt.Sprintf("r/%05d", i), Value: []byte(entryValue(i, i))})
		if i%10 != 0 {
			deletions = append(deletions, Change{Key: fmt.Sprintf("r/%05d", i), Delete: true})
		}
	}
	for part := range slices.Chunk(puts, 500) {
		if err := h.Write(t.Context(), part...); err != nil {
			t.Fatal(err)
		}
	}
	for part := range slices.Chunk(deletions, 500) {
		if err := h.Write(t.Context(), part...); err != nil {
			t.Fatal(err)
		}
	}
}

// checkRebuilt checks the records that fillForRebuild has left.
func checkRebuilt(t testing.TB, h Handle) {
	t.Helper()
	for i := range rebuildKeys {
		value, err := h.Get(t.Context(), fmt.Sprintf("r/%05d", i))
		deleted := i%10 != 0
		if isMissing(err) != deleted || !deleted && string(value) != entryValue(i, i) {
			t.Fatalf("record %d: deleted %v, error %v", i, deleted, err)
		}
	}
}

// copyIsGone checks that no unfinished copy is left.
func copyIsGone(t testing.TB, subject Subject, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, subject.Name+rebuiltSuffix)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the unfinished copy: %v", err)
	}
}

func testRebuild(t *testing.T, subject Subject) {
	dir := subject.closedDir(t, 10)
	h := subject.openHandle(t, dir)
	fillForRebuild(t, h)
	before, err := h.File().Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seq, _ := h.File().Progress()
	for range 2 {
		if err := h.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		after, err := h.File().Usage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, subject.Name))
		if err != nil {
			t.Fatal(err)
		}
		if after.Bytes > before.Bytes/3 || info.Size() > after.Bytes+2<<20 {
			t.Errorf("the file had %d bytes, and has %d in pages and %d in all", before.Bytes, after.Bytes, info.Size())
		}
		if now, _ := h.File().Progress(); now != seq {
			t.Errorf("the sequence was %d and is %d", seq, now)
		}
		copyIsGone(t, subject, dir)
		checkRebuilt(t, h)
		verifyHandle(t, subject, h)
	}
	putRecords(t, h, 20)
	checkRebuilt(t, h)
	closeHandle(t, h)
	h = subject.openHandle(t, dir)
	defer h.Close()
	wantIncarnation(t, h, 1)
	checkRebuilt(t, h)
	verifyHandle(t, subject, h)
}

// testRebuildBesideWriters lets writers put, overwrite and delete, and readers read, while the file
// is rebuilt repeatedly.
func testRebuildBesideWriters(t *testing.T, subject Subject) {
	const writers = 4
	dir := subject.closedDir(t, 0)
	h := subject.openHandle(t, dir)
	fillForRebuild(t, h)
	var stop atomic.Bool
	var running sync.WaitGroup
	written := make([]int, writers)
	for w := range writers {
		running.Go(func() {
			for n := 1; !stop.Load(); n++ {
				changes := []Change{{Key: entryKey(w, n), Value: []byte(entryValue(w, n))}, {Key: lastKey(w), Value: []byte(strconv.Itoa(n))}}
				if n%4 == 0 {
					changes = append(changes, Change{Key: entryKey(w, n-1), Delete: true})
				}
				if err := h.Write(t.Context(), changes...); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				written[w] = n
			}
		})
	}
	running.Go(func() {
		for i := 0; !stop.Load(); i++ {
			key := fmt.Sprintf("r/%05d", i*10%rebuildKeys)
			if value, err := h.Get(t.Context(), key); err != nil || len(value) == 0 {
				t.Errorf("reading %s: %v", key, err)
				return
			}
		}
	})
	for range 5 {
		if err := h.Compact(t.Context()); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	running.Wait()
	check := func() {
		t.Helper()
		for w, n := range written {
			if last := checkWriter(t, h, w, n); last != n {
				t.Errorf("writer %d stands at %d, and wrote %d", w, last, n)
			}
		}
		checkRebuilt(t, h)
		verifyHandle(t, subject, h)
	}
	check()
	closeHandle(t, h)
	h = subject.openHandle(t, dir)
	defer h.Close()
	wantIncarnation(t, h, 1)
	check()
}

// brokenCopier fails at one of its steps.
type brokenCopier struct{ at int }

var errBroken = errors.New("broken")

func (c *brokenCopier) failAt(n int) error {
	if c.at == n {
		return errBroken
	}
	return nil
}

func (c *brokenCopier) CopyAll(ctx context.Context, to *boltfile.Copy) error {
	if err := c.failAt(1); err != nil {
		return err
	}
	return to.Update(ctx, 1, func(*bolt.Tx) error {
		if c.at == 2 {
			panic("broken")
		}
		return c.failAt(3)
	})
}

func (c *brokenCopier) CatchUp(_, _ *bolt.Tx, _ int) (int, error) { return 0, c.failAt(4) }
func (c *brokenCopier) Verify(_, _ *bolt.Tx) error                { return c.failAt(5) }

// testFailingRebuild lets a rebuild fail at each step of its copier: the old file continues to
// serve.
func testFailingRebuild(t *testing.T, subject Subject) {
	dir := subject.closedDir(t, 5)
	h := subject.openHandle(t, dir)
	fillForRebuild(t, h)
	for at := 1; at <= 5; at++ {
		_, err := h.File().Rebuild(t.Context(), &brokenCopier{at})
		if !errors.Is(err, errBroken) && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("step %d: error %v", at, err)
		}
		copyIsGone(t, subject, dir)
		putRecords(t, h, 1)
		checkRebuilt(t, h)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Compact(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	copyIsGone(t, subject, dir)
	if err := h.File().Err(); err != nil {
		t.Errorf("the file has failed: %v", err)
	}
	if err := h.Compact(t.Context()); err != nil {
		t.Error(err)
	}
	checkRebuilt(t, h)
	closeHandle(t, h)
	if err := h.Compact(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("compacting a closed file: %v", err)
	}
}

// waitingCopier waits in its first step until the file closes.
type waitingCopier struct {
	brokenCopier
	begun chan struct{}
}

func (c *waitingCopier) CopyAll(ctx context.Context, to *boltfile.Copy) error {
	close(c.begun)
	<-to.File().Closing()
	return to.Update(ctx, 1, func(*bolt.Tx) error { return nil })
}

func testCloseDuringRebuild(t *testing.T, subject Subject) {
	dir := subject.closedDir(t, 5)
	h := subject.openHandle(t, dir)
	c := &waitingCopier{begun: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		_, err := h.File().Rebuild(t.Context(), c)
		ended <- err
	}()
	<-c.begun
	if _, err := h.File().Rebuild(t.Context(), &brokenCopier{}); !errors.Is(err, boltfile.ErrRebuilding) {
		t.Errorf("a second rebuild: %v", err)
	}
	closeHandle(t, h)
	if err := <-ended; !errors.Is(err, store.ErrClosed) {
		t.Errorf("the rebuild: %v", err)
	}
	copyIsGone(t, subject, dir)
	h = subject.openHandle(t, dir)
	defer h.Close()
	putRecords(t, h, 5)
}
