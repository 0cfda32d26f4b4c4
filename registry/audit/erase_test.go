package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gazetteer/internal/need"
	"gazetteer/registry/audit/audittest"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/leafform"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"
	"gazetteer/store/boltstore"

	"golang.org/x/mod/sumdb/tlog"
)

// openQuick is open for a log that repeats what fails almost at once.
func (h *fixture) openQuick(o Options) {
	h.t.Helper()
	h.openIdle(o)
	h.run()
}

// openIdle opens such a log, which follows nothing yet.
func (h *fixture) openIdle(o Options) {
	h.t.Helper()
	if err := h.tryOpen(o); err != nil {
		h.t.Fatal(err)
	}
	h.log.retry = time.Millisecond
}

// eraseRecord deletes the record of an event, and waits until its content is erased.
func (h *fixture) eraseRecord(agent, n int) (seq uint64) {
	h.t.Helper()
	seq, err := h.store.Apply(h.t.Context(), store.Delete(eventKey(agent, n)))
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	if err := h.log.WaitErased(ctx, seq); err != nil {
		h.t.Fatalf("the content of %s is not erased: %v\n%s", eventKey(agent, n), err, h.lines)
	}
	if h.hasContent(agent, n) {
		h.t.Fatalf("the content of %s is erased, and the file has it", eventKey(agent, n))
	}
	return seq
}

// hasContent reports whether the file of entries has the content of an event.
func (h *fixture) hasContent(agent, n int) bool {
	h.t.Helper()
	content, err := os.ReadFile(filepath.Join(h.dir, "log", entriesFile))
	if err != nil {
		h.t.Fatal(err)
	}
	return bytes.Contains(content, []byte(fmt.Sprintf(`"n":%d,"name":"agent %d"`, n, agent)))
}

// checkUndeclared verifies the directory, which must have so many erased leaves that are not
// declared yet, and compares it with the store, which must be closed.
func (h *fixture) checkUndeclared(want int64) {
	h.t.Helper()
	dir := filepath.Join(h.dir, "log")
	r, err := VerifyDir(h.t.Context(), dir, nil, h.verifier())
	if err != nil || r.Undeclared != want || r.Erased < want {
		h.t.Errorf("verified: %+v, %v; want %d undeclared leaves", r, err, want)
	}
	if _, err := tiles.Verify(h.t.Context(), FilesIn(dir), h.verifier()); (err != nil) != (want > 0) {
		h.t.Errorf("from its files alone: %v", err)
	}
	c, problems := h.compare()
	if len(problems) > 0 || c.Undeclared > want { // some may be declared by leaves that are not signed yet
		h.t.Errorf("compared with the store: %+v, %q", c, problems)
	}
}

// compare compares the log with the store; both must be closed.
func (h *fixture) compare() (c StoreComparison, problems []string) {
	h.t.Helper()
	s, err := boltstore.Open(h.t.Context(), filepath.Join(h.dir, "store"), boltstore.Options{KeepDeletion: leafform.HistoryKey, LeaveRollback: true})
	if err != nil {
		h.t.Fatal(err)
	}
	defer s.Close()
	c, err = CompareStore(h.t.Context(), filepath.Join(h.dir, "log"), s, h.verifier(), nil,
		func(int64, int64) {}, func(problem string) { problems = append(problems, problem) })
	if err != nil {
		h.t.Fatal(err)
	}
	return c, problems
}

