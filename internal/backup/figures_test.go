package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/internal/wait"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/leafform"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// megabytesEnv sets the size of the store of TestBackupFigures, and has its figures judged.
const megabytesEnv = "BACKUP_MB"

// The load of TestBackupFigures.
const (
	writesPerSecond = 500
	valueBytes      = 1 << 10
)

// TestBackupFigures writes a backup of a store of 24 MB, or BACKUP_MB, while 500 writes a second go
// on, of which every tenth becomes a leaf of the log. It measures how much longer the writes take
// meanwhile and how much the store grows beyond the written data, restores the backup, which
// verifies it, and checks that it contains everything that was acknowledged before the backup
// began.
func TestBackupFigures(t *testing.T) {
	megabytes, judged := 24, false
	if n, err := strconv.Atoi(os.Getenv(megabytesEnv)); err == nil {
		megabytes, judged = n, true
	}
	dir := filepath.Join(t.TempDir(), "data")
	s, err := boltstore.Open(t.Context(), dir, boltstore.Options{KeepDeletion: leafform.HistoryKey})
	if err != nil {
		t.Fatal(err)
	}
	fillStore(t, s, megabytes)
	key, err := checkpoint.OpenKey(filepath.Join(dir, "log.key"), "backup.test/log")
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(t.Context(), audit.Options{Dir: filepath.Join(dir, "log"), Store: s, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	followed := make(chan error, 1)
	go func() { followed <- log.Run(ctx) }()

	w := &writer{store: s}
	writing, stopWriting := context.WithCancel(ctx)
	var run sync.WaitGroup
	run.Go(func() { w.run(writing) })
	w.reset()
	if err := wait.For(ctx, max(2*time.Second, time.Duration(megabytes)*5*time.Millisecond)); err != nil { // to compare with
		t.Fatal(err)
	}
	before := w.reset()
	usedBefore, acknowledged := usage(t, s), w.count()
	saved := filepath.Join(t.TempDir(), "saved")
	begun := time.Now()
	m, err := Write(ctx, Sources{DataDir: dir, Store: s, Log: log}, saved, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	during := w.reset()
	usedAfter, written := usage(t, s), (w.count()-acknowledged)*(valueBytes+200)
	stopWriting()
	run.Wait()
	cancel()
	if err := errors.Join(<-followed, log.Close(), s.Close(), w.err); err != nil {
		t.Fatal(err)
	}

	restored := filepath.Join(t.TempDir(), "restored")
	begun = time.Now()
	if _, err := Restore(t.Context(), saved, restored, func(string, int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	restoring := time.Since(begun)
	again, err := boltstore.Open(t.Context(), restored, boltstore.Options{KeepDeletion: leafform.HistoryKey})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for n := range acknowledged {
		if _, err := again.Get(t.Context(), w.key(n)); err != nil {
			t.Fatalf("a write that was acknowledged before the backup: %v", err)
		}
	}
	ratio := float64(during.p99) / float64(before.p99)
	growth := float64(usedAfter) / float64(usedBefore+int64(written))
	t.Logf("a backup of %d MB took %.1f s with %d writes meanwhile; writes' p99 %v before, %v meanwhile (%.2f times), p50 %v and %v; the store's file grew to %.2f times what it and the writes take; restored and verified in %.1f s",
		m.Bytes()>>20, took.Seconds(), during.count, before.p99.Round(10*time.Microsecond), during.p99.Round(10*time.Microsecond), ratio,
		before.p50.Round(10*time.Microsecond), during.p50.Round(10*time.Microsecond), growth, restoring.Seconds())
	if growth > 1.2 && judged {
		t.Errorf("the store grew to %.2f times, want less than 1.2", growth)
	}
	if ratio > 2 && judged {
		t.Errorf("the writes' p99 is %.2f times that without the backup, want less than 2", ratio)
	}
}

// sharedDocument is the document of which all versions that are written are versions.
var sharedDocument, sharedDigest = []byte("{}"), document.Digest([]byte("{}"))

// fillStore puts so many megabytes into a store.
func fillStore(t *testing.T, s *boltstore.Store, megabytes int) {
	t.Helper()
	if _, err := s.Apply(t.Context(), store.Put(store.BlobKey(sharedDigest), sharedDocument)); err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 8<<10)
	const each = 128 // writes of 8 KiB are a megabyte
	for m := range megabytes {
		writes := make([]store.Write, each)
		for i := range writes {
			rand.Read(value)
			writes[i] = store.Put(fmt.Sprintf("host/test.fill.%06d", m*each+i), slices.Clone(value))
		}
		if _, err := s.Apply(t.Context(), writes...); err != nil {
			t.Fatal(err)
		}
	}
}

// usage returns the length of the store's file.
func usage(t *testing.T, s *boltstore.Store) int64 {
	t.Helper()
	u, err := s.Upkeep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return u.Usage.Bytes
}

// A writer writes at a steady rate, and notes how long each write took from the time when it was due.
type writer struct {
	store *boltstore.Store

	mu    sync.Mutex // guards the following fields
	done  int        // writes that were acknowledged, all those before it too
	times []time.Duration
	err   error
}

// key is the key of the n-th write.
func (w *writer) key(n int) string {
	if n%10 == 0 {
		return store.VersionKey(fmt.Sprintf("w%08d.test", n), "ai", time.Unix(0, 0), sharedDigest) // becomes a leaf
	}
	return fmt.Sprintf("host/test.written.%08d", n)
}

// run writes until ctx ends. Sixteen writes are under way at the most, as from as many clients.
func (w *writer) run(ctx context.Context) {
	var clients sync.WaitGroup
	due := make(chan int, writesPerSecond)
	start := time.Now()
	for range 16 {
		clients.Go(func() {
			value := fmt.Appendf(nil, `{"kind":"ai","digest":%q,"text":"%0*d"}`, sharedDigest, valueBytes-110, 0)
			for n := range due {
				_, err := w.store.Apply(context.WithoutCancel(ctx), store.Put(w.key(n), value))
				took := time.Since(start.Add(time.Duration(n) * time.Second / writesPerSecond))
				w.mu.Lock()
				w.times, w.done = append(w.times, took), w.done+1
				w.err = errors.Join(w.err, err)
				w.mu.Unlock()
			}
		})
	}
	for n := 0; ctx.Err() == nil; n++ {
		wait.For(ctx, time.Until(start.Add(time.Duration(n)*time.Second/writesPerSecond)))
		due <- n
	}
	close(due)
	clients.Wait()
}

// count returns how many writes were certainly acknowledged, counted from the first.
func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(0, w.done-16)
}

// figures are the times of some writes.
type figures struct {
	count    int
	p50, p99 time.Duration
}

// reset returns the figures since the last call.
func (w *writer) reset() figures {
	w.mu.Lock()
	defer w.mu.Unlock()
	times := w.times
	w.times = nil
	if len(times) == 0 {
		return figures{}
	}
	slices.Sort(times)
	return figures{len(times), times[len(times)/2], times[len(times)*99/100]}
}