// TestErasureDoesNotWaitForSignature deletes records while the log cannot sign: their content is
// gone at once, and stays so after a restart. The log declares the erasures when it signs again.
func TestErasureDoesNotWaitForSignature(t *testing.T) {
	for name, c := range map[string]struct {
		stop func(h *fixture, lock *lockServer)
		help func(h *fixture, lock *lockServer)
	}{
		"the lock refuses": {
			func(h *fixture, lock *lockServer) { lock.silent.Store(true) },
			func(h *fixture, lock *lockServer) { lock.silent.Store(false) },
		},
		"a witness contradicts": {
			func(h *fixture, _ *lockServer) {
				h.log.Halt(CauseWitness, errors.New("a witness says otherwise"))
			},
			func(h *fixture, _ *lockServer) {
				if err := h.log.Resume(h.t.Context()); err != nil {
					h.t.Error(err)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &fixture{t: t, dir: t.TempDir()}
			lock := newLock(t, openKey(t, h.dir))
			h.openQuick(Options{Lock: lock.cosigner(t)})
			h.events(1, 0, 10)
			before := h.checkpoint()
			c.stop(h, lock)
			h.eraseRecord(1, 3)
			if _, err := h.store.Apply(t.Context(), event(1, 10), event(1, 11)); err != nil {
				t.Fatal(err)
			}
			h.eraseRecord(1, 4)
			h.eraseRecord(1, 11) // written and deleted while nothing is signed
			if s := h.log.Status(); s.Signs() {
				t.Errorf("the log signs: %+v", s)
			}
			if now := h.checkpoint(); !bytes.Equal(now, before) {
				t.Errorf("signed: %s", now)
			}
			if e, err := h.log.Entry(t.Context(), 3); err != nil || !e.Erased || e.Leaf != nil {
				t.Errorf("the erased leaf: %+v, %v", e, err)
			}
			// A stranger learns that all is right but the declaration.
			r, err := tiles.Verify(t.Context(), h.log.File, h.verifier(), before)
			if undeclared, ok := errors.AsType[*tiles.UndeclaredError](err); !ok || *undeclared != (tiles.UndeclaredError{File: "tile/entries/000.p/10", Leaf: 3, Leaves: 2}) || errors.Is(err, tiles.ErrDamaged) || r.Older != 1 {
				t.Errorf("verified by a stranger: %+v, %v", r, err)
			}
			h.shut()
			h.checkUndeclared(2)

			h.openIdle(Options{Lock: lock.cosigner(t)})
			if _, halted := h.log.Halted(); !halted {
				if err := h.log.CheckStore(t.Context()); err != nil {
					t.Errorf("at the next start: %v", err)
				}
			}
			h.run()
			last := h.eraseRecord(1, 5)
			c.help(h, lock)
			if err := h.log.WaitFor(t.Context(), last); err != nil {
				t.Fatal(err)
			}
			if r := h.check(before); r.Erased < 3 {
				t.Errorf("verified: %+v", r)
			}
			if s := h.log.Status(); s.Undeclared != 0 || s.EraseErr != nil {
				t.Errorf("in the end: %+v", s)
			}
			h.shut()
			h.checkUndeclared(0)
			for _, n := range []int{3, 4, 5, 11} {
				if h.hasContent(1, n) {
					t.Errorf("the content of event %d is there again", n)
				}
			}
		})
	}
}

// TestErasureOnFullDisk deletes a record while the disk of the log is full.
func TestErasureOnFullDisk(t *testing.T) {
	h := &fixture{t: t, dir: t.TempDir()}
	disk := filepath.Join(h.dir, "log")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		need.Missing(t, "cannot mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	if err := h.tryOpen(Options{}); err != nil {
		t.Fatal(err)
	}
	h.log.retry = time.Millisecond
	h.run()
	h.events(1, 0, 10)
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	seq := h.eraseRecord(1, 3)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := h.log.WaitFor(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	if r := h.check(); r.Erased != 1 || r.N != 11 {
		t.Errorf("verified: %+v", r)
	}
	h.shut()
}

// eraseUndeclared writes ten events, and erases one of them without a declaration.
func (h *fixture) eraseUndeclared() (backup string) {
	h.t.Helper()
	h.events(1, 0, 10)
	h.shut()
	backup = h.save("store")
	h.open(Options{})
	h.log.Halt(CauseWitness, errors.New("a witness says otherwise"))
	h.eraseRecord(1, 3)
	if leaves, undeclared, err := h.log.WriteBackup(h.t.Context(), filepath.Join(h.t.TempDir(), "log")); err != nil || leaves != 10 || undeclared != 1 {
		h.t.Errorf("a backup: %d leaves, %d of them undeclared, %v", leaves, undeclared, err)
	}
	h.shut()
	return backup
}

// TestStoreFromBeforeErasure restores a store from before an undeclared erasure: it is refused. If
// the operator accepts the loss, the log declares the erasure, and has the record again.
func TestStoreFromBeforeErasure(t *testing.T) {
	h := newFixture(t)
	backup := h.eraseUndeclared()
	h.restore(backup, "store")
	const reason = "leaf 3 is the record agent/AIR-0001/000003, and the store still has it although its leaf is erased: an older copy of the store was put back"
	if err := h.tryOpen(Options{}); err != nil {
		t.Fatal(err)
	}
	if err := h.log.CheckStore(t.Context()); !errors.Is(err, ErrFork) || !strings.Contains(err.Error(), reason) {
		t.Errorf("it says %v", err)
	}
	if err := errors.Join(h.log.Close(), h.store.Close()); err != nil {
		t.Fatal(err)
	}
	if _, problems := h.compare(); len(problems) != 1 || !strings.Contains(problems[0], "leaf 3 is erased, and the store still has its record") {
		t.Errorf("compared: %q", problems)
	}

	if err := h.tryOpen(Options{AcceptLoss: true}); err != nil {
		t.Fatal(err)
	}
	if err := h.log.CheckStore(t.Context()); err != nil {
		t.Errorf("the loss is accepted: %v", err)
	}
	h.run()
	if err := h.log.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.apply(event(2, 0))
	if r := h.check(); r.Erased != 1 || r.N != 13 {
		t.Errorf("verified: %+v", r)
	}
	if e, err := h.log.Newest(t.Context(), eventKey(1, 3)); err != nil || e.Erased || e.Deleted {
		t.Errorf("the record that is there again: %+v, %v", e, err)
	}
	h.shut()
	h.checkUndeclared(0)
}

// TestErasedLeafWithoutDeletion compares a log whose leaf has no content with a store that has
// forgotten the deletion: no leaf will ever declare that erasure.
func TestErasedLeafWithoutDeletion(t *testing.T) {
	h := newFixture(t)
	h.eraseUndeclared()
	s, err := boltstore.Open(t.Context(), filepath.Join(h.dir, "store"), boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), event(2, 0)); err != nil { // the newest write is never forgotten
		t.Fatal(err)
	}
	if _, err := s.Compact(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, problems := h.compare(); len(problems) != 1 || !strings.Contains(problems[0], "no leaf will declare it: the store knows of no deletion of its record agent/AIR-0001/000003") {
		t.Errorf("compared: %q", problems)
	}
}

// TestLostErasureIsDeclared accepts the loss of records whose erasure no leaf declares yet, because
// the store is from before the deletion, or from before the record. The loss stays accepted while the
// log is halted, and the log declares the erasure when it signs again.
func TestLostErasureIsDeclared(t *testing.T) {
	for name, c := range map[string]struct {
		n      int // of the event
		reason string
		leaves int64
	}{
		"from before the deletion": {3, "leaf 3 is the record agent/AIR-0001/000003, and the store still has it although its leaf is erased", 14},
		"from before the record":   {10, "leaf 10 is the record agent/AIR-0001/000010, and its leaf is erased, but the store has neither the record nor its deletion", 13},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			h.events(1, 0, 10)
			h.shut()
			backup := h.save("store")
			h.open(Options{})
			h.events(1, 10, 11)
			before := h.checkpoint()
			h.log.Halt(CauseWitness, errors.New("a witness says otherwise"))
			h.eraseRecord(1, c.n)
			h.shut()
			h.restore(backup, "store")
			start := func(o Options) error {
				t.Helper()
				if err := h.tryOpen(o); err != nil {
					t.Fatal(err)
				}
				return h.log.CheckStore(t.Context())
			}
			stop := func() {
				t.Helper()
				if err := errors.Join(h.log.Close(), h.store.Close()); err != nil {
					t.Fatal(err)
				}
			}
			if err := start(Options{}); !errors.Is(err, ErrFork) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("it says %v", err)
			}
			stop()
			if err := start(Options{AcceptLoss: true}); err != nil {
				t.Errorf("the loss is accepted: %v", err)
			}
			stop()
			if err := start(Options{}); err != nil {
				t.Errorf("the loss was accepted at the last start: %v", err)
			}
			stop()
			if r, problems := h.compare(); len(problems) > 0 || r.Undeclared != 1 {
				t.Errorf("compared: %+v, %q", r, problems)
			}
			h.open(Options{})
			if err := h.log.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.apply(event(2, 0))
			if r := h.check(before); r.Erased != 1 || r.N != c.leaves {
				t.Errorf("verified: %+v", r)
			}
			h.shut()
			h.checkUndeclared(0)
		})
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// haltBefore opens a log with ten leaves that is halted, and tries erasures again after a pause.
func haltBefore(t *testing.T, retry time.Duration) *fixture {
	t.Helper()
	h := newFixture(t)
	h.events(1, 0, 10)
	h.reopenHalted(retry)
	return h
}

// reopenHalted opens the log again and halts it. It then tries erasures again after a pause.
func (h *fixture) reopenHalted(retry time.Duration) {
	h.t.Helper()
	h.shut()
	if err := h.tryOpen(Options{}); err != nil {
		h.t.Fatal(err)
	}
	h.log.retry = retry
	h.log.Halt(CauseWitness, errors.New("a witness says otherwise"))
	h.run()
}

// TestErasureOfRecordAroundDamagedRow deletes a record with three leaves, the second of which
// cannot be found: the others are erased, and the erasure is not complete until the row is repaired.
func TestErasureOfRecordAroundDamagedRow(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	key := eventKey(2, 0)
	for n := range 3 {
		h.events(1, n, n+1)
		h.apply(store.Put(key, event(2, n).Value))
	}
	h.reopenHalted(time.Millisecond)
	damage := func() { flip(t, filepath.Join(h.dir, "log", rowsFile), 3*rowBytes+20) }
	damage()
	seq, err := h.store.Apply(t.Context(), store.Delete(key))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 0} {
		eventually(t, "a leaf that can be found is not erased", func() bool { return !h.hasContent(2, n) })
	}
	eventually(t, "the failed erasure is not noted", func() bool { return h.log.Status().Unerased == 1 })
	if s := h.log.Status(); !errors.Is(s.EraseErr, tiles.ErrDamaged) || h.log.ErasedTo().Seq >= seq || !h.hasContent(2, 1) {
		t.Errorf("meanwhile: %+v", s)
	}
	damage() // repairs it
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := h.log.WaitErased(ctx, seq); err != nil || h.hasContent(2, 1) || !h.hasContent(1, 1) {
		t.Errorf("after the repair: %v", err)
	}
	if err := h.log.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.log.WaitFor(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	if r := h.check(); r.Erased != 3 || r.N != 7 {
		t.Errorf("verified: %+v", r)
	}
	h.shut()
}

// TestDamagedContentIsErased deletes records whose content, or the hash of it, is damaged: it is
// erased all the same.
func TestDamagedContentIsErased(t *testing.T) {
	t.Parallel()
	h := haltBefore(t, time.Millisecond)
	entries := filepath.Join(h.dir, "log", entriesFile)
	content, err := os.ReadFile(entries)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, entries, int64(bytes.Index(content, []byte(`"n":3,`)))-5)
	flip(t, filepath.Join(h.dir, "log", hashesFile), tlog.StoredHashIndex(0, 4)*tlog.HashSize)
	if _, err := h.log.Entry(t.Context(), 3); !errors.Is(err, tiles.ErrDamaged) {
		t.Fatalf("the content is not damaged: %v", err)
	}
	h.eraseRecord(1, 3)
	h.eraseRecord(1, 4)
	if s := h.log.Status(); s.Undeclared != 2 || s.Unerased != 0 || s.EraseErr != nil {
		t.Errorf("in the end: %+v", s)
	}
	if _, err := h.log.Entry(t.Context(), 3); err != nil {
		t.Errorf("the erased leaf: %v", err)
	}
	h.shut()
}

// TestErasurePassesOverDamage deletes a record whose leaf cannot be found, and more than a batch
// later another one: it is erased, but nobody is told that everything is, until the first one is.
func TestErasurePassesOverDamage(t *testing.T) {
	t.Parallel()
	h := haltBefore(t, time.Millisecond)
	damage := func() { flip(t, filepath.Join(h.dir, "log", rowsFile), 3*rowBytes+20) }
	damage()
	first, err := h.store.Apply(t.Context(), store.Delete(eventKey(1, 3)), store.Delete(eventKey(1, 4)))
	if err != nil {
		t.Fatal(err)
	}
	var others []store.Write
	for n := range 1500 {
		others = append(others, store.Put("count/"+strconv.Itoa(n), nil))
	}
	last, err := h.store.Apply(t.Context(), append(others, store.Delete(eventKey(1, 5)))...)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{4, 5} {
		eventually(t, "another record is not erased", func() bool { return !h.hasContent(1, n) })
	}
	if at := h.log.ErasedTo().Seq; at >= first-1 || !h.hasContent(1, 3) {
		t.Errorf("everything up to write %d is said to be erased; write %d is not", at, first-1)
	}
	if s := h.log.Status(); s.Unerased != 1 || !errors.Is(s.EraseErr, tiles.ErrDamaged) {
		t.Errorf("meanwhile: %+v", s)
	}
	if err := h.stop(); err != nil { // it can end meanwhile
		t.Error(err)
	}
	h.run()
	damage() // repairs it
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := h.log.WaitErased(ctx, last); err != nil || h.hasContent(1, 3) {
		t.Errorf("after the repair: %v", err)
	}
	if s := h.log.Status(); s.Unerased != 0 || s.EraseErr != nil {
		t.Errorf("after the repair: %+v", s)
	}
	if err := h.log.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.log.WaitFor(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if r := h.check(); r.Erased != 3 {
		t.Errorf("verified: %+v", r)
	}
	left, _, err := h.log.leaves.eraseContent(map[int64]string{0: "another", 1: eventKey(1, 1)})
	if _, failed := left[0]; !errors.Is(err, tiles.ErrDamaged) || !failed || len(left) != 1 || !h.hasContent(1, 0) || h.hasContent(1, 1) {
		t.Errorf("a leaf of another record, and one that can be erased: left %v, %v", left, err)
	}
	h.shut()
}

// TestUnerasedRecordWrittenAgain writes a record again before the content of the deleted one could
// be erased: it is erased and declared before the log has the new one.
func TestUnerasedRecordWrittenAgain(t *testing.T) {
	t.Parallel()
	h := haltBefore(t, time.Hour)
	damage := func() { flip(t, filepath.Join(h.dir, "log", rowsFile), 3*rowBytes+20) }
	damage()
	if _, err := h.store.Apply(t.Context(), store.Delete(eventKey(1, 3))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the failed erasure is not noted", func() bool { return h.log.Status().Unerased == 1 })
	seq, err := h.store.Apply(t.Context(), store.Put(eventKey(1, 3), []byte(`{"event":"written again"}`)))
	if err != nil {
		t.Fatal(err)
	}
	damage() // repairs it
	if err := h.log.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.log.WaitFor(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	if h.hasContent(1, 3) {
		t.Error("the log has the content of the deleted record")
	}
	if r := h.check(); r.Erased != 1 || r.N != 12 {
		t.Errorf("verified: %+v", r)
	}
	if s := h.log.Status(); s.Unerased != 0 || s.EraseErr != nil || h.log.ErasedTo().Seq < seq {
		t.Errorf("in the end: %+v", s)
	}
	h.shut()
	h.checkUndeclared(0)
}

// A syncLog records the syncs of erasures, and lets one fail.
type syncLog struct {
	fails atomic.Pointer[string] // the file whose next sync fails
	good  atomic.Pointer[map[string]int]
}

func (s *syncLog) sync(f *os.File) error {
	name := filepath.Base(f.Name())
	if fails := s.fails.Load(); fails != nil && *fails == name {
		s.fails.Store(nil)
		return &os.PathError{Op: "sync", Path: f.Name(), Err: syscall.EIO}
	}
	count := map[string]int{name: 1}
	if before := s.good.Load(); before != nil {
		for name, n := range *before {
			count[name] += n
		}
	}
	s.good.Store(&count)
	return f.Sync()
}

// count returns how often the rows and the entries were synced.
func (s *syncLog) count() (rows, entries int) {
	if count := s.good.Load(); count != nil {
		return (*count)[rowsFile], (*count)[entriesFile]
	}
	return 0, 0
}

// TestFailedSyncOfErasureIsRepeated lets the sync of an erasure fail: the system then shows bytes
// that may never reach the disk, so they are written and synced again, and at the next start once
// more.
func TestFailedSyncOfErasureIsRepeated(t *testing.T) {
	for _, file := range []string{rowsFile, entriesFile} {
		for _, halted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, halted %t", file, halted), func(t *testing.T) {
				t.Parallel()
				h, syncs := &fixture{t: t, dir: t.TempDir()}, &syncLog{}
				h.openQuick(Options{sync: syncs.sync})
				h.events(1, 0, 10)
				if halted {
					h.log.Halt(CauseWitness, errors.New("a witness says otherwise"))
				}
				syncs.fails.Store(&file)
				seq := h.eraseRecord(1, 3)
				if rows, entries := syncs.count(); syncs.fails.Load() != nil || rows == 0 || entries == 0 || rows+entries < 2 {
					t.Errorf("after the failed sync: %d syncs of rows, %d of entries", rows, entries)
				} else if file == entriesFile && rows < 2 {
					t.Errorf("the rows were not written again")
				}
				if !strings.Contains(h.lines.String(), errErase.Error()) {
					t.Errorf("the operator is not told: %s", h.lines)
				}
				if !halted {
					if err := h.log.WaitFor(t.Context(), seq); err != nil {
						t.Fatal(err)
					}
				}
				h.shut()
				again := &syncLog{}
				if err := h.tryOpen(Options{sync: again.sync}); err != nil {
					t.Fatal(err)
				}
				if rows, entries := again.count(); (rows > 0 && entries > 0) != halted {
					t.Errorf("at the next start: %d syncs of rows, %d of entries", rows, entries)
				}
				if err := errors.Join(h.log.Close(), h.store.Close()); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// A silentLock is the lock of a log, which can wait with its answer to one request.
type silentLock struct {
	cosigner *Cosigner
	silent   atomic.Bool   // the next request waits
	waiting  chan struct{} // closed when it does
	answer   chan struct{} // close it to let the request go on
}

func newSilentLock(h *fixture) *silentLock {
	h.t.Helper()
	lock := newLock(h.t, openKey(h.t, h.dir))
	s := &silentLock{cosigner: lock.cosigner(h.t), waiting: make(chan struct{}), answer: make(chan struct{})}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.silent.CompareAndSwap(true, false) {
			close(s.waiting)
			<-s.answer
		}
		lock.Config.Handler.ServeHTTP(w, r)
	}))
	h.t.Cleanup(front.Close)
	s.cosigner.URL = front.URL
	return s
}

// TestRecordsDeletedWhileTheyWait deletes records that the log has read and not appended, because
// it waits for the lock: their content does not get into the log.
func TestRecordsDeletedWhileTheyWait(t *testing.T) {
	h := &fixture{t: t, dir: t.TempDir()}
	lock := newSilentLock(h)
	h.openQuick(Options{Lock: lock.cosigner})
	h.events(1, 0, 2)
	lock.silent.Store(true)
	if _, err := h.store.Apply(t.Context(), event(1, 2)); err != nil {
		t.Fatal(err)
	}
	<-lock.waiting
	// The first of these is read at once, and waits for the end of the batch before it.
	if _, err := h.store.Apply(t.Context(), event(1, 3), event(1, 4)); err != nil {
		t.Fatal(err)
	}
	h.eraseRecord(1, 3)
	last := h.eraseRecord(1, 2)
	close(lock.answer)
	if err := h.log.WaitFor(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 3} {
		if h.hasContent(1, n) {
			t.Errorf("the log has the content of event %d", n)
		}
	}
	for e, err := range h.log.Find(t.Context(), eventKey(1, 3)) {
		if err != nil || !e.Deleted {
			t.Errorf("event 3 was deleted before it was appended, and has the leaf %+v, %v", e, err)
		}
	}
	h.check()
	h.shut()
	h.checkUndeclared(0)
}

// TestErasureWhileLogGrows deletes records while a log from an older copy grows to the size that was
// signed, and waits for the lock: their content is gone, the tree is the one that was signed, and
// the erasures are declared.
func TestErasureWhileLogGrows(t *testing.T) {
	t.Parallel()
	h := &fixture{t: t, dir: t.TempDir()}
	lock := newSilentLock(h)
	h.openQuick(Options{Lock: lock.cosigner})
	h.events(1, 0, 10)
	h.shut()
	backup := h.save("log")
	h.openQuick(Options{Lock: lock.cosigner})
	h.events(1, 10, 20)
	newest := h.checkpoint()
	h.shut()

	h.restore(backup, "log")
	h.openIdle(Options{Lock: lock.cosigner})
	if _, err := h.store.Apply(t.Context(), event(1, 20)); err != nil { // a new leaf, which the lock must see
		t.Fatal(err)
	}
	lock.silent.Store(true)
	grown := make(chan error, 1)
	go func() { grown <- h.log.CheckStore(t.Context()) }()
	<-lock.waiting
	var last uint64
	for _, n := range []int{5, 12, 20} { // in the older copy, in the signed tree, in neither
		last = h.eraseRecord(1, n)
	}
	close(lock.answer)
	if err := <-grown; err != nil {
		t.Fatal(err)
	}
	h.run()
	if err := h.log.WaitFor(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{5, 12, 20} {
		if h.hasContent(1, n) {
			t.Errorf("the log has the content of event %d", n)
		}
	}
	if r := h.check(newest); r.Older != 1 {
		t.Errorf("verified: %+v", r)
	}
	h.shut()
	h.checkUndeclared(0)
}

// erasuresMost is the maximum number of erasures of a process before it is killed.
const erasuresMost = 40

// eraseUntilKilled follows a store while the lock of the log is silent, and deletes the events of
// an agent, in order, but no more than erasuresMost. It prints a line "erased number" for each one
// whose content is erased.
func eraseUntilKilled(dir string) {
	ctx := context.Background()
	s, err := boltstore.Open(ctx, filepath.Join(dir, "store"), boltstore.Options{MinFree: -1, KeepDeletion: leafform.HistoryKey})
	if err != nil {
		childFails(err)
	}
	key, err := checkpoint.OpenKey(filepath.Join(dir, "key"), origin)
	if err != nil {
		childFails(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "lock"))
	if err != nil {
		childFails(err)
	}
	lock, err := ParseCosigner(string(text))
	if err != nil {
		childFails(err)
	}
	log, err := Open(ctx, Options{Dir: filepath.Join(dir, "log"), Store: s, Key: key, Copy: filepath.Join(dir, "copy"), Lock: &lock})
	if err != nil {
		childFails(err)
	}
	log.retry = time.Millisecond
	go func() { childFails(log.Run(ctx)) }()
	there := 0
	for r, err := range s.List(ctx, "agent/AIR-0001/", "") {
		if err != nil {
			childFails(err)
		}
		fmt.Sscanf(r.Key, "agent/AIR-0001/%d", &there)
		break // the ones before were deleted before the last kill
	}
	for n := there; n < there+erasuresMost; n++ {
		if _, err := s.Get(ctx, eventKey(1, n)); err != nil {
			childFails(fmt.Errorf("event %d: %w", n, err))
		}
		seq, err := s.Apply(ctx, store.Delete(eventKey(1, n)), event(2, n))
		if err != nil {
			childFails(err)
		}
		if err := log.WaitErased(ctx, seq); err != nil {
			childFails(err)
		}
		os.Stdout.WriteString("erased " + strconv.Itoa(n) + "\n")
	}
	select {} // until it is killed
}

// TestKillDuringErasure kills the process while it erases content that it cannot declare: what was
// reported as erased is erased, the directory is accepted by every check, and in the end all
// erasures are declared.
func TestKillDuringErasure(t *testing.T) {
	kills := 6
	if n, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		kills = n
	}
	h := newFixture(t)
	h.events(1, 0, erasuresMost*kills)
	before := h.checkpoint()
	h.shut()
	silent := httptest.NewServer(http.NotFoundHandler())
	silent.Close()
	lock := audittest.NewKey(t, "lock.test").PublicWitness() + " " + silent.URL
	if err := os.WriteFile(filepath.Join(h.dir, "lock"), []byte(lock), 0o600); err != nil {
		t.Fatal(err)
	}
	erased := -1
	for range kills {
		cmd, out := child(t, "erase", h.dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for after := rand.IntN(erasuresMost - 10); out.Scan(); after-- {
			if _, err := fmt.Sscanf(out.Text(), "erased %d", &erased); err != nil {
				t.Fatalf("the child says %q", out.Text())
			}
			if after == 0 {
				cmd.Process.Kill()
			}
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("the child ended by itself: %v", err)
		}
		for n := max(0, erased-erasuresMost); n <= erased; n++ {
			if h.hasContent(1, n) {
				t.Fatalf("event %d was erased and has its content", n)
			}
		}
		r, err := VerifyDir(t.Context(), filepath.Join(h.dir, "log"), nil, h.verifier(), before)
		if err != nil || r.Undeclared < int64(erased+1) {
			t.Fatalf("after the erasure of event %d: %+v, %v", erased, r, err)
		}
		if _, problems := h.compare(); len(problems) > 0 {
			t.Fatalf("compared: %q", problems)
		}
	}
	h.open(Options{})
	if err := h.log.WaitFor(t.Context(), h.store.Head().Seq); err != nil {
		t.Fatal(err)
	}
	r := h.check(before)
	if r.Erased < int64(erased+1) || h.log.Status().Undeclared != 0 {
		t.Errorf("verified: %+v", r)
	}
	t.Logf("%d leaves were erased over %d kills", r.Erased, kills)
	h.checkNoDoubles()
	h.shut()
	h.checkUndeclared(0)
}
